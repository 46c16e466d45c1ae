/// The old tables of a LINE back end, read as views: with native enums or text, upper or lower
/// case, and with the rows that lack a time, a type or a user.
import Postgres

extension LineImport {
  /// Old rows that cannot be imported as they are, by table and reason.
  public struct OddRows: Sendable, Equatable {
    public var table: String
    /// The reason, and what is done with the rows.
    public var reason: String
    public var count: Int64

    public init(table: String, reason: String, count: Int64) {
      self.table = table
      self.reason = reason
      self.count = count
    }
  }

  /// Rows that one FETCH reads.
  private static let rowsPerFetch: StaticString = "FETCH 1000 FROM line_odd_rows"

  /// Counts the rows that are changed by the import, or left out. Rows that were imported in an
  /// earlier run are not counted again.
  public func oddRows() throws -> [OddRows] {
    let rows = try storedData.connection.run(
      Query(
        """
        SELECT old_table, reason, count(*)
        FROM (SELECT * FROM line_odd UNION ALL SELECT * FROM line_odd_tables) AS odd
        GROUP BY old_table, reason
        ORDER BY old_table DESC, reason
        """))
    return (0..<rows.count).map {
      OddRows(
        table: rows.text($0, 0) ?? "", reason: rows.text($0, 1) ?? "", count: rows.int($0, 2) ?? 0)
    }
  }

  /// Passes each odd row to `write` as a line of JSON with the members table, reason and row.
  public func exportOddRows(_ write: (String) throws -> Void) throws {
    try storedData.connection.transaction { connection in
      try connection.execute(
        script: """
          DECLARE line_odd_rows CURSOR FOR
          SELECT json_build_object('table', old_table, 'reason', reason, 'row', old_row)::text
          FROM (SELECT * FROM line_odd UNION ALL SELECT * FROM line_odd_tables) AS odd
          """)
      while true {
        let rows = try connection.run(Query(LineImport.rowsPerFetch))
        guard !rows.isEmpty else { return }
        for row in 0..<rows.count { try write(rows.text(row, 0) ?? "") }
      }
    }
  }

  /// Creates the views for one workspace, in the connection's temporary schema.
  func createViews() throws {
    let connection = storedData.connection
    // A temporary view cannot have a parameter.
    try connection.execute(script: "CREATE TEMPORARY TABLE IF NOT EXISTS line_space (id uuid)")
    try connection.run(Query("DELETE FROM line_space"))
    try connection.run(Query("INSERT INTO line_space VALUES ($1)", [.uuid(workspace)]))
    try connection.execute(script: LineImport.functions + LineImport.views + LineImport.content)
    try createTableViews()
  }

  private static let functions = """
    CREATE OR REPLACE FUNCTION pg_temp.derived(space uuid, name text) RETURNS uuid
    LANGUAGE sql IMMUTABLE AS $$
      SELECT (left(h, 12) || '3' || substr(h, 14, 3)
        || translate(substr(h, 17, 1), '0123456789abcdef', '89ab89ab89ab89ab')
        || substr(h, 18))::uuid
      FROM md5(uuid_send(space) || convert_to('line-oa:' || name, 'UTF8')) AS h
    $$;
    CREATE OR REPLACE FUNCTION pg_temp.is_event(kind text) RETURNS boolean LANGUAGE sql IMMUTABLE
    AS $$ SELECT kind IN ('follow', 'unfollow', 'block', 'unblock', 'refollow') $$;
    CREATE OR REPLACE FUNCTION pg_temp.known_role(sender text) RETURNS text
    LANGUAGE sql IMMUTABLE AS $$
      SELECT CASE
        WHEN lower(sender) IN ('user', 'visitor', 'customer') THEN 'visitor'
        WHEN lower(sender) IN ('admin', 'operator', 'agent', 'staff') THEN 'operator'
        WHEN lower(sender) = 'bot' THEN 'bot' END
    $$;
    CREATE OR REPLACE FUNCTION pg_temp.role_of(sender text, direction text) RETURNS text
    LANGUAGE sql IMMUTABLE AS $$
      SELECT coalesce(pg_temp.known_role(sender),
        CASE lower(direction) WHEN 'incoming' THEN 'visitor' ELSE 'bot' END)
    $$;
    """

  /// `line_untimed` and the tables beside it are small: they hold odd rows only. The line_messages
  /// view has the same cost as the table for all other rows.
  private static let views = """
    CREATE TEMPORARY TABLE IF NOT EXISTS line_untimed (id text PRIMARY KEY, at timestamptz);
    CREATE TEMPORARY TABLE IF NOT EXISTS line_missing (line_user_id text PRIMARY KEY);
    CREATE TEMPORARY TABLE IF NOT EXISTS line_erased (line_user_id text PRIMARY KEY);

    CREATE OR REPLACE TEMPORARY VIEW line_users AS
    SELECT line_user_id::text, display_name::text, picture_url::text,
      created_at::timestamptz AS created_at
    FROM users WHERE line_user_id IS NOT NULL
      AND NOT EXISTS (SELECT FROM line_erased e WHERE e.line_user_id = users.line_user_id::text)
    UNION ALL
    SELECT line_user_id, NULL, NULL, NULL FROM line_missing;

    CREATE OR REPLACE TEMPORARY VIEW line_messages AS
    SELECT m.id, m.line_user_id::text,
      coalesce(lower(m.message_type::text),
        CASE WHEN m.payload IS NULL THEN 'text' ELSE 'unknown' END) AS message_type,
      m.content::text, to_jsonb(m.payload) AS payload,
      pg_temp.role_of(m.sender_role::text, m.direction::text) AS role, m.operator_name::text,
      coalesce(m.created_at::timestamptz,
        (SELECT t.at FROM line_untimed t WHERE t.id = m.id::text)) AS created_at
    FROM messages m
    WHERE m.line_user_id IS NOT NULL AND NOT EXISTS (
      SELECT FROM line_erased e WHERE e.line_user_id = m.line_user_id::text);

    CREATE OR REPLACE TEMPORARY VIEW line_odd AS
    WITH fresh AS (
      SELECT m.* FROM messages m
      WHERE NOT EXISTS (SELECT FROM line_erased e WHERE e.line_user_id = m.line_user_id::text)
        AND NOT EXISTS (SELECT FROM line_space w JOIN chats c ON c.workspace_id = w.id
          AND c.id = pg_temp.derived(w.id, 'message:' || m.id))
        AND NOT EXISTS (SELECT FROM line_space w JOIN friend_events f ON f.workspace_id = w.id
          AND f.id = pg_temp.derived(w.id, 'message:' || m.id))
    )
    SELECT 'messages' AS old_table, 'without a user: not imported' AS reason,
      to_jsonb(f) AS old_row
    FROM fresh f WHERE line_user_id IS NULL
    UNION ALL
    SELECT 'messages', 'of a user that is missing: imported, the visitor has no name', to_jsonb(f)
    FROM fresh f JOIN line_missing g ON g.line_user_id = f.line_user_id::text
    UNION ALL
    SELECT 'messages', 'without a time: imported with the time of the message before it',
      to_jsonb(f)
    FROM fresh f WHERE created_at IS NULL AND line_user_id IS NOT NULL
    UNION ALL
    SELECT 'messages', 'without a type: imported as '
      || CASE WHEN payload IS NULL THEN 'text' ELSE 'a card with the payload' END, to_jsonb(f)
    FROM fresh f WHERE message_type IS NULL AND line_user_id IS NOT NULL
    UNION ALL
    SELECT 'messages', 'of the unknown type "' || message_type::text
      || '": imported as cards with the payload', to_jsonb(f)
    FROM fresh f WHERE line_user_id IS NOT NULL AND NOT pg_temp.is_event(lower(message_type::text))
      AND lower(message_type::text) NOT IN ('text', 'sticker', 'image', 'video', 'audio', 'file',
        'location', 'flex', 'template', 'imagemap', 'postback')
    UNION ALL
    SELECT 'messages', 'of the unknown role "' || sender_role::text || '": imported as the '
      || pg_temp.role_of(NULL, direction::text) || '''s, by their direction', to_jsonb(f)
    FROM fresh f WHERE line_user_id IS NOT NULL AND sender_role IS NOT NULL
      AND pg_temp.known_role(sender_role::text) IS NULL
    UNION ALL
    SELECT 'users', 'without line_user_id: not imported', to_jsonb(u)
    FROM users u WHERE line_user_id IS NULL
    UNION ALL
    SELECT 'users', 'twice with the same line_user_id: the oldest is imported', to_jsonb(u)
    FROM users u WHERE line_user_id IN (
      SELECT line_user_id FROM users WHERE line_user_id IS NOT NULL
      GROUP BY line_user_id HAVING count(*) > 1);
    """

  /// Fills the tables with the users that are missing or erased, and the messages without a time. A
  /// message without a time gets the latest time of its user's messages before it, or the first
  /// after it, or the user's. An erased visitor is not imported again.
  private static let content = """
    TRUNCATE line_untimed, line_missing, line_erased;
    INSERT INTO line_erased SELECT DISTINCT line_user_id::text
    FROM (SELECT line_user_id FROM users UNION SELECT line_user_id FROM messages) AS known,
      line_space w
    WHERE line_user_id IS NOT NULL AND EXISTS (SELECT FROM audit_log a
      WHERE a.workspace_id = w.id AND a.action = 'visitor.erased'
        AND a.target_id = pg_temp.derived(w.id, 'user:' || line_user_id));
    INSERT INTO line_missing SELECT DISTINCT line_user_id::text FROM messages m
    WHERE line_user_id IS NOT NULL
      AND NOT EXISTS (SELECT FROM users u WHERE u.line_user_id = m.line_user_id)
      AND NOT EXISTS (SELECT FROM line_erased e WHERE e.line_user_id = m.line_user_id::text);
    INSERT INTO line_untimed
    SELECT id::text, coalesce(before, first,
      (SELECT min(u.created_at) FROM users u WHERE u.line_user_id = m.line_user_id), now())
    FROM (
      SELECT id, line_user_id, created_at,
        max(created_at) OVER (PARTITION BY line_user_id ORDER BY id) AS before,
        min(created_at) OVER (PARTITION BY line_user_id) AS first
      FROM messages WHERE line_user_id IS NOT NULL) AS m
    WHERE created_at IS NULL AND EXISTS (SELECT FROM messages WHERE created_at IS NULL);
    ANALYZE line_erased, line_missing, line_untimed;
    """
}
