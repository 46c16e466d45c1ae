import Postgres

/// A problem of a database, and the remedy that `repair` applies.
public struct Finding: Sendable, Equatable, CustomStringConvertible {
  public var problem: String
  public var remedy: String
  /// Informational: there is nothing to repair.
  public var isRemark = false

  public var description: String { "\(problem)\n  \(remedy)" }
}

/// The repair of a database whose record of migrations does not match its schema: recorded
/// revisions without a file, missing tables of recorded revisions, tables made by hand.
///
/// Nothing that exists is dropped or renamed: the migrations themselves create what is missing and
/// adopt existing tables.
extension Migrator {
  /// Finds the problems. Changes nothing. Throws `newerDatabase` if a newer binary migrated it.
  public func diagnose() throws(MigrationFailure) -> [Finding] {
    let plan = try status()
    let newer = plan.newer
    guard newer.isEmpty else { throw .newerDatabase(unknown: newer) }
    var findings = try foreignRecords()
    for stray in plan.strays {
      findings.append(
        Finding(
          problem: "the revision \(stray) is recorded but has no file",
          remedy: "its record is removed; the objects it may have created stay"))
    }
    let differences = try compareSchema(with: plan.expected)
    let missing = differences.filter { $0.kind == .table }.map(\.relation)
    if !missing.isEmpty {
      findings.append(
        Finding(
          problem: "tables are missing: " + missing.joined(separator: ", "),
          remedy: "they are created"))
    }
    findings += try handmade(differences)
    let rolesFault = try DatabaseRoles(self).fault(besides: missing)
    for fault in [try readerFault(), rolesFault].compactMap({ $0 }) { findings.append(fault) }
    let pending = plan.pending
    if !pending.isEmpty {
      findings.append(
        Finding(
          problem: "not recorded: " + pending.joined(separator: ", "),
          remedy: "they run, and adopt existing tables"))
    }
    return findings
  }

  /// The tables that Chirrup did not create, each with its missing columns, and every difference of
  /// the other tables.
  private func handmade(
    _ differences: [SchemaDifference]
  ) throws(MigrationFailure) -> [Finding] {
    let onRecord = try tablesOnRecord() ?? []
    // The other tables are Chirrup's own: no migration adopts them.
    let adoptable = Set(
      chain.migrations.flatMap(\.up).flatMap { statement in
        statement.text.matches(of: /chirrup_adopt\('([a-z_]+)'\)/).map { String($0.1) }
      }
    ).subtracting(onRecord)
    var findings: [Finding] = []
    for table in adoptable.sorted() {
      let own = differences.filter { $0.relation == table }
      if own.isEmpty || own.contains(where: { $0.kind == .table }) { continue }
      let lacking = own.filter { $0.kind == .column && $0.found == nil }.map(\.name)
      findings.append(
        Finding(
          problem: "the table \(table) was not created by Chirrup; missing columns: "
            + (lacking.isEmpty ? "none" : lacking.joined(separator: ", ")),
          remedy: "it is adopted: its contents stay, missing columns are added"))
    }
    for difference in differences
    where difference.kind != .table && difference.kind != .function
      && !adoptable.contains(difference.relation)
    {
      findings.append(
        Finding(
          problem: "\(difference)",
          remedy: difference.found == nil
            ? "it is created" : "the migration that created it runs again"))
    }
    return findings
  }

  /// The reason why row security does not apply to the gateway's readers; nil if it does.
  func readerFault() throws(MigrationFailure) -> Finding? {
    // The role exists only after its migration.
    if try !status().pending.isEmpty { return nil }
    let rows = try run(
      Query(
        """
        SELECT r.oid IS NOT NULL, coalesce(pg_has_role(current_user, r.oid, 'MEMBER'), false),
          quote_ident(current_user)
        FROM (SELECT to_regrole('chirrup_reader')::oid AS oid) r
        """))
    let user = rows.text(0, 2) ?? "CURRENT_USER"
    if rows.bool(0, 0) != true {
      return Finding(
        problem: "the role chirrup_reader is missing, so row security does not apply to the "
          + "gateway's readers (their statements still name the workspace)",
        remedy: "if \(user) may not create roles, as a superuser: CREATE ROLE chirrup_reader "
          + "NOLOGIN; GRANT chirrup_reader TO \(user); then: chirrup migrate repair")
    }
    if rows.bool(0, 1) != true {
      return Finding(
        problem: "\(user) is not a member of chirrup_reader, so row security does not apply to "
          + "the gateway's readers",
        remedy: "as a superuser: GRANT chirrup_reader TO \(user);")
    }
    do throws(MigrationFailure) {
      // Policies of another application may need privileges on more than these tables.
      try transaction { () throws(MigrationFailure) in
        try execute("SET LOCAL ROLE chirrup_reader")
        try execute("SELECT FROM chats, chat_sessions, database_epoch LIMIT 0")
      }
      return nil
    } catch {
      guard case .refused(let refusal) = error else { throw error }
      // Missing tables are reported as their own finding.
      if refusal.state.code == "42P01" { return nil }
      return Finding(
        problem: "chirrup_reader may not read the tables: \(refusal.message)",
        remedy: "the missing privileges are granted")
    }
  }

  /// Repairs the problems that `diagnose` finds. Returns the remaining differences, which need a
  /// decision of the administrator.
  public func repair(
    report: (Event) -> Void = { _ in }
  ) throws(MigrationFailure) -> [SchemaDifference] {
    try underLock(report) { () throws(MigrationFailure) in
      let plan = try status()
      let newer = plan.newer
      guard newer.isEmpty else { throw .newerDatabase(unknown: newer) }
      let obstacles = try examine().filter(\.isObstacle)
      guard obstacles.isEmpty else { throw .notAdoptable(obstacles) }
      try prepareBookkeeping()
      for stray in plan.strays {
        try run(Query("DELETE FROM chirrup_migrations WHERE revision = $1", [.text(stray)]))
      }
      // The objects of a recorded revision may be missing. Every step is idempotent, so all
      // migrations from the first incomplete one on run again.
      var migrations: [Migration] = []
      for migration in plan.expected {
        var isWanted = !migrations.isEmpty || plan.pending.contains(migration.revision)
        if !isWanted { isWanted = try lacks(migration) }
        if !isWanted, migration.revision.hasSuffix("_row_security") {
          isWanted = try readerFault() != nil
        }
        if !isWanted, migration.revision.hasSuffix("_bind_roles") {
          isWanted = try DatabaseRoles(self).fault() != nil
        }
        if isWanted { migrations.append(migration) }
      }
      var locks = try LockObserver(self)
      for (index, migration) in migrations.enumerated() {
        try apply(migration, number: index + 1, of: migrations.count, &locks, report)
      }
      return try compareSchema(with: plan.expected)
    }
  }

  /// Whether the schema differs from that after this migration.
  private func lacks(_ migration: Migration) throws(MigrationFailure) -> Bool {
    let upTo = try chain.upTo(migration.revision)
    return try !compareSchema(with: upTo).isEmpty
  }

  /// Records of another migration tool.
  private func foreignRecords() throws(MigrationFailure) -> [Finding] {
    let exists = try run(Query("SELECT to_regclass('alembic_version') IS NOT NULL"))
    guard exists.bool(0, 0) == true else { return [] }
    let rows = try run(Query("SELECT version_num::text FROM alembic_version"))
    return (0..<rows.count).compactMap { rows.text($0, 0) }.map { version in
      Finding(
        problem: "alembic_version contains \(version), a revision of another tool",
        remedy: "it stays as it is: Chirrup keeps its own record in chirrup_migrations",
        isRemark: true)
    }
  }
}
