extension Preflight {
  /// The server, the schema that search_path names first, and tables of the application in another
  /// one.
  static let schema = """
    SELECT 'server', '', 'is a standby', NULL::bigint, NULL, 'nothing can be written to it',
      'connect to the primary, by another --database-url', true
    WHERE pg_is_in_recovery()
    UNION ALL
    SELECT 'default_transaction_read_only', '', 'is on for ' || CASE source
        WHEN 'database' THEN 'this database' WHEN 'user' THEN 'this user'
        WHEN 'database user' THEN 'this user in this database'
        WHEN 'client' THEN 'this connection' ELSE 'this server' END,
      NULL, NULL, 'neither the migrations nor the gateway could write', CASE source
        WHEN 'database' THEN format('ALTER DATABASE %I', current_database())
        WHEN 'user' THEN format('ALTER ROLE %I', current_user)
        WHEN 'database user' THEN
          format('ALTER ROLE %I IN DATABASE %I', current_user, current_database())
        WHEN 'client' THEN 'without it in --database-url and PGOPTIONS, or: '
          || format('ALTER ROLE %I', current_user)
        ELSE 'ALTER SYSTEM' END || ' SET default_transaction_read_only = off;'
        || CASE WHEN source LIKE '%user' OR source IN ('database', 'client') THEN ''
          ELSE ' SELECT pg_reload_conf();' END, true
    FROM pg_settings
    WHERE name = 'default_transaction_read_only' AND setting = 'on' AND NOT pg_is_in_recovery()
    UNION ALL
    SELECT 'search_path', '', 'names no schema that exists', NULL::bigint, NULL,
      'there is no place for the tables', 'CREATE SCHEMA ' || quote_ident(current_user) || ';', true
    WHERE current_schema() IS NULL
    UNION ALL
    SELECT 'schema ' || current_schema(), '', 'allows ' || quote_ident(current_user)
      || ' to create nothing', NULL, NULL, 'tables are created in it',
      format('GRANT CREATE ON SCHEMA %I TO %I;', current_schema(), current_user), true
    WHERE NOT has_schema_privilege(current_schema(), 'CREATE')
    UNION ALL
    SELECT 'event triggers', '', string_agg(evtname, ', ' ORDER BY evtname)
      || ' fire for statements of the migrations', NULL, NULL, 'they stay and fire',
      string_agg(format('ALTER EVENT TRIGGER %I DISABLE;', evtname), ' ' ORDER BY evtname), false
    FROM pg_event_trigger WHERE evtenabled <> 'D' HAVING count(*) > 0
    UNION ALL
    SELECT 'search_path', '', format('does not name the schema %I, which has tables workspaces and '
      'chats', nspname), NULL, NULL, 'an empty installation in the schema ' || current_schema()
      || ' would be made beside the application',
      format('ALTER ROLE %I IN DATABASE %I SET search_path = %I; (or, for an empty installation: '
        '%I)', current_user, current_database(), nspname, current_schema()), true
    FROM pg_namespace n
    WHERE (SELECT source FROM pg_settings WHERE name = 'search_path') = 'default'
      AND nspname <> current_schema() AND has_schema_privilege(n.oid, 'USAGE')
      AND NOT EXISTS (SELECT FROM pg_class
        WHERE relnamespace = quote_ident(current_schema())::regnamespace
        AND relname IN ('workspaces', 'chats'))
      AND (SELECT count(*) FROM pg_class WHERE relnamespace = n.oid
        AND relname IN ('workspaces', 'chats') AND relkind IN ('r', 'p', 'v')) = 2
    """
}
