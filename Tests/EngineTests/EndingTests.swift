import Chat
import Engine
import Primitives
import Testing
import Wire

/// The report about a connection that has ended: by which side, with which code, and what it had
/// carried.
@Suite struct EndingTests {
  private func release(_ client: Client) throws -> ConnectionReport {
    let report = client.world.loops[client.loop].engine.release(client.connection.index)
    return try #require(report)
  }

  @Test("the peer's close frame, a lost stream, a broken rule and a drain are distinguished")
  func sides() throws {
    let world = World()
    let session = world.makeSession(entries: 2)
    let left = world.member("visitor", session)
    _ = left.receive()
    left.send([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xE9])
    let ending = try release(left).ending
    #expect(ending?.code == .goingAway && ending?.side == .peer)
    #expect(ending?.reason == "the client left")

    let lost = world.member("visitor", session)
    _ = lost.receive()
    world.loops[0].engine.connections.peerEnded(lost.connection.index)
    #expect(try release(lost).ending?.side == .network)

    let binary = world.member("visitor", session)
    binary.send("x", opcode: .binary)
    let refused = try release(binary)
    #expect(refused.ending?.code == .unsupportedData)
    #expect(refused.ending?.side == .gateway)

    let drained = world.member("visitor", session)
    world.loops[0].engine.closeAll()
    let shut = try release(drained)
    #expect(shut.ending?.side == .shutdown)
    #expect(shut.ending?.code == .drain)
  }

  @Test("the first reason counts: a peer that answers our close frame did not end the connection")
  func first() throws {
    let world = World()
    let session = world.makeSession()
    let ada = world.member("visitor", session)
    world.loops[0].engine.revoke(ada.connection.index, .banned)
    ada.send([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xE8])
    world.loops[0].engine.connections.peerEnded(ada.connection.index)
    let report = try release(ada)
    #expect(report.ending?.code == .banned)
    #expect(report.ending?.reason == "the visitor is blocked")
  }

  @Test("the report has the party, the sessions, the bytes and the messages")
  func content() throws {
    let world = World()
    let session = world.makeSession(entries: 3)
    let ada = world.member("visitor", session, after: 0)
    var types = ada.types()
    ada.post("hello", to: session)
    world.commit()
    types += ada.types()
    let open = world.loops[0].engine.report(ada.connection.index)
    #expect(open.ending == nil)
    let report = try release(ada)
    #expect(report.member?.person.id == world.visitor.id)
    #expect(report.sessions == open.sessions)
    #expect(report.sessions.listed == [session])
    #expect(report.messagesIn == 1)
    // Three of the backlog, and its own.
    #expect(report.traffic.messagesOut == 4)
    #expect(types.count { $0 == "message" } == 4)
    #expect(report.traffic.bytesIn > 100)
    #expect(report.traffic.bytesOut > report.traffic.bytesIn)
  }

  @Test("bytes that a full socket gave back are counted once")
  func blocked() throws {
    let world = World()
    let session = world.makeSession(entries: 3)
    let ada = world.member("visitor", session)
    var output: [UInt8] = []
    world.settle()
    world.loops[0].engine.collect(ada.connection.index, into: &output)
    let all = UInt64(output.count)
    world.loops[0].engine.connections.blocked(
      ada.connection.index, rest: output[10...], now: world.now)
    #expect(world.loops[0].engine.report(ada.connection.index).traffic.bytesOut == 10)
    #expect(world.loops[0].engine.report(ada.connection.index).blockedSince != nil)
    world.loops[0].engine.connections.writable(ada.connection.index, now: world.now)
    output = []
    world.loops[0].engine.collect(ada.connection.index, into: &output)
    #expect(try release(ada).traffic.bytesOut >= all)
  }

  @Test("an operator who follows many sessions is reported with the first ones and their number")
  func many() throws {
    let world = World()
    let sessions = (0..<12).map { _ in world.makeSession() }
    let mika = world.member("operator", sessions[0])
    for (number, session) in sessions.dropFirst().enumerated() {
      mika.send(#"{"type":"subscribe","ref":\#(number),"session":"\#(session)","tail":1}"#)
    }
    world.settle()
    let report = try release(mika)
    #expect(report.sessions.count == 12)
    #expect(report.sessions.listed.count == FollowedSessions.listedMax)
    #expect(report.sessions.listed.first == sessions[0])
  }

  @Test("a connection that moves to its session's loop keeps its counts")
  func moves() throws {
    let world = World(loops: 2)
    let session = world.makeSession(ownedBy: 1)
    let ada = world.member("visitor", session)
    #expect(ada.loop == 1)
    let before = world.loops[1].engine.report(ada.connection.index).traffic.bytesIn
    #expect(before > 50 && before < 1_000)
  }
}
