import Postgres

/// One thing that the migrations make and the database lacks, or has otherwise.
public struct SchemaDifference: Sendable, Equatable, CustomStringConvertible {
  public enum Kind: String, Sendable {
    case table, column, constraint, index, trigger, policy, function
  }
  public var kind: Kind
  /// The table; of a function its name.
  public var relation: String
  /// Empty for a table or function as a whole.
  public var name: String
  public var expected: String
  /// nil when it is missing.
  public var found: String?

  public var description: String {
    let subject =
      name.isEmpty ? "\(kind.rawValue) \(relation)" : "\(kind.rawValue) \(relation).\(name)"
    guard let found else {
      return "\(subject) is missing" + (kind == .column ? " (\(expected))" : "")
    }
    // Long definitions differ somewhere in the middle: the name is what helps.
    guard expected.utf8.count + found.utf8.count <= 200 else {
      return "\(subject) is another one than in Chirrup"
    }
    return "\(subject) is \(found), and \(expected) in Chirrup"
  }
}

/// What the database holds against what the migrations make.
///
/// The expectation is not written down a second time: the migrations run in an empty schema of a
/// transaction that is rolled back, and both schemas are read from the catalogues. What an adopted
/// table had before Chirrup is its own affair.
extension Migrator {
  /// What up to and with these migrations must be there. Empty when all of it is.
  func compareSchema(
    with migrations: [Migration]
  ) throws(MigrationFailure) -> [SchemaDifference] {
    let expected = try expectedSchema(of: migrations)
    let actual = try readSchema("current_schema()")
    let own = try adopted()
    let tables = Set(actual.keys.filter { $0.kind == .table }.map(\.relation))
    var differences: [SchemaDifference] = []
    for (key, definition) in expected.sorted(by: { $0.key < $1.key }) {
      let found = actual[key]
      guard found.map({ Migrator.plain($0) }) != Migrator.plain(definition), !own.contains(key)
      else { continue }
      // Rows of an adopted table may belong to no workspace yet.
      if key.kind == .column, key.name == "workspace_id",
        found.map({ $0 + " NOT NULL" }) == definition,
        own.contains(Key(kind: .table, relation: key.relation, name: ""))
      {
        continue
      }
      // Of a table that is missing everything is.
      if key.kind != .table, key.kind != .function, !tables.contains(key.relation) { continue }
      differences.append(
        SchemaDifference(
          kind: key.kind, relation: key.relation, name: key.name, expected: definition,
          found: found))
    }
    return differences
  }

  /// A definition without its parentheses: pg_restore writes some of them otherwise.
  private static func plain(_ definition: String) -> String {
    definition.filter { $0 != "(" && $0 != ")" }
  }

  private struct Key: Hashable, Comparable {
    var kind: SchemaDifference.Kind
    var relation: String
    var name: String

    static func < (a: Key, b: Key) -> Bool {
      (order(a.kind), a.relation, a.name) < (order(b.kind), b.relation, b.name)
    }
    private static func order(_ kind: SchemaDifference.Kind) -> Int {
      let kinds: [SchemaDifference.Kind] = [
        .table, .column, .constraint, .index, .trigger, .policy, .function,
      ]
      return kinds.firstIndex(of: kind) ?? kinds.count
    }
  }

  private func expectedSchema(
    of migrations: [Migration]
  ) throws(MigrationFailure) -> [Key: String] {
    try execute("BEGIN")
    defer { try? execute("ROLLBACK") }
    try execute("SET LOCAL client_min_messages = error")
    try execute("CREATE SCHEMA chirrup_expected")
    try execute("SET LOCAL search_path = chirrup_expected")
    try execute(Bookkeeping.script)
    try execute("SET LOCAL client_min_messages = error")
    for migration in migrations {
      // Of a move of data nothing is needed here: there are no rows.
      for step in migration.steps where !step.isBatched {
        for statement in step.statements { try execute(statement.text) }
      }
    }
    return try readSchema("'chirrup_expected'")
  }

  /// What a schema holds, by kind and name.
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
      guard let kind = rows.text(row, 0).flatMap({ SchemaDifference.Kind(rawValue: $0) }),
        let relation = rows.text(row, 1)
      else { continue }
      found[Key(kind: kind, relation: relation, name: rows.text(row, 2) ?? "")] =
        rows.text(row, 3) ?? ""
    }
    return found
  }

  /// What tables that Chirrup found had before it came, and what is not asked of them.
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
      guard let kind = rows.text(row, 0).flatMap({ SchemaDifference.Kind(rawValue: $0) })
      else { continue }
      keys.insert(
        Key(kind: kind, relation: rows.text(row, 1) ?? "", name: rows.text(row, 2) ?? ""))
    }
    return keys
  }

  /// The tables of which it is on record whether Chirrup made or found them; nil without a record.
  func tablesOnRecord() throws(MigrationFailure) -> Set<String>? {
    let exists = try run(Query("SELECT to_regclass('chirrup_adoptions') IS NOT NULL"))
    guard exists.bool(0, 0) == true else { return nil }
    let rows = try run(Query("SELECT relation FROM chirrup_adoptions WHERE name = ''"))
    return Set((0..<rows.count).compactMap { rows.text($0, 0) })
  }

  /// Definitions are written without the schema's name, so that two schemas can be compared.
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
    FROM tables t JOIN pg_constraint c ON conrelid = t.oid
    UNION ALL
    SELECT 'index', relname, i.name, replace(pg_get_indexdef(i.oid), prefix, '')
    FROM tables t JOIN (SELECT indrelid, c.oid, c.relname AS name FROM pg_index
      JOIN pg_class c ON c.oid = indexrelid WHERE indisvalid) i ON indrelid = t.oid
    UNION ALL
    SELECT 'trigger', relname, tgname, replace(pg_get_triggerdef(g.oid), prefix, '')
    FROM tables t JOIN pg_trigger g ON tgrelid = t.oid WHERE NOT tgisinternal
    UNION ALL
    SELECT 'policy', relname, polname, concat(polcmd, ' ',
      replace(pg_get_expr(polqual, polrelid), prefix, ''), ' ',
      replace(pg_get_expr(polwithcheck, polrelid), prefix, ''))
    FROM tables t JOIN pg_policy ON polrelid = t.oid
    UNION ALL
    SELECT 'function', proname, '', '' FROM pg_proc JOIN schema s ON pronamespace = s.oid
    """
}
