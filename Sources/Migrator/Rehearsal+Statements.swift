import Postgres

extension Rehearsal {
  /// The statements of the application that PostgreSQL has recorded (`pg_stat_statements`).
  public struct Recorded: Sendable, Equatable {
    /// The reason why none could be read; nil if the extension answered.
    public var unavailable: String?
    /// Statements that ran before and after the migrations, with values of the right types.
    public var run = 0
    /// Statements for which no values were found: only planned, before and after.
    public var planned = 0
    /// Statements that fail without the migrations too, with the reason.
    public var notRun: [Broken] = []
    /// Statements of other users, whose text this user may not read.
    public var hidden = 0

    /// The most frequent statements; more are not tried.
    static let statementsMax = 300
    /// How long one may run, while the tables are locked.
    static let milliseconds = 3_000
  }

  /// One recorded statement, prepared, and the values with which it ran before the migrations.
  struct Prepared {
    var text: String
    /// Its EXECUTE or EXPLAIN.
    var execution: String
  }
}

/// The application's recorded statements in a rehearsal: read, tried before the migrations, and
/// tried after them.
struct RecordedStatements {
  private let migrator: Migrator
  private var prepared: [Rehearsal.Prepared] = []

  init(_ migrator: Migrator) { self.migrator = migrator }

  /// Reads the statements that touch a table which Chirrup adopts, the most frequent first.
  func read(
    _ recorded: inout Rehearsal.Recorded
  ) throws(MigrationFailure) -> [String] {
    let schema = try migrator.run(
      Query(
        """
        SELECT quote_ident(nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = extnamespace
        WHERE extname = 'pg_stat_statements'
        """))
    guard let schema = schema.isEmpty ? nil : schema.text(0, 0) else {
      recorded.unavailable = "the extension pg_stat_statements is not installed"
      return []
    }
    let rows: Rows
    do throws(ScriptFailure) {
      rows = try migrator.connection.ask(
        script: """
          SELECT query, sum(count(*) FILTER (WHERE query = '<insufficient privilege>')) OVER ()
          FROM \(schema).pg_stat_statements
          WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND (query = '<insufficient privilege>'
              OR query ~* '^\\s*(select|insert|update|delete|with|merge)\\M'
                AND query ~* '\\m(\(Preflight.adoptable.sorted().joined(separator: "|")))\\M'
                AND query !~* '\\mchirrup_')
          GROUP BY query ORDER BY sum(calls) DESC LIMIT \(Rehearsal.Recorded.statementsMax)
          """)
    } catch {
      guard case .refused(let refusal, _) = error else {
        throw .unavailable(reason: "\(error)")
      }
      recorded.unavailable = refusal.message
      return []
    }
    var statements: [String] = []
    for row in 0..<rows.count {
      recorded.hidden = Int(rows.int(row, 1) ?? 0)
      guard let text = rows.text(row, 0), text != "<insufficient privilege>" else { continue }
      statements.append(text)
    }
    return statements
  }

  /// Finds values with which each statement runs now, before the migrations. The transaction is as
  /// before afterwards.
  mutating func prepare(
    _ statements: [String], _ recorded: inout Rehearsal.Recorded
  ) throws(MigrationFailure) {
    for text in statements {
      var reason: String?
      var execution: String?
      try migrator.reverting { () throws(MigrationFailure) in
        reason = try refusal(of: "PREPARE chirrup_statement AS \(text)")
        guard reason == nil else { return }
        let types = try parameterTypes()
        for values in Rehearsal.fillings(of: types) + [nil] {
          let candidate = Rehearsal.execution(of: values, types)
          reason = try refusalReverted(of: candidate)
          guard reason != nil else {
            execution = candidate
            if values == nil { recorded.planned += 1 } else { recorded.run += 1 }
            return
          }
        }
      }
      try forget()
      if let execution {
        prepared.append(Rehearsal.Prepared(text: text, execution: execution))
      } else {
        recorded.notRun.append(Rehearsal.Broken(statement: text, reason: reason ?? ""))
      }
    }
  }

  /// The statements that ran before the migrations and do not run now.
  func broken() throws(MigrationFailure) -> [Rehearsal.Broken] {
    var broken: [Rehearsal.Broken] = []
    for statement in prepared {
      var reason: String?
      try migrator.reverting { () throws(MigrationFailure) in
        reason = try refusal(of: "PREPARE chirrup_statement AS \(statement.text)")
        if reason == nil { reason = try refusal(of: statement.execution) }
      }
      try forget()
      if let reason { broken.append(.init(statement: statement.text, reason: reason)) }
    }
    return broken
  }

  /// A prepared statement outlives its transaction, also a rolled back one.
  private func forget() throws(MigrationFailure) {
    let exists = try migrator.run(
      Query("SELECT count(*) FROM pg_prepared_statements WHERE name = 'chirrup_statement'"))
    if exists.int(0, 0) == 1 { try migrator.execute("DEALLOCATE chirrup_statement") }
  }

  private func parameterTypes() throws(MigrationFailure) -> [String] {
    let rows = try migrator.run(
      Query(
        """
        SELECT type::text FROM pg_prepared_statements, unnest(parameter_types) AS type
        WHERE name = 'chirrup_statement'
        """))
    return (0..<rows.count).compactMap { rows.text($0, 0) }
  }

  /// Runs a statement of the application. Returns why PostgreSQL refuses it; nil if it does not.
  private func refusal(of statement: String) throws(MigrationFailure) -> String? {
    do throws(ScriptFailure) {
      try migrator.connection.execute(script: statement)
      return nil
    } catch {
      switch error {
      case .unavailable(let reason): throw .unavailable(reason: reason)
      case .refused(let refusal, _): return "\(refusal)"
      }
    }
  }

  private func refusalReverted(of statement: String) throws(MigrationFailure) -> String? {
    var reason: String?
    try migrator.reverting { () throws(MigrationFailure) in reason = try refusal(of: statement) }
    return reason
  }
}

extension Migrator {
  /// Runs something whose changes and errors do not stay in the transaction.
  func reverting(_ body: () throws(MigrationFailure) -> Void) throws(MigrationFailure) {
    try execute("SAVEPOINT chirrup_reverted")
    try body()
    try execute("ROLLBACK TO SAVEPOINT chirrup_reverted; RELEASE SAVEPOINT chirrup_reverted")
  }
}

extension Rehearsal {
  /// Values for parameters, in the order of trial: the key of a row that exists, a new key, and
  /// NULL for those that may be absent.
  static func fillings(of types: [String]) -> [[String]?] {
    let keys = ["(SELECT min(id::text)::uuid FROM workspaces)", "gen_random_uuid()", "NULL"]
    guard types.contains("uuid") else { return [types.map { value($0, key: "NULL") }] }
    let uniform = keys.map { key in types.map { value($0, key: key) } }
    // A new row has a new key first, and refers to rows that exist.
    var first = uniform[0]
    if let index = types.firstIndex(of: "uuid") { first[index] = keys[1] }
    return [first] + uniform
  }

  private static func value(_ type: String, key: String) -> String {
    switch type {
    case "uuid": key
    case "uuid[]": "ARRAY[gen_random_uuid()]"
    case "smallint", "integer", "bigint", "numeric", "real", "double precision": "1"
    case "boolean": "true"
    // A role that every chat has, and as good a text as any other.
    case "text", "character varying", "character", "name": "'user'"
    case "json", "jsonb": "'{}'"
    case "timestamp with time zone", "timestamp without time zone", "date": "now()"
    case "interval": "'1 day'"
    case let array where array.hasSuffix("[]"): "'{}'"
    default: "NULL"
    }
  }

  /// Without values: the plan, for which PostgreSQL checks names, types and privileges.
  static func execution(of values: [String]?, _ types: [String]) -> String {
    let list = (values ?? types.map { _ in "NULL" }).joined(separator: ", ")
    return (values == nil ? "EXPLAIN " : "") + "EXECUTE chirrup_statement"
      + (list.isEmpty ? "" : "(\(list))")
  }
}
