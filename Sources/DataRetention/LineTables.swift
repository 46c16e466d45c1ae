/// The other tables of a LINE back end that has been repaired: its chat_sessions, friend_events,
/// rich_menus, settings, intents and replies. They have names of ours, so Chirrup has been
/// installed in a schema of its own, and they are in the schema of `messages`.
import Postgres

extension LineImport {
  /// Tables of such a back end that have the name of a table of ours.
  private static let names = [
    "chat_sessions", "friend_events", "system_settings", "intents", "reply_objects", "rich_menus",
    "chat_analytics", "credentials",
  ]

  /// Creates the view `line_old` (old_table, old_row) of those that exist, and the views of the
  /// rows to import from them. Their columns differ between back ends, so rows are read as JSON.
  func createTableViews() throws {
    let rows = try storedData.connection.run(
      Query(
        """
        SELECT c.relname, format('%I.%I', n.nspname, c.relname)
        FROM pg_class m JOIN pg_namespace n ON n.oid = m.relnamespace
        JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
        WHERE m.oid = to_regclass('messages') AND c.relname = ANY ($1::text[])
          AND c.oid IS DISTINCT FROM to_regclass(quote_ident(c.relname))
        ORDER BY c.relname
        """, [.text("{\(LineImport.names.joined(separator: ","))}")]))
    var selects = ["SELECT NULL::text AS old_table, NULL::jsonb AS old_row WHERE false"]
    for row in 0..<rows.count {
      guard let name = rows.text(row, 0), let relation = rows.text(row, 1) else { continue }
      selects.append("SELECT '\(name)', to_jsonb(t) FROM \(relation) t")
    }
    try storedData.connection.execute(
      script: "CREATE OR REPLACE TEMPORARY VIEW line_old AS "
        + selects.joined(separator: " UNION ALL ") + ";" + LineImport.tableViews)
  }

  /// The rows to import, without those that have been imported.
  private static let tableViews = """
    CREATE OR REPLACE FUNCTION pg_temp.time_of(written text) RETURNS timestamptz
    LANGUAGE plpgsql STABLE AS $$
    BEGIN RETURN written::timestamptz; EXCEPTION WHEN data_exception THEN RETURN NULL; END
    $$;
    CREATE OR REPLACE TEMPORARY VIEW line_friend_events AS
    SELECT pg_temp.derived(w.id, 'friend_event:' || coalesce(old_row ->> 'id', md5(old_row::text)))
        AS id,
      old_row ->> 'line_user_id' AS line_user_id,
      lower(coalesce(old_row ->> 'event_type', old_row ->> 'event')) AS event,
      pg_temp.time_of(coalesce(old_row ->> 'created_at', old_row ->> 'event_at',
        old_row ->> 'timestamp')) AS at, old_row
    FROM line_old, line_space w WHERE old_table = 'friend_events';

    CREATE OR REPLACE TEMPORARY VIEW line_new_friend_events AS
    SELECT f.id, f.line_user_id, f.event, coalesce(f.at, u.created_at, now()) AS created_at
    FROM line_friend_events f JOIN line_users u USING (line_user_id)
    WHERE pg_temp.is_event(f.event) AND NOT EXISTS (SELECT FROM friend_events e, line_space w
      WHERE e.workspace_id = w.id AND e.id = f.id);

    CREATE OR REPLACE TEMPORARY VIEW line_new_settings AS
    SELECT DISTINCT ON (key) key, value FROM (
      SELECT old_row ->> 'key' AS key, old_row ->> 'value' AS value
      FROM line_old WHERE old_table = 'system_settings') AS old, line_space w
    WHERE key IS NOT NULL AND NOT EXISTS (SELECT FROM system_settings s
      WHERE s.workspace_id = w.id AND s.key = old.key)
    ORDER BY key;

    CREATE OR REPLACE TEMPORARY VIEW line_intents AS
    SELECT old_row ->> 'name' AS name, old_row ->> 'keyword' AS keyword,
      lower(coalesce(old_row ->> 'match_kind', old_row ->> 'match_type')) AS match_kind,
      row_number() OVER (PARTITION BY old_row ->> 'name'
        ORDER BY length(old_row ->> 'id'), old_row ->> 'id') AS place, old_row
    FROM line_old WHERE old_table = 'intents';

    CREATE OR REPLACE TEMPORARY VIEW line_new_intents AS
    SELECT name, keyword, CASE WHEN match_kind IN ('exact', 'contains', 'starts_with', 'regex')
      THEN match_kind ELSE 'contains' END AS match_kind
    FROM line_intents i, line_space w
    WHERE name IS NOT NULL AND keyword IS NOT NULL AND place = 1
      AND NOT EXISTS (SELECT FROM intents o WHERE o.workspace_id = w.id AND o.name = i.name);

    CREATE OR REPLACE TEMPORARY VIEW line_replies AS
    SELECT old_row ->> 'object_id' AS object_id, lower(old_row ->> 'object_type') AS object_type,
      CASE WHEN jsonb_typeof(old_row -> 'payload') = 'object' THEN old_row -> 'payload'
        ELSE jsonb_strip_nulls(jsonb_build_object('value', old_row -> 'payload')) END AS payload,
      old_row ->> 'alt_text' AS alt_text, old_row
    FROM line_old WHERE old_table = 'reply_objects';

    CREATE OR REPLACE TEMPORARY VIEW line_new_replies AS
    SELECT DISTINCT ON (object_id) object_id, alt_text,
      CASE WHEN r.object_type IN ('text', 'buttons', 'card', 'carousel') THEN r.object_type
        ELSE 'card' END AS object_type,
      CASE WHEN r.object_type IN ('text', 'buttons', 'card', 'carousel') THEN r.payload
        ELSE jsonb_strip_nulls(jsonb_build_object('type', r.object_type)) || r.payload END
        AS payload
    FROM line_replies r, line_space w
    WHERE length(object_id) BETWEEN 1 AND 50 AND NOT EXISTS (SELECT FROM reply_objects o
      WHERE o.workspace_id = w.id AND o.object_id = r.object_id)
    ORDER BY object_id;

    CREATE OR REPLACE TEMPORARY VIEW line_new_menus AS
    SELECT pg_temp.derived(w.id, 'rich_menu:' || coalesce(old_row ->> 'id', md5(old_row::text)))
        AS id, left(coalesce(nullif(old_row ->> 'name', ''), 'LINE'), 100) AS name, old_row
    FROM line_old, line_space w
    WHERE old_table = 'rich_menus' AND NOT EXISTS (SELECT FROM rich_menus m
      WHERE m.workspace_id = w.id AND m.id = pg_temp.derived(w.id,
        'rich_menu:' || coalesce(old_row ->> 'id', md5(old_row::text))));

    CREATE OR REPLACE TEMPORARY VIEW line_odd_tables AS
    SELECT 'chat_sessions' AS old_table, 'of the status '
      || coalesce('"' || (old_row ->> 'status') || '"', 'NULL')
      || ': the messages of each user are one closed conversation' AS reason, old_row
    FROM line_old WHERE old_table = 'chat_sessions'
    UNION ALL
    SELECT 'friend_events', CASE WHEN pg_temp.is_event(event)
      THEN 'of a user that is missing: not imported'
      ELSE 'of the unknown event ' || coalesce('"' || event || '"', 'NULL') || ': not imported' END,
      old_row
    FROM line_friend_events f
    WHERE pg_temp.is_event(event) IS NOT TRUE
      OR NOT EXISTS (SELECT FROM line_users u WHERE u.line_user_id = f.line_user_id)
    UNION ALL
    SELECT 'friend_events', 'without a time: imported with the time of the user', old_row
    FROM line_friend_events JOIN line_new_friend_events USING (id) WHERE at IS NULL
    UNION ALL
    SELECT 'system_settings', 'without a key: not imported', old_row
    FROM line_old WHERE old_table = 'system_settings' AND old_row ->> 'key' IS NULL
    UNION ALL
    SELECT 'intents', CASE WHEN name IS NULL THEN 'without a name: not imported'
      WHEN keyword IS NULL THEN 'without a keyword: not imported'
      ELSE 'twice with the same name: the oldest is imported' END, old_row
    FROM line_intents WHERE name IS NULL OR keyword IS NULL OR place > 1
    UNION ALL
    SELECT 'reply_objects', 'without an object_id of 1 to 50 characters: not imported', old_row
    FROM line_replies WHERE length(object_id) BETWEEN 1 AND 50 IS NOT TRUE
    UNION ALL
    SELECT 'reply_objects', 'of the unknown type "' || r.object_type
      || '": imported as cards with the payload', old_row
    FROM line_replies r JOIN line_new_replies USING (object_id)
    WHERE r.object_type NOT IN ('text', 'buttons', 'card', 'carousel')
    UNION ALL
    SELECT 'rich_menus', 'imported as drafts without actions', old_row FROM line_new_menus
    UNION ALL
    SELECT 'chat_analytics', 'not imported: analytics are computed from the messages', old_row
    FROM line_old WHERE old_table = 'chat_analytics'
    UNION ALL
    SELECT 'credentials', 'not imported, and not written: they are secrets, enter them again',
      jsonb_build_object('id', old_row -> 'id', 'name', old_row -> 'name')
    FROM line_old WHERE old_table = 'credentials';
    """

  /// Rows that `importTables` would import as friend events, and as settings, intents, replies and
  /// menus.
  func countTables() throws -> (friendEvents: Int64, settings: Int64) {
    (
      try storedData.number("SELECT count(*) FROM line_new_friend_events"),
      try storedData.number(
        """
        SELECT (SELECT count(*) FROM line_new_settings) + (SELECT count(*) FROM line_new_intents)
          + (SELECT count(*) FROM line_new_replies) + (SELECT count(*) FROM line_new_menus)
        """)
    )
  }

  /// Imports what `countTables` counts; the visitors have been imported.
  func importTables() throws -> (friendEvents: Int64, settings: Int64) {
    func run(_ sql: StaticString) throws -> Int64 {
      Int64(try storedData.connection.run(Query(sql, [.uuid(workspace)])).affected)
    }
    let friendEvents = try run(
      """
      INSERT INTO friend_events (workspace_id, id, visitor_id, channel, event, created_at)
      SELECT $1, f.id, v.id, 'line', f.event, f.created_at
      FROM line_new_friend_events f JOIN visitors v
        ON v.workspace_id = $1 AND v.external_id = f.line_user_id
      ON CONFLICT DO NOTHING
      """)
    var settings = try run(
      """
      INSERT INTO system_settings (workspace_id, key, value)
      SELECT $1, key, value FROM line_new_settings ON CONFLICT DO NOTHING
      """)
    settings += try run(
      """
      INSERT INTO intents (workspace_id, name, keyword, match_kind)
      SELECT $1, name, keyword, match_kind FROM line_new_intents ON CONFLICT DO NOTHING
      """)
    settings += try run(
      """
      INSERT INTO reply_objects (workspace_id, object_id, object_type, payload, alt_text)
      SELECT $1, object_id, object_type, payload, alt_text FROM line_new_replies
      ON CONFLICT DO NOTHING
      """)
    settings += try run(
      """
      INSERT INTO rich_menus (workspace_id, id, name)
      SELECT $1, id, name FROM line_new_menus ON CONFLICT DO NOTHING
      """)
    return (friendEvents, settings)
  }
}
