import Kernel
import OpenSSL
import Primitives
import Wire

/// A WebSocket client on a real socket, for tests: it reads until the expected text arrives.
final class SocketClient {
  struct Failure: Error { var text: String }

  private let descriptor: FileDescriptor
  private let secure: Secure?
  /// Created with the socket, so that a wait needs no descriptor when descriptors run out.
  private let epoll: Epoll
  private var decoder = MessageDecoder(
    role: .client, limits: MessageLimits(messageBytes: 1 << 24, fragments: 1 << 10))
  private(set) var heard: [String] = []
  private(set) var isClosed = false
  private(set) var closeCode: CloseCode?

  /// The client's TLS session and a separate buffer: a record may hold less or more than a read
  /// needs.
  private final class Secure {
    let session: TLSSession
    let workspace = TLSWorkspace()
    var buffer = [UInt8](repeating: 0, count: 65_536)
    var plain: [UInt8] = []
    var hasEnded = false

    init(_ context: TLSContext, name: String) {
      session = TLSSession(client: context, name: name, workspace)
    }
  }

  init(
    port: UInt16, origin: String? = nil, tls context: TLSContext? = nil, name: String = "localhost",
    receiveBuffer: Int32? = nil
  ) throws {
    secure = context.map { Secure($0, name: name) }
    epoll = try Epoll()
    descriptor = try Sockets.connect(to: .loopback, port: port)
    if let receiveBuffer { try descriptor.setReceiveBuffer(byteCount: receiveBuffer) }
    try epoll.add(descriptor, .write, datum: 0)
    try wait(.write)
    if let error = try descriptor.pendingError() { throw error }
    var request: [UInt8] = []
    UpgradeRequest(
      host: "127.0.0.1", target: "/api/v1/ws", subprotocol: "chirrup.v1",
      fields: origin.map { [(name: "Origin" as StaticString, value: $0)] } ?? [],
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

  /// Reads to the end of the stream, and returns the code of the received close frame.
  func hearTheEnd() throws -> UInt16? {
    do { _ = try hear("\u{0}") } catch is Failure { return closeCode?.rawValue }
    return nil
  }

  /// Reads until `count` texts contain `part`, and returns all texts received so far.
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
        case .close(let code, _):
          isClosed = true
          closeCode = code
          var answer: [UInt8] = []
          ([0x03, 0xE8] as [UInt8]).withRawSpan {
            FrameEncoder.appendMaskedFrame(.close, payload: $0, maskKey: 1, to: &answer)
          }
          try? send(answer)
        case .needMoreBytes, .ping, .pong, .deflatedMessage: continue
        }
      }
    }
  }

  /// Fails after a minute without an event.
  private func wait(_ interest: Interest) throws {
    try epoll.modify(descriptor, interest, datum: 0)
    var events = Events(capacity: 1)
    try epoll.wait(into: &events, timeoutMilliseconds: 60_000)
    guard events.count > 0 else { throw Failure(text: "nothing in a minute; heard \(heard)") }
  }

  private func send(_ bytes: [UInt8]) throws {
    guard let secure else { return try transmit(bytes) }
    while !secure.session.isEstablished { try open(secure) }
    try flush(secure)
    var offset = 0
    while offset < bytes.count {
      guard
        let count = bytes.withRawSpan({ secure.session.seal($0, from: offset, secure.workspace) })
      else { throw Failure(text: "TLS is over; heard \(heard)") }
      offset += count
      try transmit(secure.workspace.withSealed { SocketClient.copy($0) })
    }
  }

  private static func copy(_ span: RawSpan) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(span)
    return bytes
  }

  private func transmit(_ bytes: [UInt8]) throws {
    var offset = 0
    while offset < bytes.count {
      switch bytes.withRawSpan({ descriptor.send($0, from: offset) }) {
      case .bytes(let count): offset += count
      case .wouldBlock: try wait(.write)
      case .reset, .failed: throw Failure(text: "reset; heard \(heard)")
      }
    }
  }

  /// Returns the number of bytes, or 0 at the end of the stream.
  private func receive(_ bytes: inout [UInt8]) throws -> Int {
    guard let secure else { return try take(&bytes, from: 0) }
    while secure.plain.isEmpty, !secure.hasEnded { try open(secure) }
    let count = min(bytes.count, secure.plain.count)
    bytes.replaceSubrange(0..<count, with: secure.plain.prefix(count))
    secure.plain.removeFirst(count)
    return count
  }

  /// Sends the pending TLS output.
  private func flush(_ secure: Secure) throws {
    let unsent = secure.session.withUnsent { SocketClient.copy($0) }
    secure.session.sent(unsent.count)
    try transmit(unsent)
  }

  /// Decrypts the next received bytes.
  private func open(_ secure: Secure) throws {
    try flush(secure)
    let (start, fill) = secure.buffer.withMutableRawSpan { secure.session.prepare(&$0) }
    let count = try take(&secure.buffer, from: fill)
    guard count > 0 else {
      guard secure.session.isEstablished else { throw Failure(text: "closed in the handshake") }
      secure.hasEnded = true
      return
    }
    var cursor = TLSCursor(next: start, end: fill + count)
    while true {
      let step = secure.buffer.withMutableRawSpan {
        secure.session.open(&$0, &cursor, secure.workspace)
      }
      switch step {
      case .plain(let range): secure.plain += secure.buffer[range]
      case .established: continue
      case .needMoreBytes: return
      case .closed:
        secure.hasEnded = true
        return
      case .failed(let fault): throw Failure(text: "TLS: \(fault.reason)")
      }
    }
  }

  private func take(_ bytes: inout [UInt8], from offset: Int) throws -> Int {
    while true {
      switch bytes.withMutableRawSpan({ descriptor.receive(into: &$0, from: offset) }) {
      case .bytes(let count): return count
      case .wouldBlock: try wait(.read)
      case .endOfStream: return 0
      case .reset, .failed: throw Failure(text: "reset; heard \(heard)")
      }
    }
  }
}
