import Kernel
import Primitives
import Testing

@Suite struct EpollTests {
  @Test("a listener reports a connection, and bytes pass in both directions over loopback")
  func loopback() throws {
    let listener = try Sockets.listen(on: .loopback, port: 0)
    let port = try listener.localPort()
    let client = try Sockets.connect(to: .loopback, port: port)
    let epoll = try Epoll()
    try epoll.add(listener, .read, datum: 7)
    var events = Events(capacity: 8)
    try epoll.wait(into: &events, timeoutMilliseconds: 60_000)
    #expect(events.count == 1)
    #expect(events[0].datum == 7 && events[0].isReadable)
    guard case .accepted(let server, let peer) = listener.accept() else {
      Issue.record("no connection was accepted")
      return
    }
    #expect(peer.ip.isLoopback && peer.ip.isVersion4)
    #expect(try client.pendingError() == nil)
    #expect([UInt8]("ping".utf8).withRawSpan { client.send($0) } == .bytes(4))
    try epoll.add(server, .read, datum: 8)
    try epoll.remove(listener)
    try epoll.wait(into: &events, timeoutMilliseconds: 60_000)
    #expect(events.count == 1 && events[0].datum == 8)
    var buffer = [UInt8](repeating: 0, count: 16)
    #expect(buffer.withMutableRawSpan { server.receive(into: &$0, from: 2) } == .bytes(4))
    #expect(buffer[2..<6].elementsEqual("ping".utf8))
    #expect(buffer.withMutableRawSpan { server.receive(into: &$0) } == .wouldBlock)
  }
}
