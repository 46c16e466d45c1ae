import Chat
import Engine
import Primitives
import Testing

@Suite("Presence and queue positions")
struct PresenceTests {
  private func of(_ type: String, _ texts: [String]) -> [String] {
    texts.filter { field("type", of: $0) == type }
  }

  /// A function, since `#expect` would copy the engine.
  private func news(_ world: World, _ loop: Int) -> [WorkspaceNews] {
    world.loops[loop].engine.effects.takeNews()
  }

  private func operators(
    _ world: World, _ loop: Int
  ) -> [(workspace: Identifier, operator: Identifier)] {
    OperatorAbsence.operators(ofVisitorsOf: world.loops[loop].engine)
  }

  private func colleague(_ world: World) {
    world.members["colleague"] = Member(
      person: Person(role: .operator_, id: Identifier(high: 0xC, low: 2), name: Array("Ivo".utf8)),
      workspace: world.workspace, sessions: [],
      expiresAt: WallTime(microseconds: world.wall.microseconds + 3_600_000_000))
  }

  @Test("operators who view a session see each other across loops")
  func collision() {
    let world = World(loops: 3)
    colleague(world)
    let session = world.makeSession(ownedBy: 1)
    let mika = world.member("operator", session, loop: 0)
    let ivo = world.member("colleague", session, loop: 2)
    mika.send(#"{"type":"viewing","session":"\#(session)","active":true}"#)
    world.settle()
    // Ivo has not sent `viewing`, so they receive nothing. Mika receives that the visitor is
    // offline.
    #expect(of("presence", ivo.texts()).isEmpty)
    #expect(of("presence", mika.texts()).map { field("online", of: $0) } == ["false"])

    ivo.send(#"{"type":"viewing","session":"\#(session)","active":true}"#)
    world.settle()
    let found = of("presence", ivo.texts())
    #expect(found.map { field("name", of: $0) } == ["Ada", "Mika"])
    #expect(found.map { field("viewing", of: $0) } == ["", "true"])
    let received = of("presence", mika.texts())
    #expect(received.map { field("name", of: $0) } == ["Ivo"])
    #expect(received.map { field("viewing", of: $0) } == ["true"])

    ivo.send([0x88, 0x80, 0, 0, 0, 0])
    world.loops[2].engine.connections.peerEnded(ivo.connection.index)
    _ = world.loops[2].engine.release(ivo.connection.index)
    world.settle()
    #expect(of("presence", mika.texts()).map { field("viewing", of: $0) } == ["false"])
  }

  @Test("an operator with two windows is one viewer until the second one leaves")
  func twoWindows() {
    let world = World()
    colleague(world)
    let session = world.makeSession()
    let mika = world.member("operator", session)
    mika.send(#"{"type":"viewing","session":"\#(session)","active":true}"#)
    let windows = [world.member("colleague", session), world.member("colleague", session)]
    for window in windows {
      window.send(#"{"type":"viewing","session":"\#(session)","active":true}"#)
    }
    _ = mika.texts()
    windows[0].send(#"{"type":"viewing","session":"\#(session)","active":false}"#)
    #expect(of("presence", mika.texts()).isEmpty)
    windows[1].send(#"{"type":"viewing","session":"\#(session)","active":false}"#)
    #expect(of("presence", mika.texts()).map { field("viewing", of: $0) } == ["false"])
  }

  @Test("a viewer receives whether the visitor is online; the visitor receives no presence")
  func online() {
    let world = World(loops: 2)
    let session = world.makeSession(ownedBy: 1)
    let mika = world.member("operator", session, loop: 0)
    mika.send(#"{"type":"viewing","session":"\#(session)","active":true}"#)
    world.settle()
    _ = mika.texts()
    let visitor = world.member("visitor", session)
    #expect(of("presence", mika.texts()).map { field("online", of: $0) } == ["true"])
    #expect(of("presence", visitor.texts()).isEmpty)
    visitor.send(#"{"type":"viewing","ref":1,"session":"\#(session)","active":true}"#)
    #expect(visitor.texts().map { field("code", of: $0) } == ["forbidden"])
    visitor.send(#"{"type":"unsubscribe","ref":2,"session":"\#(session)"}"#)
    world.settle()
    #expect(of("presence", mika.texts()).map { field("online", of: $0) } == ["false"])
  }

  @Test("the viewers of a session are limited")
  func viewersMax() {
    let world = World()
    let session = world.makeSession()
    for number in 1...(Limits.viewers + 4) {
      world.members["o\(number)"] = Member(
        person: Person(
          role: .operator_, id: Identifier(high: 0xC, low: UInt64(number)), name: Array("O".utf8)),
        workspace: world.workspace, sessions: [],
        expiresAt: WallTime(microseconds: world.wall.microseconds + 3_600_000_000))
      world.member("o\(number)", session)
        .send(#"{"type":"viewing","session":"\#(session)","active":true}"#)
    }
    let last = world.member("operator", session)
    last.send(#"{"type":"viewing","session":"\#(session)","active":true}"#)
    #expect(
      of("presence", last.texts()).count { field("viewing", of: $0) == "true" } == Limits.viewers)
  }

  @Test("a waiting visitor receives each new position, and the end of the wait")
  func queuePosition() throws {
    let world = World(loops: 2)
    let session = world.makeSession(ownedBy: 1)
    let visitor = world.member("visitor", session)
    #expect(
      news(world, 1) == [
        WorkspaceNews(
          workspace: world.workspace, session: session, kind: .positionSubscribers(true))
      ])
    let line = Identifier(high: 0xE, low: 1)
    func update(_ position: Int64?, place: Int64? = 20_000) -> [String] {
      world.loops[1].engine.deliver(
        .queue(
          QueueUpdate(
            workspace: world.workspace,
            places: position.map { [session: .init(position: $0, line: line)] } ?? [:],
            placeMilliseconds: place.map { [line: $0, world.workspace: 1] } ?? [:])))
      return of("queue", visitor.texts())
    }
    // No position is sent before the first one.
    #expect(update(nil).isEmpty)
    let third = update(3)
    #expect(third.map { field("position", of: $0) } == ["3"])
    #expect(third.map { field("wait_ms", of: $0) } == ["60000"])
    #expect(update(3).isEmpty)
    #expect(update(3, place: 30_000).map { field("wait_ms", of: $0) } == ["90000"])
    #expect(update(3, place: 30_000).isEmpty)
    #expect(update(1, place: nil).map { field("wait_ms", of: $0) } == ["null"])

    var stored = try #require(world.database[session])
    stored.snapshot.status = .active
    stored.snapshot.assignee = world.clerk
    world.database[session] = stored
    world.loops[1].engine.changed(session)
    world.settle()
    #expect(update(nil).map { field("position", of: $0) } == ["0"])
    // No subscriber is left, so this loop needs no updates.
    #expect(news(world, 1).map(\.kind) == [.positionSubscribers(false)])

    stored.snapshot.status = .waiting
    stored.snapshot.assignee = nil
    world.database[session] = stored
    world.loops[1].engine.changed(session)
    world.settle()
    #expect(news(world, 1).map(\.kind) == [.positionSubscribers(true)])
    #expect(update(1).map { field("position", of: $0) } == ["1"])
  }

  @Test("a visitor receives that the operator is away, at once, at a later subscription, and back")
  func absence() throws {
    let world = World(loops: 2)
    let session = world.makeSession(ownedBy: 1)
    var stored = try #require(world.database[session])
    stored.snapshot.status = .active
    stored.snapshot.assignee = world.clerk
    world.database[session] = stored
    let visitor = world.member("visitor", session)
    let mika = world.member("operator", session, loop: 1)
    _ = (visitor.texts(), mika.texts())
    let held = operators(world, 1)
    #expect(held.map(\.operator) == [world.clerk.id])
    #expect(operators(world, 0).isEmpty)
    func tell(_ isAway: Bool) -> [String] {
      OperatorAbsence.show(isAway ? held : [], in: &world.loops[1].engine)
      return of("presence", visitor.texts()).map { field("online", of: $0) }
    }
    #expect(tell(false).isEmpty, "nothing has changed")
    #expect(tell(true) == ["false"])
    #expect(tell(true).isEmpty)
    #expect(of("presence", mika.texts()).isEmpty)
    let second = world.member("visitor", session)
    #expect(of("presence", second.texts()).map { field("online", of: $0) } == ["false"])
    #expect(tell(false) == ["true"])
    // Another operator takes over while the first one is away.
    #expect(tell(true) == ["false"])
    colleague(world)
    stored.snapshot.assignee = try #require(world.members["colleague"]?.person)
    world.database[session] = stored
    world.loops[1].engine.changed(session)
    world.settle()
    _ = visitor.texts()
    #expect(operators(world, 1).map(\.operator) != held.map(\.operator))
    #expect(tell(false).isEmpty, "the visitor knows that from the change of the operator")
  }

  @Test("the list gets a row with a read mark after the mark was stored, too")
  func rowOfStoredMark() {
    let world = World()
    let session = world.makeSession(entries: 3)
    let mika = world.member("operator", session)
    mika.send(#"{"type":"watch","ref":"w","inbox":true}"#)
    mika.send(#"{"type":"delivered","session":"\#(session)","seq":1}"#)
    func rows(after milliseconds: Int64) -> Int {
      world.advance(milliseconds: milliseconds)
      world.settle()
      return of("inbox", mika.texts()).count
    }
    _ = rows(after: 500)
    #expect(world.storedMarks.count == 1)
    mika.send(#"{"type":"read","session":"\#(session)","seq":3}"#)
    // The next mark of the session is stored a second after the one before.
    #expect(rows(after: Limits.inboxIntervalMilliseconds) == 1)
    #expect(world.storedMarks.count == 1)
    _ = rows(after: Limits.markIntervalMilliseconds)
    #expect(world.storedMarks.count == 2)
    #expect(rows(after: Limits.inboxIntervalMilliseconds) == 1)
    #expect(rows(after: 5_000) == 0)
  }

  @Test("the operators that are looked up are limited, and each is listed once")
  func heldOperators() throws {
    let world = World()
    for number in 0..<(Limits.heldOperators + 3) {
      let session = world.makeSession()
      var stored = try #require(world.database[session])
      stored.snapshot.status = .active
      // The first two conversations have the same operator.
      stored.snapshot.assignee = Person(
        role: .operator_, id: Identifier(high: 0xC, low: UInt64(max(1, number))), name: [])
      world.database[session] = stored
      _ = world.member("visitor", session)
      if number == 1 { #expect(operators(world, 0).count == 1) }
    }
    #expect(operators(world, 0).count == Limits.heldOperators)
  }

  @Test("an operator who stops watching is reported once, unless another console watches")
  func departure() {
    let world = World()
    func taken(_ engine: inout Engine) -> Int {
      engine.inbox.takeDepartures(engine.connections).count
    }
    func gone() -> Int { taken(&world.loops[0].engine) }
    let consoles = [world.member("operator"), world.member("operator")]
    for console in consoles { console.send(#"{"type":"watch","ref":1,"inbox":true}"#) }
    #expect(gone() == 0)
    consoles[0].send(#"{"type":"watch","ref":2,"inbox":false}"#)
    #expect(gone() == 0)
    consoles[1].send(#"{"type":"watch","ref":3,"inbox":false}"#)
    #expect(gone() == 1 && gone() == 0)
    for _ in 0..<(Limits.departedOperators + 9) {
      consoles[0].send(#"{"type":"watch","ref":1,"inbox":true}"#)
      consoles[0].send(#"{"type":"watch","ref":2,"inbox":false}"#)
      world.advance(milliseconds: 100)
      _ = consoles[0].texts()
    }
    #expect(gone() == Limits.departedOperators)
  }

  @Test("a first message is announced to all, later ones only for workspaces with listeners")
  func news() {
    let world = World()
    let session = world.makeSession()
    let visitor = world.member("visitor", session)
    _ = news(world, 0)
    visitor.post("one", to: session)
    world.commit()
    #expect(news(world, 0).map(\.kind) == [.waits])
    visitor.post("two", to: session)
    world.commit()
    #expect(news(world, 0).isEmpty)
    world.loops[0].engine.listeners = [world.workspace]
    visitor.post("three", to: session)
    world.commit()
    #expect(news(world, 0).map(\.kind) == [.wrote(seq: 3)])
  }

  @Test("a visitor's message to a session that is not in memory is announced")
  func unloadedNews() {
    let world = World()
    let session = world.makeSession()
    world.loops[0].engine.listeners = [world.workspace]
    func write(_ role: Role) {
      let origin = Origin(loop: 0, index: 0, generation: 0, isRequest: true, ref: .none)
      let record = Record(
        workspace: world.workspace, session: session, id: world.makeID(), role: role, kind: .text,
        sender: world.visitor.id, origin: origin)
      world.loops[0].engine.append(
        AppendMail(record: record, senderName: [], body: Array("over REST".utf8), payload: []))
      world.commit()
    }
    write(.visitor)
    #expect(news(world, 0).map(\.kind) == [.waits, .wrote(seq: 1)])
    write(.visitor)
    #expect(news(world, 0).map(\.kind) == [.wrote(seq: 2)])
    write(.bot)
    #expect(news(world, 0).isEmpty)
    #expect(world.loops[0].engine.sessions.count == 0)
  }

  @Test(
    "operators who watch the inbox are present, and their availability is stored")
  func availability() {
    let world = World()
    colleague(world)
    let mika = world.member("operator")
    func here() -> [Identifier] {
      world.loops[0].engine.inbox.operators(world.loops[0].engine.connections).map(\.operator)
    }
    #expect(here() == [])
    for _ in 1...2 {
      world.member("operator").send(#"{"type":"watch","ref":1,"inbox":true}"#)
    }
    #expect(here() == [world.clerk.id])
    let hasCome = world.loops[0].engine.inbox.takeNewOperators()
    let hasComeAgain = world.loops[0].engine.inbox.takeNewOperators()
    #expect(hasCome && !hasComeAgain)

    mika.send(#"{"type":"available","ref":7,"available":false}"#)
    world.settle()
    #expect(world.availability == [world.clerk.id: false])
    #expect(mika.texts().suffix(1).map { field("ref", of: $0) } == ["7"])
    mika.send(#"{"type":"available","ref":8,"available":true}"#)
    world.settle()
    #expect(mika.types() == ["ok"])
    #expect(news(world, 0).map(\.kind) == [.operators])
    mika.send(#"{"type":"available","ref":9}"#)
    #expect(mika.texts().map { field("code", of: $0) } == ["bad_frame"])
    world.isStoreUp = false
    mika.send(#"{"type":"available","ref":10,"available":true}"#)
    world.settle()
    #expect(mika.texts().map { field("code", of: $0) } == ["unavailable"])
  }
}
