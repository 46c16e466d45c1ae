extension Preflight {
  /// Tables that are no plain tables, belong to somebody else, or rewrite what is done to them.
  static let tables = """
    SELECT relation, '', 'is a ' || CASE relkind
        WHEN 'p' THEN 'partitioned table' WHEN 'v' THEN 'view'
        WHEN 'm' THEN 'materialized view' WHEN 'f' THEN 'foreign table' WHEN 'S' THEN 'sequence'
        WHEN 'c' THEN 'type' ELSE 'relation of kind ' || relkind::text END, NULL::bigint, NULL,
      'a key over its rows and a trigger for each row need a plain table', \(ownSchema), true
    FROM adoptable WHERE relkind <> 'r'
    UNION ALL
    SELECT relation, '', 'inherits from or is inherited by other tables', NULL, NULL,
      'a key does not cover the rows of all of them',
      format('ALTER TABLE %I NO INHERIT …; or %s', relation, \(ownSchema)), true
    FROM adoptable WHERE relkind = 'r'
      AND EXISTS (SELECT FROM pg_inherits WHERE oid IN (inhparent, inhrelid))
    UNION ALL
    SELECT relation, '', 'belongs to ' || relowner::regrole::text, NULL, NULL,
      'only its owner can add columns', format('ALTER TABLE %I OWNER TO %I; or, as a superuser: '
        'GRANT %s TO %I;', relation, current_user, relowner::regrole, current_user), true
    FROM adoptable WHERE NOT pg_has_role(relowner, 'USAGE')
    UNION ALL
    SELECT relation, '', 'is not logged', NULL, NULL, 'a crash of PostgreSQL would empty it',
      format('ALTER TABLE %I SET LOGGED;', relation), true
    FROM adoptable WHERE relpersistence = 'u'
    UNION ALL
    SELECT relation, rulename, 'is a rule', NULL, NULL,
      'rules change the statements of the gateway',
      format('DROP RULE %I ON %I;', rulename, relation), true
    FROM adoptable JOIN pg_rewrite ON ev_class = adoptable.oid AND ev_type <> '1'
    """

  /// Indexes of the owner's with names that Chirrup needs, on any table of the schema. Those of
  /// the usual guide to sessions are compared and adopted, or replaced.
  static let takenIndexes = """
    SELECT indrelid::regclass::text, name, 'is an index with the name of one of Chirrup''s',
      NULL::bigint, NULL, 'Chirrup creates an index of this name',
      format('ALTER INDEX %I RENAME TO app_%1$s;', name), true
    FROM taken_indexes t JOIN pg_index ON indexrelid = t.oid
    WHERE name <> 'idx_chat_sessions_workspace_id'
    """

  /// Tables, views and functions of the owner's with names that Chirrup needs for its own.
  static let takenNames = """
    SELECT relation, '', 'exists and is not Chirrup''s', NULL::bigint,
      CASE WHEN relkind IN ('r', 'p') THEN format('SELECT count(*) FROM %I', relation) END,
      'Chirrup creates a table of this name', \(ownSchema), true
    FROM taken
    UNION ALL
    SELECT p.oid::regprocedure::text, '', 'exists and is not Chirrup''s', NULL, NULL,
      'Chirrup creates functions of such names', format('ALTER FUNCTION %s RENAME TO app_…;',
        p.oid::regprocedure), true
    FROM pg_proc p WHERE pronamespace = quote_ident(current_schema())::regnamespace
      AND proname LIKE 'chirrup\\_%' AND NOT EXISTS (SELECT FROM pg_class
        WHERE relnamespace = quote_ident(current_schema())::regnamespace
          AND relname = 'chirrup_adoptions')
    """
}
