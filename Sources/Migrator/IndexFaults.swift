import Postgres

/// The indexes that the migrations create and that a database lacks, or cannot use.
extension Migrator {
  /// Indexes whose construction failed (CREATE INDEX CONCURRENTLY): they cost every write, and no
  /// statement uses them.
  public func invalidIndexes() throws(MigrationFailure) -> [String] {
    let rows = try run(
      Query(
        """
        SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        WHERE NOT i.indisvalid AND c.relnamespace = current_schema()::regnamespace
        ORDER BY 1
        """))
    return (0..<rows.count).compactMap { rows.text($0, 0) }
  }

  /// Indexes that are missing or different. Needs the right to create a schema, which is rolled
  /// back, and the current schema.
  public func indexDifferences() throws(MigrationFailure) -> [SchemaDifference] {
    try compareSchema(with: chain.migrations).filter { $0.kind == .index }
  }

  /// Whether this connection's user may create a schema, which `indexDifferences` needs.
  public func canCompare() throws(MigrationFailure) -> Bool {
    try run(Query("SELECT has_database_privilege(current_database(), 'CREATE')"))
      .bool(0, 0) == true
  }
}
