import Engine
import Kernel
import Logging
import Primitives
import Testing

@testable import Gateway

@Suite struct SocketTableTests {
  /// Output that a turn could not send may name a connection that was closed in it.
  @Test("a closed connection has no socket while its socket lingers")
  func lingering() throws {
    var table = SocketTable(limit: 4, logger: Logger(label: "test"))
    let epoll = try Epoll()
    let now = Instant(nanoseconds: 0)
    let pair = try Sockets.pair()
    let socket = ClientSocket(descriptor: pair.first, caller: Caller(peer: .local), now: now)
    let inserted = table.insert(socket, epoll)
    let id = try #require(inserted)
    let (connection, other) = (ConnectionIndex(1), ConnectionIndex(2))
    table.bind(id, toConnection: connection)
    table[id.index].phase = .webSocket(connection)
    #expect(table.socket(ofConnection: connection) == id.index)
    #expect(table.socket(ofConnection: other) == nil)
    table[id.index].phase = .lingering(until: now)
    #expect(table.socket(ofConnection: connection) == nil)
  }
}
