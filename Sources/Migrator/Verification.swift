import Postgres

/// The result of one check of a database.
public struct Check: Sendable, Equatable {
  public var name: String
  public var passed: Bool
  /// The figures on which the result is based, as a sentence.
  public var figures: String

  public init(name: String, passed: Bool, figures: String) {
    self.name = name
    self.passed = passed
    self.figures = figures
  }
}

/// `chirrup migrate verify`: checks schema and data against the guarantees of the migrations. Reads
/// one snapshot, beside a running gateway; changes nothing.
extension Migrator {
  public func verify() throws(MigrationFailure) -> [Check] {
    var checks = [try filesCheck()]
    let plan = try status()
    checks.append(
      Check(
        name: "exactly the known migrations are recorded",
        passed: plan.isCurrent,
        figures: "\(plan.lines.count { $0.state == .applied }) applied, \(plan.pending.count) "
          + "pending, \(plan.changed.count) changed, \(plan.unknown.count) unknown"
          + (plan.unfinished.isEmpty ? "" : ", \(plan.unfinished.count) for migrate finish")))
    let differences = try compareSchema(with: plan.expected)
    checks.append(
      Check(
        name: "the schema equals that of the migrations", passed: differences.isEmpty,
        figures: differences.isEmpty
          ? "no difference" : differences.map(\.description).joined(separator: "; ")))
    let fault = try readerFault()
    checks.append(
      Check(
        name: "row security applies to the gateway's readers", passed: fault == nil,
        figures: fault.map { "\($0)" } ?? "they run as chirrup_reader"))
    let roles = DatabaseRoles(self)
    let rights = plan.pending.isEmpty ? try roles.rightsDifference() : ([], [])
    checks.append(try roles.check(lacking: plan.pending.isEmpty ? rights.0 : nil))
    checks.append(try privilegesCheck(surplus: rights.1))
    try execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    defer { try? execute("ROLLBACK") }
    for query in Migrator.dataChecks { checks.append(try check(query)) }
    return checks
  }

  private func filesCheck() throws(MigrationFailure) -> Check {
    let heads = Set(chain.migrations.map(\.revision)).subtracting(
      chain.migrations.compactMap(\.parent))
    return Check(
      name: "the files have one head", passed: heads.count == 1,
      figures: heads.sorted().joined(separator: ", "))
  }

  /// The statement returns one row: whether the check passed, and its figures.
  func check(_ item: DataCheck) throws(MigrationFailure) -> Check {
    if let table = item.table {
      let exists = try run(Query("SELECT to_regclass($1) IS NOT NULL", [.text(table)]))
      guard exists.bool(0, 0) == true else {
        return Check(
          name: item.name, passed: true, figures: "not applicable: no messages were moved")
      }
    }
    try execute("SAVEPOINT chirrup_check")
    do throws(MigrationFailure) {
      let rows = try run(Query(item.sql))
      try execute("RELEASE SAVEPOINT chirrup_check")
      return Check(
        name: item.name, passed: rows.bool(0, 0) == true, figures: rows.text(0, 1) ?? "")
    } catch {
      if case .unavailable = error { throw error }
      try execute("ROLLBACK TO SAVEPOINT chirrup_check")
      return Check(name: item.name, passed: false, figures: "the check failed to run: \(error)")
    }
  }

  struct DataCheck {
    var name: String
    /// The check applies only if this table exists.
    var table: String?
    var sql: StaticString
  }

  static let dataChecks = [
    DataCheck(
      name: "no message without a session, or with one of another workspace",
      sql: """
        SELECT count(*) FILTER (WHERE s.id IS NULL OR s.workspace_id <> c.workspace_id) = 0,
          format('%s messages, %s without a session, %s in a session of another workspace',
            count(*), count(*) FILTER (WHERE s.id IS NULL),
            count(*) FILTER (WHERE s.workspace_id <> c.workspace_id))
        FROM chats c LEFT JOIN chat_sessions s ON s.id = c.session_id
        """),
    // The older application deletes messages of its own: a trigger counts them. Any other hole is
    // a number that Chirrup gave and whose message is lost.
    DataCheck(
      name: "the numbers of each session have no holes",
      sql: """
        SELECT count(*) FILTER (WHERE broken) = 0,
          format('%s sessions with messages, %s with holes', count(*),
            count(*) FILTER (WHERE broken))
          || CASE WHEN sum(deleted) > 0 THEN
            format('; the older application has deleted %s messages of %s sessions', sum(deleted),
              count(*) FILTER (WHERE deleted > 0)) ELSE '' END
        FROM (SELECT CASE WHEN d.messages > 0 THEN
              s.last_seq <> coalesce(c.count, 0) + d.messages OR c.first < 1
            ELSE c.first <> 1 OR c.last <> c.count END AS broken, coalesce(d.messages, 0) AS deleted
          FROM chat_sessions s LEFT JOIN chirrup_deletions d ON d.session_id = s.id
          LEFT JOIN (SELECT session_id, count(*), min(seq) AS first, max(seq) AS last
            FROM chats GROUP BY 1) AS c ON c.session_id = s.id
          WHERE c.count > 0 OR d.messages > 0) AS s
        """),
    DataCheck(
      name: "each session knows its last number",
      sql: """
        SELECT count(*) FILTER (WHERE broken) = 0,
          format('%s sessions, %s with another last_seq than their messages', count(*),
            count(*) FILTER (WHERE broken))
        FROM (SELECT CASE WHEN d.messages > 0 THEN s.last_seq < coalesce(c.last, 0)
            ELSE s.last_seq <> coalesce(c.last, 0) END AS broken
          FROM chat_sessions s LEFT JOIN chirrup_deletions d ON d.session_id = s.id
          LEFT JOIN (SELECT session_id, max(seq) AS last FROM chats GROUP BY 1) c
            ON c.session_id = s.id) AS s
        """),
    // Deleting a workspace deletes its legacy session, hence the join.
    DataCheck(
      name: "a legacy session for each workspace that had messages",
      table: "chirrup_legacy_sessions",
      sql: """
        SELECT count(*) FILTER (WHERE s.id IS NULL) = 0,
          format('%s workspaces had messages, %s of them without their legacy session',
            count(*), count(*) FILTER (WHERE s.id IS NULL))
        FROM chirrup_legacy_sessions l JOIN workspaces w ON w.id = l.workspace_id
        LEFT JOIN chat_sessions s ON s.id = l.session_id AND s.workspace_id = l.workspace_id
        """),
    // More messages are valid: the old application may have added some since. Those that it has
    // deleted since are missing.
    DataCheck(
      name: "each legacy session has the messages that moved into it",
      table: "chirrup_legacy_sessions",
      sql: """
        SELECT count(*) FILTER (WHERE found < messages) = 0,
          format('%s moved, %s found, %s sessions with fewer', sum(messages), sum(found),
            count(*) FILTER (WHERE found < messages))
        FROM (SELECT l.messages, (SELECT count(*) FROM chats c WHERE c.session_id = l.session_id)
            + coalesce((SELECT d.messages FROM chirrup_deletions d
              WHERE d.session_id = l.session_id), 0) AS found
          FROM chirrup_legacy_sessions l JOIN chat_sessions s ON s.id = l.session_id) AS legacy
        """),
    DataCheck(
      name: "the four policies of each of the two tables",
      sql: """
        SELECT count(*) = 8 AND bool_and(relrowsecurity),
          format('%s of 8: %s', count(*), string_agg(polname, ', ' ORDER BY polname))
        FROM pg_policy JOIN pg_class c ON c.oid = polrelid
        WHERE polrelid IN (to_regclass('chats'), to_regclass('chat_sessions'))
          AND regexp_replace(polname, '^chirrup_', '') = relname || CASE polcmd
            WHEN 'r' THEN '_select' WHEN 'a' THEN '_insert'
            WHEN 'w' THEN '_update' WHEN 'd' THEN '_delete' END
          AND NOT EXISTS (SELECT FROM chirrup_adoptions
            WHERE relation = relname AND kind = 'policy' AND name = polname)
        """),
    DataCheck(
      name: "the six indexes",
      sql: """
        SELECT count(*) = 6, format('%s of 6: %s', count(*), string_agg(relname, ', ' ORDER BY 1))
        FROM pg_class JOIN pg_index ON indexrelid = oid
        WHERE indisvalid AND indrelid IN (to_regclass('chats'), to_regclass('chat_sessions'))
          AND relname IN ('idx_chat_sessions_workspace_id', 'idx_chat_sessions_user_id',
            'idx_chat_sessions_created_at', 'idx_chat_sessions_active', 'idx_chats_session_id',
            'idx_chats_session_created')
        """),
  ]
}
