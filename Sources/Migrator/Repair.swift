import Postgres

/// Something that is wrong with a database, and what `repair` does about it.
public struct Finding: Sendable, Equatable, CustomStringConvertible {
  public var what: String
  public var mend: String
  /// Only worth knowing: there is nothing to mend.
  public var isRemark = false

  public var description: String { "\(what)\n  \(mend)" }
}

/// A database whose record of migrations does not say what it holds: revisions on record that no
/// file has, tables that were never made although a revision says so, tables made by hand.
///
/// Nothing that exists is dropped or renamed: what is missing is made by the migrations themselves,
/// which adopt what they find.
extension Migrator {
  /// What is wrong; changes nothing. Throws when a newer binary is at home here.
  public func diagnose() throws(MigrationFailure) -> [Finding] {
    let plan = try status()
    let newer = plan.newer
    guard newer.isEmpty else { throw .newerDatabase(unknown: newer) }
    var findings = try foreignBooks()
    for stray in plan.strays {
      findings.append(
        Finding(
          what: "the revision \(stray) is on record and in no file",
          mend: "its record is removed; what it may have made stays"))
    }
    let differences = try compareSchema(with: chain.migrations)
    let missing = differences.filter { $0.kind == .table }.map(\.relation)
    if !missing.isEmpty {
      findings.append(
        Finding(
          what: "tables are missing: " + missing.joined(separator: ", "), mend: "they are made"))
    }
    findings += try handmade(differences)
    if let fault = try readerFault() { findings.append(fault) }
    let pending = plan.pending
    if !pending.isEmpty {
      findings.append(
        Finding(
          what: "not on record: " + pending.joined(separator: ", "),
          mend: "they run, and adopt what is there"))
    }
    return findings
  }

  /// Tables that nobody has on record, each with the columns that it lacks; and of the others each
  /// difference.
  private func handmade(
    _ differences: [SchemaDifference]
  ) throws(MigrationFailure) -> [Finding] {
    let onRecord = try tablesOnRecord() ?? []
    // Tables that no migration would adopt are Chirrup's own.
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
          what: "the table \(table) was not made by Chirrup, and lacks "
            + (lacking.isEmpty ? "no column" : lacking.joined(separator: ", ")),
          mend: "it is adopted: what it has stays as it is, what it lacks is added"))
    }
    for difference in differences
    where difference.kind != .table && difference.kind != .function
      && !adoptable.contains(difference.relation)
    {
      findings.append(
        Finding(
          what: "\(difference)",
          mend: difference.found == nil ? "it is made" : "the migration that made it runs again"))
    }
    return findings
  }

  /// What keeps the gateway's readers from being bound by row security.
  func readerFault() throws(MigrationFailure) -> Finding? {
    // Before its migration there is nothing to read in that role.
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
        what: "the role chirrup_reader is missing, so the gateway's readers are not bound by row "
          + "security (their statements still name the workspace)",
        mend: "\(user) may make no roles? A superuser: CREATE ROLE chirrup_reader NOLOGIN; "
          + "GRANT chirrup_reader TO \(user); then: chirrup migrate repair")
    }
    if rows.bool(0, 1) != true {
      return Finding(
        what: "\(user) is no member of chirrup_reader, so the gateway's readers are not bound by "
          + "row security", mend: "a superuser: GRANT chirrup_reader TO \(user);")
    }
    do throws(MigrationFailure) {
      // Policies of another application may ask for more than the tables themselves.
      try transaction { () throws(MigrationFailure) in
        try execute("SET LOCAL ROLE chirrup_reader")
        try execute("SELECT FROM chats, chat_sessions, database_epoch LIMIT 0")
      }
      return nil
    } catch {
      guard case .refused(let refusal) = error else { throw error }
      // Tables that are missing are a finding of their own.
      if refusal.state.code == "42P01" { return nil }
      return Finding(
        what: "chirrup_reader may not read the tables: \(refusal.message)",
        mend: "it is granted what it needs")
    }
  }

  /// Mends what `diagnose` finds and answers what could not be mended: differences that need a
  /// decision.
  public func repair(
    report: (Event) -> Void = { _ in }
  ) throws(MigrationFailure) -> [SchemaDifference] {
    try underLock(report) { () throws(MigrationFailure) in
      let plan = try status()
      let newer = plan.newer
      guard newer.isEmpty else { throw .newerDatabase(unknown: newer) }
      try keepBooks()
      for stray in plan.strays {
        try run(Query("DELETE FROM chirrup_migrations WHERE revision = $1", [.text(stray)]))
      }
      // What is on record may still not be there: since every step can be run again, all run that
      // stand at or after the first that is not complete.
      var migrations: [Migration] = []
      for migration in chain.migrations {
        var isWanted = !migrations.isEmpty || plan.state(of: migration.revision) == .pending
        if !isWanted { isWanted = try lacks(migration) }
        if !isWanted, migration.revision.hasSuffix("_row_security") {
          isWanted = try readerFault() != nil
        }
        if isWanted { migrations.append(migration) }
      }
      for (index, migration) in migrations.enumerated() {
        try apply(migration, number: index + 1, of: migrations.count, report)
      }
      return try compareSchema(with: chain.migrations)
    }
  }

  /// Whether something is missing that this migration makes.
  private func lacks(_ migration: Migration) throws(MigrationFailure) -> Bool {
    let upTo = try chain.upTo(migration.revision)
    return try !compareSchema(with: upTo).isEmpty
  }

  /// Records that another migration tool left.
  private func foreignBooks() throws(MigrationFailure) -> [Finding] {
    let exists = try run(Query("SELECT to_regclass('alembic_version') IS NOT NULL"))
    guard exists.bool(0, 0) == true else { return [] }
    let rows = try run(Query("SELECT version_num::text FROM alembic_version"))
    return (0..<rows.count).compactMap { rows.text($0, 0) }.map { version in
      Finding(
        what: "alembic_version says \(version), a revision of another tool, which no file of "
          + "Chirrup has",
        mend: "it stays as it is: Chirrup keeps its own record in chirrup_migrations",
        isRemark: true)
    }
  }
}
