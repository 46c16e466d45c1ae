import Directory
import DomainFixtures
import OpenSSL
import Postgres
import Primitives
import SharedSQL
import Testing
import Webhooks

@testable import WebPush

/// What is found, taken and settled, in a real PostgreSQL. The fixtures' clock is not that of
/// PostgreSQL, so the tests move the times of rows instead of waiting.
@Suite(.serialized) struct PushQueueTests {
  /// What is found and taken is that of all workspaces, so no other suite may use the database.
  private static let database = Result { try Workers.fresh() }

  let place: Workplace
  let secrets = SecretBox(configured: ["a key for tests"], signingKey: [])
  let lease = Workplace.identifier()

  /// Of the tests before nothing is left to be sent.
  init() async throws {
    place = try await Workplace(in: PushQueueTests.database.get())
    try await run(
      """
      DELETE FROM push_subscriptions
      WHERE created_at < now() - interval '30 minutes' AND $1::uuid IS NOT NULL
      """)
  }

  // MARK: Fixtures

  /// A login of the operator, with a subscription an hour old.
  func subscribed(
    _ member: Operator? = nil, _ choices: PushChoices = PushChoices()
  ) async throws -> Identifier {
    let member = member ?? place.mika
    let token = Workplace.randomBytes()
    let isMade = try await place.database.ask(
      OperatorSession.create(
        tokenHash: token, operator: member.id, workspace: place.id,
        passwordHash: Workplace.passwordHash, from: .unknown, now: Workplace.now,
        expiresAt: Workplace.after(10 * 365 * 86_400)))
    #expect(isMade)
    let found = try await place.database.ask(PushSubscription.find(login: token))
    let login = try #require(found).login
    let subscription = try PushSubscription(
      address: "https://push.example.net/s/\(login)",
      point: Base64.url.encode(P256Key().point),
      auth: Base64.url.encode(SecureRandom.bytes(16)), under: .init())
    let isStored = try await place.database.ask(
      subscription.put(
        login: login, choices, sealedBy: secrets,
        by: AuditActor(workspace: place.id, id: member.id, kind: "operator")))
    #expect(isStored)
    try await run(
      """
      UPDATE push_subscriptions SET created_at = now() - interval '1 hour'
      WHERE $1::uuid IS NOT NULL
      """)
    return login
  }

  /// Runs a statement on the rows of this test: `$1` is the workspace.
  func run(_ statement: SQL, _ more: [Parameter] = []) async throws {
    _ = try await place.database.run(Query(statement, [.uuid(place.id)] + more))
  }

  /// The logins and conversations that are newly due. Other tests share the database.
  func due() async throws -> Set<String> {
    _ = try await place.database.run(PushQueue.note)
    let rows = try await place.database.run(
      Query(
        """
        SELECT n.login_id::text || ' ' || n.session_id::text || ' ' || n.reason
        FROM push_notices n JOIN operator_sessions l ON l.id = n.login_id
        WHERE l.workspace_id = $1::uuid AND n.next_attempt_at IS NOT NULL
        """, [.uuid(place.id)]))
    return Set((0..<rows.count).compactMap { rows.text($0, 0) })
  }

  /// Makes everything that the workspace's conversations wait for a minute old.
  func recent() async throws {
    try await run(
      """
      UPDATE chat_sessions SET last_message_at = now() - interval '1 minute',
        \(ConversationQueue.entryTime) = CASE WHEN \(ConversationQueue.entryTime) IS NOT NULL
          THEN now() - interval '1 minute' END
      WHERE workspace_id = $1::uuid
      """)
  }

  func presence(_ assignments: SQL) async throws {
    try await place.present([place.mika])
    try await run("UPDATE operator_presence SET \(assignments) WHERE workspace_id = $1::uuid")
  }

  /// A conversation that waits for a minute, and its line in `due`.
  func waiting(for login: Identifier) async throws -> (session: Identifier, line: String) {
    let session = try await place.conversation(messages: ["Hello"])
    try await recent()
    return (session, "\(login) \(session) waiting")
  }

  func take(room: Int = 10_000, busy: [Identifier] = []) async throws -> [PushNotice] {
    let rows = try await place.database.run(
      PushQueue.take(lease: lease, leaseMilliseconds: 60_000, room: room, busy: busy))
    let logins = try await place.database.run(
      Query("SELECT id FROM operator_sessions WHERE workspace_id = $1::uuid", [.uuid(place.id)]))
    let ours = (0..<logins.count).compactMap { logins.uuid($0, 0) }
    return PushQueue.notices(rows).filter { ours.contains($0.login) }
  }

  // MARK: What is found

  @Test("a new conversation is found once and sent once, and again when it enters the queue anew")
  func once() async throws {
    let login = try await subscribed()
    let (session, line) = try await waiting(for: login)
    #expect(try await due() == [line])
    #expect(try await due() == [line])
    let taken = try await take()
    #expect(taken.map(\.session) == [session] && taken.map(\.reason) == [.waiting])
    #expect(taken.first?.visitorName == "Ada" && taken.first?.attempt == 1)
    #expect(try await take() == [], "it is leased")
    let notice = try #require(taken.first)
    _ = try await place.database.run(
      PushQueue.finish(notice, lease: lease, isDelivered: true, pause: nil, pausesAll: false))
    #expect(try await due() == [])
    try await run(
      """
      UPDATE chat_sessions SET \(ConversationQueue.entryTime) = now() WHERE workspace_id = $1::uuid
      """)
    #expect(try await due() == [line])
  }

  @Test("a notice has the text of the visitor's message only if the operator has chosen that")
  func texts() async throws {
    let quiet = try await subscribed()
    let open = try await subscribed(nil, PushChoices(texts: true))
    let (session, _) = try await waiting(for: open)
    _ = try await due()
    let taken = try await take()
    #expect(taken.count == 2)
    for notice in taken {
      let payload = String(decoding: notice.payload, as: UTF8.self)
      #expect(notice.login == open || notice.login == quiet)
      #expect(notice.text == (notice.login == open ? "Hello" : ""))
      #expect(payload.contains("Hello") == (notice.login == open), "\(payload)")
    }
    // An operator's words are not those of the visitor.
    _ = try await place.claim(session)
    _ = await place.database.store(
      session: session, workspace: place.id, id: Workplace.identifier(), role: "operator",
      kind: "text", sender: place.mika.id, name: "Mika", body: Array("Secret".utf8), payload: nil)
    try await recent()
    _ = try await due()
    #expect(try await take().allSatisfy { $0.text != "Secret" })
  }

  @Test("the outcome of an attempt does not settle a later event")
  func replaced() async throws {
    let login = try await subscribed()
    let (_, line) = try await waiting(for: login)
    _ = try await due()
    let notice = try #require(try await take().first)
    try await run(
      """
      UPDATE chat_sessions SET \(ConversationQueue.entryTime) = now() WHERE workspace_id = $1::uuid
      """)
    #expect(try await due() == [line])
    _ = try await place.database.run(
      PushQueue.finish(notice, lease: lease, isDelivered: true, pause: nil, pausesAll: false))
    #expect(try await due() == [line])
  }

  @Test("nothing is found while a console is visible, and for 6 s after it was hidden")
  func visible() async throws {
    let (_, line) = try await waiting(for: try await subscribed())
    try await presence("active_at = now()")
    #expect(try await due() == [])
    try await presence("active_at = now() - interval '1 second', hidden_at = now()")
    #expect(try await due() == [])
    // Then what came in the meantime is news; what came before is not.
    try await presence(
      """
      active_at = now() - interval '5 minutes', hidden_at = now() - interval '4 minutes'
      """)
    #expect(try await due() == [line])
    try await run("DELETE FROM push_notices WHERE $1::uuid IS NOT NULL")
    try await presence("active_at = now() - interval '40 s', hidden_at = now() - interval '30 s'")
    #expect(try await due() == [])
  }

  @Test("a beat tells who sees a console, and hiding the last one is noted")
  func beats() async throws {
    let mika = [(workspace: place.id, operator: place.mika.id)]
    _ = try await waiting(for: try await subscribed())
    _ = try await place.database.ask(OperatorPresence.beat(mika))
    #expect(try await due().count == 1)
    try await run("DELETE FROM push_notices WHERE $1::uuid IS NOT NULL")
    _ = try await place.database.ask(OperatorPresence.beat(mika, visible: mika))
    #expect(try await due() == [])
    try await place.database.ask(OperatorPresence.hide(mika))
    let rows = try await place.database.run(
      Query(
        """
        SELECT hidden_at >= active_at FROM operator_presence WHERE workspace_id = $1::uuid
        """, [.uuid(place.id)]))
    #expect(rows.bool(0, 0) == true)
  }

  @Test("a conversation of a team is for its members, outside business hours for nobody")
  func lines() async throws {
    let (_, line) = try await waiting(for: try await subscribed())
    try await run(
      """
      WITH team AS (
        INSERT INTO chat_teams (workspace_id, name) VALUES ($1::uuid, 'Bikes') RETURNING id
      )
      UPDATE chat_sessions SET team_id = team.id, team_since = now() FROM team
      WHERE workspace_id = $1::uuid
      """)
    #expect(try await due() == [])
    try await run(
      """
      INSERT INTO chat_team_members (workspace_id, team_id, operator_id)
      SELECT $1::uuid, id, $2::uuid FROM chat_teams WHERE workspace_id = $1::uuid
      """, [.uuid(place.mika.id)])
    try await place.set("hours", #"{"always":false,"days":[]}"#)
    #expect(try await due() == [], "the team has the workspace's hours")
    try await run(
      """
      UPDATE chat_teams SET hours = '{"always": true}' WHERE workspace_id = $1::uuid
      """)
    #expect(try await due() == [line])
    try await run("DELETE FROM push_notices WHERE $1::uuid IS NOT NULL")
    for broken in ["no JSON", "7", #"{"always":false,"time_zone":"Nowhere","days":[{"day":1}]}"#] {
      try await place.set("hours", broken)
      try await run("UPDATE chat_teams SET hours = NULL WHERE workspace_id = $1::uuid")
      #expect(try await due() == [line], "\(broken)")
    }
  }

  @Test("operators who are unavailable get no new conversations, and others what they chose")
  func chosen() async throws {
    let login = try await subscribed()
    let (_, line) = try await waiting(for: login)
    try await presence("is_available = false")
    #expect(try await due() == [])
    try await presence("is_available = true")
    for waiting in [false, true] {
      try await run(
        """
        UPDATE push_subscriptions SET waiting = $3::boolean
        WHERE login_id = $2::uuid AND $1::uuid IS NOT NULL
        """, [.uuid(login), .bool(waiting)])
      #expect(try await due() == (waiting ? [line] : []))
    }
  }

  @Test("a visitor's last word in one's own conversation is found until it is read or answered")
  func messages() async throws {
    let login = try await subscribed()
    let session = try await place.conversation(messages: ["Hello"])
    let other = try await place.conversation(messages: ["Hello"])
    let colleague = try await place.operators(1)[0]
    _ = try await place.claim(session)
    _ = try await place.claim(other, as: colleague)
    await place.say("Where is my order?", in: session)
    await place.say("And mine?", in: other)
    try await recent()
    #expect(try await due() == ["\(login) \(session) message"])
    try await run("DELETE FROM push_notices WHERE $1::uuid IS NOT NULL")
    try await run(
      """
      INSERT INTO read_marks (workspace_id, session_id, person_id, role, read_seq)
      SELECT $1::uuid, id, $2::uuid, 'operator', last_seq FROM chat_sessions
      WHERE workspace_id = $1::uuid AND assigned_operator_id = $2::uuid
      """, [.uuid(place.mika.id)])
    #expect(try await due() == [])
    await place.say("Hello?", in: session)
    try await recent()
    #expect(try await due() == ["\(login) \(session) message"])
    try await run(
      "UPDATE chat_sessions SET last_message_role = 'operator' WHERE workspace_id = $1::uuid")
    #expect(try await take() == [], "somebody has answered")
    #expect(try await due() == [], "so it is settled")
  }

  // MARK: Bounds

  @Test("a search notes 20 conversations for a browser, a take as many as there is room")
  func bounds() async throws {
    _ = try await subscribed()
    for _ in 0..<25 { _ = try await place.conversation(messages: ["Hello"]) }
    try await recent()
    #expect(try await due().count == 20)
    #expect(try await due().count == 25)
    let few = try await take(room: 3)
    #expect(few.count == 3)
    let login = try #require(few.first?.login)
    let busy = Array(repeating: login, count: PushQueue.perBrowser)
    #expect(try await take(busy: busy) == [])
    #expect(try await take(busy: Array(busy.dropLast())).count == 22)
  }

  @Test("events of more than ten minutes ago are no news, and none is sent after an hour")
  func old() async throws {
    let (_, line) = try await waiting(for: try await subscribed())
    try await run(
      """
      UPDATE chat_sessions SET \(ConversationQueue.entryTime) = now() - interval '11 minutes'
      WHERE workspace_id = $1::uuid
      """)
    #expect(try await due() == [])
    try await recent()
    #expect(try await due() == [line])
    try await run(
      """
      UPDATE push_notices SET event_at = now() - interval '61 minutes' WHERE $1::uuid IS NOT NULL
      """)
    #expect(try await take() == [])
    #expect(try await due() == [line], "it is settled, and found again by its real time")
    try await run(
      """
      UPDATE push_notices SET event_at = now() - interval '3 hours' WHERE $1::uuid IS NOT NULL
      """)
    let swept = try await place.database.run(PushSweep.forgetNotices)
    #expect(swept.affected >= 1)
  }

  @Test("a pause that the push service asks for holds for all messages to the browser")
  func pause() async throws {
    _ = try await subscribed()
    for _ in 0..<2 { _ = try await place.conversation(messages: ["Hello"]) }
    try await recent()
    _ = try await due()
    let notice = try #require(try await take(room: 1).first)
    _ = try await place.database.run(
      PushQueue.finish(notice, lease: lease, isDelivered: false, pause: 60_000, pausesAll: true))
    #expect(try await take() == [])
    try await run("UPDATE push_subscriptions SET paused_until = now() WHERE $1::uuid IS NOT NULL")
    #expect(try await take().count == 1, "the other; the first has its own pause")
  }

  @Test("a login that has ended is sent nothing, and its subscription is swept")
  func ended() async throws {
    let login = try await subscribed()
    _ = try await waiting(for: login)
    let ends: [SQL] = ["disabled_at = now()", "disabled_at = NULL, password_hash = 'x'"]
    for end in ends {
      try await run(
        "UPDATE operators SET \(end) WHERE id = $2::uuid AND $1::uuid IS NOT NULL",
        [.uuid(place.mika.id)])
      #expect(try await due() == [])
    }
    _ = try await place.database.run(PushSweep.forgetSubscriptions)
    let left = try await place.database.run(
      Query("SELECT 1 FROM push_subscriptions WHERE login_id = $1::uuid", [.uuid(login)]))
    #expect(left.isEmpty)
  }

  @Test("a browser that fails for days is given up, a success heals")
  func hopeless() async throws {
    let login = try await subscribed()
    func exists() async throws -> Bool {
      _ = try await place.database.run(PushSweep.forgetSubscriptions)
      let rows = try await place.database.run(
        Query("SELECT 1 FROM push_subscriptions WHERE login_id = $1::uuid", [.uuid(login)]))
      return !rows.isEmpty
    }
    let (session, _) = try await waiting(for: login)
    _ = try await due()
    let notice = try #require(try await take().first)
    #expect(notice.session == session)
    _ = try await place.database.run(
      PushQueue.finish(notice, lease: lease, isDelivered: false, pause: 1_000, pausesAll: false))
    try await run(
      """
      UPDATE push_subscriptions SET failures = 19, failing_since = now() - interval '4 days'
      WHERE login_id = $2::uuid AND $1::uuid IS NOT NULL
      """, [.uuid(login)])
    #expect(try await exists())
    try await run(
      """
      UPDATE push_subscriptions SET failures = 20 WHERE login_id = $2::uuid AND $1::uuid IS NOT NULL
      """, [.uuid(login)])
    #expect(try await !exists())
  }
}
