/// What a running gateway removes by itself: which of several does it, when, and what the metrics
/// say about it.
import Directory
import Fixtures
import Kernel
import Migrator
import Postgres
import Primitives
import REST
import Settings
import Testing

@testable import Gateway

@Suite struct UpkeepTests {
  /// A closed conversation of two years ago with a message, its visitor, and entries of the audit
  /// log of that time.
  private static let content: StaticString = """
    WITH shop AS (
      INSERT INTO workspaces (id, name) VALUES (gen_random_uuid(), 'shop') RETURNING id
    ), ada AS (
      INSERT INTO visitors (id, workspace_id, name, last_seen_at)
      SELECT gen_random_uuid(), id, 'Ada', now() - interval '2 years' FROM shop
      RETURNING id, workspace_id
    ), talk AS (
      INSERT INTO chat_sessions (workspace_id, user_id, status, created_at, closed_at,
        last_message_at, last_seq, waiting_since)
      SELECT workspace_id, id, 'closed', now() - interval '2 years', now() - interval '2 years',
        now() - interval '2 years', 1, NULL FROM ada RETURNING id, workspace_id
    ), message AS (
      INSERT INTO chats (workspace_id, session_id, seq, role, kind, content, content_hash)
      SELECT workspace_id, id, 1, 'operator', 'text', 'hello', '' FROM talk
    )
    INSERT INTO audit_log (workspace_id, actor, action, created_at)
    SELECT id, 'rule', action, now() - interval '2 years'
    FROM shop, unnest(ARRAY['login.failed', 'visitor.erased']) AS action
    """

  private func makeDatabase() throws -> (url: String, owner: BlockingConnection) {
    let url = try EmptyDatabase().url
    let owner = try BlockingConnection(url)
    try Migrator(owner).up { _ in }
    try owner.run(Query(UpkeepTests.content))
    return (url, owner)
  }

  private func count(_ owner: BlockingConnection, _ sql: StaticString) throws -> Int64 {
    try owner.run(Query(sql)).int(0, 0) ?? -1
  }

  private func wait(
    _ what: String, seconds: Int64 = 60, until isThere: () throws -> Bool
  ) async throws {
    let end = SystemClock.now().advanced(byMilliseconds: seconds * 1_000)
    while try !isThere() {
      guard SystemClock.now() < end else {
        Issue.record("not after \(seconds) s: \(what)")
        return
      }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  private func record(_ task: UpkeepTask, of gateway: RunningGateway) -> UpkeepRecord? {
    gateway.context.upkeep.figures.first { $0.task == task }?.record
  }

  /// A window around the time of the database, or opposite of it.
  private func window(
    _ owner: BlockingConnection, isOpen: Bool
  ) throws -> MaintenanceWindow {
    let now = Int(
      try count(
        owner,
        "SELECT floor(extract(epoch FROM (now() AT TIME ZONE 'UTC')::time) / 60)::bigint"))
    let (begin, end) = isOpen ? (now - 60, now + 60) : (now + 660, now + 780)
    return MaintenanceWindow(begin: (begin + 1_440) % 1_440, end: end % 1_440)
  }

  @Test("old conversations, visitors and entries are removed and audited, and the metrics say so")
  func removed() async throws {
    let (url, owner) = try makeDatabase()
    let book = LogBook()
    let gateway = try await RunningGateway(database: url, log: book) {
      $0.maintenance.conversationDays = 365
      $0.maintenance.auditDays = 365
      $0.migrationsURL = url
    }
    defer { gateway.stop() }
    try await wait("the end of both tasks") {
      record(.retention, of: gateway)?.lastSuccessAt != nil
        && record(.audit, of: gateway)?.lastSuccessAt != nil
    }
    #expect(try count(owner, "SELECT count(*) FROM chat_sessions") == 0)
    #expect(try count(owner, "SELECT count(*) FROM chats") == 0)
    #expect(try count(owner, "SELECT count(*) FROM visitors") == 0)
    let entries = try owner.texts(
      """
      SELECT concat_ws(' ', actor, action, details - 'oldest' - 'newest') FROM audit_log
      WHERE action <> 'visitor.erased' ORDER BY id
      """)
    #expect(
      entries.sorted() == [
        #"rule audit.pruned {"days": 365, "entries": 1}"#,
        #"rule sessions.expired {"days": 365, "messages": 1, "sessions": 1}"#,
        #"rule visitors.expired {"days": 365, "visitors": 1}"#,
      ])
    // An import reads who was erased.
    #expect(
      try count(owner, "SELECT count(*) FROM audit_log WHERE action = 'visitor.erased'") == 1)
    #expect(try count(owner, "SELECT generation FROM database_epoch") == 1)
    #expect(record(.retention, of: gateway)?.rows == 2)
    #expect(record(.audit, of: gateway)?.rows == 1)
    let text = PrometheusText.text(MetricsSnapshot(gateway.context))
    for line in [
      #"chirrup_upkeep_rows_total{task="retention"} 2"#,
      #"chirrup_upkeep_rows_total{task="audit"} 1"#,
      #"chirrup_upkeep_failures_total{task="audit"} 0"#,
    ] { #expect(text.contains(line)) }
    #expect(
      !book.lines(with: "upkeep has finished a task").filter {
        $0.contains("rows=2") && $0.contains("task=retention")
      }.isEmpty)
  }

  @Test("nothing is removed outside of the window; a reload opens it")
  func window() async throws {
    let (url, owner) = try makeDatabase()
    let closed = try window(owner, isOpen: false)
    let gateway = try await RunningGateway(database: url) {
      $0.maintenance.conversationDays = 365
      $0.maintenance.window = closed
    }
    defer { gateway.stop() }
    // The figures of conversations are counted at any time.
    try await wait("rounds outside of the window") {
      record(.analytics, of: gateway)?.lastSuccessAt != nil
    }
    try await Task.sleep(for: .milliseconds(2 * Maintenance.intervalMilliseconds))
    #expect(try count(owner, "SELECT count(*) FROM chat_sessions") == 1)
    #expect(record(.retention, of: gateway)?.lastRun == nil)
    #expect(record(.retention, of: gateway)?.failures == 0)
    let open = try window(owner, isOpen: true)
    let report = await gateway.reload { $0.maintenance.window = open }
    #expect(report.refusal == nil && report.applied.map(\.setting) == ["maintenance.window"])
    try await wait("the removal within the window") {
      try count(owner, "SELECT count(*) FROM chat_sessions") == 0
    }
  }

  @Test("a reload refuses an unknown time zone, and pruning without the tables' owner")
  func refused() async throws {
    let (url, _) = try makeDatabase()
    let gateway = try await RunningGateway(database: url)
    defer { gateway.stop() }
    let zone = await gateway.reload {
      $0.maintenance.window = MaintenanceWindow(begin: 0, end: 60, zone: "Europe/Berlim")
    }
    #expect(zone.refusal?.contains(#"no time zone "Europe/Berlim""#) == true)
    let owner = await gateway.reload {
      $0.maintenance.window = MaintenanceWindow(begin: 0, end: 60, zone: "Europe/Berlin")
      $0.maintenance.auditDays = 30
    }
    #expect(owner.refusal?.contains("set migrations_url") == true)
    let both = await gateway.reload { $0.maintenance.auditDays = 0 }
    #expect(both.refusal == nil && both.applied.map(\.setting) == ["maintenance.window"])
  }

  @Test("of two gateways the older one does it, and the other one when that has stopped")
  func oldest() async throws {
    let (url, owner) = try makeDatabase()
    let first = try await RunningGateway(database: url)
    try await wait("the first heartbeat") { first.context.peers.isOldest }
    let second = try await RunningGateway(database: url) { $0.maintenance.conversationDays = 365 }
    defer { second.stop() }
    try await wait("the younger one knows the other") { second.context.peers.exist }
    try await Task.sleep(for: .milliseconds(2 * Maintenance.intervalMilliseconds))
    #expect(!second.context.peers.isOldest)
    #expect(
      PrometheusText.text(MetricsSnapshot(second.context)).contains("\nchirrup_peers 1\n"))
    #expect(try count(owner, "SELECT count(*) FROM chat_sessions") == 1)
    first.stop()
    try await wait("the younger one takes over") {
      try count(owner, "SELECT count(*) FROM chat_sessions") == 0
    }
  }

  @Test("a statement that is refused is a failure, which is tried again and counted")
  func failing() async throws {
    let (url, owner) = try makeDatabase()
    try owner.execute(script: "REVOKE DELETE ON visitors FROM chirrup_gateway")
    let gateway = try await RunningGateway(database: url, migrates: true) {
      $0.maintenance.conversationDays = 365
    }
    defer { gateway.stop() }
    try await wait("the failure") { record(.retention, of: gateway)?.failures == 1 }
    let run = try #require(record(.retention, of: gateway))
    #expect(run.lastRun?.outcome == .failed && run.lastSuccessAt == nil && !run.isUnderWay)
    // What was done before is done, and gateways were told.
    #expect(try count(owner, "SELECT count(*) FROM chat_sessions") == 0)
    #expect(try count(owner, "SELECT generation FROM database_epoch") == 1)
  }

  @Test("a run ends as a success, a failure or an interruption, and is due again accordingly")
  func records() {
    var record = UpkeepRecord()
    let start = Instant(nanoseconds: 5_000_000_000)
    let wall = WallTime(microseconds: 7)
    #expect(record.isDue(start) && !record.isUnderWay)
    record.beginUnlessUnderWay(start)
    record.add(3)
    record.beginUnlessUnderWay(start.advanced(byMilliseconds: 2_000))
    record.add(4)
    #expect(record.rowsOfRun == 7 && record.isUnderWay)
    let later = start.advanced(byMilliseconds: 4_000)
    record.end(.interrupted, pause: 60_000, now: later, wall: wall)
    #expect(
      record.lastRun
        == UpkeepRun.End(at: wall, milliseconds: 4_000, rows: 7, outcome: .interrupted))
    #expect(record.lastSuccessAt == nil && record.failures == 0 && record.isDue(later))
    record.beginUnlessUnderWay(later)
    record.add(2)
    #expect(record.rowsOfRun == 2 && record.rows == 9)
    record.end(.failed, pause: 10, now: later, wall: wall)
    #expect(record.failures == 1 && record.lastSuccessAt == nil)
    let retry = later.advanced(byMilliseconds: UpkeepRecord.retryMilliseconds)
    #expect(!record.isDue(later.advanced(byMilliseconds: 10)) && record.isDue(retry))
    record.beginUnlessUnderWay(retry)
    record.end(.done, pause: 60_000, now: retry, wall: WallTime(microseconds: 8))
    #expect(record.lastSuccessAt == WallTime(microseconds: 8))
    #expect(!record.isDue(retry) && record.isDue(retry.advanced(byMilliseconds: 60_000)))
  }

  @Test("an end is stored when its outcome is new, and else once a minute")
  func unstored() throws {
    var record = UpkeepRecord()
    let start = Instant(nanoseconds: 5_000_000_000)
    func end(_ outcome: UpkeepRun.Outcome, _ milliseconds: Int64) -> UpkeepRun.End? {
      let now = start.advanced(byMilliseconds: milliseconds)
      record.end(outcome, pause: 0, now: now, wall: WallTime(microseconds: milliseconds))
      let end = record.unstored(now)
      if let end { record.noteStored(end, now) }
      return end
    }
    #expect(record.unstored(start) == nil)
    #expect(end(.done, 1)?.at == WallTime(microseconds: 1))
    #expect(record.unstored(start.advanced(byMilliseconds: 99_000)) == nil, "it is stored")
    #expect(end(.done, 2_000) == nil)
    #expect(end(.failed, 4_000)?.outcome == .failed)
    #expect(end(.done, 6_000)?.outcome == .done)
    #expect(end(.done, 8_000) == nil)
    let later = start.advanced(byMilliseconds: 6_000 + UpkeepRecord.storeMilliseconds)
    #expect(record.unstored(later)?.at == WallTime(microseconds: 8_000))
  }

  @Test("of its own runs and those of other processes, a gateway shows the later one")
  func merged() {
    var record = UpkeepRecord()
    func run(since: Int64, endedAt: Int64?, succeededAt: Int64?) -> UpkeepRun {
      UpkeepRun(
        task: "deleted", since: WallTime(microseconds: since),
        end: endedAt.map {
          UpkeepRun.End(at: WallTime(microseconds: $0), milliseconds: 3, rows: 4, outcome: .failed)
        }, succeededAt: succeededAt.map { WallTime(microseconds: $0) })
    }
    record.take(run(since: 10, endedAt: nil, succeededAt: nil))
    #expect(record.lastRun == nil && record.since == WallTime(microseconds: 10))
    record.end(.done, pause: 0, now: .zero, wall: WallTime(microseconds: 30))
    record.take(run(since: 10, endedAt: 29, succeededAt: 20))
    #expect(record.lastRun?.outcome == .done && record.unstored(.zero) != nil)
    #expect(record.lastSuccessAt == WallTime(microseconds: 30))
    record.take(run(since: 10, endedAt: 40, succeededAt: 35))
    #expect(record.lastRun?.rows == 4 && record.unstored(.zero) == nil)
    #expect(record.lastSuccessAt == WallTime(microseconds: 35))
    record.take(run(since: 50, endedAt: nil, succeededAt: nil))
    #expect(record.lastSuccessAt == nil, "the task was turned off and on again")
  }

  @Test("the last run is known after a restart, and to a gateway that does no upkeep")
  func remembered() async throws {
    let (url, owner) = try makeDatabase()
    let first = try await RunningGateway(database: url) { $0.maintenance.conversationDays = 365 }
    try await wait("the first run") { record(.retention, of: first)?.lastSuccessAt != nil }
    let run = try #require(record(.retention, of: first)?.lastRun)
    #expect(run.rows == 2 && run.outcome == .done)
    try await wait("it is stored") {
      try count(owner, "SELECT count(*) FROM upkeep_runs WHERE outcome = 'done'") == 5
    }
    let other = try await RunningGateway(database: url) { $0.maintenance.conversationDays = 365 }
    defer { other.stop() }
    try await wait("the other gateway knows it") { record(.retention, of: other)?.lastRun == run }
    #expect(record(.retention, of: other)?.rows == 0 && !other.context.peers.isOldest)
    first.stop()
    let closed = try window(owner, isOpen: false)
    let next = try await RunningGateway(database: url) {
      $0.maintenance.conversationDays = 365
      $0.maintenance.window = closed
    }
    defer { next.stop() }
    try await wait("the next process knows it") { record(.retention, of: next)?.lastRun == run }
    let text = PrometheusText.text(MetricsSnapshot(next.context))
    #expect(text.contains(#"chirrup_upkeep_last_run_rows{task="retention"} 2"#))
    let seconds = run.at.microseconds / 1_000_000
    #expect(
      text.contains(
        #"chirrup_upkeep_last_success_timestamp_seconds{task="retention"} \#(seconds)."#))
    #expect(text.contains(#"chirrup_upkeep_since_timestamp_seconds{task="retention"} "#))
  }

  @Test("a task that is turned off and on again begins anew; one without a row is noted again")
  func registered() async throws {
    let (url, owner) = try makeDatabase()
    let gateway = try await RunningGateway(database: url) { $0.maintenance.conversationDays = 365 }
    defer { gateway.stop() }
    let tasks: StaticString = "SELECT count(*) FROM upkeep_runs WHERE ended_at IS NOT NULL"
    try await wait("all runs are stored") { try count(owner, tasks) == 5 }
    await gateway.reload { $0.maintenance.conversationDays = 0 }
    try await wait("its row is gone") {
      try count(owner, "SELECT count(*) FROM upkeep_runs WHERE task = 'retention'") == 0
    }
    let before = try #require(record(.deleted, of: gateway)?.since)
    await gateway.reload { $0.maintenance.conversationDays = 365 }
    try await wait("it is there again") {
      record(.retention, of: gateway)?.since ?? before > before
    }
    #expect(record(.deleted, of: gateway)?.since == before)
    // As after the restore of an older backup.
    try owner.execute(script: "DELETE FROM upkeep_runs")
    await gateway.reload { $0.maintenance.conversationDays = 366 }
    try await wait("all are noted again") { try count(owner, tasks) == 5 }
  }

  /// Conversations that were deleted a year ago.
  private func delete(_ count: Int64, _ owner: BlockingConnection) throws {
    try owner.run(
      Query(
        """
        INSERT INTO chat_sessions (workspace_id, status, last_seq, waiting_since, deleted_at,
          deleted_via)
        SELECT id, 'closed', 0, NULL, now() - interval '1 year', 'command'
        FROM workspaces, generate_series(1, $1::bigint)
        """, [.int(count)]))
  }

  @Test("a run stops in its midst when the window closes, and the next window continues")
  func interrupted() async throws {
    let (url, owner) = try makeDatabase()
    // A hundred rounds, each after two seconds: the test need not be fast to interrupt them.
    let round = Int64(Upkeep.stepsMax) * Upkeep.erasedMax
    let total = 100 * round
    try delete(total, owner)
    let book = LogBook()
    let (open, closed) = (try window(owner, isOpen: true), try window(owner, isOpen: false))
    let gateway = try await RunningGateway(database: url, log: book) {
      $0.maintenance.window = open
    }
    defer { gateway.stop() }
    try await wait("the first step") { record(.deleted, of: gateway)?.rows ?? 0 > 0 }
    await gateway.reload { $0.maintenance.window = closed }
    try await wait("the end of the run") {
      record(.deleted, of: gateway)?.lastRun != nil
    }
    let run = try #require(record(.deleted, of: gateway))
    #expect(!run.isUnderWay && run.lastSuccessAt == nil && run.failures == 0)
    let left: StaticString = "SELECT count(*) FROM chat_sessions WHERE deleted_at IS NOT NULL"
    let rest = try count(owner, left)
    #expect(rest > 0 && rest + Int64(run.rows) == total)
    #expect(
      book.lines(with: "goes on in the next window").contains {
        $0.contains("rows=\(run.rows)") && $0.contains("task=deleted")
      })
    let most: StaticString = """
      DELETE FROM chat_sessions WHERE id IN (
        SELECT id FROM chat_sessions WHERE deleted_at IS NOT NULL OFFSET $1::bigint)
      """
    try owner.run(Query(most, [.int(2 * round)]))
    await gateway.reload { $0.maintenance.window = open }
    try await wait("the rest", seconds: 120) { record(.deleted, of: gateway)?.lastSuccessAt != nil }
    #expect(try count(owner, left) == 0)
  }

  @Test("outside of the window a round counts one step of changes, and then none for a minute")
  func counting() async throws {
    let (url, owner) = try makeDatabase()
    let total = 2 * Upkeep.countedMax + 1
    let pending: StaticString = """
      INSERT INTO chat_analytics_pending (workspace_id, session_id)
      SELECT workspace_id, id FROM chat_sessions, generate_series(1, $1::bigint)
      """
    try owner.run(Query("DELETE FROM chat_analytics_pending"))
    try owner.run(Query(pending, [.int(total)]))
    let closed = try window(owner, isOpen: false)
    let gateway = try await RunningGateway(database: url) { $0.maintenance.window = closed }
    defer { gateway.stop() }
    try await wait("the end of the run") { record(.analytics, of: gateway)?.lastSuccessAt != nil }
    let run = try #require(record(.analytics, of: gateway))
    #expect(run.rows == UInt64(total) && run.failures == 0)
    // Three rounds, with two pauses between them; half of that, since the first may begin late.
    #expect(try #require(run.lastRun).milliseconds >= Maintenance.intervalMilliseconds)
    #expect(try count(owner, "SELECT count(*) FROM chat_analytics_sessions") == 1)
    try owner.run(Query(pending, [.int(1)]))
    try await Task.sleep(for: .milliseconds(2 * Maintenance.intervalMilliseconds))
    #expect(try count(owner, "SELECT count(*) FROM chat_analytics_pending") == 1)
  }

  @Test("a round takes a bounded number of steps, so that a long backlog takes several")
  func bounded() async throws {
    let (url, owner) = try makeDatabase()
    let total = 4 * Int64(Upkeep.stepsMax) * Upkeep.erasedMax + 1
    try delete(total, owner)
    let gateway = try await RunningGateway(database: url)
    defer { gateway.stop() }
    try await wait("the end of the run") { record(.deleted, of: gateway)?.lastSuccessAt != nil }
    let run = try #require(record(.deleted, of: gateway))
    #expect(run.rows == UInt64(total))
    // Five rounds, with four pauses between them; half of that, since the first may begin late.
    #expect(run.lastRun?.milliseconds ?? 0 >= 2 * Maintenance.intervalMilliseconds)
  }
}
