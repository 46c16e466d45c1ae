extension Preflight {
  /// Demands that no statement can relax for Chirrup's rows alone: NOT NULL of a domain, and a
  /// check that a column which Chirrup does not know has a value.
  static let fixedDemands = """
    SELECT t.relation, attname, 'has the type ' || typname || ', a domain that forbids NULL, and '
      'no default', NULL::bigint, NULL, 'Chirrup''s rows have no value in it',
      format('ALTER TABLE %I ALTER COLUMN %I SET DEFAULT …;', t.relation, attname), true
    FROM adoptable t JOIN pg_attribute ON attrelid = t.oid AND attnum > 0 AND NOT attisdropped
    JOIN pg_type y ON y.oid = atttypid AND typtype = 'd'
    WHERE typnotnull AND typdefault IS NULL AND NOT atthasdef AND t.relkind = 'r'
      AND NOT EXISTS (SELECT FROM known k WHERE k.relation = t.relation AND k.name = attname)
    UNION ALL
    SELECT t.relation, attname, format('must have a value (%I), and has no default', conname),
      NULL, NULL, 'Chirrup''s rows have no value in it',
      format('ALTER TABLE %I ALTER COLUMN %I SET DEFAULT …;', t.relation, attname), true
    FROM adoptable t JOIN pg_constraint c ON conrelid = t.oid AND contype = 'c'
    JOIN pg_attribute ON attrelid = t.oid AND conkey = ARRAY[attnum]
    WHERE pg_get_constraintdef(c.oid) ~ ('^CHECK \\(\\("?' || attname || '"? IS NOT NULL\\)\\)')
      AND NOT atthasdef AND attidentity = ''
      AND NOT EXISTS (SELECT FROM known k WHERE k.relation = t.relation AND k.name = attname)
    """

  /// Columns that hold whole rows of a table: PostgreSQL adds no column with a default to its type.
  static let rowTypes = """
    SELECT t.relation, '', 'is the type of ' || string_agg(holder, ', ' ORDER BY holder),
      NULL::bigint, NULL, 'columns are added to its rows, which PostgreSQL refuses',
      'CREATE TYPE app_row AS (…); ' || string_agg(format(
        'ALTER TABLE %s ALTER COLUMN %I TYPE app_row USING …;', place, attname), ' '
        ORDER BY holder), true
    FROM adoptable t CROSS JOIN LATERAL (
      WITH RECURSIVE holding (type) AS (
        SELECT reltype FROM pg_class WHERE oid = t.oid
        UNION
        SELECT next FROM holding CROSS JOIN LATERAL (
          SELECT y.oid FROM pg_type y WHERE y.typelem = holding.type OR y.typbasetype = holding.type
          UNION ALL
          SELECT y.oid FROM pg_type y JOIN pg_attribute a ON a.attrelid = y.typrelid
            AND a.atttypid = holding.type AND NOT attisdropped
          JOIN pg_class c ON c.oid = y.typrelid AND c.relkind = 'c'
        ) AS over (next)
      )
      SELECT c.oid::regclass AS place, attname, format('%s.%I', c.oid::regclass, attname) AS holder
      FROM holding JOIN pg_attribute ON atttypid = type AND attnum > 0 AND NOT attisdropped
      JOIN pg_class c ON c.oid = attrelid AND c.relkind IN ('r', 'p', 'm')
    ) AS held
    GROUP BY t.relation
    """

  /// Indexes that are replaced because they have names of Chirrup's, although the table is
  /// clustered on them or replicated by them.
  static let markedIndexes = """
    SELECT t.relation, i.relname, 'is the index that the table is '
      || CASE WHEN indisreplident THEN 'replicated by' ELSE 'clustered on' END
      || ', and has the name of one of Chirrup''s', NULL::bigint, NULL,
      'an index of this name is replaced', format('ALTER INDEX %I RENAME TO app_%1$s;', i.relname),
      true
    FROM adoptable t JOIN pg_index ON indrelid = t.oid JOIN pg_class i ON i.oid = indexrelid
    WHERE (indisclustered OR indisreplident) AND i.relname IN ('idx_chats_session_id',
      'idx_chats_session_created', 'idx_chat_sessions_user_id', 'idx_chat_sessions_created_at',
      'idx_chat_sessions_active')
    """

  /// Tables that statements of the application reach today, and that tables of the same names in
  /// the first schema of search_path would hide from it.
  static let hidden = """
    SELECT format('%I.%I', nspname, relname), '', 'would be hidden by a table of the schema '
      || quote_ident(current_schema()), NULL::bigint, NULL,
      'search_path names this schema for the application too, which would see Chirrup''s table',
      format('ALTER TABLE %I.%I SET SCHEMA %I; or set a search_path for Chirrup alone, by adding '
        'to --database-url: ?options=-csearch_path%%3D%3$s', nspname, relname, current_schema()),
      true
    FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
    WHERE nspname = ANY (current_schemas(false)) AND nspname <> current_schema()
      AND relname IN ('workspaces', 'chats', 'chat_sessions') AND relkind IN ('r', 'p', 'v', 'm')
      AND (SELECT source FROM pg_settings WHERE name = 'search_path') NOT IN ('client', 'session')
      AND NOT EXISTS (SELECT FROM pg_class o
        WHERE o.relnamespace = quote_ident(current_schema())::regnamespace
          AND o.relname = c.relname)
    """
}
