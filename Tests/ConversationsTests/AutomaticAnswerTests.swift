import Chat
import Directory
import DomainFixtures
import JSON
import Kernel
import Postgres
import Primitives
import Testing

@testable import Conversations

@Suite struct AutomaticAnswerTests {
  private func request(
    _ seq: Int64, in session: Identifier, _ place: Workplace, message: Identifier? = nil
  ) async throws -> Bool {
    try await place.database.ask(
      AutomaticAnswer.request(
        to: message ?? Workplace.identifier(), seq: seq, in: session, workspace: place.id))
  }

  private func take(_ place: Workplace) async throws -> AutomaticAnswer.Taken? {
    try await place.database.ask(AutomaticAnswer.take(in: place.id))
  }

  private func store(_ taken: AutomaticAnswer.Taken, _ place: Workplace) async throws -> Bool {
    try await place.database.ask(
      AutomaticAnswer.store(
        "At nine.", id: Workplace.identifier(), named: "Shop", for: taken, in: place.id))
  }

  private func bodies(_ session: Identifier, _ place: Workplace) async throws -> [String] {
    try await place.log(session).filter { $0.kind == .text }.map {
      String(decoding: $0.body, as: UTF8.self)
    }
  }

  private func expire(_ column: StaticString, _ place: Workplace) throws {
    try place.database.asOwner(Query(column, [.uuid(place.id)]))
  }

  @Test("a request is taken by one gateway and answered once, by a message that says what it is")
  func answered() async throws {
    let place = try await Workplace()
    let session = try await place.conversation(messages: ["When do you open?"])
    let message = Workplace.identifier()
    #expect(try await request(1, in: session, place, message: message))
    #expect(try await request(1, in: session, place, message: message) == false)
    #expect(
      try await place.database.ask(AutomaticAnswer.workspaces).contains(place.id))
    let taken = try #require(try await take(place))
    #expect(taken == AutomaticAnswer.Taken(session: session, message: message))
    #expect(try await take(place) == nil)
    #expect(try await store(taken, place))
    #expect(try await store(taken, place) == false)
    let entry = try #require(try await place.log(session).last)
    #expect(entry.role == .bot && entry.sender == nil && entry.senderName == Array("Shop".utf8))
    #expect(JSONValue(entry.payload)?["automatic"]?.bool == true)
    #expect(try await bodies(session, place) == ["When do you open?", "At nine."])
    let row = try await place.database.run(
      Query(
        """
        SELECT last_seq, message_count::bigint, last_message_role, last_message_preview, status
        FROM chat_sessions WHERE id = $1::uuid
        """, [.uuid(session)]))
    #expect(row.int(0, 0) == 2 && row.int(0, 1) == 2 && row.text(0, 2) == "bot")
    #expect(row.text(0, 3) == "At nine." && row.text(0, 4) == "waiting")
    // The same entry is a duplicate for the journal, as one that it has stored.
    let hash = try await place.database.run(
      Query(
        """
        SELECT content_hash = sha256(convert_to(
          kind || E'\\n' || payload::text || E'\\n' || content, 'UTF8'))
        FROM chats WHERE session_id = $1::uuid AND seq = 2
        """, [.uuid(session)]))
    #expect(hash.bool(0, 0) == true)
  }

  @Test("a gateway that was killed is replaced once; then the request is given up, as old ones are")
  func crashed() async throws {
    let place = try await Workplace()
    let session = try await place.conversation(messages: ["Hello"])
    #expect(try await request(1, in: session, place))
    let first = try #require(try await take(place))
    let isOver: StaticString =
      "UPDATE assist_answers SET due_at = now() - interval '1 s' WHERE workspace_id = $1::uuid"
    try expire(isOver, place)
    let second = try #require(try await take(place))
    #expect(second == first)
    // Both are alive: one of them stores its answer.
    #expect(try await store(second, place))
    #expect(try await store(first, place) == false)
    #expect(try await bodies(session, place).count == 2)
    #expect(try await request(3, in: session, place))
    for _ in 1...AutomaticAnswer.attemptsMax {
      #expect(try await take(place) != nil)
      try expire(isOver, place)
    }
    #expect(try await take(place) == nil)
    #expect(try await place.database.ask(AutomaticAnswer.workspaces).contains(place.id) == false)
    #expect(try await request(5, in: session, place))
    try expire(
      "UPDATE assist_answers SET asked_at = now() - interval '1 h' WHERE workspace_id = $1::uuid",
      place)
    #expect(try await take(place) == nil)
    #expect(try await request(6, in: session, place))
    let last = try #require(try await take(place))
    try await place.database.ask(AutomaticAnswer.giveUp(last, in: place.id))
    try expire(isOver, place)
    #expect(try await store(last, place))
  }

  @Test("an operator's claim, a handover, a close or a later message wins over the answer")
  func lost() async throws {
    let place = try await Workplace()
    for event in ["claim", "claim and return", "close", "handover", "later", "delete"] {
      let session = try await place.conversation(messages: ["Hello"])
      #expect(try await request(1, in: session, place))
      let taken = try #require(try await take(place))
      switch event {
      case "claim": #expect(try await place.claim(session)?.verdict == .applied)
      case "claim and return":
        #expect(try await place.claim(session)?.verdict == .applied)
        #expect(try await place.transfer(session, to: nil) == .applied)
      case "close": #expect(try await place.change(.closed, session)?.isApplied == true)
      case "handover":
        try place.database.asOwner(
          Query(
            """
            INSERT INTO bot_progress (workspace_id, session_id, handed_over_at)
            VALUES ($1::uuid, $2::uuid, now())
            """, [.uuid(place.id), .uuid(session)]))
      case "later": #expect(try await request(2, in: session, place))
      default:
        try place.database.asOwner(
          Query("UPDATE chat_sessions SET deleted_at = now() WHERE id = $1", [.uuid(session)]))
      }
      #expect(try await store(taken, place) == false, "\(event)")
      let bots = try await place.database.run(
        Query(
          "SELECT count(*) FROM chats WHERE session_id = $1::uuid AND role = 'bot'",
          [.uuid(session)]))
      #expect(bots.int(0, 0) == 0, "\(event)")
      if event.hasPrefix("claim") || event == "close" {
        #expect(try await request(9, in: session, place) == false, "\(event)")
      }
      try expire("UPDATE assist_answers SET due_at = NULL WHERE workspace_id = $1::uuid", place)
    }
  }

  @Test("an answer that waits for a claim's lock is not stored", arguments: 0..<4)
  func race(_ turn: Int) async throws {
    let place = try await Workplace()
    let session = try await place.conversation(messages: ["Hello"])
    #expect(try await request(1, in: session, place))
    let taken = try #require(try await take(place))
    async let claim = place.claim(session)
    async let stored = store(taken, place)
    let (isClaimed, isStored) = (try await claim?.verdict == .applied, try await stored)
    #expect(isClaimed)
    let log = try await place.log(session)
    let claimed = log.first { $0.kind == .event }?.seq ?? .max
    let answer = log.first { $0.role == .bot }?.seq
    #expect(isStored == (answer != nil))
    if let answer { #expect(answer < claimed) }
  }

  @Test("a conversation gets so many answers, and a workspace in an hour")
  func limits() async throws {
    let place = try await Workplace()
    let session = try await place.conversation(messages: ["Hello"])
    for seq in 1...AutomaticAnswer.perConversation {
      #expect(try await request(seq, in: session, place))
    }
    #expect(try await request(99, in: session, place) == false)
    let rest = AutomaticAnswer.perHour - AutomaticAnswer.perConversation
    let full: StaticString = """
      UPDATE assist_answer_hours SET requests = requests + 49 WHERE workspace_id = $1::uuid
      """
    #expect(rest == 50)
    try expire(full, place)
    // At the end of an hour there is a second row; each has its limit.
    let one = try await place.conversation(messages: ["Hello"])
    let two = try await place.conversation(messages: ["Hello"])
    let given = [try await request(1, in: one, place), try await request(1, in: two, place)]
    let hours = try await place.database.run(
      Query(
        "SELECT count(*) FROM assist_answer_hours WHERE workspace_id = $1::uuid",
        [.uuid(place.id)]))
    if hours.int(0, 0) == 1 { #expect(given == [true, false]) }
    try expire(
      """
      UPDATE assist_answer_hours SET hour = hour - interval '2 days' WHERE workspace_id = $1::uuid
      """, place)
    #expect(try await request(2, in: two, place))
    let kept = try await place.database.run(
      Query(
        "SELECT count(*) FROM assist_answer_hours WHERE workspace_id = $1::uuid",
        [.uuid(place.id)]))
    #expect(kept.int(0, 0) == 1)
  }

  // MARK: When the bot requests one

  private func bots(_ place: Workplace) -> Bots {
    Bots(
      database: place.database, sessions: place.sessions,
      settings: CachedSettings(place.database), patterns: JobThread(name: "patterns"),
      log: { _ in })
  }

  private func turnOn(_ automatic: String, _ place: Workplace) async throws {
    let settings = AssistSettings(
      workspace: place.id, isEnabled: true, uses: [], endpoint: "https://api.example.com/v1",
      model: "m", key: nil, tokenLimit: "max_tokens", tokensPerDay: 7, tokensPerMonth: 8,
      timeoutSeconds: 9, automatic: automatic, automaticNotice: "A machine wrote this.")
    try await place.database.ask(settings.put(by: place.actor))
  }

  @Test(
    "requested while nobody is available, for what no intent answers, if the workspace says so",
    arguments: [
      ("replies", "parcel?", false, nil, true), ("conversations", "parcel?", false, nil, true),
      ("off", "parcel?", false, nil, false), ("replies", "parcel?", true, nil, false),
      ("replies", "hello", false, nil, false),
      ("replies", "a person", false, #"{"handover":true}"#, false),
      ("replies", "parcel?", false, #"{"offline":true}"#, false),
    ] as [(String, String, Bool, String?, Bool)])
  func requested(
    automatic: String, body: String, isAttended: Bool, payload: String?, expected: Bool
  ) async throws {
    let place = try await Workplace()
    try await turnOn(automatic, place)
    _ = try await place.database.run(
      Query(
        """
        INSERT INTO intents (workspace_id, name, keyword, match_kind, replies)
        VALUES ($1::uuid, 'x', 'hello', 'contains', '["Hi"]')
        """, [.uuid(place.id)]))
    if isAttended { try await place.present([place.mika]) }
    let session = try await place.conversation()
    await place.say(body, in: session, payload: payload)
    for _ in 1...2 { await bots(place).answer([session], of: place.id, now: Workplace.now) }
    let taken = try await take(place)
    #expect((taken?.session == session) == expected)
    #expect(try await take(place) == nil)
  }

  @Test("of several messages the last one is answered, unless an intent has answered it")
  func severalMessages() async throws {
    let place = try await Workplace()
    try await turnOn("replies", place)
    let session = try await place.conversation(messages: ["parcel?", "the red one"])
    await bots(place).answer([session], of: place.id, now: Workplace.now)
    let last = try #require(try await place.log(session).last)
    #expect(try await take(place)?.message == last.id)
    #expect(try await take(place) == nil)
  }
}
