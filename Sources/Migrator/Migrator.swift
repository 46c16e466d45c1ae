public import Postgres
import Primitives

/// Brings a database to the schema of this binary, and back. Each step of a migration is one
/// transaction, and all run under one advisory lock, so that two gateways that start at once do it
/// once. A migration is on record only when its last step is committed; whatever interrupts it
/// before, running it again completes it.
public struct Migrator {
  /// What happens, as it happens.
  public enum Event: Sendable, Equatable {
    /// Another process migrates this database; we wait for it.
    case waiting
    case began(revision: String, number: Int, of: Int)
    /// A table is in use by somebody who holds it for long; the step is tried again.
    case blocked(attempt: Int, of: Int)
    /// A long move of data goes on; only where there is something to move.
    case progress(MoveProgress)
    /// What a migration itself says (`RAISE NOTICE`).
    case notice(String)
    case finished(revision: String, milliseconds: Int64)
  }

  /// How long a step waits for a lock. Whoever wants to read a table waits behind us for as long.
  static let lockMilliseconds = 1_000
  /// Attempts at a step whose table is in use.
  static let lockAttempts = 60

  let connection: BlockingConnection
  let chain: Chain

  public init(_ connection: BlockingConnection) throws(MigrationFailure) {
    try self.init(connection, chain: Migrator.embeddedChain())
  }

  public init(_ connection: BlockingConnection, chain: Chain) {
    self.connection = connection
    self.chain = chain
  }

  /// The files alone; empty when all is well.
  public static func check() -> [ChainFault] {
    let (migrations, faults) = Migration.embedded()
    return faults + Chain.faults(in: migrations)
  }

  /// Other files: of a branch that is not built yet. A file's name is its revision and `.sql`.
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

  private static func embeddedChain() throws(MigrationFailure) -> Chain {
    let (migrations, faults) = Migration.embedded()
    guard faults.isEmpty else { throw .chain(faults) }
    return try Chain(migrations)
  }

  /// The state of each revision. Changes nothing, not even on an empty database.
  public func status() throws(MigrationFailure) -> MigrationPlan {
    let exists = try run(Query("SELECT to_regclass('chirrup_migrations') IS NOT NULL"))
    guard exists.bool(0, 0) == true else { return MigrationPlan(chain: chain, applied: []) }
    // The table of an older Chirrup has no column `parent`.
    let rows = try run(
      Query(
        """
        SELECT revision, checksum, applied_at, duration_ms, to_jsonb(m) ->> 'parent'
        FROM chirrup_migrations m
        """))
    var applied: [AppliedRevision] = []
    for row in 0..<rows.count {
      applied.append(
        AppliedRevision(
          revision: rows.text(row, 0) ?? "", checksum: rows.text(row, 1) ?? "",
          at: rows.time(row, 2) ?? WallTime(microseconds: 0),
          durationMilliseconds: rows.int(row, 3) ?? 0, parent: rows.text(row, 4)))
    }
    return MigrationPlan(chain: chain, applied: applied)
  }

  /// What `up` would run. Changes nothing.
  public func plan(to target: String? = nil) throws(MigrationFailure) -> [Migration] {
    try status().upward(to: target)
  }

  /// What `down` would take back, with what each loses. Changes nothing.
  public func downPlan(to target: String) throws(MigrationFailure) -> [Migration] {
    try status().downward(to: target)
  }

  /// Applies what is pending; returns what ran. Writes nothing when nothing is.
  @discardableResult
  public func up(
    to target: String? = nil, report: (Event) -> Void = { _ in }
  ) throws(MigrationFailure) -> [Migration] {
    guard try !status().upward(to: target).isEmpty else { return [] }
    return try underLock(report) { () throws(MigrationFailure) in
      let migrations = try status().upward(to: target)
      try keepBooks()
      for (index, migration) in migrations.enumerated() {
        try apply(migration, number: index + 1, of: migrations.count, report)
      }
      return migrations
    }
  }

  /// Takes back everything after `target` (`none`: everything); returns what ran. The caller has
  /// asked first.
  @discardableResult
  public func down(
    to target: String, report: (Event) -> Void = { _ in }
  ) throws(MigrationFailure) -> [Migration] {
    try underLock(report) { () throws(MigrationFailure) in
      let migrations = try status().downward(to: target)
      guard !migrations.isEmpty else { return [] }
      try keepBooks()
      for (index, migration) in migrations.enumerated() {
        try takeBack(migration, number: index + 1, of: migrations.count, report)
      }
      if target == "none" {
        try transaction { () throws(MigrationFailure) in try execute(Bookkeeping.farewell) }
      }
      return migrations
    }
  }

  /// Records everything up to `target` without running it, if the schema is what it would make.
  ///
  /// - Returns: what was recorded; empty when it was already.
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
      let missing = revisions.filter { plan.state(of: $0.revision) == .pending }
      guard !missing.isEmpty else { return [] }
      try keepBooks()
      try transaction { () throws(MigrationFailure) in
        for migration in missing { try run(record(migration, milliseconds: 0)) }
      }
      return missing
    }
  }
}
