import Kernel
import Primitives

/// Bytes over a real socket, for tests with input that no library sends.
final class RawClient {
  struct Failure: Error { var text: String }

  let descriptor: FileDescriptor
  /// Created with the socket, so that a wait needs no descriptor when descriptors run out.
  private let epoll: Epoll
  private(set) var heard: [UInt8] = []
  private(set) var hasEnded = false

  init(port: UInt16) throws {
    epoll = try Epoll()
    descriptor = try Sockets.connect(to: .loopback, port: port)
    try epoll.add(descriptor, .write, datum: 0)
    try wait(.write)
    if let error = try descriptor.pendingError() { throw error }
  }

  var text: String { String(decoding: heard, as: UTF8.self) }

  func send(_ text: String) throws { try send(Array(text.utf8)) }

  func send(_ bytes: [UInt8]) throws {
    var offset = 0
    while offset < bytes.count {
      switch bytes.withRawSpan({ descriptor.send($0, from: offset) }) {
      case .bytes(let count): offset += count
      case .wouldBlock: try wait(.write)
      case .reset, .failed: return
      }
    }
  }

  /// Reads until the gateway closes, and returns everything received.
  func readToEnd() throws -> String {
    while !hasEnded { try readMore() }
    return text
  }

  /// Reads until `part` has arrived `count` times, and returns everything received.
  @discardableResult
  func read(until part: String, count: Int = 1) throws -> String {
    while text.ranges(of: part).count < count {
      guard !hasEnded else { throw Failure(text: "closed; heard \(text.prefix(2_000))") }
      try readMore()
    }
    return text
  }

  /// Whether no byte arrives within the time.
  func isSilent(forMilliseconds milliseconds: Int32) throws -> Bool {
    try epoll.modify(descriptor, .read, datum: 0)
    var events = Events(capacity: 1)
    try epoll.wait(into: &events, timeoutMilliseconds: milliseconds)
    return events.count == 0
  }

  func forget() { heard = [] }

  func readMore() throws {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    switch bytes.withMutableRawSpan({ descriptor.receive(into: &$0) }) {
    case .bytes(let count): heard += bytes[..<count]
    case .wouldBlock: try wait(.read)
    case .endOfStream, .reset, .failed: hasEnded = true
    }
  }

  /// Fails after a minute without an event.
  private func wait(_ interest: Interest) throws {
    try epoll.modify(descriptor, interest, datum: 0)
    var events = Events(capacity: 1)
    try epoll.wait(into: &events, timeoutMilliseconds: 60_000)
    guard events.count > 0 else { throw Failure(text: "nothing in a minute; heard \(text)") }
  }
}
