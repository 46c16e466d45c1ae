import Chat
import Engine
import Primitives
import Testing
import Wire

@Suite("A conversation through one loop")
struct ConversationTests {
  @Test("hello with a valid token is answered by welcome with the same ref")
  func hello() {
    let world = World()
    _ = world.makeSession()
    let client = world.member("visitor")
    let texts = client.texts()
    #expect(texts.map { field("type", of: $0) } == ["welcome"])
    #expect(field("ref", of: texts[0]) == "h")
  }

  @Test("an invalid token is refused with unauthenticated and close code 4203")
  func badToken() {
    let world = World()
    let client = world.connect()
    client.send(#"{"type":"hello","token":"nonsense"}"#)
    world.settle()
    let received = client.receive()
    #expect(received.count == 2)
    if case .text(let text) = received[0] { #expect(field("code", of: text) == "unauthenticated") }
    #expect(received[1] == .close(4203))
  }

  @Test("a command before hello closes with 4203")
  func commandBeforeHello() {
    let world = World()
    let client = world.connect()
    client.send(#"{"type":"typing","session":"x"}"#)
    let received = client.receive()
    #expect(received.last != nil)
    client.send(#"{"type":"watch","ref":1,"inbox":true}"#)
    #expect(client.receive().last == .close(4203))
  }

  @Test("commands pipelined after hello are performed after it, in order")
  func pipelined() {
    let world = World()
    let session = world.makeSession(entries: 2)
    let client = world.connect()
    client.send(
      #"{"type":"hello","ref":1,"token":"visitor","#
        + #""subscribe":[{"session":"\#(session)","after":1}]}"# + "\n"
        + #"{"type":"read","session":"\#(session)","seq":1}"#)
    client.send(#"{"type":"nonsense","ref":2}"#)
    world.settle()
    let types = client.types()
    #expect(types.first == "welcome")
    #expect(types.contains("subscribed"))
    #expect(types.contains("message"))
    #expect(types.contains("error"))
  }

  @Test("a send after its own subscribe waits until the session has loaded")
  func sendBehindSubscribe() {
    let world = World()
    let session = world.makeSession(entries: 1)
    let ada = world.member("visitor")
    _ = ada.texts()
    ada.send(#"{"type":"subscribe","ref":1,"session":"\#(session)","after":0}"#)
    for number in 0..<(Limits.inFlight + 1) { ada.post("\(number)", to: session, ref: number) }
    world.settle()
    world.commit()
    let received = ada.texts()
    #expect(received.filter { field("type", of: $0) == "ack" }.count == Limits.inFlight)
    #expect(received.filter { field("code", of: $0) == "rate_limited" }.count == 1)
    #expect(
      received.filter { field("type", of: $0) == "message" }.map { field("seq", of: $0) }
        == (1...Limits.inFlight + 1).map { "\($0)" })
    ada.send(#"{"type":"subscribe","ref":1,"session":"\#(world.makeID())"}"#)
    #expect(ada.texts().map { field("code", of: $0) } == ["no_such_session"])
  }

  @Test("an ack and the message are sent once, after the commit")
  func ackAfterCommit() {
    let world = World()
    let session = world.makeSession()
    let ada = world.member("visitor", session)
    let mika = world.member("operator", session)
    _ = ada.texts()
    _ = mika.texts()
    let id = world.makeID()
    ada.post("hello", to: session, id: id, ref: 7)
    world.settle()
    #expect(ada.texts().isEmpty)
    #expect(mika.texts().isEmpty)
    world.commit()
    let received = ada.texts()
    #expect(received.map { field("type", of: $0) } == ["ack", "message"])
    #expect(field("seq", of: received[0]) == "1")
    #expect(field("ref", of: received[0]) == "7")
    let shown = mika.texts()
    #expect(shown.map { field("body", of: $0) } == ["hello"])
    #expect(ada.texts().isEmpty)
  }

  @Test("a repeated id is acked as a duplicate with its seq and not sent to subscribers")
  func duplicate() {
    let world = World()
    let session = world.makeSession()
    let ada = world.member("visitor", session)
    let id = world.makeID()
    let send = #"{"type":"send","ref":1,"session":"\#(session)","id":"\#(id)","body":"once"}"#
    ada.send(send)
    world.commit()
    _ = ada.texts()
    ada.send(send)
    world.commit()
    let again = ada.texts()
    #expect(again.count == 1)
    #expect(field("duplicate", of: again[0]) == "true")
    #expect(field("seq", of: again[0]) == "1")
    ada.post("other", to: session, id: id, ref: 2)
    world.commit()
    #expect(ada.texts().map { field("code", of: $0) } == ["id_conflict"])
  }

  @Test("a subscription after n gets n+1 … head once, then live entries, from database and memory")
  func resume() {
    let world = World()
    let session = world.makeSession(entries: 350)
    let ada = world.member("visitor", session, after: 3)
    var texts = ada.texts()
    #expect(texts.removeFirst().contains("welcome"))
    #expect(field("from", of: texts.removeFirst()) == "4")
    #expect(texts.map { field("seq", of: $0) }.dropLast() == (4...350).map { "\($0)" }[...])
    #expect(field("type", of: texts.last ?? "") == "live")
    ada.post("new", to: session, ref: 1)
    world.commit()
    #expect(ada.texts().map { field("seq", of: $0) } == ["351", "351"])
    let second = world.member("visitor", session, after: 350)
    #expect(
      second.texts().map { field("type", of: $0) } == ["welcome", "subscribed", "message", "live"])
  }

  @Test(
    "a client with another epoch or ahead of the log gets resync and starts from the tail")
  func resync() {
    let world = World()
    let session = world.makeSession(entries: 60)
    let ada = world.member("visitor")
    _ = ada.texts()
    ada.send(#"{"type":"subscribe","ref":1,"session":"\#(session)","after":99}"#)
    world.settle()
    var texts = ada.texts()
    #expect(field("reason", of: texts.removeFirst()) == "ahead")
    #expect(field("from", of: texts.removeFirst()) == "11")
    ada.send(#"{"type":"subscribe","ref":1,"session":"\#(session)","after":60,"epoch":"e0"}"#)
    texts = ada.texts()
    #expect(field("reason", of: texts[0]) == "epoch")
  }

  @Test("a visitor receives a placeholder for a note, so that no seq is missing")
  func notes() {
    let world = World()
    let session = world.makeSession()
    let ada = world.member("visitor", session)
    let mika = world.member("operator", session)
    _ = (ada.texts(), mika.texts())
    mika.post("secret", to: session, kind: "note", ref: 1)
    world.commit()
    #expect(mika.texts().contains { $0.contains("secret") })
    let received = ada.texts()
    #expect(received.map { field("kind", of: $0) } == ["hidden"])
    #expect(!received[0].contains("secret"))
    ada.post("x", to: session, kind: "note", ref: 1)
    #expect(ada.texts().map { field("code", of: $0) } == ["forbidden"])
  }

  @Test("a foreign session is refused like one that does not exist")
  func foreign() {
    let world = World()
    let foreign = world.makeSession(entries: 1)
    _ = world.makeSession()
    let ada = world.member("visitor")
    _ = ada.texts()
    ada.send(#"{"type":"subscribe","ref":1,"session":"\#(foreign)"}"#)
    ada.send(#"{"type":"subscribe","ref":1,"session":"\#(world.makeID())"}"#)
    world.settle()
    let answers = ada.texts()
    #expect(answers.count == 2)
    #expect(answers[0] == answers[1])
  }

  @Test("an operator cannot subscribe to a session of another workspace")
  func foreignWorkspace() {
    let world = World()
    let session = world.makeSession()
    world.members["stranger"] = Member(
      person: Person(role: .operator_, id: world.makeID(), name: []),
      workspace: world.makeID(), sessions: [],
      expiresAt: WallTime(microseconds: world.wall.microseconds + 1_000_000_000))
    let stranger = world.member("stranger", session)
    #expect(stranger.texts().map { field("code", of: $0) } == ["", "no_such_session"])
  }

  @Test("typing is sent to the others, its preview only to operators")
  func typing() {
    let world = World()
    let session = world.makeSession()
    let ada = world.member("visitor", session)
    let tab = world.member("visitor", session)
    let mika = world.member("operator", session)
    _ = (ada.texts(), tab.texts(), mika.texts())
    ada.send(#"{"type":"typing","session":"\#(session)","active":true,"preview":"I am"}"#)
    #expect(ada.texts().isEmpty)
    #expect(tab.texts().map { field("preview", of: $0) } == [""])
    #expect(mika.texts().map { field("preview", of: $0) } == ["I am"])
  }

  @Test("marks only grow, never exceed the head, and are stored once a second")
  func marks() {
    let world = World()
    let session = world.makeSession(entries: 5)
    let ada = world.member("visitor", session)
    let mika = world.member("operator", session)
    _ = (ada.texts(), mika.texts())
    mika.send(#"{"type":"read","session":"\#(session)","seq":3}"#)
    mika.send(#"{"type":"read","session":"\#(session)","seq":2}"#)
    mika.send(#"{"type":"read","session":"\#(session)","seq":99}"#)
    #expect(ada.texts().map { field("read", of: $0) } == ["3", "5"])
    world.advance(milliseconds: 1500)
    world.settle()
    #expect(world.storedMarks.map { $0.mark.read } == [5])
  }
}
