import Postgres

/// The tables that a transaction locks at its start, in this order. A transaction that locks one
/// table after another could wait for an application that waits for it: a deadlock, for which
/// PostgreSQL ends a statement, perhaps the application's.
public struct TableLocks: Sendable, Equatable {
  public var tables: [String] = []
  /// `SHARE ROW EXCLUSIVE` stops writers; `ACCESS EXCLUSIVE` readers too.
  public var mode = "SHARE ROW EXCLUSIVE"

  public init() {}

  /// Reads the line `-- locks: chats, chat_sessions IN ACCESS EXCLUSIVE MODE`; without `IN … MODE`
  /// it is `SHARE ROW EXCLUSIVE`.
  init(in lines: ArraySlice<Substring>) {
    let prefix = "-- locks: "
    guard let line = lines.first(where: { $0.hasPrefix(prefix) }) else { return }
    let parts = line.dropFirst(prefix.count).split(separator: " IN ")
    tables = parts[0].split(separator: ", ").map { String($0) }
    if parts.count > 1 { mode = String(parts[1]).replacing(" MODE", with: "") }
  }
}

extension Migrator {
  /// Locks those of the tables that exist.
  func lock(_ locks: TableLocks) throws(MigrationFailure) {
    guard !locks.tables.isEmpty else { return }
    let rows = try run(
      Query(
        """
        SELECT string_agg(name::regclass::text, ', ' ORDER BY position)
        FROM string_to_table($1, ' ') WITH ORDINALITY AS t (name, position)
        JOIN pg_class c ON c.oid = to_regclass(name) AND relkind IN ('r', 'p')
        """, [.text(locks.tables.joined(separator: " "))]))
    guard let names = rows.text(0, 0) else { return }
    try execute("LOCK TABLE \(names) IN \(locks.mode) MODE")
  }
}
