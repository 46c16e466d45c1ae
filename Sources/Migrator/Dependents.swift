import Postgres

/// What the application has made since it moved in, and what cannot remain without a table or
/// column that `down` takes away.
struct Dependents {
  var migrator: Migrator

  func find(on migrations: [Migration]) throws(MigrationFailure) -> [PreflightFinding] {
    let rows = try migrator.run(
      Query(
        Dependents.objects,
        [
          .text(migrations.flatMap(\.createdTables).joined(separator: ",")),
          .text(migrator.chain.migrations.flatMap(\.createdTables).joined(separator: ",")),
          .bool(migrations.contains { $0.parent == nil }),
        ]))
    return (0..<rows.count).map { row in
      PreflightFinding(
        table: rows.text(row, 0) ?? "", object: rows.text(row, 1) ?? "",
        problem: "refers to \(rows.text(row, 2) ?? "")", action: "`down` takes that away",
        remedy: rows.text(row, 3) ?? "", isObstacle: true)
    }
  }

  /// Foreign keys, views, policies and functions with a body of SQL. Indexes and checks of columns
  /// that go are no obstacle: they go with them.
  private static let objects: StaticString = """
    WITH names AS (SELECT string_to_array($1, ',') AS going, string_to_array($2, ',') AS made),
    going AS (
      SELECT c.oid, 0 AS place FROM pg_class c CROSS JOIN names
      WHERE relnamespace = quote_ident(current_schema())::regnamespace AND relkind IN ('r', 'p')
        AND relname = ANY (going) AND NOT EXISTS (SELECT FROM chirrup_adoptions
          WHERE relation = relname AND kind = 'found')
      UNION ALL
      SELECT c.oid, attnum FROM chirrup_adoptions a JOIN pg_class c ON c.relname = a.relation
        AND relnamespace = quote_ident(current_schema())::regnamespace
      JOIN pg_attribute ON attrelid = c.oid AND attnum > 0 AND NOT attisdropped
      WHERE $3 AND a.kind = 'found' AND chirrup_is_given(a.relation, 'column', attname)
        AND NOT EXISTS (SELECT FROM chirrup_adoptions o
          WHERE o.relation = a.relation AND o.kind = 'column' AND o.name = attname)
    ), needed AS (
      SELECT DISTINCT classid, objid, refobjid::regclass AS place FROM pg_depend JOIN going g
        ON refclassid = 'pg_class'::regclass AND refobjid = g.oid
          AND (g.place = 0 OR g.place = refobjsubid)
      WHERE deptype = 'n'
    ), found AS (
      SELECT conrelid AS relation, conname::text AS name, place, 'constraint' AS kind,
        format('ALTER TABLE %s DROP CONSTRAINT %I;', conrelid::regclass, conname) AS remedy
      FROM needed JOIN pg_constraint c ON classid = 'pg_constraint'::regclass AND objid = c.oid
      WHERE contype = 'f'
      UNION ALL
      SELECT polrelid, polname, place, 'policy',
        format('DROP POLICY %I ON %s;', polname, polrelid::regclass)
      FROM needed JOIN pg_policy p ON classid = 'pg_policy'::regclass AND objid = p.oid
      UNION ALL
      SELECT ev_class, '', place, 'view', format('DROP %s %s;', CASE relkind
        WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'VIEW' END, ev_class::regclass)
      FROM needed JOIN pg_rewrite r ON classid = 'pg_rewrite'::regclass AND objid = r.oid
      JOIN pg_class c ON c.oid = ev_class WHERE relkind IN ('v', 'm')
    )
    SELECT relation::regclass::text, name, string_agg(DISTINCT place::text, ', '), remedy
    FROM found JOIN pg_class c ON c.oid = relation CROSS JOIN names
    WHERE relname NOT LIKE 'chirrup\\_%'
      AND NOT (relnamespace = quote_ident(current_schema())::regnamespace
        AND relname = ANY (made) AND (
        NOT EXISTS (SELECT FROM chirrup_adoptions a WHERE a.relation = relname AND kind = 'found')
        OR chirrup_is_given(relname, found.kind, found.name)))
    GROUP BY relation, name, remedy
    UNION ALL
    SELECT p.oid::regprocedure::text, '', string_agg(DISTINCT place::text, ', '),
      format('DROP FUNCTION %s;', p.oid::regprocedure)
    FROM needed JOIN pg_proc p ON classid = 'pg_proc'::regclass AND objid = p.oid
    WHERE proname NOT LIKE 'chirrup\\_%' GROUP BY p.oid
    ORDER BY 1, 2
    """
}
