import Chat
import Engine
import Primitives
import Testing
import Wire

/// Bugs found by the simulator with a fail-over to a standby that lagged behind.
@Suite("A database that has gone back is never mixed with earlier entries")
struct StoreReplacedTests {
  @Test("connections to a replaced database's sessions are closed, and get resync when they return")
  func reconnect() {
    let world = World(loops: 2)
    let session = world.makeSession(entries: 5, ownedBy: 1)
    let other = world.makeSession(entries: 1, ownedBy: 0)
    let mika = world.member("operator", session, loop: 0)
    let visitor = world.member("visitor", other)
    _ = (mika.texts(), visitor.texts())

    world.database[session]?.entries.removeLast(3)
    world.database[session]?.snapshot.head = 2
    world.database[session]?.snapshot.epoch = Array("e2".utf8)
    world.loops[1].engine.storeReplaced()
    world.settle()
    #expect(mika.receive().last == .close(4001))
    // The other loop's writer has not reached the new database yet.
    #expect(visitor.receive().isEmpty)

    let again = world.connect(loop: 0)
    again.send(
      #"{"type":"hello","ref":1,"token":"operator","subscribe":"#
        + #"[{"session":"\#(session)","after":5,"epoch":"e1"}]}"#)
    world.settle()
    let received = again.texts()
    #expect(
      received.map { field("type", of: $0) }
        == ["welcome", "resync", "subscribed", "message", "message", "live"])
    #expect(field("epoch", of: received[1]) == "e2")
  }

  @Test("a session whose owner still uses another database is unavailable")
  func outdatedOwner() {
    let world = World(loops: 2)
    let session = world.makeSession(entries: 3, ownedBy: 1)
    world.loops[0].engine.store = "new"
    world.loops[1].engine.store = "old"
    let mika = world.connect(loop: 0)
    mika.send(#"{"type":"hello","ref":1,"token":"operator"}"#)
    mika.send(#"{"type":"subscribe","ref":2,"session":"\#(session)","after":0}"#)
    world.settle()
    let refused = mika.texts()
    #expect(refused.map { field("type", of: $0) } == ["welcome", "error"])
    #expect(refused.last.map { field("code", of: $0) } == "unavailable")

    world.loops[1].engine.store = "new"
    world.loops[1].engine.storeReplaced()
    world.settle()
    mika.send(#"{"type":"subscribe","ref":3,"session":"\#(session)","after":0}"#)
    world.settle()
    #expect(
      mika.texts().map { field("type", of: $0) }
        == ["subscribed", "message", "message", "message", "live"])
  }

  @Test("connections that wait for a session to load are closed too")
  func waiting() {
    let world = World()
    let session = world.makeSession()
    let ada = world.member("visitor")
    _ = ada.texts()
    ada.send(#"{"type":"subscribe","ref":1,"session":"\#(session)"}"#)
    world.loops[0].engine.storeReplaced()
    world.settle()
    #expect(ada.receive() == [.close(4001)])
  }

  @Test("entries of a page above the loop's head are not sent, and `live` names the head")
  func pageAboveTheHead() {
    let world = World()
    let session = world.makeSession(entries: 3)
    world.database[session]?.entries.append(world.entry(4, "not announced yet"))
    let ada = world.member("visitor", session, after: 0)
    let received = ada.texts().dropFirst(2)
    #expect(received.map { field("seq", of: $0) } == ["1", "2", "3", "3"])
    #expect(received.last.map { field("type", of: $0) } == "live")
  }

  @Test("a backlog of large messages is read from the database about once")
  func largeBacklog() {
    let world = World()
    let session = world.makeSession(entries: 200)
    let body = String(repeating: "x", count: Limits.bodyBytes)
    for index in 0..<200 {
      world.database[session]?.entries[index] = world.entry(Int64(index) + 1, body)
    }
    let ada = world.member("visitor", session, after: 0)
    var messages = 0
    for _ in 0..<200 where messages < 200 {
      messages += ada.texts().count { field("type", of: $0) == "message" }
    }
    #expect(messages == 200)
    #expect(world.entriesRead <= Limits.backlogPage + 2 * 200)
  }

  @Test("a state read before the last commit does not cause a resync")
  func lateRead() {
    let world = World()
    let session = world.makeSession(entries: 1)
    let ada = world.member("visitor", session)
    _ = ada.texts()
    let old = world.database[session]
    ada.post("new", to: session)
    world.commit()
    let new = world.database[session]
    world.database[session] = old
    world.loops[0].engine.changed(session)
    world.settle()
    world.database[session] = new
    #expect(ada.types() == ["ack", "message"])
  }
}
