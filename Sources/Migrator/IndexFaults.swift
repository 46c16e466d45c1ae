import Postgres

/// The indexes that the migrations create and that a database lacks, or cannot use.
public struct IndexFaults {
  private let migrator: Migrator

  public init(_ migrator: Migrator) { self.migrator = migrator }

  /// Indexes whose construction failed (CREATE INDEX CONCURRENTLY): they cost every write, and no
  /// statement uses them.
  public func invalid() throws(MigrationFailure) -> [String] {
    let rows = try migrator.run(
      Query(
        """
        SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        WHERE NOT i.indisvalid AND c.relnamespace = quote_ident(current_schema())::regnamespace
        ORDER BY 1
        """))
    return (0..<rows.count).compactMap { rows.text($0, 0) }
  }

  /// Indexes that are missing or different. Needs the right to create a schema, which is rolled
  /// back, and the current schema.
  public func differences() throws(MigrationFailure) -> [SchemaDifference] {
    try migrator.compareSchema(with: migrator.chain.migrations).filter { $0.kind == .index }
  }

  /// Whether this connection's user may create a schema, which `differences` needs.
  public func canCompare() throws(MigrationFailure) -> Bool {
    try migrator.run(Query("SELECT has_database_privilege(current_database(), 'CREATE')"))
      .bool(0, 0) == true
  }
}
