import Postgres

/// Tries in a transaction that is rolled back what `up` would do to a database.
public struct Rehearsal: Sendable, Equatable {
  /// One transaction of `up`: readers and writers of its tables wait for no longer than it lasts.
  /// Of a data move in batches, the longest batch, for which writers alone may wait.
  public struct Step: Sendable, Equatable {
    public var revision: String
    public var title: String
    public var milliseconds: Int64
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

  public var longest: Step? { steps.max { $0.milliseconds < $1.milliseconds } }
  public var isSuccess: Bool { broken.isEmpty && checks.allSatisfy(\.passed) }
}

extension Migrator {
  /// Runs the pending migrations, the statements of a gateway and those of the older application
  /// (an SQL script) in one transaction, and rolls it back. The tables are locked meanwhile.
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
      try execute("BEGIN")
      defer { try? execute("ROLLBACK") }
      try execute("SET LOCAL lock_timeout = \(Migrator.lockMilliseconds * 10)")
      try execute("SET LOCAL statement_timeout = 0")
      try execute(Bookkeeping.script)
      let clock = ContinuousClock()
      let start = clock.now
      for migration in migrations {
        let created = try missingTables(of: migration)
        for step in migration.steps {
          try rehearse(step, of: migration, into: &rehearsal, report)
        }
        try seal(created)
        try run(record(migration, milliseconds: 0))
      }
      rehearsal.milliseconds = (clock.now - start).milliseconds
      guard migrations.last?.revision == chain.head else { return rehearsal }
      let statements =
        ScriptReader.statements(of: application).map(\.text) + Rehearsal.gatewayStatements
      for statement in statements {
        if let broken = try attempt(statement) { rehearsal.broken.append(broken) }
      }
      for check in Migrator.dataChecks { rehearsal.checks.append(try self.check(check)) }
      return rehearsal
    }
  }

  private func rehearse(
    _ step: Migration.Step, of migration: Migration, into rehearsal: inout Rehearsal,
    _ report: (Event) -> Void
  ) throws(MigrationFailure) {
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
  }

  /// Runs a statement; its failure does not end the transaction.
  private func attempt(_ statement: String) throws(MigrationFailure) -> Rehearsal.Broken? {
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
