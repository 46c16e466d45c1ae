import Chat
import Engine
import Primitives
import Testing
import Wire

/// Found by the simulator, with a standby that took over without the last moments.
@Suite("A database that went back is never mixed with what was seen before")
struct StoreReplacedTests {
  @Test("all connections of its sessions end on every loop, and come back to a resync")
  func everybodyStartsAnew() {
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
    #expect(mika.hear().last == .close(4001))
    // The sessions of the other loop are its own writer's affair.
    #expect(visitor.hear().isEmpty)

    let again = world.connect(loop: 0)
    again.say(
      #"{"type":"hello","ref":1,"token":"operator","subscribe":"#
        + #"[{"session":"\#(session)","after":5,"epoch":"e1"}]}"#)
    world.settle()
    let heard = again.texts()
    #expect(
      heard.map { field("type", of: $0) }
        == ["welcome", "resync", "subscribed", "message", "message", "live"])
    #expect(field("epoch", of: heard[1]) == "e2")
  }

  @Test("a session whose owner still knows another database is not shown")
  func ownersThatDoNotKnowYet() {
    let world = World(loops: 2)
    let session = world.makeSession(entries: 3, ownedBy: 1)
    world.loops[0].engine.store = "new"
    world.loops[1].engine.store = "old"
    let mika = world.connect(loop: 0)
    mika.say(#"{"type":"hello","ref":1,"token":"operator"}"#)
    mika.say(#"{"type":"subscribe","ref":2,"session":"\#(session)","after":0}"#)
    world.settle()
    let refused = mika.texts()
    #expect(refused.map { field("type", of: $0) } == ["welcome", "error"])
    #expect(refused.last.map { field("code", of: $0) } == "unavailable")

    world.loops[1].engine.store = "new"
    world.loops[1].engine.storeReplaced()
    world.settle()
    mika.say(#"{"type":"subscribe","ref":3,"session":"\#(session)","after":0}"#)
    world.settle()
    #expect(
      mika.texts().map { field("type", of: $0) }
        == ["subscribed", "message", "message", "message", "live"])
  }

  @Test("subscribes that wait for their session end too")
  func waiting() {
    let world = World()
    let session = world.makeSession()
    let ada = world.member("visitor")
    _ = ada.texts()
    ada.say(#"{"type":"subscribe","ref":1,"session":"\#(session)"}"#)
    world.loops[0].engine.storeReplaced()
    world.settle()
    #expect(ada.hear() == [.close(4001)])
  }

  @Test("a page that knows more than the loop ends at the loop's head, and so does `live`")
  func pageAboveTheHead() {
    let world = World()
    let session = world.makeSession(entries: 3)
    world.database[session]?.entries.append(world.entry(4, "not announced yet"))
    let ada = world.member("visitor", session, after: 0)
    let heard = ada.texts().dropFirst(2)
    #expect(heard.map { field("seq", of: $0) } == ["1", "2", "3", "3"])
    #expect(heard.last.map { field("type", of: $0) } == "live")
  }

  @Test("a backlog of large messages is not read from the database many times over")
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

  @Test("a state that was read before the last commit is no sign that the log went back")
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
