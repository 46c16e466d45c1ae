import Chat
import Primitives
import Testing
import Wire

@testable import Engine

/// Output buffers, and the collection of output.
@Suite("Output")
struct OutputTests {
  private func connections(_ count: Int) -> ConnectionTable {
    var connections = ConnectionTable(limit: count)
    for number in 0..<count {
      let connection = Connection(
        name: Identifier(high: 0, low: UInt64(number)), purpose: .echo,
        limits: MessageLimits(messageBytes: 100, fragments: 1), deflate: nil,
        now: Instant(nanoseconds: 0))
      _ = connections.insert(connection)
    }
    return connections
  }

  @Test("an idle connection holds no buffer, and spare buffers are bounded")
  func spare() {
    let count = 200
    let byteCount = Limits.spareOutputBytes / (count / 2)
    var connections = connections(count)
    for connection in ConnectionIndex(0)..<ConnectionIndex(count) {
      connections[outbox: connection].append(contentsOf: repeatElement(1, count: byteCount))
    }
    var output: [UInt8] = []
    for connection in ConnectionIndex(0)..<ConnectionIndex(count) {
      output.removeAll(keepingCapacity: true)
      connections.takeOutbox(connection, into: &output)
      #expect(output.count == byteCount)
      #expect(connections[connection].outbox.capacity == 0)
    }
    #expect(connections.spareByteCount <= Limits.spareOutputBytes)
    #expect(connections.spareByteCount > Limits.spareOutputBytes / 2)
  }

  @Test("a buffer is lent again, emptied")
  func lentAgain() {
    var connections = connections(2)
    var output: [UInt8] = []
    for round in 0..<1_000 {
      let connection = ConnectionIndex(round % 2)
      // Short output is copied, long output is swapped with the loop's own buffer.
      let count = connection.value == 0 ? 3 : Limits.copiedOutputBytes
      connections[outbox: connection].append(
        contentsOf: repeatElement(UInt8(round & 255), count: count))
      output.removeAll(keepingCapacity: true)
      connections.takeOutbox(connection, into: &output)
      #expect(output == Array(repeating: UInt8(round & 255), count: count))
    }
    // One buffer in use at a time, and the loop's own one.
    #expect(connections.spareByteCount <= 4 * Limits.copiedOutputBytes)
  }

  @Test("closed connections leave no more buffers than were in use at once")
  func comeAndGo() throws {
    var engine = Engine(
      loop: 0, loopCount: 1,
      configuration: Engine.Configuration(connectionsMax: 10, sessionsMax: 10, node: "1"),
      now: Instant(nanoseconds: 0), wall: WallTime(microseconds: 0))
    var output: [UInt8] = []
    for round in 0..<1_000 {
      let name = Identifier(high: 0, low: UInt64(round))
      let accepted = engine.connections.accept(name: name, isEcho: true, now: engine.now)
      let connection = try #require(accepted).index
      engine.connections.preface(connection, Array(repeating: 1, count: 129))
      output.removeAll(keepingCapacity: true)
      if round % 3 > 0 { engine.collect(connection, into: &output) }
      if round % 3 > 1 {
        engine.connections.blocked(connection, rest: output[29...], now: engine.now)
      }
      #expect(output.count == (round % 3 > 0 ? 129 : 0))
      #expect(engine.connections.outputByteCount(connection) == [129, 0, 100][round % 3])
      _ = engine.release(connection)
    }
    #expect(engine.connections.spareByteCount > 0)
    #expect(engine.connections.spareByteCount < 2_048)
  }

  @Test("the content of the output precedes the outbox appended to it")
  func order() {
    var connections = connections(1)
    connections[outbox: ConnectionIndex(0)].append(
      contentsOf: repeatElement(2, count: Limits.copiedOutputBytes))
    var output: [UInt8] = [1]
    connections.takeOutbox(ConnectionIndex(0), into: &output)
    #expect(output.first == 1 && output.last == 2)
    #expect(output.count == 1 + Limits.copiedOutputBytes)
  }

  @Test("what waits for a full socket stays, however often its sealed bytes fail to leave")
  func fullSocket() {
    let world = World()
    let session = world.makeSession(entries: 3)
    let ada = world.member("visitor", session)
    let connection = ada.connection.index
    world.settle()
    var output: [UInt8] = []
    world.loops[0].engine.collect(connection, into: &output)
    let rest = output[10...]
    world.loops[0].engine.connections.blocked(connection, rest: rest, now: world.now)
    for _ in 0..<3 {
      // An event makes it dirty. The driver of TLS then tries the sealed bytes of the earlier part.
      world.loops[0].engine.connections[outbox: connection].append(7)
      var nothing: [UInt8] = []
      world.loops[0].engine.collect(connection, into: &nothing)
      #expect(nothing.isEmpty)
      world.loops[0].engine.connections.blocked(connection, rest: nothing[...], now: world.now)
    }
    world.loops[0].engine.connections.writable(connection, now: world.now)
    output = []
    world.loops[0].engine.collect(connection, into: &output)
    #expect(output.starts(with: rest + [7, 7, 7]))
  }

  @Test("an operator of many sessions receives each message once while unsubscribing from others")
  func news() {
    let world = World()
    let sessions = (0..<60).map { _ in world.makeSession() }
    let desk = world.member("operator")
    for session in sessions {
      desk.send(#"{"type":"subscribe","ref":"s","session":"\#(session)"}"#)
    }
    world.settle()
    _ = desk.texts()
    var expected: [String] = []
    for round in 0..<40 {
      // Some sessions have news; then another is unsubscribed, which moves a third in the list.
      for index in stride(from: round % 7, to: 59 - round, by: 5) {
        desk.post("\(round) \(index)", to: sessions[index])
        expected.append("\(round) \(index)")
      }
      world.commit()
      if round % 3 == 0 { world.settle() }
      desk.send(
        #"{"type":"unsubscribe","ref":"u","session":"\#(sessions[59 - round])"}"#)
      world.settle()
      world.advance(milliseconds: 2_000)
      world.settle()
      #expect(world.loops[0].engine.inconsistency() == nil)
      let bodies = desk.texts().filter { field("type", of: $0) == "message" }.map {
        field("body", of: $0)
      }
      #expect(bodies.sorted() == expected.sorted())
      expected = []
    }
  }
}
