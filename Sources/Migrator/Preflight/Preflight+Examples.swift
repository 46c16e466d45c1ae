import Postgres

extension Migrator {
  /// Adds to findings about definitions the number of rows that they concern, and one of these rows
  /// by its key. Texts are masked: they are what people wrote.
  func addExamples(_ findings: inout [PreflightFinding]) throws(MigrationFailure) {
    var counts: [String: Int64] = [:]
    for index in findings.indices where findings[index].example == nil {
      let finding = findings[index]
      let place = try run(
        Query(Preflight.exampleQueries, [.text(finding.table), .text(finding.object)]))
      guard !place.isEmpty, let count = place.text(0, 0), let example = place.text(0, 1) else {
        continue
      }
      // The table may be closed to this user, which is a finding of its own.
      if finding.rows == nil {
        if counts[finding.table] == nil {
          counts[finding.table] = (try? connection.ask(script: count))?.int(0, 0)
        }
        findings[index].rows = counts[finding.table]
      }
      guard let rows = try? connection.ask(script: example), !rows.isEmpty else { continue }
      findings[index].example = rows.text(0, 0)
    }
  }
}

extension Preflight {
  /// The queries for the rows of a table ($1) and for one row with its key and, if $2 is a column,
  /// its value there. No row if $1 is no table.
  static let exampleQueries: StaticString = """
    SELECT format('SELECT count(*) FROM %s', c.oid::regclass),
      format('SELECT concat(%s, %s) FROM %s %s LIMIT 1',
        concat_ws(', ', CASE WHEN k.attname IS NOT NULL THEN '''id = '', id' END,
          CASE WHEN k.attname IS NULL AND relkind IN ('r', 'p', 'm') THEN '''ctid = '', ctid' END,
          ''''''),
        CASE WHEN v.attname IS NULL OR v.attname = 'id' THEN ''''''
          WHEN v.typcategory IN ('N', 'D', 'B', 'E') OR v.typname = 'uuid' THEN
            format('%L, %I', format(', %s = ', v.attname), v.attname)
          ELSE format('%L || left(%I::text, 2) || ''… ('' || length(%2$I::text) || '
            ''' characters)''', format(', %s = ', v.attname), v.attname) END,
        c.oid::regclass,
        CASE WHEN v.attname IS NOT NULL THEN format('ORDER BY %I IS NULL', v.attname) END)
    FROM pg_class c
    LEFT JOIN pg_attribute k ON k.attrelid = c.oid AND k.attname = 'id' AND NOT k.attisdropped
    LEFT JOIN (SELECT attrelid, attname, typcategory, typname FROM pg_attribute
      JOIN pg_type t ON t.oid = atttypid WHERE attnum > 0 AND NOT attisdropped) AS v
      ON v.attrelid = c.oid AND v.attname = $2
    WHERE c.oid = coalesce(to_regclass(format('%I.%I', current_schema(), $1::text)),
      CASE WHEN $1::text LIKE '%.%' THEN to_regclass($1::text) END)
      AND relkind IN ('r', 'p', 'v', 'm', 'f')
    """
}
