import Postgres

/// A lock on a table that others use while a migration runs, as `pg_locks` shows it. Only locks
/// that make writers or readers wait are listed.
public struct HeldLock: Sendable, Equatable, CustomStringConvertible {
  public var table: String
  /// The name in `pg_locks`: `AccessExclusiveLock` also stops readers, the others only writers.
  public var mode: String
  /// The duration of the transaction that took it.
  public var milliseconds: Int64

  public var stopsReaders: Bool { mode == "AccessExclusiveLock" }

  public var description: String {
    "\(table): \(stopsReaders ? "readers and writers" : "writers") waited for at most "
      + "\(milliseconds) ms (\(mode))"
  }
}

/// Observes which locks a transaction takes, with one query at its end.
struct LockObserver {
  /// The tables that existed before the migration, as an array of oids in text form; nobody waits
  /// for others.
  private let tables: String
  private var taken: [(table: String, mode: String)] = []
  private var start = ContinuousClock().now

  /// Observes the tables that exist now, without the migrator's own.
  init(_ migrator: Migrator) throws(MigrationFailure) {
    let rows = try migrator.run(
      Query(
        """
        SELECT coalesce(array_agg(c.oid), '{}')::text
        FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
        WHERE relkind IN ('r', 'p') AND nspname <> 'information_schema' AND nspname !~ '^pg_'
          AND relname !~ '^chirrup_'
        """))
    tables = rows.text(0, 0) ?? "{}"
  }

  /// Whether there is a table to observe.
  var isNeeded: Bool { tables != "{}" }

  /// A transaction begins; the locks of the one before it were released.
  mutating func begin() {
    taken = []
    start = ContinuousClock().now
  }

  /// Returns the locks that were taken since the last call.
  @discardableResult
  mutating func observe(
    _ migrator: Migrator
  ) throws(MigrationFailure) -> [(table: String, mode: String)] {
    guard isNeeded else { return [] }
    let rows = try migrator.run(Query(LockObserver.statement, [.text(tables)]))
    var new: [(table: String, mode: String)] = []
    for row in 0..<rows.count {
      let lock = (table: rows.text(row, 0) ?? "", mode: rows.text(row, 1) ?? "")
      guard !taken.contains(where: { $0.table == lock.table && $0.mode == lock.mode }) else {
        continue
      }
      taken.append(lock)
      new.append(lock)
    }
    return new
  }

  /// The transaction has ended: reports its locks, if there are any.
  func end(_ step: String, _ report: (Migrator.Event) -> Void) {
    guard !taken.isEmpty else { return }
    let duration = (ContinuousClock().now - start).milliseconds
    report(
      .locked(
        step: step,
        taken.map {
          HeldLock(table: $0.table, mode: $0.mode, milliseconds: duration)
        }))
  }

  private static let statement: StaticString = """
    SELECT relation::regclass::text, mode FROM pg_locks
    WHERE pid = pg_backend_pid() AND granted AND locktype = 'relation'
      AND relation = ANY ($1::oid[]) AND mode IN ('ShareLock', 'ShareRowExclusiveLock',
        'ExclusiveLock', 'AccessExclusiveLock')
    ORDER BY 1, 2
    """
}
