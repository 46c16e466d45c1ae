import Chat
import Engine
import Primitives
import Testing
import Wire

/// A loop holds so many sessions in memory as its configuration says. Those that nobody follows
/// leave, the longest unused first, and come back when somebody asks.
@Suite("Sessions in memory")
struct WarmSessionsTests {
  private func isWarm(_ world: World, _ session: Identifier, loop: Int = 0) -> Bool {
    world.loops[loop].engine.sessions.workspace(of: session) != nil
  }

  private func visit(_ world: World, _ client: Client, _ session: Identifier) {
    client.say(#"{"type":"subscribe","ref":"s","session":"\#(session)"}"#)
    world.settle()
    client.say(#"{"type":"unsubscribe","ref":"u","session":"\#(session)"}"#)
    world.settle()
    check(world)
  }

  private func check(_ world: World) {
    for loop in world.loops {
      let text = loop.engine.inconsistency()
      #expect(text == nil)
    }
  }

  @Test("the one that nobody has followed for the longest time leaves")
  func leastRecentlyUsed() {
    let world = World(sessionsMax: 3)
    let sessions = (0..<4).map { _ in world.makeSession(entries: 1) }
    let mika = world.member("operator")
    for session in sessions[0..<3] { visit(world, mika, session) }
    visit(world, mika, sessions[0])
    visit(world, mika, sessions[3])
    #expect(sessions.map { isWarm(world, $0) } == [true, false, true, true])
    let counters = world.loops[0].engine.counters
    #expect(counters.sessionLoads == 4)
    #expect(counters.sessionEvictions == 1)
    // It comes back as it was.
    _ = mika.texts()
    mika.say(#"{"type":"subscribe","ref":"s","session":"\#(sessions[1])","after":0}"#)
    world.settle()
    #expect(mika.types() == ["subscribed", "message", "live"])
    check(world)
  }

  @Test("what is followed stays: one session more is told to come again, and may when one leaves")
  func allInUse() {
    let world = World(sessionsMax: 2)
    let sessions = (0..<3).map { _ in world.makeSession(entries: 1) }
    let mika = world.member("operator", sessions[0])
    mika.say(#"{"type":"subscribe","ref":"s","session":"\#(sessions[1])"}"#)
    world.settle()
    _ = mika.texts()
    mika.say(#"{"type":"subscribe","ref":"third","session":"\#(sessions[2])"}"#)
    world.settle()
    let refused = mika.texts()
    #expect(refused.map { field("code", of: $0) } == ["unavailable"])
    #expect(refused.map { field("retry", of: $0) } == ["true"])
    #expect(sessions.map { isWarm(world, $0) } == [true, true, false])
    mika.say(#"{"type":"unsubscribe","ref":"u","session":"\#(sessions[0])"}"#)
    mika.say(#"{"type":"subscribe","ref":"third","session":"\#(sessions[2])"}"#)
    world.settle()
    #expect(mika.types() == ["ok", "subscribed", "message", "live"])
    #expect(sessions.map { isWarm(world, $0) } == [false, true, true])
    check(world)
  }

  @Test("a session that another loop follows stays with its owner until that loop lets it go")
  func followed() {
    let world = World(loops: 2, sessionsMax: 2)
    let far = (0..<3).map { _ in world.makeSession(entries: 1, ownedBy: 1) }
    let mika = world.member("operator", far[0], loop: 0)
    let noor = world.member("operator", loop: 1)
    #expect(mika.loop == 0)
    visit(world, noor, far[1])
    visit(world, noor, far[2])
    #expect(far.map { isWarm(world, $0, loop: 1) } == [true, false, true])
    // On the follower's loop it leaves for another one, and its owner hears of it.
    mika.say(#"{"type":"unsubscribe","ref":"u","session":"\#(far[0])"}"#)
    let near = (0..<2).map { _ in world.makeSession(entries: 1, ownedBy: 0) }
    for session in near { visit(world, mika, session) }
    #expect(!isWarm(world, far[0], loop: 0))
    visit(world, noor, far[1])
    visit(world, noor, far[2])
    #expect(far.map { isWarm(world, $0, loop: 1) } == [false, true, true])
    check(world)
    // Loaded again on both, it hears what is new.
    _ = mika.texts()
    mika.say(#"{"type":"subscribe","ref":"s","session":"\#(far[0])","after":1}"#)
    world.settle()
    noor.say(#"{"type":"subscribe","ref":"s","session":"\#(far[0])","after":1}"#)
    world.settle()
    noor.post("news", to: far[0])
    world.commit()
    #expect(mika.texts().filter { field("type", of: $0) == "message" }.count == 1)
    check(world)
  }

  @Test("a session may leave while its messages are on their way, and whoever comes gets them once")
  func batchUnderWay() {
    let world = World(sessionsMax: 1)
    let session = world.makeSession(entries: 2)
    let other = world.makeSession()
    let mika = world.member("operator", session)
    _ = mika.texts()
    mika.post("on its way", to: session)
    mika.say(#"{"type":"unsubscribe","ref":"u","session":"\#(session)"}"#)
    visit(world, mika, other)
    #expect(!isWarm(world, session))
    // Loading again when the batch commits.
    mika.say(#"{"type":"subscribe","ref":"s","session":"\#(session)","after":2}"#)
    world.commit()
    let heard = mika.texts()
    #expect(
      heard.filter { field("type", of: $0) == "message" }.map { field("seq", of: $0) } == ["3"])
    #expect(heard.count(where: { field("type", of: $0) == "ack" }) == 1)
    check(world)
  }

  @Test("marks that are not stored keep their session in memory until they are")
  func unstoredMarks() {
    let world = World(sessionsMax: 1)
    let session = world.makeSession(entries: 5)
    let other = world.makeSession()
    let mika = world.member("operator", session)
    world.isStoreUp = false
    mika.say(#"{"type":"read","session":"\#(session)","seq":4}"#)
    mika.say(#"{"type":"unsubscribe","ref":"u","session":"\#(session)"}"#)
    world.settle()
    for _ in 0..<20 {
      world.advance(milliseconds: 500)
      world.settle()
    }
    #expect(world.storedMarks.isEmpty)
    _ = mika.texts()
    mika.say(#"{"type":"subscribe","ref":"s","session":"\#(other)"}"#)
    world.settle()
    #expect(mika.texts().map { field("code", of: $0) } == ["unavailable"])
    #expect(isWarm(world, session))
    world.isStoreUp = true
    for _ in 0..<4 {
      world.settle()
      world.advance(milliseconds: 500)
    }
    world.settle()
    #expect(world.storedMarks.map(\.mark.read) == [4])
    visit(world, mika, other)
    #expect(!isWarm(world, session))
  }

  @Test("a mark whose writing failed is written again, as it is by then, and only once a second")
  func marksAgain() {
    let world = World()
    let session = world.makeSession(entries: 9)
    let mika = world.member("operator", session)
    let ada = world.member("visitor", session)
    mika.say(#"{"type":"read","session":"\#(session)","seq":3}"#)
    ada.say(#"{"type":"delivered","session":"\#(session)","seq":2}"#)
    // The answer is lost, though the store seemed to be there.
    world.failsMarks = true
    world.advance(milliseconds: 1_000)
    world.settle()
    #expect(world.storedMarks.isEmpty)
    mika.say(#"{"type":"read","session":"\#(session)","seq":7}"#)
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

  @Test("of those that could go so many are looked at as the limit says")
  func candidates() {
    let count = Limits.evictionCandidates
    let world = World(sessionsMax: count + 1)
    let mika = world.member("operator")
    let busy = (0..<count).map { _ in world.makeSession(entries: 1) }
    for session in busy {
      mika.say(#"{"type":"subscribe","ref":"s","session":"\#(session)"}"#)
      world.settle()
      mika.say(#"{"type":"read","session":"\#(session)","seq":1}"#)
      mika.say(#"{"type":"unsubscribe","ref":"u","session":"\#(session)"}"#)
    }
    let free = world.makeSession()
    visit(world, mika, free)
    _ = mika.texts()
    let another = world.makeSession()
    mika.say(#"{"type":"subscribe","ref":"s","session":"\#(another)"}"#)
    world.settle()
    #expect(mika.texts().map { field("code", of: $0) } == ["unavailable"])
    // Their marks are stored a second later.
    world.advance(milliseconds: 1_000)
    world.settle()
    visit(world, mika, another)
    #expect(isWarm(world, another))
    #expect(!isWarm(world, busy[0]))
  }

  @Test(
    "commands about a session that loads wait for it, subscribers and commands up to their bounds")
  func waiting() {
    let world = World()
    let session = world.makeSession(entries: 1)
    let lines = Array(
      repeating: #"{"type":"subscribe","ref":"s","session":"\#(session)"}"#,
      count: Limits.commandsBurst - 100)
    // The hello's answer comes without a read.
    let clients = (0...Limits.waitingSubscribes / lines.count).map { _ in world.member("operator") }
    for client in clients { _ = client.texts() }
    for client in clients { client.say(lines.joined(separator: "\n")) }
    let last = clients[clients.count - 1]
    let first = clients[0]
    for number in 0...Limits.inFlight { first.post("message \(number)", to: session) }
    world.settle()
    world.commit()
    let refused = last.texts().filter { field("code", of: $0) == "unavailable" }
    #expect(refused.count == clients.count * lines.count - Limits.waitingSubscribes)
    let heard = first.texts()
    #expect(heard.count(where: { field("type", of: $0) == "subscribed" }) == lines.count)
    #expect(heard.count(where: { field("type", of: $0) == "ack" }) == Limits.inFlight)
    #expect(heard.count(where: { field("code", of: $0) == "rate_limited" }) == 1)
    #expect(
      heard.filter { field("type", of: $0) == "message" }.map { field("seq", of: $0) }
        == (1...Limits.inFlight + 1).map { "\($0)" })
  }
}
