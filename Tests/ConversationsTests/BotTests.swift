import Chat
import Directory
import DomainFixtures
import JSON
import Kernel
import Postgres
import Primitives
import Synchronization
import Testing

@testable import Conversations

/// A workspace whose bot knows something.
private struct BotWorkplace {
  let place: Workplace
  let bots: Bots

  init(_ settings: [(WorkspaceSettings.Key, String)] = []) async throws {
    place = try await Workplace()
    bots = Bots(
      database: place.database, sessions: place.sessions,
      settings: CachedSettings(place.database), patterns: JobThread(name: "patterns"),
      log: { _ in })
    for (key, json) in settings {
      _ = try await place.database.ask(
        WorkspaceSettings.store(
          key, try #require(JSONValue(json)), workspace: place.id))
    }
  }

  func intent(
    _ name: String, _ keyword: String, _ kind: String, _ replies: String, position: Int64 = 0
  ) async throws {
    _ = try await place.database.run(
      Query(
        """
        INSERT INTO intents (workspace_id, name, keyword, match_kind, replies, position)
        VALUES ($1::uuid, $2::text, $3::text, $4::text, $5::jsonb, $6::bigint)
        """,
        [
          .uuid(place.id), .text(name), .text(keyword), .text(kind),
          .json(Array(replies.utf8)), .int(position),
        ]))
  }

  @discardableResult
  func say(_ body: String, in session: Identifier, payload: String? = nil) async -> Outcome {
    await place.say(body, in: session, payload: payload)
  }

  func answer(_ session: Identifier) async {
    await bots.answer([session], of: place.id, now: Workplace.now)
  }

  /// The log as `role kind text`.
  func log(_ session: Identifier) async throws -> [String] {
    let rows = try await place.database.run(
      Query(
        """
        SELECT role || ' ' || kind || ' ' || content FROM chats WHERE session_id = $1::uuid
        ORDER BY seq
        """, [.uuid(session)]))
    return (0..<rows.count).compactMap { rows.text($0, 0) }
  }

  func attend() async throws {
    _ = try await place.database.run(
      Query(
        """
        INSERT INTO operator_presence (workspace_id, operator_id, seen_at)
        VALUES ($1::uuid, $2::uuid, now() + interval '10 minutes')
        """, [.uuid(place.id), .uuid(place.mika.id)]))
  }
}

@Suite struct BotTests {
  private static let greeting: (WorkspaceSettings.Key, String) = (
    .greetingMessage, #"{"enabled":true,"text":"Welcome"}"#
  )
  private static let away: (WorkspaceSettings.Key, String) = (
    .awayMessage, #"{"enabled":true,"text":"Nobody is here"}"#
  )

  @Test("the first matching intent answers each message once, also after a repeated run")
  func intents() async throws {
    let test = try await BotWorkplace([Self.greeting])
    try await test.intent("b", "price", "contains", #"[{"text":"10 €"},{"text":"A month"}]"#)
    try await test.intent("a", "price", "contains", #"["second"]"#, position: 1)
    let session = try await test.place.conversation()
    await test.say("Your PRICES?", in: session)
    await test.answer(session)
    let expected = [
      "visitor text Your PRICES?", "bot text Welcome", "bot text 10 €", "bot text A month",
    ]
    #expect(try await test.log(session) == expected)
    // Again; after a crash before it was noted; and by several at once.
    await test.answer(session)
    try test.place.database.asOwner(
      Query("DELETE FROM bot_progress WHERE session_id = $1::uuid", [.uuid(session)]))
    await withTaskGroup { group in
      for _ in 1...3 { group.addTask { await test.answer(session) } }
    }
    #expect(try await test.log(session) == expected)
    // A second message is no first one, and what fits nothing gets nothing.
    await test.say("thanks", in: session)
    await test.answer(session)
    await test.say("price", in: session)
    await test.answer(session)
    #expect(
      try await test.log(session)
        == expected + [
          "visitor text thanks", "visitor text price", "bot text 10 €", "bot text A month",
        ])
  }

  @Test("reply objects and button values are sent; an excessive pattern does not stop the others")
  func objects() async throws {
    let test = try await BotWorkplace()
    _ = try await test.place.database.run(
      Query(
        """
        INSERT INTO reply_objects (workspace_id, object_id, object_type, payload, alt_text) VALUES
          ($1::uuid, 'menu', 'buttons',
           '{"text":"Choose","buttons":[{"label":"A","type":"reply","value":"opt-a"}]}', 'Pick one')
        """, [.uuid(test.place.id)]))
    try await test.intent("0", "^(a+)+$", "regex", #"["never"]"#, position: -2)
    try await test.intent("broken", "(", "regex", #"["never"]"#, position: -1)
    try await test.intent("menu", "menu", "exact", #"[{"object":"menu"},{"object":"gone"}]"#)
    try await test.intent("choice", "opt-a", "exact", #"["You chose A"]"#)
    let session = try await test.place.conversation()
    await test.say("menu", in: session)
    await test.answer(session)
    await test.say("A", in: session, payload: #"{"reply":{"to":"x","value":"opt-a"}}"#)
    await test.answer(session)
    await test.say(String(repeating: "a", count: 3_000) + "!", in: session)
    await test.answer(session)
    let log = try await test.log(session)
    try #require(log.count == 5, "\(log.map { $0.prefix(40) })")
    #expect(log[1] == "bot buttons Pick one")
    #expect(log[3] == "bot text You chose A")
    let rows = try await test.place.database.run(
      Query(
        """
        SELECT payload ->> 'text' FROM chats WHERE session_id = $1::uuid AND kind = 'buttons'
        """, [.uuid(session)]))
    #expect(rows.text(0, 0) == "Choose")
  }

  @Test("one run answers more conversations than a statement reads, but not a claimed one")
  func several() async throws {
    let test = try await BotWorkplace()
    try await test.intent("x", "hello", "contains", #"["Hi"]"#)
    var sessions: [Identifier] = []
    for place in 0...Bots.turnsMax + 1 {
      let session = try await test.place.conversation()
      await test.say(place % 2 == 0 ? "hello \(place)" : "thanks", in: session)
      sessions.append(session)
    }
    await test.say("hello again", in: sessions[0])
    #expect(try await test.place.claim(sessions[1])?.verdict == .applied)
    await test.bots.answer(sessions, of: test.place.id, now: Workplace.now)
    for (place, session) in sessions.enumerated() where place > 1 {
      let reply = place % 2 == 0 ? ["visitor text hello \(place)", "bot text Hi"] : nil
      #expect(try await test.log(session) == reply ?? ["visitor text thanks"])
    }
    #expect(
      try await test.log(sessions[0]) == [
        "visitor text hello 0", "visitor text hello again", "bot text Hi", "bot text Hi",
      ])
    let noted = try await test.place.database.run(
      Query(
        """
        SELECT session_id, answered_seq FROM bot_progress
        WHERE workspace_id = $1::uuid
          AND answered_seq = CASE session_id WHEN $2::uuid THEN 2 ELSE 1 END
        """, [.uuid(test.place.id), .uuid(sessions[0])]))
    #expect(
      Set((0..<noted.count).compactMap { noted.uuid($0, 0) })
        == Set(sessions).subtracting([sessions[1]]))
  }

  @Test("a bot does not answer in an assigned or closed conversation")
  func silent() async throws {
    let test = try await BotWorkplace([Self.greeting])
    try await test.intent("x", "hello", "contains", #"["Hi"]"#)
    for state in ["claim", "close"] {
      let session = try await test.place.conversation()
      await test.say("hello", in: session)
      switch state {
      case "claim": #expect(try await test.place.claim(session)?.verdict == .applied)
      default: #expect(try await test.place.change(.closed, session)?.isApplied == true)
      }
      await test.answer(session)
      #expect(try await test.log(session).allSatisfy { !$0.hasPrefix("bot") }, "\(state)")
    }
    // Of another workspace, by a wrong call.
    let other = try await BotWorkplace()
    let foreign = try await other.place.conversation()
    await other.say("hello", in: foreign)
    await test.answer(foreign)
    #expect(try await other.log(foreign).count == 1)
  }

  @Test("the menu or an intent hands over to operators; then the bot does not answer")
  func handover() async throws {
    let test = try await BotWorkplace()
    try await test.intent(
      "person", "human", "contains", #"[{"text":"One moment"},{"handover":true}]"#)
    try await test.intent("x", "hello", "contains", #"["Hi"]"#)
    for (body, payload) in [("a human please", nil), ("Agent", #"{"handover":true}"#)]
      as [(String, String?)]
    {
      let session = try await test.place.conversation()
      await test.say(body, in: session, payload: payload)
      await withTaskGroup { group in
        for _ in 1...3 { group.addTask { await test.answer(session) } }
      }
      await test.say("hello", in: session)
      await test.answer(session)
      let log = try await test.log(session)
      #expect(log.filter { $0 == "system event Visitor asked for an operator" }.count == 1)
      #expect(log.filter { $0.hasPrefix("bot") }.count == (payload == nil ? 1 : 0))
      #expect(log.last == "visitor text hello")
      let shown = try await test.place.read(session)
      #expect(shown.status == "waiting" && shown.waitingSince != nil)
      #expect(test.place.sessions.hints.withLock { $0.contains(session) })
    }
  }

  @Test("a handover names a team by id or name; an unknown one leaves the conversation where it is")
  func handoverToTeam() async throws {
    let test = try await BotWorkplace()
    let team = Workplace.identifier()
    var change = Teams.Change()
    change.name = "Billing"
    let made = try await test.place.database.ask(Teams.add(team, change, by: test.place.actor))
    #expect(made == .done)
    try await test.intent(
      "bill", "invoice", "contains",
      #"[{"text":"One moment"},{"handover":true,"team":"\#(team)"}]"#)
    try await test.intent(
      "gone", "delivery", "contains", #"[{"handover":true,"team":"\#(Workplace.identifier())"}]"#)
    for (body, payload, isGiven) in [
      ("my invoice is wrong", nil, true), ("Pay", #"{"reply":{"value":"invoice"}}"#, true),
      ("Billing", #"{"handover":true,"team":"Billing"}"#, true),
      ("Any", #"{"handover":true,"team":"\#(team)"}"#, true),
      ("a delivery", nil, false), ("Agent", #"{"handover":true,"team":"x"}"#, false),
      ("Agent", #"{"handover":true,"team":7}"#, false),
    ] as [(String, String?, Bool)] {
      let session = try await test.place.conversation()
      await test.say(body, in: session, payload: payload)
      await test.answer(session)
      let rows = try await test.place.database.run(
        Query(
          """
          SELECT team_id, team_since IS NOT NULL, waiting_since IS NOT NULL FROM chat_sessions
          WHERE id = $1::uuid
          """, [.uuid(session)]))
      #expect(rows.uuid(0, 0) == (isGiven ? team : nil), "\(body)")
      #expect(rows.bool(0, 1) == isGiven && rows.bool(0, 2) == true, "\(body)")
      let log = try await test.log(session)
      #expect(log.contains("system event Visitor asked for an operator"), "\(body)")
    }
    // The team of another workspace is unknown here.
    let other = try await BotWorkplace()
    let session = try await other.place.conversation()
    await other.say("Agent", in: session, payload: #"{"handover":true,"team":"\#(team)"}"#)
    await other.answer(session)
    let rows = try await other.place.database.run(
      Query("SELECT team_id FROM chat_sessions WHERE id = $1::uuid", [.uuid(session)]))
    #expect(rows.uuid(0, 0) == nil)
  }

  @Test(
    "outside hours, or without operators, the visitor gets that message instead of the greeting")
  func away() async throws {
    let closed: (WorkspaceSettings.Key, String) = (.hours, #"{"always":false,"days":[]}"#)
    for (settings, isAttended, said) in [
      ([Self.greeting, Self.away], true, "Welcome"),
      ([Self.greeting, Self.away], false, "Nobody is here"),
      ([Self.greeting, Self.away, closed], true, "Nobody is here"),
      ([Self.greeting, closed], true, "Welcome"), ([Self.away], true, nil), ([], false, nil),
    ] as [([(WorkspaceSettings.Key, String)], Bool, String?)] {
      let test = try await BotWorkplace(settings)
      if isAttended { try await test.attend() }
      let session = try await test.place.conversation()
      await test.say("hello", in: session)
      await test.answer(session)
      #expect(try await test.log(session).dropFirst().first == said.map { "bot text \($0)" })
      await test.say("hello again", in: session)
      await test.answer(session)
      #expect(try await test.log(session).count == (said == nil ? 2 : 3))
    }
  }

  @Test("an unanswered message is found until a bot has processed it")
  func unanswered() async throws {
    let test = try await BotWorkplace()
    let workspace = test.place.id
    try await test.intent("x", "hello", "contains", #"["Hi"]"#)
    let session = try await test.place.conversation()
    await test.say("hello", in: session)
    _ = try await test.place.database.run(
      Query(
        "UPDATE chat_sessions SET last_message_at = now() + interval '1 hour' WHERE id = $1::uuid",
        [.uuid(session)]))
    #expect(await test.bots.unanswered(in: workspace) == [], "the message is too recent")
    _ = try await test.place.database.run(
      Query(
        """
        UPDATE chat_sessions SET last_message_at = now() - interval '5 seconds'
        WHERE id = $1::uuid
        """, [.uuid(session)]))
    #expect(await test.bots.unanswered(in: workspace) == [session])
    await test.answer(session)
    #expect(await test.bots.unanswered(in: workspace) == [])
    #expect(try await test.log(session).last == "bot text Hi")
  }

  @Test("a reply that the store refuses for now is sent by the next run")
  func unavailable() async throws {
    let test = try await BotWorkplace()
    try await test.intent("x", "hello", "contains", #"["Hi"]"#)
    let session = try await test.place.conversation()
    await test.say("hello", in: session)
    test.place.sessions.scripted.withLock { $0 = Outcome(verdict: .unavailable) }
    await test.answer(session)
    #expect(try await test.log(session).count == 1)
    test.place.sessions.scripted.withLock { $0 = nil }
    await test.answer(session)
    #expect(try await test.log(session).last == "bot text Hi")
  }
}
