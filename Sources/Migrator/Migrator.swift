public import Postgres
import Primitives

/// Brings a database to the schema of this binary, and back. One transaction for each migration,
/// all of them under one advisory lock, so that two gateways that start at once do it once.
public struct Migrator {
  /// What happens, as it happens.
  public enum Event: Sendable, Equatable {
    /// Another process migrates this database; we wait for it.
    case waiting
    case began(revision: String, number: Int, of: Int)
    /// What a migration itself says (`RAISE NOTICE`).
    case notice(String)
    case finished(revision: String, milliseconds: Int64)
  }

  private let connection: BlockingConnection
  private let chain: Chain

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

  private static func embeddedChain() throws(MigrationFailure) -> Chain {
    let (migrations, faults) = Migration.embedded()
    guard faults.isEmpty else { throw .chain(faults) }
    return try Chain(migrations)
  }

  /// The state of each revision. Changes nothing, not even on an empty database.
  public func status() throws(MigrationFailure) -> MigrationPlan {
    let exists = try run(Query("SELECT to_regclass('chirrup_migrations') IS NOT NULL"))
    guard exists.bool(0, 0) == true else { return MigrationPlan(chain: chain, applied: []) }
    let rows = try run(
      Query("SELECT revision, checksum, applied_at, duration_ms FROM chirrup_migrations"))
    var applied: [AppliedRevision] = []
    for row in 0..<rows.count {
      applied.append(
        AppliedRevision(
          revision: rows.text(row, 0) ?? "", checksum: rows.text(row, 1) ?? "",
          at: rows.time(row, 2) ?? WallTime(microseconds: 0),
          durationMilliseconds: rows.int(row, 3) ?? 0))
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

  /// Applies what is pending; returns what ran.
  @discardableResult
  public func up(
    to target: String? = nil, report: (Event) -> Void = { _ in }
  ) throws(MigrationFailure) -> [Migration] {
    try underLock(report) { () throws(MigrationFailure) in
      try createTable()
      let migrations = try status().upward(to: target)
      try apply(migrations, .up, report)
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
      try apply(migrations, .down, report)
      return migrations
    }
  }

  // MARK: Steps

  private enum Direction {
    case up, down

    func statements(of migration: Migration) -> [Statement] {
      self == .up ? migration.up : migration.down
    }

    func bookkeeping(_ migration: Migration, milliseconds: Int64) -> Query {
      switch self {
      case .up:
        Query(
          "INSERT INTO chirrup_migrations (revision, checksum, duration_ms) VALUES ($1, $2, $3)",
          [.text(migration.revision), .text(migration.checksum), .int(milliseconds)])
      case .down:
        Query(
          "DELETE FROM chirrup_migrations WHERE revision = $1", [.text(migration.revision)])
      }
    }
  }

  private func apply(
    _ migrations: [Migration], _ direction: Direction, _ report: (Event) -> Void
  ) throws(MigrationFailure) {
    for (index, migration) in migrations.enumerated() {
      report(.began(revision: migration.revision, number: index + 1, of: migrations.count))
      let clock = ContinuousClock()
      let start = clock.now
      try transaction { () throws(MigrationFailure) in
        for statement in direction.statements(of: migration) {
          try run(statement, of: migration, report)
        }
        try run(
          direction.bookkeeping(migration, milliseconds: (clock.now - start).milliseconds))
      }
      report(
        .finished(revision: migration.revision, milliseconds: (clock.now - start).milliseconds))
    }
  }

  private func run(
    _ statement: Statement, of migration: Migration, _ report: (Event) -> Void
  ) throws(MigrationFailure) {
    let (notices, failure) = connection.collectingNotices { () -> ScriptFailure? in
      do throws(ScriptFailure) {
        try connection.execute(script: statement.text)
        return nil
      } catch {
        return error
      }
    }
    // “… already exists, skipping” is what an idempotent migration is made of: nothing to tell.
    for notice in notices where !notice.hasSuffix(", skipping") { report(.notice(notice)) }
    switch failure {
    case nil: return
    case .unavailable(let reason)?: throw .unavailable(reason: reason)
    case .refused(let refusal, let line)?:
      throw .statement(
        file: migration.file, line: statement.line + (line ?? 1) - 1, statement: statement.title,
        refusal)
    }
  }

  private func createTable() throws(MigrationFailure) {
    try transaction { () throws(MigrationFailure) in
      try execute(
        """
        SET LOCAL client_min_messages = warning;
        CREATE TABLE IF NOT EXISTS chirrup_migrations (
          revision text PRIMARY KEY,
          checksum text NOT NULL,
          applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
          duration_ms bigint NOT NULL
        );
        COMMENT ON TABLE chirrup_migrations IS 'Which migrations of Chirrup this database has.'
        """)
    }
  }

  /// The lock's number is the bytes of “chirrup”. It belongs to the connection, so it ends with a
  /// crash.
  private func underLock<Result>(
    _ report: (Event) -> Void, _ body: () throws(MigrationFailure) -> Result
  ) throws(MigrationFailure) -> Result {
    if try run(Query("SELECT pg_try_advisory_lock(27988542884475248)")).bool(0, 0) != true {
      report(.waiting)
      try run(Query("SELECT pg_advisory_lock(27988542884475248)"))
    }
    defer { _ = try? run(Query("SELECT pg_advisory_unlock(27988542884475248)")) }
    return try body()
  }

  private func transaction(
    _ body: () throws(MigrationFailure) -> Void
  ) throws(MigrationFailure) {
    try execute("BEGIN")
    do throws(MigrationFailure) {
      try body()
      try execute("COMMIT")
    } catch {
      // The first error is the one to tell; a broken connection has rolled back by itself.
      try? execute("ROLLBACK")
      throw error
    }
  }

  private func execute(_ script: String) throws(MigrationFailure) {
    do throws(ScriptFailure) {
      try connection.execute(script: script)
    } catch {
      switch error {
      case .unavailable(let reason): throw .unavailable(reason: reason)
      case .refused(let refusal, _):
        throw .query(.refused(refusal.state, message: refusal.message))
      }
    }
  }

  @discardableResult
  private func run(_ query: Query) throws(MigrationFailure) -> Rows {
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
