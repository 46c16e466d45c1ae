import Chat
import Conversations
import Directory
import DomainFixtures
import Foundation
import JSON
import Postgres
import Primitives
import Testing

@testable import REST

/// Random conversations, made with the statements of the API.
struct Play {
  let world: World
  let operators: [Operator]
  let teams: [String]
  var sessions: [(id: Identifier, visitor: Identifier)] = []
  var random: SystemRandomNumberGenerator = SystemRandomNumberGenerator()

  init() async throws {
    world = try await World()
    var all = [world.mika]
    for name in ["Ivo", "Rut"] {
      all.append(try await World.addOperator(name, to: world.workspace, world.database))
    }
    operators = all
    var teams: [String] = []
    for name in ["Sales", "Support"] {
      let made = try await world.call(
        "POST", "/api/v1/admin/teams", as: try await world.member(.owner),
        json: #"{"name":"\#(name)"}"#)
      teams.append(try #require(made.string("team.id")))
    }
    self.teams = teams
  }

  /// A conversation whose first message is this many seconds old.
  mutating func begin(secondsAgo: Int64) async throws {
    let session = try await world.conversation()
    let rows = try await world.database.run(
      Query(
        """
        WITH line AS (
          INSERT INTO chats
            (id, workspace_id, session_id, seq, role, content, content_hash, created_at)
          VALUES ($3::uuid, $1::uuid, $2::uuid, 1, 'visitor', 'hello', sha256('hello'),
            clock_timestamp() - make_interval(secs => $4::bigint))
        )
        UPDATE chat_sessions SET last_seq = 1, message_count = 1, first_response_at = NULL
        WHERE id = $2::uuid AND workspace_id = $1::uuid RETURNING user_id
        """,
        [
          .uuid(world.workspace.id), .uuid(session), .uuid(World.identifier()), .int(secondsAgo),
        ]))
    sessions.append((session, try #require(rows.uuid(0, 0))))
  }

  mutating func step() async throws {
    guard let (session, visitor) = sessions.randomElement(using: &random) else { return }
    let member = operators.randomElement(using: &random) ?? world.mika
    let path = "\(conversations)/\(session)"
    switch Int.random(in: 0..<10, using: &random) {
    case 0, 1:
      let answer = try await world.call("POST", "\(path)/claim", as: member, json: "{}")
      #expect([200, 409].contains(answer.status))
    case 2:
      #expect(try await world.call("POST", "\(path)/close", as: member, json: "{}").status == 200)
    case 3:
      #expect(try await world.call("POST", "\(path)/reopen", as: member, json: "{}").status == 200)
    case 4:
      // A transfer, or a return to the queue.
      _ = try await world.database.run(
        Query(
          """
          UPDATE chat_sessions SET assigned_operator_id = $3::uuid
          WHERE id = $2::uuid AND workspace_id = $1::uuid AND assigned_operator_id IS NOT NULL
          """,
          [
            .uuid(world.workspace.id), .uuid(session),
            Bool.random(using: &random) ? .uuid(member.id) : .null,
          ]))
    case 5:
      let rating = Rating(
        session: session, workspace: world.workspace.id, visitor: visitor,
        rating: Int64.random(in: 1...5, using: &random), comment: nil, line: World.identifier())
      #expect(try await world.database.ask(rating.statement) != nil)
    case 6:
      let tags = ["[]", #"["vip"]"#, #"["late","vip"]"#].randomElement(using: &random) ?? "[]"
      let answer = try await world.call("PUT", "\(path)/tags", json: #"{"tags":\#(tags)}"#)
      #expect(answer.status == 200)
    case 7:
      let team = teams.randomElement(using: &random) ?? ""
      let json = #"{"to_team":"\#(team)"}"#
      let answer = try await world.call("POST", "\(path)/transfer", json: json)
      #expect([200, 409].contains(answer.status))
    default:
      let role = ["visitor", "operator", "bot"].randomElement(using: &random) ?? "bot"
      let kind = ["text", "text", "card", "note"].randomElement(using: &random) ?? "text"
      let outcome = await world.database.store(
        session: session, workspace: world.workspace.id, id: World.identifier(), role: role,
        kind: kind, sender: nil, name: "x", body: Array("words".utf8), payload: nil)
      #expect(outcome.verdict == .stored)
    }
  }

  /// Counts until nothing is pending; other tests count in the same database.
  func countAll() async throws {
    var left = 200
    while left > 0 {
      left -= 1
      guard let counted = try await world.database.ask(Analytics.count(limit: 500)) else {
        try await Task.sleep(for: .milliseconds(20))
        continue
      }
      if counted == 0 { return }
    }
    Issue.record("the counting does not complete")
  }
}

@Suite struct AnalyticsTests {
  /// The rows of the table as texts.
  private func counted(_ world: World) async throws -> [String] {
    let rows = try await world.database.run(
      Query(
        """
        SELECT concat_ws(' ', day, operator_id, sessions, messages, csat_count, csat_sum,
          coalesce(wait_p50_ms, -1), coalesce(wait_p90_ms, -1),
          coalesce(first_response_p50_ms, -1), coalesce(first_response_p90_ms, -1),
          coalesce(resolution_p50_ms, -1), coalesce(resolution_p90_ms, -1))
        FROM chat_analytics WHERE workspace_id = $1::uuid ORDER BY 1
        """, [.uuid(world.workspace.id)]))
    return (0..<rows.count).compactMap { rows.text($0, 0) }
  }

  /// The expected rows, from a scan of the conversations and their logs.
  private func scanned(_ world: World) async throws -> [String] {
    let rows = try await world.database.run(
      Query(
        """
        WITH facts AS (
          SELECT s.id, s.assigned_operator_id AS operator, s.status, s.message_count,
            s.first_response_at, s.closed_at, r.rating,
            (SELECT min(created_at) FROM chats c
              WHERE c.session_id = s.id AND c.kind IN ('text', 'card')) AS began_at,
            (SELECT min(created_at) FROM chats c
              WHERE c.session_id = s.id AND c.payload ->> 'event' = 'claimed'
                AND s.claimed_at IS NOT NULL) AS taken_at
          FROM chat_sessions s LEFT JOIN csat_responses r ON r.session_id = s.id
          WHERE s.workspace_id = $1::uuid
        ), timed AS (
          SELECT f.*, (began_at AT TIME ZONE 'Asia/Bangkok')::date AS day,
            (extract(epoch FROM taken_at - began_at) * 1000)::bigint AS wait,
            (extract(epoch FROM first_response_at - began_at) * 1000)::bigint AS response,
            CASE WHEN status = 'closed'
              THEN (extract(epoch FROM closed_at - began_at) * 1000)::bigint END AS resolution
          FROM facts f WHERE began_at IS NOT NULL
        ), parties AS (
          SELECT *, '00000000-0000-0000-0000-000000000000'::uuid AS party FROM timed
          UNION ALL SELECT *, operator FROM timed WHERE operator IS NOT NULL
        )
        SELECT concat_ws(' ', day, party, count(*),
          sum(CASE WHEN status = 'closed' THEN message_count ELSE 0 END), count(rating),
          coalesce(sum(rating), 0),
          coalesce(chirrup_bucket_end(percentile_disc(0.5) WITHIN GROUP
            (ORDER BY chirrup_bucket(wait))), -1),
          coalesce(chirrup_bucket_end(percentile_disc(0.9) WITHIN GROUP
            (ORDER BY chirrup_bucket(wait))), -1),
          coalesce(chirrup_bucket_end(percentile_disc(0.5) WITHIN GROUP
            (ORDER BY chirrup_bucket(response))), -1),
          coalesce(chirrup_bucket_end(percentile_disc(0.9) WITHIN GROUP
            (ORDER BY chirrup_bucket(response))), -1),
          coalesce(chirrup_bucket_end(percentile_disc(0.5) WITHIN GROUP
            (ORDER BY chirrup_bucket(resolution))), -1),
          coalesce(chirrup_bucket_end(percentile_disc(0.9) WITHIN GROUP
            (ORDER BY chirrup_bucket(resolution))), -1))
        FROM parties GROUP BY day, party ORDER BY 1
        """, [.uuid(world.workspace.id)]))
    return (0..<rows.count).compactMap { rows.text($0, 0) }
  }

  private func setZone(_ world: World) async throws {
    _ = try await world.database.ask(
      WorkspaceSettings.store(
        .hours, .object(["time_zone": .string("Asia/Bangkok")]), workspace: world.workspace.id))
  }

  @Test("incremental figures equal those of a full scan and of a recomputation")
  func equal() async throws {
    var play = try await Play()
    try await setZone(play.world)
    for _ in 1...14 {
      try await play.begin(secondsAgo: Int64.random(in: 0...400_000))
      for _ in 1...8 { try await play.step() }
      if Bool.random() { _ = try await play.world.database.ask(Analytics.count(limit: 3)) }
    }
    try await play.countAll()
    let counted = try await counted(play.world)
    let scanned = try await scanned(play.world)
    #expect(Set(counted).subtracting(scanned) == [])
    #expect(Set(scanned).subtracting(counted) == [])
    #expect(counted.count > 3)
    let sessions = try await play.world.database.ask(Analytics.recompute(play.world.workspace.id))
    #expect(sessions == 14)
    #expect(try await self.counted(play.world) == counted)
    try await sameTimes(play.world)
    // Incremental counting continues after the recomputation.
    for _ in 1...20 { try await play.step() }
    try await play.countAll()
    #expect(try await self.counted(play.world) == (try await self.scanned(play.world)))
  }

  /// The percentiles of all operators in one statement equal those of each operator.
  private func sameTimes(_ world: World) async throws {
    let groups = try await world.database.ask(
      Analytics.groups(
        .operators, of: world.workspace.id, from: "2000-01-01", to: "2100-01-01", limit: 9))
    #expect(!groups.isEmpty)
    for group in groups {
      let id = try #require(Identifier(group.key))
      let times = try await world.database.run(
        Query(
          """
          SELECT t[1], t[2], t[3], t[4], t[5], t[6]
          FROM chirrup_times($1::uuid, '2000-01-01', '2100-01-01', $2::uuid) AS t
          """, [.uuid(world.workspace.id), .uuid(id)]))
      #expect(group.figures.times == (0..<6).map { times.int(0, $0) })
    }
  }

  @Test("figures remain after their conversations are deleted, also in a recomputation")
  func kept() async throws {
    var play = try await Play()
    try await setZone(play.world)
    for _ in 1...3 { try await play.begin(secondsAgo: 90_000) }
    for _ in 1...20 { try await play.step() }
    try await play.countAll()
    let before = try await counted(play.world)
    _ = try await play.world.database.run(
      Query(
        "DELETE FROM chat_sessions WHERE id = $1::uuid AND workspace_id = $2::uuid",
        [.uuid(play.sessions[0].id), .uuid(play.world.workspace.id)]))
    _ = try await play.world.database.run(
      Query(
        """
        UPDATE chat_sessions SET deleted_at = now() WHERE id = $1::uuid AND workspace_id = $2::uuid
        """,
        [.uuid(play.sessions[1].id), .uuid(play.world.workspace.id)]))
    try await play.countAll()
    #expect(try await counted(play.world) == before)
    _ = try await play.world.database.ask(Analytics.recompute(play.world.workspace.id))
    #expect(try await counted(play.world) == before)
  }

  @Test("a bucket is 4.4 % wide, and its end is at least its values")
  func buckets() async throws {
    let world = try await World()
    let rows = try await world.database.run(
      Query(
        """
        SELECT count(*) FILTER (WHERE e < ms), count(*) FILTER (WHERE e > 1.0445 * ms + 1), count(*)
        FROM (SELECT ms, chirrup_bucket_end(chirrup_bucket(ms)) AS e FROM (
          SELECT n::bigint AS ms FROM generate_series(0, 5000) AS n
          UNION ALL SELECT (2::numeric ^ n)::bigint + d FROM generate_series(3, 40) AS n,
            generate_series(-1, 1) AS d) AS a) AS t
        """))
    #expect(rows.int(0, 0) == 0)
    #expect(rows.int(0, 1) == 0)
    #expect(rows.int(0, 2) == 5_115)
  }

  @Test("days, total and hours are those of the caller's workspace")
  func rest() async throws {
    var play = try await Play()
    let world = play.world
    let path = "/api/v1/admin/live-chat/analytics"
    for seconds in [10, 20, 90_000] as [Int64] { try await play.begin(secondsAgo: seconds) }
    for (session, _) in play.sessions {
      let conversation = "\(conversations)/\(session)"
      #expect(try await world.call("POST", "\(conversation)/claim", json: "{}").status == 200)
      #expect(
        try await world.call("POST", "\(conversation)/messages", json: #"{"body":"Hi"}"#).status
          == 201)
      #expect(try await world.call("POST", "\(conversation)/close", json: "{}").status == 200)
    }
    for (session, visitor) in play.sessions.prefix(2) {
      let rating = Rating(
        session: session, workspace: world.workspace.id, visitor: visitor,
        rating: session == play.sessions[0].id ? 5 : 2, comment: nil, line: World.identifier())
      _ = try await world.database.ask(rating.statement)
    }
    try await play.countAll()
    let now = WallTime(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000))
    let answer = try await world.call("GET", path, now: now)
    #expect(answer.status == 200)
    #expect(answer.string("time_zone") == "UTC")
    #expect(answer.string("counted_at")?.hasSuffix("Z") == true)
    #expect(answer.objects("days").count == 30)
    #expect(answer.objects("days").last?["day"] as? String == answer.string("to"))
    #expect(answer.int("total.sessions") == 3)
    #expect(answer.int("total.messages") == 6)
    #expect(answer.int("total.csat_count") == 2)
    #expect(answer["total.csat_mean"] as? Double == 3.5)
    #expect((answer.int("total.wait_p50_ms") ?? 0) >= 20_000)
    #expect((answer.int("total.resolution_p90_ms") ?? 0) >= 90_000_000)
    let sum = answer.objects("days").reduce(0) { $0 + ($1["sessions"] as? Int ?? 0) }
    #expect(sum == 3)
    let hours = answer["by_hour"] as? [[Int]] ?? []
    #expect(hours.count == 7 && hours.allSatisfy { $0.count == 24 })
    #expect(hours.reduce(0) { $0 + $1.reduce(0, +) } == 3)
    let operators = try await world.call("GET", "\(path)/operators", now: now)
    #expect(operators.objects("operators").count == 1)
    #expect(operators.objects("operators").first?["name"] as? String == "Mika")
    #expect(operators.objects("operators").first?["sessions"] as? Int == 3)
    for time in ["wait_p50_ms", "first_response_p90_ms", "resolution_p90_ms"] {
      #expect(operators.objects("operators").first?[time] as? Int == answer.int("total.\(time)"))
    }
    let other = try await World()
    let empty = try await other.call("GET", path, now: now)
    #expect(empty.int("total.sessions") == 0)
    #expect(empty.int("previous.sessions") == 0 && empty.objects("days").count == 30)
    #expect(empty["total.csat_mean"] == nil)
    for query in [
      "from=2026-02-30", "from=x", "from=", "from=2026-11-22&to=2026-11-21",
      "from=2020-01-01&to=2021-01-01", "days=0", "days=367", "days=x", "days=7&from=2026-11-22",
    ] {
      #expect(try await world.call("GET", "\(path)?\(query)", now: now).status == 400, "\(query)")
    }
    let days = try await world.call("GET", "\(path)?days=7", now: now)
    #expect(days.objects("days").count == 7 && days.string("to") == answer.string("to"))
    // With “from” alone, at most a year.
    let year = try await world.call("GET", "\(path)?from=2020-01-01", now: now)
    #expect(year.string("to") == "2020-12-31" && year.objects("days").count == 366)
  }
}
