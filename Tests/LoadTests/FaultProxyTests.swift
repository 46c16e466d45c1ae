import Foundation
import Kernel
import Primitives
import Synchronization
import Testing

@testable import chirrup_load

/// The proxy over real sockets: a client, the proxy, and the test as server.
@Suite(.serialized) struct FaultProxyTests {
  /// Both ends of one connection through a proxy.
  final class Ends {
    let proxy: FaultProxy
    let client: FileDescriptor
    let server: FileDescriptor

    init() throws {
      let listener = try Sockets.listen(on: .loopback, port: 0)
      proxy = try FaultProxy(
        "proxy", listeners: [.init(endpoint: .tcp(0))], target: .tcp(try listener.localPort()),
        seed: 1)
      client = try Sockets.connect(to: .loopback, port: proxy.ports[0])
      var accepted: Int32?
      try FaultProxyTests.until {
        if case .accepted(let socket, _) = listener.accept() { accepted = socket.release() }
        return accepted != nil
      }
      server = FileDescriptor(owning: try #require(accepted))
      try FaultProxyTests.until { proxy.control.links.load(ordering: .relaxed) == 1 }
    }

    deinit { proxy.stop() }
  }

  /// Waits for a condition, a generous time.
  static func until(_ condition: () throws -> Bool) throws {
    let limit = SystemClock.now().advanced(byMilliseconds: 20_000)
    while try !condition() {
      try #require(SystemClock.now() < limit, "the condition was not met in time")
      usleep(1_000)
    }
  }

  static func send(_ bytes: [UInt8], to socket: borrowing FileDescriptor) throws {
    var sent = 0
    try until {
      if case .bytes(let count) = bytes.withRawSpan({ socket.send($0, from: sent) }) {
        sent += count
      }
      return sent == bytes.count
    }
  }

  /// Reads up to `count` bytes, or to the end of the stream, which is returned too.
  static func receive(
    _ count: Int, from socket: borrowing FileDescriptor
  ) throws -> (bytes: [UInt8], end: ReadOutcome?) {
    var bytes: [UInt8] = []
    var end: ReadOutcome?
    var buffer = [UInt8](repeating: 0, count: 65_536)
    try until {
      switch buffer.withMutableRawSpan({ socket.receive(into: &$0) }) {
      case .bytes(let more): bytes += buffer[..<more]
      case .wouldBlock: break
      case .endOfStream: end = .endOfStream
      case .reset: end = .reset
      case .failed(let error): end = .failed(error)
      }
      return bytes.count >= count || end != nil
    }
    return (bytes, end)
  }

  static let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }

  @Test func `bytes and the end of stream pass in both directions`() throws {
    let ends = try Ends()
    ends.proxy.control.order(
      ProxyOrder(fault: .throttle(milliseconds: 60_000, bytesPerSecond: 4_000_000), share: 1))
    try Self.send(Array(Self.bytes[..<60_000]), to: ends.client)
    #expect(try Self.receive(60_000, from: ends.server).bytes == Array(Self.bytes[..<60_000]))
    try Self.send(Array(Self.bytes[60_000..<90_000]), to: ends.server)
    #expect(
      try Self.receive(30_000, from: ends.client).bytes == Array(Self.bytes[60_000..<90_000]))
    try ends.client.shutdownWrite()
    #expect(try Self.receive(1, from: ends.server).end == .endOfStream)
  }

  @Test func `a cut is an end and a reset is a reset`() throws {
    for (fault, end) in [(ProxyFault.cut, ReadOutcome.endOfStream), (.reset, .reset)] {
      let ends = try Ends()
      ends.proxy.control.order(ProxyOrder(fault: fault, share: 0.1))
      #expect(try Self.receive(1, from: ends.client).end == end)
      #expect(try Self.receive(1, from: ends.server).end == end)
      #expect(ends.proxy.control.broken.load(ordering: .relaxed) == 1)
    }
  }

  @Test func `stalled bytes arrive later`() throws {
    let ends = try Ends()
    let begin = SystemClock.now()
    ends.proxy.control.order(ProxyOrder(fault: .stall(milliseconds: 300), share: 1))
    // Bytes sent before the order took effect arrive too.
    try Self.until { SystemClock.now().milliseconds(since: begin) > 50 }
    try Self.send([1, 2, 3], to: ends.client)
    #expect(try Self.receive(3, from: ends.server).bytes == [1, 2, 3])
    #expect(SystemClock.now().milliseconds(since: begin) >= 300)
  }

  @Test func `after the last allowed byte there is no answer`() throws {
    let ends = try Ends()
    ends.proxy.control.order(
      ProxyOrder(fault: .cutAfter(bytes: 1_000, milliseconds: 60_000), share: 1))
    try Self.until { ends.proxy.control.takesNoOrders }
    try Self.send(Array(Self.bytes[..<5_000]), to: ends.client)
    let (bytes, end) = try Self.receive(5_000, from: ends.server)
    #expect(bytes == Array(Self.bytes[..<1_000]))
    #expect(end == .reset)
    #expect(try Self.receive(1, from: ends.client).end == .reset)
  }

  @Test(arguments: [0, 3, 6])
  func `the answer to a commit is lost even if it comes in pieces`(split: Int) throws {
    let ends = try Ends()
    ends.proxy.control.order(ProxyOrder(fault: .loseCommit(milliseconds: 60_000), share: 1))
    try Self.until { ends.proxy.control.takesNoOrders }
    let answer = Array("INSERT 0 1\0COMMIT\0".utf8)
    let head = Array(answer[..<(11 + split)])
    try Self.send(head, to: ends.server)
    #expect(try Self.receive(head.count, from: ends.client).bytes == head)
    try Self.send(Array(answer[(11 + split)...]), to: ends.server)
    let (rest, end) = try Self.receive(1, from: ends.client)
    #expect(rest.isEmpty && end == .reset)
    #expect(ends.proxy.control.commitsLost.load(ordering: .relaxed) == 1)
  }
}
