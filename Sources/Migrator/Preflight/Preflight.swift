import Postgres

/// The examination of a database before the first migration changes it: everything that the
/// migrations touch and did not create. Changes nothing.
///
/// Each kind of finding has a file of its own, with a query that returns one row for each finding:
/// table, object, problem, rows, example, action, remedy, whether it is an obstacle. An example
/// that is a SELECT is the query for the number of rows, and perhaps for an example.
extension Migrator {
  /// The findings, obstacles first. Empty for an empty database and for one of Chirrup's own.
  public func examine() throws(MigrationFailure) -> [PreflightFinding] {
    let record = try tablesOnRecord()
    let scope = Preflight(
      onRecord: record ?? [], isFirst: record == nil,
      created: Set(chain.migrations.flatMap(\.createdTables)),
      indexes: Set(chain.migrations.flatMap(\.createdIndexes)))
    var schema =
      scope.isFirst ? try findings(Preflight.schema) + findings(Preflight.hidden) : []
    let candidates = try scope.candidates(in: relations())
    guard !schema.contains(where: \.isObstacle), !candidates.isEmpty else {
      try addExamples(&schema)
      return schema
    }
    var found = schema
    for examination in Preflight.definitions { found += try findings(scope.bind(examination)) }
    let isRefused = found.contains(where: \.isObstacle)
    for examination in Preflight.contents {
      guard
        try run(
          Query(Preflight.hasColumns, [.text(examination.columns.joined(separator: ","))])
        ).bool(0, 0) == true
      else { continue }
      do throws(MigrationFailure) {
        found += try findings(scope.bind(examination.sql))
      } catch {
        // The rows of a column with another type cannot be examined: that is a finding already.
        guard isRefused, case .refused = error else { throw error }
      }
    }
    try addExamples(&found)
    return found.filter(\.isObstacle) + found.filter { !$0.isObstacle }
  }

  private func relations() throws(MigrationFailure) -> Set<String> {
    let rows = try run(
      Query(
        """
        SELECT relname::text FROM pg_class
        WHERE relnamespace = quote_ident(current_schema())::regnamespace
        """))
    return Set((0..<rows.count).compactMap { rows.text($0, 0) })
  }

  private func findings(_ script: String) throws(MigrationFailure) -> [PreflightFinding] {
    let rows: Rows
    do throws(ScriptFailure) {
      rows = try connection.ask(
        script: """
          SELECT t::text, object::text, problem::text, rows::bigint, example::text, action::text,
            remedy::text, is_obstacle FROM (\(script)
          ) AS f (t, object, problem, rows, example, action, remedy, is_obstacle)
          """)
    } catch {
      switch error {
      case .unavailable(let reason): throw .unavailable(reason: reason)
      case .refused(let refusal, _): throw .refused(refusal)
      }
    }
    var findings: [PreflightFinding] = []
    for row in 0..<rows.count {
      var finding = PreflightFinding(
        table: rows.text(row, 0) ?? "", object: rows.text(row, 1) ?? "",
        problem: rows.text(row, 2) ?? "", rows: rows.int(row, 3), example: rows.text(row, 4),
        action: rows.text(row, 5) ?? "", remedy: rows.text(row, 6) ?? "",
        isObstacle: rows.bool(row, 7) == true)
      if let query = finding.example, query.hasPrefix("SELECT ") {
        // The table may be closed to this user, which is a finding of its own.
        let figures = try? connection.ask(script: query)
        finding.rows = figures?.int(0, 0)
        finding.example = figures.flatMap { $0.columnCount > 1 ? $0.text(0, 1) : nil }
      }
      findings.append(finding)
    }
    return findings
  }
}

/// Examines the tables that Chirrup adopts and has not adopted yet, and the names of those that it
/// creates.
struct Preflight {
  var onRecord: Set<String>
  /// No migration has run: a table with one of our names is the owner's.
  var isFirst: Bool
  var created: Set<String>
  /// The names of indexes that must be free.
  var indexes: Set<String>

  /// An examination of rows, which runs only if these columns (`table.column`) exist.
  struct Contents {
    var columns: [String]
    var sql: String
  }

  static let definitions = [
    tables, takenNames, takenIndexes, columns, demands, keys, constraints, triggers, policies,
    privileges, grants,
    fixedDemands, markedIndexes, rowTypes, bound, replication, rowFunctions,
    isolation,
  ]
  static let contents =
    [messagesWithoutValue, orphanMessages, lostSessions, unknownRoles, emptyContents]
    + sessionContents + [doubleIntents]

  /// The existing relations that the migrations would touch.
  func candidates(in relations: Set<String>) -> Set<String> {
    relations.subtracting(onRecord).filter {
      Preflight.adoptable.contains($0)
        || isFirst && (created.contains($0) || $0.hasPrefix("chirrup_"))
    }
  }

  static let adoptable: Set = [
    "workspaces", "chats", "chat_sessions", "system_settings", "intents", "reply_objects",
  ]

  static let hasColumns: StaticString = """
    SELECT count(*) = cardinality(string_to_array($1, ','))
    FROM unnest(string_to_array($1, ',')) AS wanted
    JOIN pg_attribute ON attrelid = to_regclass(format('%I.%I', current_schema(),
        split_part(wanted, '.', 1)))
      AND attname = split_part(wanted, '.', 2) AND NOT attisdropped
    """

  /// Completes a query by the tables in question: `adoptable` are those to adopt, `taken` those
  /// with names that must be free, `known` the columns that Chirrup knows.
  func bind(_ sql: String) -> String {
    func array(_ names: Set<String>) -> String {
      "ARRAY[" + names.sorted().map { "'\($0)'" }.joined(separator: ", ") + "]::text[]"
    }
    return """
      WITH known (relation, name, types, use) AS (VALUES \(Preflight.knownColumns)),
      adoptable AS (SELECT c.oid, c.relname::text AS relation, c.relkind, c.relowner,
          c.relpersistence, c.relrowsecurity, c.relforcerowsecurity, c.relacl
        FROM pg_class c WHERE c.relnamespace = quote_ident(current_schema())::regnamespace
          AND c.relname = ANY (\(array(Preflight.adoptable.subtracting(onRecord))))),
      taken AS (SELECT c.oid, c.relname::text AS relation, c.relkind
        FROM pg_class c
        WHERE c.relnamespace = quote_ident(current_schema())::regnamespace AND \(isFirst)
          AND c.relkind NOT IN ('i', 'I', 't')
          AND (c.relname = ANY (\(array(created.subtracting(Preflight.adoptable))))
            OR c.relname LIKE 'chirrup\\_%')),
      taken_indexes AS (SELECT c.oid, c.relname::text AS name FROM pg_class c
        WHERE c.relnamespace = quote_ident(current_schema())::regnamespace AND \(isFirst)
          AND c.relkind IN ('i', 'I') AND c.relname = ANY (\(array(indexes))))
      \(sql)
      """
  }

  /// The remedy for an application whose tables have our names and another purpose.
  static let ownSchema = """
    'install Chirrup in a schema of its own, in which all names are free: CREATE SCHEMA chirrup; '
      'then add to --database-url: ?options=-csearch_path%3Dchirrup,' || current_schema()
    """
}
