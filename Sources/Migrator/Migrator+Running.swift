import Postgres

/// The execution of a migration: its steps, their transactions and locks, and data moves in
/// batches.
extension Migrator {
  func apply(
    _ migration: Migration, number: Int, of count: Int, _ locks: inout LockObserver,
    _ report: (Event) -> Void
  ) throws(MigrationFailure) {
    report(.began(revision: migration.revision, number: number, of: count))
    let clock = ContinuousClock()
    let start = clock.now
    let created = try missingTables(of: migration)
    for step in migration.steps.dropLast() {
      try run(step, of: migration, sealing: created, &locks, report)
    }
    let last = migration.steps.last ?? Migration.Step(statements: [])
    if last.isBatched { try run(last, of: migration, &locks, report) }
    try retryingLocks(report) { () throws(MigrationFailure) in
      locks.begin()
      if !last.isBatched {
        try lock(last.locks)
        for statement in last.statements { try run(statement, of: migration, report) }
        try seal(created)
      }
      try run(record(migration, milliseconds: (clock.now - start).milliseconds))
      try run(Query("DELETE FROM chirrup_begun WHERE revision = $1", [.text(migration.revision)]))
      try locks.observe(self)
    }
    locks.end(last.title.isEmpty ? migration.revision : last.title, report)
    report(
      .finished(revision: migration.revision, milliseconds: (clock.now - start).milliseconds))
  }

  func revert(
    _ migration: Migration, number: Int, of count: Int, _ report: (Event) -> Void
  ) throws(MigrationFailure) {
    report(.began(revision: migration.revision, number: number, of: count))
    let clock = ContinuousClock()
    let start = clock.now
    try retryingLocks(report) { () throws(MigrationFailure) in
      try lock(migration.downLocks)
      for statement in migration.down { try run(statement, of: migration, report) }
      try run(
        Query("DELETE FROM chirrup_migrations WHERE revision = $1", [.text(migration.revision)]))
      try run(Query("DELETE FROM chirrup_begun WHERE revision = $1", [.text(migration.revision)]))
    }
    report(
      .finished(revision: migration.revision, milliseconds: (clock.now - start).milliseconds))
  }

  func record(_ migration: Migration, milliseconds: Int64) -> Query {
    Query(
      """
      INSERT INTO chirrup_migrations (revision, checksum, duration_ms, parent, compatible)
      VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (revision) DO UPDATE SET checksum = excluded.checksum, parent = excluded.parent,
        compatible = excluded.compatible
      """,
      [
        .text(migration.revision), .text(migration.checksum), .int(milliseconds),
        .text(migration.parent), .text(migration.compatible),
      ])
  }

  /// Runs one step, as one transaction or in batches. The transaction of a step that is not the
  /// last one records that the migration has begun.
  private func run(
    _ step: Migration.Step, of migration: Migration, sealing created: [String] = [],
    _ locks: inout LockObserver, _ report: (Event) -> Void
  ) throws(MigrationFailure) {
    if step.isBatched { return try move(step, of: migration, &locks, report) }
    try retryingLocks(report) { () throws(MigrationFailure) in
      locks.begin()
      try lock(step.locks)
      for statement in step.statements { try run(statement, of: migration, report) }
      try seal(created)
      try run(
        Query(
          "INSERT INTO chirrup_begun (revision) VALUES ($1) ON CONFLICT DO NOTHING",
          [.text(migration.revision)]))
      try locks.observe(self)
    }
    locks.end(step.title.isEmpty ? migration.revision : step.title, report)
  }

  /// The tables that the migration will create: another schema of search_path may have one of that
  /// name.
  func missingTables(of migration: Migration) throws(MigrationFailure) -> [String] {
    var names: [String] = []
    for name in migration.createdTables {
      let rows = try run(
        Query(
          "SELECT to_regclass(format('%I.%I', current_schema(), $1::text)) IS NULL", [.text(name)]))
      if rows.bool(0, 0) == true { names.append(name) }
    }
    return names
  }

  /// Default privileges of the database may give every new table to other roles.
  func seal(_ tables: [String]) throws(MigrationFailure) {
    for table in tables { try run(Query("SELECT chirrup_seal($1)", [.text(table)])) }
  }

  /// Commits each batch before the next begins: readers see every row at all times, and an
  /// interruption loses one batch.
  private func move(
    _ step: Migration.Step, of migration: Migration, _ locks: inout LockObserver,
    _ report: (Event) -> Void
  ) throws(MigrationFailure) {
    let total = try number(step.statements[0], of: migration, report)
    let clock = ContinuousClock()
    let start = clock.now
    var progress = MoveProgress(title: step.title, rowsTotal: total)
    while true {
      var moved: Int64 = 0
      try retryingLocks(report) { () throws(MigrationFailure) in
        locks.begin()
        try lock(step.locks)
        moved = try number(step.statements[1], of: migration, report)
        try locks.observe(self)
      }
      locks.end(step.title, report)
      if moved <= 0 { return }
      progress.rowsDone += moved
      progress.milliseconds = (clock.now - start).milliseconds
      report(.progress(progress))
    }
  }

  func run(
    _ statement: Statement, of migration: Migration, _ report: (Event) -> Void
  ) throws(MigrationFailure) {
    _ = try reportingNotices(statement, of: migration, report) { () throws(ScriptFailure) in
      try connection.execute(script: statement.text)
      return 0
    }
  }

  /// Returns the number in the first row and column of a statement's result.
  func number(
    _ statement: Statement, of migration: Migration, _ report: (Event) -> Void
  ) throws(MigrationFailure) -> Int64 {
    try reportingNotices(statement, of: migration, report) { () throws(ScriptFailure) in
      let rows = try connection.ask(script: statement.text)
      return rows.isEmpty ? 0 : rows.int(0, 0) ?? 0
    }
  }

  /// Reports the server's notices, and adds file and line to an error.
  private func reportingNotices(
    _ statement: Statement, of migration: Migration, _ report: (Event) -> Void,
    _ body: () throws(ScriptFailure) -> Int64
  ) throws(MigrationFailure) -> Int64 {
    let (notices, result) = connection.collectingNotices {
      Result { () throws(ScriptFailure) in try body() }
    }
    // “… already exists, skipping” is expected: migrations are idempotent.
    for notice in notices where !notice.hasSuffix(", skipping") { report(.notice(notice)) }
    switch result {
    case .success(let number): return number
    case .failure(.unavailable(let reason)): throw .unavailable(reason: reason)
    case .failure(.refused(let refusal, let line)):
      throw .statement(
        file: migration.file, line: statement.line + (line ?? 1) - 1, statement: statement.title,
        refusal)
    }
  }

  // MARK: Transactions and locks

  func prepareBookkeeping() throws(MigrationFailure) {
    try transaction { () throws(MigrationFailure) in try execute(Bookkeeping.script) }
  }

  /// Holds the advisory lock of migrations, whose number is the bytes of “chirrup”. It belongs to
  /// the session, so PostgreSQL releases it after a crash.
  func underLock<Result>(
    _ report: (Event) -> Void, _ body: () throws(MigrationFailure) -> Result
  ) throws(MigrationFailure) -> Result {
    if try MigratorSession.isPooled(connection) { throw .pooled }
    if try run(Query("SELECT pg_try_advisory_lock(27988542884475248)")).bool(0, 0) != true {
      report(.waiting)
      try run(Query("SELECT pg_advisory_lock(27988542884475248)"))
    }
    defer { _ = try? run(Query("SELECT pg_advisory_unlock(27988542884475248)")) }
    return try body()
  }

  /// Runs a transaction and retries it after a lock timeout. The timeout is short, because readers
  /// of a table queue behind a transaction that waits for its lock.
  private func retryingLocks(
    _ report: (Event) -> Void, _ body: () throws(MigrationFailure) -> Void
  ) throws(MigrationFailure) {
    for attempt in 1...Migrator.lockAttempts {
      do throws(MigrationFailure) {
        return try transaction { () throws(MigrationFailure) in
          try execute("SET LOCAL lock_timeout = \(Migrator.lockMilliseconds)")
          try execute("SET LOCAL statement_timeout = 0")
          try body()
        }
      } catch {
        guard error.isLockConflict, attempt < Migrator.lockAttempts else { throw error }
        report(.blocked(attempt: attempt, of: Migrator.lockAttempts))
        try run(Query("SELECT pg_sleep(0.2)"))
      }
    }
  }

  func transaction<Result>(
    _ body: () throws(MigrationFailure) -> Result
  ) throws(MigrationFailure) -> Result {
    try execute("BEGIN")
    do throws(MigrationFailure) {
      let result = try body()
      try execute("COMMIT")
      return result
    } catch {
      // Throw the first error. If ROLLBACK fails, the connection is broken and has rolled back.
      try? execute("ROLLBACK")
      throw error
    }
  }

  func execute(_ script: String) throws(MigrationFailure) {
    do throws(ScriptFailure) {
      try connection.execute(script: script)
    } catch {
      switch error {
      case .unavailable(let reason): throw .unavailable(reason: reason)
      case .refused(let refusal, _): throw .refused(refusal)
      }
    }
  }

  @discardableResult
  func run(_ query: Query) throws(MigrationFailure) -> Rows {
    do throws(QueryFailure) {
      return try connection.run(query)
    } catch {
      throw MigrationFailure(error)
    }
  }
}

extension Duration {
  var milliseconds: Int64 {
    components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
  }
}
