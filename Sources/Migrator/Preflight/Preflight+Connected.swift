extension Preflight {
  /// Tables whose columns do not belong to them alone: those of a type, and of an extension.
  static let bound = """
    SELECT relation, '', 'is a table of the type ' || c.reloftype::regtype, NULL::bigint, NULL,
      'columns are added to it, which its type forbids',
      format('ALTER TABLE %I NOT OF;', relation), true
    FROM adoptable JOIN pg_class c USING (oid) WHERE c.reloftype <> 0
    UNION ALL
    SELECT relation, '', 'belongs to the extension ' || quote_ident(extname), NULL, NULL,
      'pg_dump would leave out what Chirrup stores in it',
      format('ALTER EXTENSION %I DROP TABLE %I; or %s', extname, relation, \(ownSchema)), true
    FROM adoptable t JOIN pg_depend ON classid = 'pg_class'::regclass AND objid = t.oid
      AND refclassid = 'pg_extension'::regclass AND deptype = 'e'
    JOIN pg_extension e ON e.oid = refobjid
    """

  /// Other servers that receive the rows of a table, or send them. A subscriber stops at the first
  /// row with a column that it lacks; its own table gets rows without the triggers of statements.
  static let replication = """
    SELECT relation, '', 'is sent to subscribers by the publication ' || quote_ident(pubname)
      || CASE WHEN readers > 0 THEN format(', which %s logical slots may read', readers) ELSE ''
      END,
      NULL::bigint, NULL, 'a subscriber without Chirrup''s new columns and tables stops',
      concat(CASE WHEN is_whole THEN format('in place of the publication of all tables, one of '
          'the application''s: DROP PUBLICATION %I; CREATE PUBLICATION %1$I FOR TABLE …, %I',
          pubname, relation)
        ELSE format('ALTER PUBLICATION %I DROP TABLE %I; ALTER PUBLICATION %1$I ADD TABLE %2$I',
          pubname, relation) END,
        CASE WHEN version >= 150000 THEN ' (' || names || ')' END, ';',
        CASE WHEN version < 150000 THEN ' after the columns and tables are created on the '
          'subscriber'
        WHEN is_full THEN format(' ALTER TABLE %I REPLICA IDENTITY DEFAULT;', relation) END),
      readers > 0
    FROM (
      SELECT t.relation, p.pubname, r.oid IS NULL AS is_whole, c.relreplident = 'f' AS is_full,
        current_setting('server_version_num')::integer AS version,
        (SELECT count(*) FROM pg_replication_slots
          WHERE database = current_database() AND plugin = 'pgoutput') AS readers,
        (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
          WHERE attrelid = t.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
        ) AS names,
        coalesce((to_jsonb(r) ->> 'prattrs') IS NOT NULL, false) AS is_limited
      FROM adoptable t JOIN pg_class c USING (oid) CROSS JOIN pg_publication p
      LEFT JOIN pg_publication_rel r ON r.prpubid = p.oid AND r.prrelid = t.oid
      WHERE p.puballtables OR r.oid IS NOT NULL OR EXISTS (SELECT FROM pg_publication_tables v
        WHERE v.pubname = p.pubname AND v.schemaname = current_schema()
          AND v.tablename = t.relation)
    ) AS published WHERE NOT is_limited
    UNION ALL
    SELECT relation, '', 'is filled by a subscription', NULL, NULL,
      'rows that are replicated fire no triggers of statements, and lack Chirrup''s columns',
      'DROP SUBSCRIPTION …; or ' || \(ownSchema), true
    FROM adoptable t WHERE EXISTS (SELECT FROM pg_subscription_rel WHERE srrelid = t.oid)
    """

  /// Functions that return whole rows of a table that gets columns.
  static let rowFunctions = """
    SELECT p.oid::regprocedure::text, '', 'returns rows of ' || t.relation, NULL::bigint, NULL,
      'it stays; with a list of columns in place of * it fails: the rehearsal tries those that are '
        'written in SQL; name a call of the others in --statements', format('CREATE OR REPLACE '
        'FUNCTION %s … SELECT %I.* …;', p.proname, t.relation), false
    FROM adoptable t JOIN pg_class c USING (oid) JOIN pg_proc p ON p.prorettype = c.reltype
    """

  /// Sessions of the application that do not see what others commit meanwhile: a message updates
  /// the row of its conversation.
  static let isolation = """
    SELECT 'default_transaction_isolation', '', format('is %s for %s', split_part(value, '=', 2),
        concat_ws(' in ', CASE WHEN setrole = 0 THEN 'all roles' ELSE setrole::regrole::text END,
          CASE WHEN setdatabase <> 0 THEN 'this database' END)), NULL::bigint, NULL,
      'it stays: of two INSERTs at once into one conversation one fails with 40001, and the '
        'application must repeat it', concat('ALTER ', CASE WHEN setrole = 0 THEN format(
        'DATABASE %I', current_database()) ELSE format('ROLE %s%s', setrole::regrole,
        CASE WHEN setdatabase <> 0 THEN format(' IN DATABASE %I', current_database()) END) END,
        ' RESET default_transaction_isolation;'), false
    FROM pg_db_role_setting CROSS JOIN LATERAL unnest(setconfig) AS value
    WHERE value ~ '^default_transaction_isolation=(repeatable read|serializable)$'
      AND setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
      AND EXISTS (SELECT FROM adoptable WHERE relation = 'chats')
    """
}
