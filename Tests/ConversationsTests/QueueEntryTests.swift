/// A conversation enters the queue with its first message, however it was opened.
import Conversations
import Directory
import DomainFixtures
import Postgres
import Primitives
import Testing

@Suite struct QueueEntryTests {
  enum Opening: CaseIterable {
    case anonymous, again, signed, created
  }

  private let context = Array("{}".utf8)

  private func refresh() -> Visit.Refresh {
    Visit.Refresh(hash: Workplace.randomBytes(), expiresAt: Workplace.after(86_400))
  }

  private func open(_ opening: Opening, in place: Workplace) async throws -> Identifier? {
    let new = Visit.Opening(id: Workplace.identifier(), context: context)
    let visitor = Visitor(id: Workplace.identifier(), name: "")
    func begin(_ refresh: Visit.Refresh) async throws -> Identifier? {
      try await place.database.ask(
        Visit.begin(
          visitor: visitor, workspace: place.id, opening: new, refresh: refresh,
          now: Workplace.now)
      )?.session.id
    }
    switch opening {
    case .anonymous: return try await begin(refresh())
    case .again:
      let first = refresh()
      _ = try await begin(first)
      let result = try await place.database.ask(
        Visit.resume(
          presented: first.hash, workspace: place.id, wanted: nil, isNewWanted: true,
          opening: Visit.Opening(id: Workplace.identifier(), context: context),
          refresh: refresh(), now: Workplace.now))
      guard case .resumed(let visit) = result else { return nil }
      return visit.session.id
    case .signed:
      let result = try await place.database.ask(
        Visit.identified(
          SignedIdentity(externalID: "b", name: "Ada", email: nil), visitor: visitor.id,
          workspace: place.id, isNewWanted: false, opening: new, refresh: refresh(),
          family: Workplace.identifier(), now: Workplace.now))
      guard case .resumed(let visit) = result else { return nil }
      return visit.session.id
    case .created: return try await place.conversation()
    }
  }

  @Test("a silent conversation has no position and is not assigned", arguments: Opening.allCases)
  func entry(opening: Opening) async throws {
    let place = try await Workplace()
    try await place.set(queue: #"{"assign":"least_busy"}"#)
    try await place.present([place.mika])
    let session = try #require(try await open(opening, in: place))
    let silent = try await place.read(session)
    #expect(silent.status == "waiting" && silent.waitingSince == nil)
    #expect(silent.queuePosition == nil)
    #expect(try await place.isAssignmentDue() == false)
    #expect(try await place.assignNext() == .nothing)
    #expect(try await place.positions().isEmpty)

    await place.say("hello", in: session)
    let waiting = try await place.read(session)
    #expect(waiting.waitingSince == waiting.lastAt)
    #expect(waiting.queuePosition == 1)
    #expect(try await place.positions() == [session])
    #expect(try await place.isAssignmentDue())
    await place.say("still here", in: session)
    #expect(try await place.read(session).waitingSince == waiting.waitingSince)
    #expect(try await place.assignNext() != .nothing)
  }

  @Test("an erased conversation leaves the queue")
  func erased() async throws {
    let place = try await Workplace()
    let session = try await place.conversation(messages: ["hello"])
    _ = try await place.database.ask(VisitorData.eraseSession(session, workspace: place.id))
    #expect(try await place.read(session).waitingSince == nil)
    #expect(try await place.positions().isEmpty)
    #expect(try await place.claim() == nil)
  }

  @Test("all readers agree on the order, with equal times too")
  func order() async throws {
    let place = try await Workplace()
    try await place.present([place.mika])
    var sessions: [Identifier] = []
    for number in 0..<6 {
      sessions.append(try await place.conversation(messages: ["hello \(number)"]))
    }
    // Pairs of equal times, the last first.
    for (number, session) in sessions.enumerated() {
      _ = try await place.database.run(
        Query(
          "UPDATE chat_sessions SET waiting_since = $2::timestamptz WHERE id = $1::uuid",
          [.uuid(session), .time(Workplace.after(Int64(-number / 2)))]))
    }
    let expected = sessions.enumerated()
      .sorted {
        (-($0.offset / 2), $0.element.description) < (-($1.offset / 2), $1.element.description)
      }
      .map(\.element)
    #expect(try await place.positions() == expected)
    var list = ConversationList(limit: 10)
    list.status = "waiting"
    #expect(try await place.database.ask(list.page(of: place.id)).map(\.id) == expected)
    for (number, session) in expected.enumerated() {
      #expect(try await place.read(session).queuePosition == Int64(number + 1))
    }
    try await place.set(queue: #"{"capacity":9}"#)
    for session in expected { #expect(try await place.claim()?.session == session) }
  }
}
