import Conversations
import Directory
import DomainFixtures
import Fixtures
import Migrator
import Postgres
import Primitives
import Testing

/// The number of conversations in a saved view, and the filters of the list that views add.
@Suite struct SavedViewTests {
  private func reader(_ place: Workplace) -> SharedItems.Reader {
    SharedItems.Reader(actor: place.actor, isAdmin: false)
  }

  /// Adds a view, and returns its count.
  private func count(_ filters: String, in place: Workplace) async throws -> Int64? {
    let id = Workplace.identifier()
    let rows = try await place.database.run(
      SharedItems.views.add(
        id, name: "\(id)", isShared: false, content: Array(filters.utf8), by: reader(place)))
    return rows.int(0, 7)
  }

  private func listed(
    in place: Workplace, _ change: (inout ConversationList) -> Void
  ) async throws -> (page: Set<Identifier>, total: Int64) {
    var list = ConversationList(limit: 50)
    list.status = "open"
    change(&list)
    let page = try await place.database.ask(list.page(of: place.id))
    return (Set(page.map(\.id)), try await place.database.ask(list.countMatches(in: place.id)))
  }

  /// Six open conversations and a closed one: of two languages, waiting for 0 to 50 minutes, of
  /// visitors with and without a plan, one of the six on LINE.
  private func conversations(of place: Workplace) async throws -> [Identifier] {
    var ids: [Identifier] = []
    for number in 0..<7 {
      let visitor = Workplace.identifier()
      let id = Workplace.identifier()
      _ = try await place.database.run(
        Query(
          """
          WITH visitor AS (
            INSERT INTO visitors (id, workspace_id, name, attributes)
            VALUES ($3::uuid, $1::uuid, 'V', CASE $4::bigint % 3 WHEN 0 THEN '{"plan":"pro"}'
              WHEN 1 THEN '{"plan":"a=b","seats":5}' ELSE '{}' END::jsonb)
          )
          INSERT INTO chat_sessions (id, workspace_id, user_id, status, context, waiting_since,
            assigned_operator_id, closed_at, channel)
          VALUES ($2::uuid, $1::uuid, $3::uuid, CASE WHEN $4::bigint = 6 THEN 'closed'
              WHEN $4::bigint = 5 THEN 'active' ELSE 'waiting' END,
            CASE $4::bigint % 2 WHEN 0 THEN '{"locale":"de-AT"}' ELSE '{"locale":"den"}' END::jsonb,
            CASE WHEN $4::bigint < 5 THEN now() - $4::bigint * interval '10 minutes' END,
            CASE WHEN $4::bigint = 5 THEN $5::uuid END,
            CASE WHEN $4::bigint = 6 THEN now() END,
            CASE WHEN $4::bigint IN (2, 6) THEN 'line' ELSE 'web' END)
          """,
          [.uuid(place.id), .uuid(id), .uuid(visitor), .int(Int64(number)), .uuid(place.mika.id)]))
      ids.append(id)
    }
    return ids
  }

  @Test("a view counts what the list with its filters has")
  func counts() async throws {
    let place = try await Workplace()
    let ids = try await conversations(of: place)
    func expect(
      _ numbers: [Int], _ filters: String, _ change: (inout ConversationList) -> Void
    ) async throws {
      let list = try await listed(in: place, change)
      #expect(list.page == Set(numbers.map { ids[$0] }), "\(filters)")
      #expect(list.total == Int64(numbers.count), "\(filters)")
      #expect(try await count(filters, in: place) == Int64(numbers.count), "\(filters)")
    }
    try await expect([0, 1, 2, 3, 4, 5], #"{"status":"open"}"#) { _ in }
    try await expect([0, 2, 4], #"{"status":"open","language":"de"}"#) { $0.ofOpen.language = "de" }
    try await expect([0, 2, 4], #"{"status":"open","language":"de-at"}"#) {
      $0.ofOpen.language = "de-at"
    }
    try await expect([2, 3, 4], #"{"status":"open","waiting_minutes":20}"#) {
      $0.ofOpen.waitingMinutes = 20
    }
    try await expect([2], #"{"status":"open","channel":"line"}"#) { $0.ofOpen.channel = "line" }
    try await expect([0, 1, 3, 4, 5], #"{"status":"open","channel":"web"}"#) {
      $0.ofOpen.channel = "web"
    }
    try await expect([0, 3], #"{"status":"open","attribute":"plan=pro"}"#) {
      $0.ofOpen.attribute = OpenFilters.Attribute(name: "plan", value: "pro")
    }
    try await expect([1, 4], #"{"status":"open","attribute":"plan=a=b"}"#) {
      $0.ofOpen.attribute = OpenFilters.Attribute(name: "plan", value: "a=b")
    }
    try await expect([1, 4], #"{"status":"waiting","attribute":"seats=5"}"#) {
      $0.status = "waiting"
      $0.ofOpen.attribute = OpenFilters.Attribute(name: "seats", value: "5")
    }
    try await expect([5], #"{"status":"open","assignee":"me"}"#) { $0.assignee = place.mika.id }
    try await expect([0, 1, 2, 3, 4], #"{"status":"open","assignee":"none"}"#) {
      $0.isUnassigned = true
    }
    try await expect([5], #"{"status":"active","assignee":"\#(place.mika.id)"}"#) {
      $0.status = "active"
      $0.assignee = place.mika.id
    }
    try await expect([], #"{"status":"open","team":"\#(Workplace.identifier())"}"#) {
      $0.team = Workplace.identifier()
    }
    try await expect([0, 1, 2, 3, 4, 5], #"{"status":"open","team":"none"}"#) {
      $0.isWithoutTeam = true
    }
    try await expect([], #"{"status":"open","tag":"vip"}"#) { $0.tag = "vip" }
    _ = try await place.database.run(
      Query(
        """
        WITH tag AS (INSERT INTO tags (workspace_id, name) VALUES ($1::uuid, 'vip'))
        INSERT INTO session_tags (workspace_id, session_id, tag)
        SELECT $1::uuid, id, 'vip' FROM unnest($2::uuid[]) AS id
        """, [.uuid(place.id), .uuids([ids[1], ids[2], ids[6]])]))
    try await expect([1, 2], #"{"status":"open","tag":"vip"}"#) { $0.tag = "vip" }
    try await expect([2], #"{"status":"waiting","tag":"vip","language":"de"}"#) {
      $0.status = "waiting"
      $0.tag = "vip"
      $0.ofOpen.language = "de"
    }
  }

  @Test("a view counts no conversations of other workspaces, and no more than the limit")
  func bounds() async throws {
    let place = try await Workplace()
    let other = try await Workplace()
    _ = try await conversations(of: other)
    #expect(try await count(#"{"status":"open"}"#, in: place) == 0)
    _ = try await place.database.run(
      Query(
        """
        INSERT INTO chat_sessions (workspace_id, status)
        SELECT $1::uuid, 'waiting' FROM generate_series(1, 1100)
        """, [.uuid(place.id)]))
    #expect(try await count(#"{"status":"open"}"#, in: place) == Int64(SharedItems.viewCountMax))
  }

  @Test("a workspace has at most 20 shared views, and a member 20 private ones")
  func full() async throws {
    let place = try await Workplace()
    func add(_ number: Int, shared: Bool) async throws -> Bool {
      let rows = try await place.database.run(
        SharedItems.views.add(
          Workplace.identifier(), name: "\(number)", isShared: shared,
          content: Array(#"{"status":"open"}"#.utf8), by: reader(place)))
      return !rows.isEmpty
    }
    for isShared in [true, false] {
      for number in 1...SharedItems.views.countMax {
        #expect(try await add(Int(number), shared: isShared))
      }
      #expect(try await !add(0, shared: isShared))
    }
  }

  /// 20,000 closed conversations and 200 open ones of one workspace.
  private static let fill = """
    INSERT INTO workspaces (id, name) VALUES (gen_random_uuid(), 'w');
    INSERT INTO operators (id, email, name, password_hash)
      VALUES (gen_random_uuid(), 'o@example.com', 'o', '');
    INSERT INTO memberships (workspace_id, operator_id, role)
      SELECT w.id, o.id, 'agent' FROM workspaces w, operators o;
    INSERT INTO chat_sessions (workspace_id, status, waiting_since, claimed_at, closed_at, context)
      SELECT w.id, CASE WHEN n % 101 > 0 THEN 'closed' WHEN n % 2 = 0 THEN 'waiting'
          ELSE 'active' END,
        CASE WHEN n % 202 = 0 THEN now() END, CASE WHEN n % 202 > 0 THEN now() END,
        CASE WHEN n % 101 > 0 THEN now() END, '{"locale":"de"}'
      FROM workspaces w, generate_series(1, 20200) n;
    INSERT INTO saved_views (id, workspace_id, created_by, name, filters)
      SELECT gen_random_uuid(), m.workspace_id, m.operator_id, n::text, jsonb_build_object(
        'status', 'open', 'language', 'de', 'tag', CASE WHEN n % 2 = 0 THEN 'x' END)
      FROM memberships m, generate_series(1, 20) n;
    """

  @Test(
    "neither the counts of the views nor a list with their filters read closed conversations",
    arguments: QueuePlanTests.Content.allCases)
  func plans(content: QueuePlanTests.Content) async throws {
    let connection = try BlockingConnection(EmptyDatabase().url)
    try Migrator(connection).up()
    for table in ["chat_sessions", "saved_views", "session_tags"] {
      try connection.execute(script: "ALTER TABLE \(table) SET (autovacuum_enabled = off)")
    }
    if content == .stale { try connection.execute(script: "ANALYZE") }
    try connection.execute(script: SavedViewTests.fill)
    if content == .analyzed { try connection.execute(script: "ANALYZE") }
    let keys = try connection.run(
      Query("SELECT workspace_id, operator_id FROM memberships LIMIT 1"))
    let workspace = try #require(keys.uuid(0, 0))
    let actor = AuditActor(
      workspace: workspace, id: keys.uuid(0, 1), kind: "operator")
    var list = ConversationList(limit: 100)
    list.status = "open"
    list.ofOpen.language = "fr"
    list.ofOpen.attribute = OpenFilters.Attribute(name: "plan", value: "pro")
    let queries = [
      SharedItems.views.page(
        for: SharedItems.Reader(actor: actor, isAdmin: false), after: nil, limit: 100),
      list.page(of: workspace).query, list.countMatches(in: workspace).query,
    ]
    for (number, query) in queries.enumerated() {
      let plan = try connection.run(
        Query(
          "EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) \(query.sql)", query.parameters))
      let lines = (0..<plan.count).compactMap { plan.text($0, 0) }
      let text = "\(number):\n" + lines.joined(separator: "\n")
      #expect(!text.contains("Seq Scan on chat_sessions"), "\(text)")
      for line in lines {
        let removed = line.firstMatch(of: /Rows Removed by Filter: ([0-9]+)/)
        #expect((removed.flatMap { Int($0.1) } ?? 0) <= 200, "\(text)")
      }
    }
  }
}
