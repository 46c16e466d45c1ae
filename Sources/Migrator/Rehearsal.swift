import Postgres

/// Tries in a transaction that is rolled back what `up` would do to a database.
public struct Rehearsal: Sendable, Equatable {
  /// One transaction of `up`: readers and writers of its tables wait for no longer than it lasts.
  /// Of a data move in batches, the longest batch, for which writers alone may wait.
  public struct Step: Sendable, Equatable {
    public var revision: String
    public var title: String
    public var milliseconds: Int64
    /// The locks that it takes and no step before it took, each for at most its duration.
    public var locks: [HeldLock] = []
  }
  /// A statement that fails after the migrations.
  public struct Broken: Sendable, Equatable {
    public var statement: String
    public var reason: String
  }

  public var steps: [Step] = []
  public var milliseconds: Int64 = 0
  public var rowsMoved: Int64 = 0
  /// Statements of the gateway or the older application that would fail.
  public var broken: [Broken] = []
  public var checks: [Check] = []
  public var recorded = Recorded()
  /// The definitions and rows that `down` would not restore.
  public var notRestored: [String] = []
  public var downMilliseconds: Int64 = 0

  public var longest: Step? { steps.max { $0.milliseconds < $1.milliseconds } }
  public var isSuccess: Bool {
    broken.isEmpty && notRestored.isEmpty && checks.allSatisfy(\.passed)
  }
}

extension Migrator {
  /// Runs the pending migrations, the statements of a gateway and those of the older application
  /// (an SQL script, and those that `pg_stat_statements` has recorded) in one transaction, then
  /// `down`, and rolls it back. The tables are locked meanwhile.
  ///
  /// Throws what `up` would throw.
  public func rehearse(
    to target: String? = nil, application: String = "", report: (Event) -> Void = { _ in }
  ) throws(MigrationFailure) -> Rehearsal {
    try underLock(report) { () throws(MigrationFailure) in
      let migrations = try status().upward(to: target)
      let obstacles = try examine().filter(\.isObstacle)
      guard obstacles.isEmpty else { throw .notAdoptable(obstacles) }
      var rehearsal = Rehearsal()
      var recorded = RecordedStatements(self)
      let statements = try recorded.read(&rehearsal.recorded)
      let isFirst = try tablesOnRecord() == nil
      try DatabaseRoles(self).begin(report)
      defer { try? execute("ROLLBACK") }
      try execute("SET LOCAL lock_timeout = \(Migrator.lockMilliseconds * 10)")
      try execute("SET LOCAL statement_timeout = \(Rehearsal.Recorded.milliseconds)")
      try recorded.prepare(statements, &rehearsal.recorded)
      try execute("SET LOCAL statement_timeout = 0")
      let functions = ApplicationFunctions(migrator: self)
      let invalid = try functions.invalid().map(\.statement)
      if isFirst { try DefinitionSnapshot.holdWriters(self) }
      let before = isFirst ? try DefinitionSnapshot(self) : nil
      try apply(migrations, into: &rehearsal, report)
      guard migrations.last?.revision == chain.head else { return rehearsal }
      try reverting { () throws(MigrationFailure) in
        rehearsal.broken += try recorded.broken()
        rehearsal.broken += try functions.invalid().filter { !invalid.contains($0.statement) }
        try tryStatements(of: application, into: &rehearsal)
      }
      guard let before else { return rehearsal }
      let start = ContinuousClock().now
      rehearsal.notRestored = try rehearseDown(migrations, before: before)
      rehearsal.downMilliseconds = (ContinuousClock().now - start).milliseconds
      return rehearsal
    }
  }

  private func apply(
    _ migrations: [Migration], into rehearsal: inout Rehearsal, _ report: (Event) -> Void
  ) throws(MigrationFailure) {
    var locks = try LockObserver(self)
    try execute(Bookkeeping.script)
    // The lock of the comparison is no step's.
    try locks.observe(self)
    let start = ContinuousClock().now
    for migration in migrations {
      let created = try missingTables(of: migration)
      for step in migration.steps {
        let new = try rehearse(step, of: migration, into: &rehearsal, &locks, report)
        rehearsal.steps[rehearsal.steps.count - 1].locks = new
      }
      try seal(created)
      try run(record(migration, milliseconds: 0))
    }
    rehearsal.milliseconds = (ContinuousClock().now - start).milliseconds
  }

  private func tryStatements(
    of application: String, into rehearsal: inout Rehearsal
  ) throws(MigrationFailure) {
    let statements =
      ScriptReader.statements(of: application).map(\.text) + Rehearsal.gatewayStatements
    for statement in statements {
      if let broken = try attempt(statement) { rehearsal.broken.append(broken) }
    }
    for check in Migrator.dataChecks { rehearsal.checks.append(try self.check(check)) }
  }

  private func rehearse(
    _ step: Migration.Step, of migration: Migration, into rehearsal: inout Rehearsal,
    _ locks: inout LockObserver, _ report: (Event) -> Void
  ) throws(MigrationFailure) -> [HeldLock] {
    let clock = ContinuousClock()
    var longest: Int64 = 0
    if step.isBatched {
      while true {
        let start = clock.now
        let moved = try number(step.statements[1], of: migration, report)
        longest = max(longest, (clock.now - start).milliseconds)
        if moved <= 0 { break }
        rehearsal.rowsMoved += moved
      }
    } else {
      let start = clock.now
      for statement in step.statements { try run(statement, of: migration, report) }
      longest = (clock.now - start).milliseconds
    }
    rehearsal.steps.append(
      Rehearsal.Step(revision: migration.revision, title: step.title, milliseconds: longest))
    return try locks.observe(self).map {
      HeldLock(table: $0.table, mode: $0.mode, milliseconds: longest)
    }
  }

  /// Runs a statement; its failure does not end the transaction.
  func attempt(_ statement: String) throws(MigrationFailure) -> Rehearsal.Broken? {
    try execute("SAVEPOINT chirrup_rehearsal")
    do throws(MigrationFailure) {
      try execute(statement)
      return nil
    } catch {
      guard case .refused(let refusal) = error else { throw error }
      try execute("ROLLBACK TO SAVEPOINT chirrup_rehearsal")
      return Rehearsal.Broken(statement: statement, reason: "\(refusal)")
    }
  }
}
