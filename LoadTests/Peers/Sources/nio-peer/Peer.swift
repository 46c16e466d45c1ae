/// One connection after the upgrade.
///
/// It encodes its frames itself and bypasses NIO's encoder, which would create a header buffer and
/// a pending write for each frame.
import NIOCore
import NIOWebSocket

final class Peer: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame

  /// The index in the hub's subscribers.
  var position = 0
  private let role: Role
  private let hub: Hub
  /// Writes from this context go directly to the socket.
  private let encoder: ChannelHandlerContext
  private var isClosing = false

  init(role: Role, hub: Hub, encoder: ChannelHandlerContext) {
    self.role = role
    self.hub = hub
    self.encoder = encoder
  }

  func handlerAdded(context: ChannelHandlerContext) {
    if role == .subscriber { hub.add(self) }
  }

  func channelInactive(context: ChannelHandlerContext) {
    if role == .subscriber { hub.remove(self) }
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    switch frame.opcode {
    case .text, .binary, .continuation:
      if role != .subscriber { hub.output.append(frame, opcode: frame.opcode) }
    case .ping:
      var pong = ByteBuffer()
      pong.append(frame, opcode: .pong)
      write(pong)
    case .connectionClose:
      var answer = ByteBuffer()
      answer.append(frame, opcode: .connectionClose)
      write(answer)
      isClosing = true
    default: break
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    if hub.output.readableBytes > 0 {
      let output = hub.output
      // Clearing reuses the memory of this buffer, if no other reference to it exists then.
      defer { hub.output.clear() }
      if role == .publisher { hub.publish(output) } else { write(output) }
    }
    if isClosing { context.close(promise: nil) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  func write(_ frames: ByteBuffer) {
    encoder.writeAndFlush(NIOAny(frames), promise: nil)
  }
}

extension ByteBuffer {
  /// Appends the frame in a server's form, without a mask (RFC 6455 §5.1).
  mutating func append(_ frame: WebSocketFrame, opcode: WebSocketOpcode) {
    let count = frame.data.readableBytes
    writeInteger((frame.fin ? 0x80 : 0) | UInt8(webSocketOpcode: opcode))
    switch count {
    case ...125: writeInteger(UInt8(count))
    case ...0xffff:
      writeInteger(UInt8(126))
      writeInteger(UInt16(count))
    default:
      writeInteger(UInt8(127))
      writeInteger(UInt64(count))
    }
    let start = writerIndex
    writeImmutableBuffer(frame.data)
    if let key = frame.maskKey { unmask(from: start, key) }
  }

  /// Processes eight bytes at a time; NIO's own function processes single bytes.
  private mutating func unmask(from start: Int, _ key: WebSocketMaskingKey) {
    let word = key.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let mask = UInt64(littleEndian: word << 32 | word)
    let count = writerIndex - start
    // SAFETY: NIO passes exactly the readable bytes, and all loads and stores are within the last
    // `count` of them.
    withUnsafeMutableReadableBytes { bytes in
      let payload = UnsafeMutableRawBufferPointer(rebasing: bytes.suffix(count))
      var offset = 0
      while offset + 8 <= count {
        let masked = payload.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        payload.storeBytes(of: masked ^ mask, toByteOffset: offset, as: UInt64.self)
        offset += 8
      }
      while offset < count {
        payload[offset] ^= key[offset & 3]
        offset += 1
      }
    }
  }
}
