import Chat
import Conversations
import Directory
import DomainFixtures
import Kernel
import Postgres
import Primitives
import Synchronization
import Testing

@testable import Channels

/// What is received, processed, taken and recorded, in a real PostgreSQL.
@Suite(.serialized) struct ChannelDatabaseTests {
  /// What is due is that of all workspaces, so no other suite may use the database.
  private static let database = Result { try Workers.fresh() }

  let place: Workplace
  let sessions: RecordingSessions
  let inbox: ChannelInbox
  let lease = Workplace.identifier()

  init() async throws {
    place = try await Workplace(in: ChannelDatabaseTests.database.get())
    sessions = RecordingSessions(place.database)
    inbox = ChannelInbox(
      database: place.database, sessions: sessions, random: { _ in Workplace.identifier() },
      log: { Issue.record("\($0)") })
    try await run("UPDATE channel_conversations SET due_at = NULL WHERE $1::uuid IS NOT NULL")
  }

  func run(_ statement: SQL, _ more: [Parameter] = []) async throws {
    _ = try await place.database.run(Query(statement, [.uuid(place.id)] + more))
  }

  func number(_ statement: SQL) async throws -> Int64 {
    try await place.database.run(Query(statement, [.uuid(place.id)])).int(0, 0) ?? -1
  }

  func event(
    _ id: String, _ text: String, user: String = "U1", secondsAgo: Int64 = 0
  ) -> ReceivedEvent {
    let milliseconds = SystemClock.wallTime().microseconds / 1_000 - secondsAgo * 1_000
    let payload = """
      {"type":"message","message":{"type":"text","id":"\(id)","text":"\(text)"},
      "timestamp":\(milliseconds),"replyToken":"t-\(id)",
      "source":{"type":"user","userId":"\(user)"},"webhookEventId":"\(id)"}
      """
    return ReceivedEvent(id: id, address: user, payload: Array(payload.utf8))
  }

  func receive(_ events: ReceivedEvent...) async throws -> Int {
    let count = try await place.database.ask(
      ChannelEvents.receive(events, on: "line", in: place.id))
    await inbox.process(in: place.id, now: Workplace.now)
    return count
  }

  func session() async throws -> Identifier {
    let rows = try await place.database.run(
      Query(
        """
        SELECT session_id FROM channel_conversations WHERE workspace_id = $1::uuid
        ORDER BY session_id LIMIT 1
        """, [.uuid(place.id)]))
    return try #require(rows.uuid(0, 0))
  }

  func say(_ session: Identifier, _ body: String, kind: String = "text") async throws {
    _ = await place.database.store(
      session: session, workspace: place.id, id: Workplace.identifier(), role: "operator",
      kind: kind, sender: place.mika.id, name: "Mika", body: Array(body.utf8), payload: nil)
  }

  /// However slow this machine is, the reply token is not old.
  func keepTokenFresh() async throws {
    try await run(
      """
      UPDATE channel_people SET reply_token_at = now() + interval '1 hour'
      WHERE workspace_id = $1::uuid
      """)
  }

  func take() async throws -> [ChannelOutbox.Sending] {
    _ = try await place.database.run(ChannelOutbox.note)
    let rows = try await place.database.run(ChannelOutbox.lock(room: 1_000))
    let locked = (0..<rows.count).compactMap { row in
      rows.uuid(row, 0).flatMap { workspace in rows.uuid(row, 1).map { (workspace, $0) } }
    }
    return ChannelOutbox.sendings(
      try await place.database.run(
        ChannelOutbox.take(locked, lease: lease, leaseMilliseconds: 60_000))
    ).filter { $0.workspace == place.id }
  }

  @Test func eventsAreStoredOnce() async throws {
    #expect(try await receive(event("a", "one"), event("b", "two")) == 2)
    #expect(try await receive(event("a", "one"), event("c", "three")) == 1)
    let session = try await session()
    #expect(
      try await place.log(session).map { String(decoding: $0.body, as: UTF8.self) }
        == ["one", "two", "three"])
    #expect(
      try await number(
        """
        SELECT count(*) FROM channel_events
        WHERE workspace_id = $1::uuid AND result = 'stored' AND payload IS NULL
        """) == 3)
    // Events that a crashed gateway has processed, but not noted.
    try await run(
      "UPDATE channel_events SET processed_at = NULL, payload = '{}' WHERE workspace_id = $1::uuid")
    await inbox.process(in: place.id, now: Workplace.now)
    #expect(try await place.log(session).count == 3)
  }

  @Test func anUnavailableStoreKeepsTheOrder() async throws {
    sessions.scripted.withLock { $0 = .init(verdict: .unavailable) }
    _ = try await receive(event("a", "one"), event("b", "two"), event("x", "other", user: "U2"))
    #expect(
      sessions.appended.withLock { $0.map { String(decoding: $0.body, as: UTF8.self) } }.sorted()
        == ["one", "other"])
    sessions.scripted.withLock { $0 = nil }
    await inbox.process(in: place.id, now: Workplace.now)
    #expect(
      try await number(
        """
        SELECT count(*) FROM channel_events WHERE workspace_id = $1::uuid AND processed_at IS NULL
        """) == 0)
  }

  @Test func theNextMessageWaitsForTheFirst() async throws {
    _ = try await receive(event("a", "hi"))
    try await keepTokenFresh()
    let session = try await session()
    try await say(session, "one")
    try await say(session, "a note", kind: "note")
    try await say(session, "two")
    let first = try await take()
    #expect(first.map(\.message.body) == ["one"])
    #expect(first[0].replyToken == "t-a" && first[0].attempt == 1)
    // It is leased, and so is its conversation.
    #expect(try await take().isEmpty)
    // Another node's outcome does not count.
    _ = try await place.database.run(
      ChannelOutbox.finish(first[0], lease: Workplace.identifier(), reason: nil))
    #expect(try await take().isEmpty)
    _ = try await place.database.run(ChannelOutbox.finish(first[0], lease: lease, reason: nil))
    let second = try await take()
    #expect(second.map(\.message.body) == ["two"])
    #expect(second[0].replyToken == nil)
    _ = try await place.database.run(
      ChannelOutbox.finish(second[0], lease: lease, reason: "LINE answered 400"))
    #expect(try await take().isEmpty)
    #expect(
      try await number(
        "SELECT count(*) FROM channel_deliveries WHERE workspace_id = $1::uuid") == 2)
  }

  @Test func anEndedLeaseIsTakenWithTheSameToken() async throws {
    _ = try await receive(event("a", "hi"))
    try await keepTokenFresh()
    try await say(try await session(), "one")
    _ = try await take()
    try await run(
      "UPDATE channel_conversations SET due_at = now() WHERE workspace_id = $1::uuid")
    let again = try await take()
    #expect(again.first?.replyToken == "t-a" && again.first?.attempt == 2)
    _ = try await place.database.run(
      ChannelOutbox.postpone(
        again[0], lease: lease, reason: "x", milliseconds: 0, dropsToken: true))
    #expect(try await take().first?.replyToken == nil)
  }

  /// A platform that recognises no repeats must not get what it may have.
  @Test func anAttemptWithoutAnOutcomeIsUnknown() async throws {
    _ = try await receive(event("a", "hi"))
    let session = try await session()
    try await say(session, "one")
    #expect(try await take().map(\.isUnknown) == [false])
    // A gateway that stops gives back what it has not ended.
    _ = try await place.database.run(ChannelOutbox.release(lease: lease))
    let again = try await take()
    #expect(again.map(\.isUnknown) == [true])
    _ = try await place.database.run(
      ChannelOutbox.postpone(
        again[0], lease: lease, reason: "x", milliseconds: 0, dropsToken: false))
    let third = try await take()
    #expect(third.map(\.isUnknown) == [false])
    _ = try await place.database.run(
      ChannelOutbox.finish(third[0], lease: lease, reason: "x", isUnknown: true))
    #expect(
      try await place.database.ask(ChannelState.conversation(session, in: place.id))?
        .deliveries.map(\.status) == ["unknown"])
  }

  @Test func thePartsOfAMessageAreSentOneByOne() async throws {
    _ = try await receive(event("a", "hi"))
    try await say(try await session(), "one")
    let first = try await take()
    _ = try await place.database.run(
      ChannelOutbox.finishPart(first[0], lease: Workplace.identifier()))
    #expect(try await take().isEmpty)
    _ = try await place.database.run(ChannelOutbox.finishPart(first[0], lease: lease))
    let second = try await take()
    #expect(second.map(\.part) == [1] && second[0].message == first[0].message)
    #expect(second[0].attempt == 1)
    _ = try await place.database.run(ChannelOutbox.finish(second[0], lease: lease, reason: nil))
    try await say(try await session(), "two")
    #expect(try await take().map(\.part) == [0])
  }

  @Test func oldTokensAreNotUsed() async throws {
    _ = try await receive(event("a", "hi"))
    try await run(
      """
      UPDATE channel_people SET reply_token_at = now() - interval '21 seconds'
      WHERE workspace_id = $1::uuid
      """)
    try await say(try await session(), "one")
    #expect(try await take().first?.replyToken == nil)
  }

  /// A token that LINE takes no more must not be taken for one that was used: the message would be
  /// lost.
  @Test func aTokenIsAsOldAsItsEvent() async throws {
    _ = try await receive(event("a", "hi", secondsAgo: 45))
    try await say(try await session(), "one")
    #expect(try await take().first?.replyToken == nil)
  }

  @Test func anEndedConversationIsLookedAtLessOften() async throws {
    _ = try await receive(event("a", "hi"))
    let session = try await session()
    try await run(
      """
      UPDATE chat_sessions SET status = 'closed', closed_at = now() - interval '1 hour'
      WHERE workspace_id = $1::uuid
      """)
    _ = try await take()
    let watched: SQL = """
      SELECT count(*) FROM channel_conversations WHERE workspace_id = $1::uuid AND is_watched
      """
    #expect(try await number(watched) == 0)
    try await say(session, "late")
    #expect(try await take().isEmpty)
    _ = try await place.database.run(ChannelOutbox.noteRest)
    #expect(try await take().map(\.message.body) == ["late"])
  }

  @Test func aLateEventDoesNotUndoALaterOne() async throws {
    func note(_ kind: String, at seconds: Int64) async throws {
      let person = ChannelPeople.Person(workspace: place.id, channel: "line", address: "U9")
      _ = try await place.database.run(
        ChannelPeople.note(
          kind, of: person, event: person.identifier("\(kind) \(seconds)"),
          at: Workplace.after(seconds), visitor: Workplace.identifier(), replyToken: nil))
    }
    let left: SQL = """
      SELECT count(*) FROM channel_people WHERE workspace_id = $1::uuid AND left_at IS NOT NULL
      """
    try await note("unfollow", at: 1)
    #expect(try await number(left) == 1)
    try await note("follow", at: 3)
    #expect(try await number(left) == 0)
    try await note("unfollow", at: 2)
    #expect(try await number(left) == 0)
  }
}
