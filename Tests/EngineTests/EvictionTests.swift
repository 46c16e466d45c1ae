import Chat
import Engine
import Primitives
import Testing
import Wire

/// The number of sessions in memory is limited. Sessions without followers are evicted, the longest
/// unused first, and loaded again on demand.
@Suite("Sessions in memory")
struct EvictionTests {
  private func isLoaded(_ world: World, _ session: Identifier, loop: Int = 0) -> Bool {
    world.loops[loop].engine.sessions.workspace(of: session) != nil
  }

  private func visit(_ world: World, _ client: Client, _ session: Identifier) {
    client.send(#"{"type":"subscribe","ref":"s","session":"\#(session)"}"#)
    world.settle()
    client.send(#"{"type":"unsubscribe","ref":"u","session":"\#(session)"}"#)
    world.settle()
    check(world)
  }

  private func check(_ world: World) {
    for loop in world.loops {
      let text = loop.engine.inconsistency()
      #expect(text == nil)
    }
  }

  @Test("the longest unused session is evicted")
  func leastRecentlyUsed() {
    let world = World(sessionsMax: 3)
    let sessions = (0..<4).map { _ in world.makeSession(entries: 1) }
    let mika = world.member("operator")
    for session in sessions[0..<3] { visit(world, mika, session) }
    visit(world, mika, sessions[0])
    visit(world, mika, sessions[3])
    #expect(sessions.map { isLoaded(world, $0) } == [true, false, true, true])
    let counters = world.loops[0].engine.counters
    #expect(counters.sessionLoads == 4)
    #expect(counters.sessionEvictions == 1)
    // It is loaded again with its entries.
    _ = mika.texts()
    mika.send(#"{"type":"subscribe","ref":"s","session":"\#(sessions[1])","after":0}"#)
    world.settle()
    #expect(mika.types() == ["subscribed", "message", "live"])
    check(world)
  }

  @Test("a followed session is not evicted; another one is unavailable until one of them is left")
  func allInUse() {
    let world = World(sessionsMax: 2)
    let sessions = (0..<3).map { _ in world.makeSession(entries: 1) }
    let mika = world.member("operator", sessions[0])
    mika.send(#"{"type":"subscribe","ref":"s","session":"\#(sessions[1])"}"#)
    world.settle()
    _ = mika.texts()
    mika.send(#"{"type":"subscribe","ref":"third","session":"\#(sessions[2])"}"#)
    world.settle()
    let refused = mika.texts()
    #expect(refused.map { field("code", of: $0) } == ["unavailable"])
    #expect(refused.map { field("retry", of: $0) } == ["true"])
    #expect(sessions.map { isLoaded(world, $0) } == [true, true, false])
    mika.send(#"{"type":"unsubscribe","ref":"u","session":"\#(sessions[0])"}"#)
    mika.send(#"{"type":"subscribe","ref":"third","session":"\#(sessions[2])"}"#)
    world.settle()
    #expect(mika.types() == ["ok", "subscribed", "message", "live"])
    #expect(sessions.map { isLoaded(world, $0) } == [false, true, true])
    check(world)
  }

  @Test("a session stays in its owner's memory while another loop follows it")
  func followed() {
    let world = World(loops: 2, sessionsMax: 2)
    let far = (0..<3).map { _ in world.makeSession(entries: 1, ownedBy: 1) }
    let mika = world.member("operator", far[0], loop: 0)
    let noor = world.member("operator", loop: 1)
    #expect(mika.loop == 0)
    visit(world, noor, far[1])
    visit(world, noor, far[2])
    #expect(far.map { isLoaded(world, $0, loop: 1) } == [true, false, true])
    // On the following loop it is evicted for another one, which unfollows it at its owner.
    mika.send(#"{"type":"unsubscribe","ref":"u","session":"\#(far[0])"}"#)
    let near = (0..<2).map { _ in world.makeSession(entries: 1, ownedBy: 0) }
    for session in near { visit(world, mika, session) }
    #expect(!isLoaded(world, far[0], loop: 0))
    visit(world, noor, far[1])
    visit(world, noor, far[2])
    #expect(far.map { isLoaded(world, $0, loop: 1) } == [false, true, true])
    check(world)
    // Loaded again on both loops, it gets new messages.
    _ = mika.texts()
    mika.send(#"{"type":"subscribe","ref":"s","session":"\#(far[0])","after":1}"#)
    world.settle()
    noor.send(#"{"type":"subscribe","ref":"s","session":"\#(far[0])","after":1}"#)
    world.settle()
    noor.post("news", to: far[0])
    world.commit()
    #expect(mika.texts().filter { field("type", of: $0) == "message" }.count == 1)
    check(world)
  }

  @Test("a session may be evicted with messages in flight, which later subscribers receive once")
  func batchUnderWay() {
    let world = World(sessionsMax: 1)
    let session = world.makeSession(entries: 2)
    let other = world.makeSession()
    let mika = world.member("operator", session)
    _ = mika.texts()
    mika.post("in flight", to: session)
    mika.send(#"{"type":"unsubscribe","ref":"u","session":"\#(session)"}"#)
    visit(world, mika, other)
    #expect(!isLoaded(world, session))
    // It is loading again when the batch commits.
    mika.send(#"{"type":"subscribe","ref":"s","session":"\#(session)","after":2}"#)
    world.commit()
    let received = mika.texts()
    #expect(
      received.filter { field("type", of: $0) == "message" }.map { field("seq", of: $0) } == ["3"])
    #expect(received.count(where: { field("type", of: $0) == "ack" }) == 1)
    check(world)
  }

  @Test("unstored marks keep their session in memory")
  func unstoredMarks() {
    let world = World(sessionsMax: 1)
    let session = world.makeSession(entries: 5)
    let other = world.makeSession()
    let mika = world.member("operator", session)
    world.isStoreUp = false
    mika.send(#"{"type":"read","session":"\#(session)","seq":4}"#)
    mika.send(#"{"type":"unsubscribe","ref":"u","session":"\#(session)"}"#)
    world.settle()
    for _ in 0..<20 {
      world.advance(milliseconds: 500)
      world.settle()
    }
    #expect(world.storedMarks.isEmpty)
    _ = mika.texts()
    mika.send(#"{"type":"subscribe","ref":"s","session":"\#(other)"}"#)
    world.settle()
    #expect(mika.texts().map { field("code", of: $0) } == ["unavailable"])
    #expect(isLoaded(world, session))
    world.isStoreUp = true
    for _ in 0..<4 {
      world.settle()
      world.advance(milliseconds: 500)
    }
    world.settle()
    #expect(world.storedMarks.map(\.mark.read) == [4])
    visit(world, mika, other)
    #expect(!isLoaded(world, session))
  }

  @Test("a mark that was not stored is stored again with its new value, once a second")
  func marksAgain() {
    let world = World()
    let session = world.makeSession(entries: 9)
    let mika = world.member("operator", session)
    let ada = world.member("visitor", session)
    mika.send(#"{"type":"read","session":"\#(session)","seq":3}"#)
    ada.send(#"{"type":"delivered","session":"\#(session)","seq":2}"#)
    // The write fails, though the store answers.
    world.failsMarks = true
    world.advance(milliseconds: 1_000)
    world.settle()
    #expect(world.storedMarks.isEmpty)
    mika.send(#"{"type":"read","session":"\#(session)","seq":7}"#)
    world.failsMarks = false
    world.advance(milliseconds: 500)
    world.settle()
    #expect(world.storedMarks.isEmpty)
    world.advance(milliseconds: 500)
    world.settle()
    #expect(
      Set(world.storedMarks.map { "\($0.mark.person.role.text) \($0.mark.read)" })
        == ["operator 7", "visitor 0"])
    #expect(world.storedMarks.map(\.mark.delivered).sorted() == [2, 7])
    world.advance(milliseconds: 2_000)
    world.settle()
    #expect(world.storedMarks.count == 2)
  }

  @Test("the candidates for an eviction are limited")
  func candidates() {
    let count = Limits.evictionCandidates
    let world = World(sessionsMax: count + 1)
    let mika = world.member("operator")
    let busy = (0..<count).map { _ in world.makeSession(entries: 1) }
    for session in busy {
      mika.send(#"{"type":"subscribe","ref":"s","session":"\#(session)"}"#)
      world.settle()
      mika.send(#"{"type":"read","session":"\#(session)","seq":1}"#)
      mika.send(#"{"type":"unsubscribe","ref":"u","session":"\#(session)"}"#)
    }
    let free = world.makeSession()
    visit(world, mika, free)
    _ = mika.texts()
    let another = world.makeSession()
    mika.send(#"{"type":"subscribe","ref":"s","session":"\#(another)"}"#)
    world.settle()
    #expect(mika.texts().map { field("code", of: $0) } == ["unavailable"])
    // Their marks are stored a second later.
    world.advance(milliseconds: 1_000)
    world.settle()
    visit(world, mika, another)
    #expect(isLoaded(world, another))
    #expect(!isLoaded(world, busy[0]))
  }

  @Test(
    "subscribes and commands wait for a loading session, up to their limits")
  func waiting() {
    let world = World()
    let session = world.makeSession(entries: 1)
    let lines = Array(
      repeating: #"{"type":"subscribe","ref":"s","session":"\#(session)"}"#,
      count: Limits.commandsBurst - 100)
    // Every client has its `welcome`.
    let clients = (0...Limits.waitingSubscribes / lines.count).map { _ in world.member("operator") }
    for client in clients { _ = client.texts() }
    for client in clients { client.send(lines.joined(separator: "\n")) }
    let last = clients[clients.count - 1]
    let first = clients[0]
    for number in 0...Limits.inFlight { first.post("message \(number)", to: session) }
    world.settle()
    world.commit()
    let refused = last.texts().filter { field("code", of: $0) == "unavailable" }
    #expect(refused.count == clients.count * lines.count - Limits.waitingSubscribes)
    let received = first.texts()
    #expect(received.count(where: { field("type", of: $0) == "subscribed" }) == lines.count)
    #expect(received.count(where: { field("type", of: $0) == "ack" }) == Limits.inFlight)
    #expect(received.count(where: { field("code", of: $0) == "rate_limited" }) == 1)
    #expect(
      received.filter { field("type", of: $0) == "message" }.map { field("seq", of: $0) }
        == (1...Limits.inFlight + 1).map { "\($0)" })
  }
}
