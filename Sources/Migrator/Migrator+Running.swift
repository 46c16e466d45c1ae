import Postgres

/// How a migration runs: its steps, their transactions and locks, and the batches of a long move.
extension Migrator {
  func apply(
    _ migration: Migration, number: Int, of count: Int, _ report: (Event) -> Void
  ) throws(MigrationFailure) {
    report(.began(revision: migration.revision, number: number, of: count))
    let clock = ContinuousClock()
    let start = clock.now
    for step in migration.steps.dropLast() { try run(step, of: migration, report) }
    let last = migration.steps.last ?? Migration.Step(statements: [])
    if last.isBatched { try run(last, of: migration, report) }
    try patiently(report) { () throws(MigrationFailure) in
      if !last.isBatched {
        for statement in last.statements { try run(statement, of: migration, report) }
      }
      try run(record(migration, milliseconds: (clock.now - start).milliseconds))
    }
    report(
      .finished(revision: migration.revision, milliseconds: (clock.now - start).milliseconds))
  }

  func takeBack(
    _ migration: Migration, number: Int, of count: Int, _ report: (Event) -> Void
  ) throws(MigrationFailure) {
    report(.began(revision: migration.revision, number: number, of: count))
    let clock = ContinuousClock()
    let start = clock.now
    try patiently(report) { () throws(MigrationFailure) in
      for statement in migration.down { try run(statement, of: migration, report) }
      try run(
        Query("DELETE FROM chirrup_migrations WHERE revision = $1", [.text(migration.revision)]))
    }
    report(
      .finished(revision: migration.revision, milliseconds: (clock.now - start).milliseconds))
  }

  func record(_ migration: Migration, milliseconds: Int64) -> Query {
    Query(
      """
      INSERT INTO chirrup_migrations (revision, checksum, duration_ms, parent)
      VALUES ($1, $2, $3, $4)
      ON CONFLICT (revision) DO UPDATE SET checksum = excluded.checksum, parent = excluded.parent
      """,
      [
        .text(migration.revision), .text(migration.checksum), .int(milliseconds),
        .text(migration.parent),
      ])
  }

  /// One step as a transaction, or in batches.
  func run(
    _ step: Migration.Step, of migration: Migration, _ report: (Event) -> Void
  ) throws(MigrationFailure) {
    if step.isBatched { return try move(step, of: migration, report) }
    try patiently(report) { () throws(MigrationFailure) in
      for statement in step.statements { try run(statement, of: migration, report) }
    }
  }

  /// Each batch is committed before the next begins: readers see every row at all times, and what
  /// interrupts the move costs one batch.
  private func move(
    _ step: Migration.Step, of migration: Migration, _ report: (Event) -> Void
  ) throws(MigrationFailure) {
    let total = try answer(step.statements[0], of: migration, report)
    let clock = ContinuousClock()
    let start = clock.now
    var progress = MoveProgress(title: step.title, rowsTotal: total)
    while true {
      var moved: Int64 = 0
      try patiently(report) { () throws(MigrationFailure) in
        moved = try answer(step.statements[1], of: migration, report)
      }
      if moved <= 0 { return }
      progress.rowsDone += moved
      progress.milliseconds = (clock.now - start).milliseconds
      report(.progress(progress))
    }
  }

  private func run(
    _ statement: Statement, of migration: Migration, _ report: (Event) -> Void
  ) throws(MigrationFailure) {
    _ = try telling(statement, of: migration, report) { () throws(ScriptFailure) in
      try connection.execute(script: statement.text)
      return 0
    }
  }

  /// The number that a statement answers.
  private func answer(
    _ statement: Statement, of migration: Migration, _ report: (Event) -> Void
  ) throws(MigrationFailure) -> Int64 {
    try telling(statement, of: migration, report) { () throws(ScriptFailure) in
      let rows = try connection.ask(script: statement.text)
      return rows.isEmpty ? 0 : rows.int(0, 0) ?? 0
    }
  }

  /// Passes on what the server remarks, and says of an error where it happened.
  private func telling(
    _ statement: Statement, of migration: Migration, _ report: (Event) -> Void,
    _ body: () throws(ScriptFailure) -> Int64
  ) throws(MigrationFailure) -> Int64 {
    let (notices, result) = connection.collectingNotices {
      Result { () throws(ScriptFailure) in try body() }
    }
    // “… already exists, skipping” is what an idempotent migration is made of: nothing to tell.
    for notice in notices where !notice.hasSuffix(", skipping") { report(.notice(notice)) }
    switch result {
    case .success(let answer): return answer
    case .failure(.unavailable(let reason)): throw .unavailable(reason: reason)
    case .failure(.refused(let refusal, let line)):
      throw .statement(
        file: migration.file, line: statement.line + (line ?? 1) - 1, statement: statement.title,
        refusal)
    }
  }

  // MARK: Transactions and locks

  func keepBooks() throws(MigrationFailure) {
    try transaction { () throws(MigrationFailure) in try execute(Bookkeeping.script) }
  }

  /// The lock's number is the bytes of “chirrup”. It belongs to the connection, so it ends with a
  /// crash.
  func underLock<Result>(
    _ report: (Event) -> Void, _ body: () throws(MigrationFailure) -> Result
  ) throws(MigrationFailure) -> Result {
    try refusePooler()
    if try run(Query("SELECT pg_try_advisory_lock(27988542884475248)")).bool(0, 0) != true {
      report(.waiting)
      try run(Query("SELECT pg_advisory_lock(27988542884475248)"))
    }
    defer { _ = try? run(Query("SELECT pg_advisory_unlock(27988542884475248)")) }
    return try body()
  }

  private func refusePooler() throws(MigrationFailure) {
    let isPooled: Bool
    do throws(QueryFailure) {
      isPooled = try connection.isPooled()
    } catch {
      throw .query(error)
    }
    if isPooled { throw .pooled }
  }

  /// A transaction that gives way: who holds a table for long is waited for in short pieces, so
  /// that those who want to read it meanwhile do not queue up behind us.
  private func patiently(
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
      // The first error is the one to tell; a broken connection has rolled back by itself.
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
      if case .unavailable(let reason) = error { throw .unavailable(reason: reason) }
      throw .query(error)
    }
  }
}

extension Duration {
  var milliseconds: Int64 {
    components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
  }
}
