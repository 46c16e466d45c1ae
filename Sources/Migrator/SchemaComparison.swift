import Postgres

/// An object that the migrations create and that is missing or different in the database.
public struct SchemaDifference: Sendable, Equatable, CustomStringConvertible {
  public enum ObjectKind: String, Sendable {
    case table, column, constraint, index, trigger, policy, function
  }
  public var kind: ObjectKind
  /// The name of the table or function.
  public var relation: String
  /// The name of the column, constraint and so on; empty for a table or function itself.
  public var name: String
  public var expected: String
  /// Nil if it is missing.
  public var found: String?

  public var description: String {
    let subject =
      name.isEmpty ? "\(kind.rawValue) \(relation)" : "\(kind.rawValue) \(relation).\(name)"
    guard let found else {
      return "\(subject) is missing" + (kind == .column ? " (\(expected))" : "")
    }
    // Two long definitions would not be readable in a message.
    guard expected.utf8.count + found.utf8.count <= 200 else {
      return "\(subject) differs from Chirrup's"
    }
    return "\(subject) is \(found), and \(expected) in Chirrup"
  }
}

/// Compares the schema of the database with the schema that the migrations create.
///
/// The expected schema is not written down twice: the migrations run in an empty schema in a
/// transaction that is rolled back, and both schemas are read from the catalogues. Objects that an
/// adopted table had before Chirrup are not compared.
extension Migrator {
  /// The differences to the schema that these migrations create; empty if there are none.
  func compareSchema(
    with migrations: [Migration]
  ) throws(MigrationFailure) -> [SchemaDifference] {
    let expected = try expectedSchema(of: migrations)
    let actual = try readSchema("current_schema()")
    let own = try adopted()
    let tables = Set(actual.keys.filter { $0.kind == .table }.map(\.relation))
    var differences: [SchemaDifference] = []
    let definitions = Dictionary(grouping: actual) { [$0.key.kind.rawValue, $0.key.relation] }
      .mapValues { Set($0.map { Migrator.plain($0.value) }) }
    for (key, definition) in expected.sorted(by: { $0.key < $1.key }) {
      let found = actual[key]
      // A key, constraint or index of an adopted table may have another name.
      if key.kind == .constraint || key.kind == .index,
        own.contains(Key(kind: .table, relation: key.relation, name: "")),
        definitions[[key.kind.rawValue, key.relation]]?.contains(Migrator.plain(definition)) == true
      {
        continue
      }
      guard found.map({ Migrator.plain($0) }) != Migrator.plain(definition), !own.contains(key)
      else { continue }
      // Rows of an adopted table may not belong to a workspace yet, so NULL is allowed.
      if key.kind == .column, key.name == "workspace_id",
        found.map({ $0 + " NOT NULL" }) == definition,
        own.contains(Key(kind: .table, relation: key.relation, name: ""))
      {
        continue
      }
      // Objects of a missing table are not reported again.
      if key.kind != .table, key.kind != .function, !tables.contains(key.relation) { continue }
      differences.append(
        SchemaDifference(
          kind: key.kind, relation: key.relation, name: key.name, expected: definition,
          found: found))
    }
    return differences
  }

  /// A definition without parentheses: after pg_restore some of them differ. A schema may have the
  /// name `chirrup`, as the settings of policies have, so this prefix does not count either.
  private static func plain(_ definition: String) -> String {
    definition.filter { $0 != "(" && $0 != ")" }.replacing("chirrup.", with: "")
  }

  private struct Key: Hashable, Comparable {
    var kind: SchemaDifference.ObjectKind
    var relation: String
    var name: String

    static func < (a: Key, b: Key) -> Bool {
      (order(a.kind), a.relation, a.name) < (order(b.kind), b.relation, b.name)
    }
    private static func order(_ kind: SchemaDifference.ObjectKind) -> Int {
      let kinds: [SchemaDifference.ObjectKind] = [
        .table, .column, .constraint, .index, .trigger, .policy, .function,
      ]
      return kinds.firstIndex(of: kind) ?? kinds.count
    }
  }

  private func expectedSchema(
    of migrations: [Migration]
  ) throws(MigrationFailure) -> [Key: String] {
    try withExpectedSchema(of: migrations) { () throws(MigrationFailure) in
      try readSchema("'chirrup_expected'")
    }
  }

  /// Runs `body` in a transaction whose current schema these migrations have just created, and
  /// rolls it back.
  func withExpectedSchema<Result>(
    of migrations: [Migration], _ body: () throws(MigrationFailure) -> Result
  ) throws(MigrationFailure) -> Result {
    try execute("BEGIN")
    defer { try? execute("ROLLBACK") }
    try execute("SET LOCAL client_min_messages = error")
    try execute("CREATE SCHEMA chirrup_expected")
    try execute("SET LOCAL search_path = chirrup_expected")
    try execute(Bookkeeping.script)
    try execute("SET LOCAL client_min_messages = error")
    for migration in migrations {
      let created = migration.createdTables
      // Data moves are skipped: the tables are empty.
      for step in migration.steps where !step.isBatched {
        for statement in step.statements { try execute(statement.text) }
      }
      try seal(created)
    }
    return try body()
  }

  /// Reads the definitions of a schema's objects, by kind and name.
  private func readSchema(_ schema: String) throws(MigrationFailure) -> [Key: String] {
    let rows: Rows
    do throws(ScriptFailure) {
      rows = try connection.ask(
        script: Migrator.catalogue.replacing("$schema", with: schema))
    } catch {
      switch error {
      case .unavailable(let reason): throw .unavailable(reason: reason)
      case .refused(let refusal, _): throw .refused(refusal)
      }
    }
    var found: [Key: String] = [:]
    for row in 0..<rows.count {
      guard let kind = rows.text(row, 0).flatMap({ SchemaDifference.ObjectKind(rawValue: $0) }),
        let relation = rows.text(row, 1)
      else { continue }
      found[Key(kind: kind, relation: relation, name: rows.text(row, 2) ?? "")] =
        rows.text(row, 3) ?? ""
    }
    return found
  }

  /// The objects of adopted tables that existed before Chirrup, and those they are exempt from.
  private func adopted() throws(MigrationFailure) -> Set<Key> {
    guard try tablesOnRecord() != nil else { return [] }
    let rows = try run(
      Query(
        """
        SELECT CASE kind WHEN 'found' THEN 'table' WHEN 'exempt' THEN 'constraint'
            WHEN 'exempt index' THEN 'index' ELSE kind END,
          relation, name FROM chirrup_adoptions WHERE name <> '' OR kind = 'found'
        """))
    var keys: Set<Key> = []
    for row in 0..<rows.count {
      guard let kind = rows.text(row, 0).flatMap({ SchemaDifference.ObjectKind(rawValue: $0) })
      else { continue }
      keys.insert(
        Key(kind: kind, relation: rows.text(row, 1) ?? "", name: rows.text(row, 2) ?? ""))
    }
    return keys
  }

  /// The tables recorded as created or adopted; nil without a record.
  func tablesOnRecord() throws(MigrationFailure) -> Set<String>? {
    let exists = try run(Query("SELECT to_regclass('chirrup_adoptions') IS NOT NULL"))
    guard exists.bool(0, 0) == true else { return nil }
    let rows = try run(Query("SELECT relation FROM chirrup_adoptions WHERE name = ''"))
    return Set((0..<rows.count).compactMap { rows.text($0, 0) })
  }

  /// Returns definitions without the schema's name, so that two schemas can be compared.
  private static let catalogue = """
    WITH schema AS (SELECT n.oid, quote_ident(nspname) || '.' AS prefix
      FROM pg_namespace n WHERE nspname = $schema),
    tables AS (SELECT c.oid, relname, prefix FROM pg_class c JOIN schema s ON relnamespace = s.oid
      WHERE relkind IN ('r', 'p') AND NOT relispartition)
    SELECT 'table', relname, '', '' FROM tables
    UNION ALL
    SELECT 'column', relname, attname,
      format_type(atttypid, atttypmod) || CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END
    FROM tables t JOIN pg_attribute ON attrelid = t.oid AND attnum > 0 AND NOT attisdropped
    UNION ALL
    SELECT 'constraint', relname, conname, replace(pg_get_constraintdef(c.oid), prefix, '')
    -- From PostgreSQL 18 on, NOT NULL is a constraint too; here it belongs to its column.
    FROM tables t JOIN pg_constraint c ON conrelid = t.oid AND contype <> 'n'
    UNION ALL
    SELECT 'index', relname, i.name, replace(replace(pg_get_indexdef(i.oid), prefix, ''),
      'INDEX ' || quote_ident(i.name) || ' ON', 'INDEX ON')
    FROM tables t JOIN (SELECT indrelid, c.oid, c.relname AS name FROM pg_index
      JOIN pg_class c ON c.oid = indexrelid WHERE indisvalid) i ON indrelid = t.oid
    UNION ALL
    SELECT 'trigger', relname, tgname, replace(replace(pg_get_triggerdef(g.oid), prefix, ''),
      'chirrup_updated_at()', 'update_updated_at()')
    FROM tables t JOIN pg_trigger g ON tgrelid = t.oid WHERE NOT tgisinternal
    UNION ALL
    SELECT 'policy', relname, polname, concat(polcmd, ' ',
      replace(pg_get_expr(polqual, polrelid), prefix, ''), ' ',
      replace(pg_get_expr(polwithcheck, polrelid), prefix, ''), ' TO ', (
        SELECT string_agg(CASE role WHEN 0 THEN 'PUBLIC' ELSE role::regrole::text END, ', ')
        FROM unnest(polroles) AS role))
    FROM tables t JOIN pg_policy ON polrelid = t.oid
    UNION ALL
    SELECT 'function', proname, '', '' FROM pg_proc JOIN schema s ON pronamespace = s.oid
    """
}
