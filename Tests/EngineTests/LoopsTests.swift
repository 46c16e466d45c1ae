import Chat
import Engine
import Primitives
import Testing
import Wire

@Suite("Several loops")
struct LoopsTests {
  func post(_ client: Client, _ world: World, _ session: Identifier, _ body: String) {
    client.post(body, to: session)
    world.settle()
  }

  @Test("a visitor's connection moves with its input to the loop that owns its session")
  func move() {
    let world = World(loops: 3)
    let session = world.makeSession(entries: 1, ownedBy: 2)
    let ada = world.connect(loop: 0)
    ada.send(#"{"type":"hello","ref":"h","token":"visitor"}"#)
    ada.send(#"{"type":"subscribe","ref":"s","session":"\#(session)","after":0}"#)
    world.settle()
    #expect(ada.loop == 2)
    #expect(ada.types() == ["welcome", "subscribed", "message", "live"])
    #expect(world.loops[0].engine.connections.count == 0)
  }

  @Test("output that waits when a connection moves is sent first")
  func moveWithOutput() {
    let world = World(loops: 3)
    _ = world.makeSession(ownedBy: 2)
    let ada = world.connect(loop: 0)
    ada.send("early", opcode: .ping)
    ada.send(#"{"type":"hello","ref":"h","token":"visitor"}"#)
    world.settle()
    #expect(ada.loop == 2)
    let received = ada.receive()
    #expect(received.first == .pong("early"))
    #expect(received.count == 2)
  }

  @Test(
    "an operator on another loop receives everything once and in order, and gets acks"
  )
  func follower() {
    let world = World(loops: 2)
    let session = world.makeSession(entries: 3, ownedBy: 1)
    let ada = world.member("visitor", session)
    let mika = world.member("operator", session, after: 0, loop: 0)
    #expect(mika.loop == 0)
    #expect(ada.loop == 1)
    _ = ada.texts()
    #expect(
      mika.texts().map { field("seq", of: $0) } == ["", "", "1", "2", "3", "3"])
    for number in 1...5 {
      post(ada, world, session, "visitor \(number)")
      post(mika, world, session, "operator \(number)")
      world.commit()
    }
    let received = mika.texts()
    #expect(
      received.filter { field("type", of: $0) == "message" }.map { field("seq", of: $0) }
        == (4...13).map { "\($0)" })
    #expect(received.filter { field("type", of: $0) == "ack" }.count == 5)
    #expect(
      ada.texts().filter { field("type", of: $0) == "message" }.map { field("seq", of: $0) }
        == (4...13).map { "\($0)" })
  }

  @Test("typing, marks and state are sent across loops")
  func ephemeral() {
    let world = World(loops: 2)
    let session = world.makeSession(entries: 2, ownedBy: 1)
    let ada = world.member("visitor", session)
    let mika = world.member("operator", session, loop: 0)
    _ = (ada.texts(), mika.texts())
    ada.send(#"{"type":"typing","session":"\#(session)","active":true,"preview":"hm"}"#)
    world.settle()
    #expect(mika.texts().map { field("preview", of: $0) } == ["hm"])
    mika.send(#"{"type":"read","session":"\#(session)","seq":2}"#)
    world.settle()
    #expect(ada.types() == ["mark"])
    #expect(mika.types() == ["mark"])
    world.database[session]?.snapshot.status = .active
    world.database[session]?.snapshot.assignee = world.clerk
    world.loops[0].engine.changed(session)
    world.settle()
    #expect(ada.texts().map { field("status", of: $0) } == ["active"])
    #expect(mika.texts().map { field("status", of: $0) } == ["active"])
  }

  @Test("an inbox on another loop receives a changed row once for many changes")
  func inbox() {
    let world = World(loops: 2)
    let session = world.makeSession(ownedBy: 1)
    let ada = world.member("visitor", session)
    let mika = world.member("operator", loop: 0)
    mika.send(#"{"type":"watch","ref":1,"inbox":true}"#)
    world.settle()
    #expect(mika.types() == ["welcome", "ok"])
    for number in 1...3 { post(ada, world, session, "\(number)") }
    world.commit()
    #expect(mika.texts().isEmpty)
    world.advance(milliseconds: 250)
    world.settle()
    #expect(mika.types() == ["inbox"])
  }

  @Test("a session without followers leaves memory on every loop, and is loaded again on demand")
  func eviction() {
    let world = World(loops: 2)
    let session = world.makeSession(entries: 2, ownedBy: 1)
    let mika = world.member("operator", session, loop: 0)
    _ = mika.texts()
    mika.send(#"{"type":"unsubscribe","ref":1,"session":"\#(session)"}"#)
    #expect(mika.types() == ["ok"])
    for _ in 0..<8 {
      world.advance(milliseconds: 20_000)
      mika.send(#"{"type":"pong"}"#)
      world.settle()
    }
    #expect(world.loops.map { $0.engine.sessions.count } == [0, 0])
    _ = mika.texts()
    mika.send(#"{"type":"subscribe","ref":2,"session":"\#(session)","after":0}"#)
    world.settle()
    #expect(mika.types() == ["subscribed", "message", "message", "live"])
  }

  @Test("recent entries without subscribers are dropped, and then read from the database")
  func forgotten() {
    let world = World()
    let session = world.makeSession()
    let ada = world.member("visitor", session)
    for number in 1...3 { ada.post("\(number)", to: session) }
    world.commit()
    _ = ada.texts()
    ada.send(#"{"type":"unsubscribe","ref":1,"session":"\#(session)"}"#)
    _ = ada.texts()
    world.advance(milliseconds: 6_000)
    ada.send(#"{"type":"subscribe","ref":2,"session":"\#(session)","after":1}"#)
    world.settle()
    #expect(
      ada.texts().filter { field("type", of: $0) == "message" }.map { field("body", of: $0) }
        == ["2", "3"])
    ada.post("4", to: session)
    world.commit()
    #expect(ada.texts().contains { field("body", of: $0) == "4" })
  }

  @Test("drain is sent to all with its window, and closeAll closes with 4000")
  func drain() {
    let world = World()
    let session = world.makeSession()
    let ada = world.member("visitor", session)
    _ = ada.texts()
    world.loops[0].engine.connections.announceDrain(windowMilliseconds: 5000)
    #expect(ada.texts().map { field("max_ms", of: $0) } == ["5000"])
    world.loops[0].engine.closeAll()
    #expect(ada.receive() == [.close(4000)])
  }
}
