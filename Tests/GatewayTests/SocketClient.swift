import Kernel
import Primitives
import Wire

/// A WebSocket client on a real socket, for tests: it waits for what it wants to hear.
final class SocketClient {
  struct Failure: Error { var text: String }

  private let descriptor: FileDescriptor
  private var decoder = MessageDecoder(
    role: .client, limits: MessageLimits(messageBytes: 1 << 24, fragments: 1 << 10))
  private var heard: [String] = []
  private(set) var isClosed = false

  init(port: UInt16) throws {
    descriptor = try Sockets.connect(to: .loopback, port: port)
    try wait(.write)
    if let error = try descriptor.pendingError() { throw error }
    var request: [UInt8] = []
    UpgradeRequest(
      host: "127.0.0.1", target: "/api/v1/ws", subprotocol: "chirrup.v1",
      random: (Random.uint64(), Random.uint64())
    ).append(to: &request)
    try send(request)
    var answer: [UInt8] = []
    while !answer.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      var byte: [UInt8] = [0]
      if try receive(&byte) == 0 { throw Failure(text: "closed in the handshake") }
      answer += byte
    }
    guard answer.starts(with: "HTTP/1.1 101".utf8) else {
      throw Failure(text: String(decoding: answer, as: UTF8.self))
    }
  }

  func say(_ text: String) throws {
    var frame: [UInt8] = []
    Array(text.utf8).withRawSpan {
      FrameEncoder.appendMaskedFrame(.text, payload: $0, maskKey: 0x0102_0304, to: &frame)
    }
    try send(frame)
  }

  /// Reads until `count` texts contain `part`, and returns everything heard so far.
  func hear(_ part: String, count: Int = 1) throws -> [String] {
    while heard.count(where: { $0.contains(part) }) < count {
      var bytes = [UInt8](repeating: 0, count: 65_536)
      let received = try receive(&bytes)
      guard received > 0 else { throw Failure(text: "closed; heard \(heard)") }
      take(&bytes, received)
    }
    return heard
  }

  private func take(_ bytes: inout [UInt8], _ count: Int) {
    bytes.removeLast(bytes.count - count)
    bytes.withMutableRawSpan { buffer in
      var offset = 0
      while offset < buffer.byteCount {
        guard let step = try? decoder.next(&buffer, offset: &offset) else { return }
        switch step {
        case .message(_, .inPlace(let range)):
          heard.append(buffer.bytes.extracting(range).string)
        case .message(_, .assembled): heard.append(decoder.withAssembled { $0.string })
        case .close: isClosed = true
        case .needMoreBytes, .ping, .pong: continue
        }
      }
    }
  }

  /// 10 s without an event are a failure, not a wait for ever.
  private func wait(_ interest: Interest) throws {
    let epoll = try Epoll()
    try epoll.add(descriptor, interest, datum: 0)
    var events = Events(capacity: 1)
    try epoll.wait(into: &events, timeoutMilliseconds: 10_000)
    guard events.count > 0 else { throw Failure(text: "nothing in 10 s; heard \(heard)") }
  }

  private func send(_ bytes: [UInt8]) throws {
    var offset = 0
    while offset < bytes.count {
      switch bytes.withRawSpan({ descriptor.send($0, from: offset) }) {
      case .bytes(let count): offset += count
      case .wouldBlock: try wait(.write)
      case .reset, .failed: throw Failure(text: "reset; heard \(heard)")
      }
    }
  }

  /// The number of bytes, 0 at the end of the stream.
  private func receive(_ bytes: inout [UInt8]) throws -> Int {
    while true {
      switch bytes.withMutableRawSpan({ descriptor.receive(into: &$0) }) {
      case .bytes(let count): return count
      case .wouldBlock: try wait(.read)
      case .endOfStream: return 0
      case .reset, .failed: throw Failure(text: "reset; heard \(heard)")
      }
    }
  }
}
