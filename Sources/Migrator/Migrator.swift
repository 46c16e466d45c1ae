public import Postgres
import Primitives
public import SharedSQL

/// Migrates a database to the schema of this binary, and reverts migrations. Each step of a
/// migration is one transaction. All run under one advisory lock, so that only one of several
/// gateways that start at once migrates. A migration is recorded in the transaction of its last
/// step; after an interruption before that, running it again completes it.
public struct Migrator {
  /// The progress of a run.
  public enum Event: Sendable, Equatable {
    /// Another process is migrating this database; this one waits for its lock.
    case waiting
    case began(revision: String, number: Int, of: Int)
    /// Another transaction holds a lock on a table; the step is tried again.
    case blocked(attempt: Int, of: Int)
    /// A batch of a data move was committed.
    case progress(MoveProgress)
    /// A notice of the migration itself (`RAISE NOTICE`).
    case notice(String)
    case finished(revision: String, milliseconds: Int64)
    /// A transaction ended, and with it these locks on tables that existed before `up`.
    case locked(step: String, [HeldLock])
    /// A first run failed and these revisions were reverted: the database is as it was.
    case undone([String])
  }

  /// How long a step waits for a lock. Readers of the table queue behind it for as long. Shorter
  /// than PostgreSQL's `deadlock_timeout` (1 s), after which it would end somebody's statement.
  static let lockMilliseconds = 500
  /// Attempts at a step whose table is locked.
  static let lockAttempts = 120

  let connection: BlockingConnection
  let chain: Chain

  public init(_ connection: BlockingConnection) throws(MigrationFailure) {
    try self.init(connection, chain: Chain.embedded())
  }

  public init(_ connection: BlockingConnection, chain: Chain) throws(MigrationFailure) {
    self.connection = connection
    self.chain = chain
    try MigratorSession.apply(to: connection)
  }

  /// Checks the files of this binary, without a database. Empty if they are valid.
  public static func check() -> [ChainFault] {
    let (migrations, faults) = Migration.embedded()
    return faults + Chain.faults(in: migrations)
  }

  /// Checks other files, for example of a branch that is not built yet. A file's name is its
  /// revision with the suffix `.sql`.
  public static func check(_ files: [(name: String, text: String)]) -> [ChainFault] {
    var migrations: [Migration] = []
    var faults: [ChainFault] = []
    for file in files {
      let revision = file.name.hasSuffix(".sql") ? String(file.name.dropLast(4)) : file.name
      do throws(ChainFault) {
        migrations.append(try Migration(revision: revision, text: file.text))
      } catch {
        faults.append(error)
      }
    }
    return faults + Chain.faults(in: migrations)
  }

  /// The state of each revision. Changes nothing, not even on an empty database.
  public func status() throws(MigrationFailure) -> MigrationPlan {
    let exists = try run(Query("SELECT to_regclass('chirrup_migrations') IS NOT NULL"))
    guard exists.bool(0, 0) == true else { return MigrationPlan(chain: chain, applied: []) }
    let begun = try begunRevisions()
    // Older versions of Chirrup created the table without the columns `parent` and `compatible`.
    let rows = try run(
      Query(
        """
        SELECT revision, checksum, applied_at, duration_ms, to_jsonb(m) ->> 'parent',
          to_jsonb(m) ->> 'compatible'
        FROM chirrup_migrations m
        """))
    var applied: [AppliedRevision] = []
    for row in 0..<rows.count {
      applied.append(
        AppliedRevision(
          revision: rows.text(row, 0) ?? "", checksum: rows.text(row, 1) ?? "",
          at: rows.time(row, 2) ?? WallTime(microseconds: 0),
          durationMilliseconds: rows.int(row, 3) ?? 0, parent: rows.text(row, 4),
          compatible: rows.text(row, 5)))
    }
    return MigrationPlan(chain: chain, applied: applied, begun: begun)
  }

  private func begunRevisions() throws(MigrationFailure) -> Set<String> {
    // Older versions of Chirrup did not create the table.
    let exists = try run(Query("SELECT to_regclass('chirrup_begun') IS NOT NULL"))
    guard exists.bool(0, 0) == true else { return [] }
    let rows = try run(Query("SELECT revision FROM chirrup_begun"))
    return Set((0..<rows.count).compactMap { rows.text($0, 0) })
  }

  /// The migrations that `up` would apply. Changes nothing.
  public func plan(to target: String? = nil) throws(MigrationFailure) -> [Migration] {
    try status().upward(to: target)
  }

  /// The migrations that `down` would revert, newest first. Changes nothing.
  public func downPlan(to target: String) throws(MigrationFailure) -> [Migration] {
    try status().downward(to: target)
  }

  /// Applies the pending migrations and returns them. Writes nothing if none is pending, or if
  /// `examine` finds something that cannot be adopted. If PostgreSQL refuses a statement while a
  /// database moves in, everything is reverted.
  ///
  /// - Parameter finishing: also takes away what only older gateways need (`Migration.isContract`).
  @discardableResult
  public func up(
    to target: String? = nil, finishing: Bool = false, report: (Event) -> Void = { _ in }
  ) throws(MigrationFailure) -> [Migration] {
    guard try !status().upward(to: target, finishing: finishing).isEmpty else { return [] }
    return try underLock(report) { () throws(MigrationFailure) in
      let plan = try status()
      let migrations = try plan.upward(to: target, finishing: finishing)
      guard !migrations.isEmpty else { return [] }
      let contracts = migrations.filter(\.isContract)
      if !contracts.isEmpty { try chain.checkContracts(in: contracts, beside: gateways()) }
      let obstacles = try examine().filter(\.isObstacle)
      guard obstacles.isEmpty else { throw .notAdoptable(obstacles) }
      var locks = try LockObserver(self)
      try prepareBookkeeping()
      do throws(MigrationFailure) {
        for (index, migration) in migrations.enumerated() {
          try apply(migration, number: index + 1, of: migrations.count, &locks, report)
        }
      } catch {
        if plan.isUntouched { try undo(after: error, report) }
        throw error
      }
      return migrations
    }
  }

  /// Reverts the migrations of a failed first run, unless PostgreSQL does not answer: the next `up`
  /// or `down` then continues. Throws only `failure`.
  private func undo(
    after failure: MigrationFailure, _ report: (Event) -> Void
  ) throws(MigrationFailure) {
    if case .unavailable = failure { return }
    do throws(MigrationFailure) {
      let applied = try status().downward(to: "none")
      for (index, migration) in applied.enumerated() {
        try revert(migration, number: index + 1, of: applied.count) { _ in }
      }
      try removeBookkeeping(report)
      report(.undone(applied.map(\.revision)))
    } catch {
      report(.notice("The earlier steps could not be reverted: \(error)"))
      throw failure
    }
  }

  private func removeBookkeeping(_ report: (Event) -> Void) throws(MigrationFailure) {
    try transaction { () throws(MigrationFailure) in try execute(Bookkeeping.removal) }
    try DatabaseRoles(self).remove(report)
  }

  /// The gateways that run on this database. Changes nothing.
  public func gateways() throws(MigrationFailure) -> [GatewayProcess] {
    guard try run(Query(GatewayProcess.isStored)).bool(0, 0) == true else { return [] }
    return GatewayProcess.all(try run(GatewayProcess.running()))
  }

  /// Reverts every migration after `target` (`none`: all) and returns them, newest first. Data is
  /// lost (`Migration.loses`), so the caller must have asked for confirmation. Refuses while
  /// gateways run: they would meet tables that are missing.
  @discardableResult
  public func down(
    to target: String, report: (Event) -> Void = { _ in }
  ) throws(MigrationFailure) -> [Migration] {
    try underLock(report) { () throws(MigrationFailure) in
      let migrations = try status().downward(to: target)
      guard !migrations.isEmpty else {
        if target == "none" { try removeBookkeeping(report) }
        return []
      }
      let running = try gateways()
      guard running.isEmpty else { throw .gatewaysRun(running) }
      try prepareBookkeeping()
      let dependents = try Dependents(migrator: self).find(on: migrations)
      guard dependents.isEmpty else { throw .isNeeded(dependents) }
      for (index, migration) in migrations.enumerated() {
        try revert(migration, number: index + 1, of: migrations.count, report)
      }
      if target == "none" { try removeBookkeeping(report) }
      return migrations
    }
  }

  /// Records every migration up to `target` as applied without running it. Throws
  /// `schemaDiffers` unless the schema equals theirs.
  ///
  /// - Returns: the newly recorded migrations; empty if all were recorded before.
  @discardableResult
  public func stamp(
    _ target: String, report: (Event) -> Void = { _ in }
  ) throws(MigrationFailure) -> [Migration] {
    try underLock(report) { () throws(MigrationFailure) in
      let plan = try status()
      let revisions = try plan.chain.upTo(target)
      let differences = try compareSchema(with: revisions)
      guard differences.isEmpty else {
        throw .schemaDiffers(revision: target, differences)
      }
      let pending = Set(plan.pending + plan.unfinished)
      let missing = revisions.filter { pending.contains($0.revision) }
      guard !missing.isEmpty else { return [] }
      try prepareBookkeeping()
      try transaction { () throws(MigrationFailure) in
        for migration in missing { try run(record(migration, milliseconds: 0)) }
      }
      return missing
    }
  }
}
