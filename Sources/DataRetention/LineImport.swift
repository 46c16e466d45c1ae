/// Imports the users and messages of a LINE official-account back end as visitors, sessions and
/// messages of one workspace.
///
/// Every id is derived from the old one (a UUID of version 3 in the workspace's name space, RFC
/// 9562 §5.3), so another run imports only what is new, at the end of each session. The old tables
/// are not changed, except that settings, intents and replies without a workspace are assigned to
/// this one.
public import Migrator
import Postgres
public import Primitives
import SharedSQL

public struct LineImport {
  /// The number of rows to import, or imported.
  public struct Summary: Sendable, Equatable {
    public var visitors: Int64 = 0
    public var sessions: Int64 = 0
    public var messages: Int64 = 0
    public var friendEvents: Int64 = 0
    /// Rows of system_settings, intents and reply_objects without a workspace, and those of a
    /// repaired back end, with its rich_menus.
    public var settings: Int64 = 0

    public init(
      visitors: Int64 = 0, sessions: Int64 = 0, messages: Int64 = 0, friendEvents: Int64 = 0,
      settings: Int64 = 0
    ) {
      self.visitors = visitors
      self.sessions = sessions
      self.messages = messages
      self.friendEvents = friendEvents
      self.settings = settings
    }
  }

  /// The database lacks the tables of a LINE back end.
  public struct NoLineTables: Error, CustomStringConvertible {
    public var description: String {
      "the database needs the tables users (line_user_id, display_name, picture_url, created_at) "
        + "and messages (id, line_user_id, direction, message_type, content, payload, sender_role, "
        + "operator_name, created_at), and does not have them"
    }
  }

  /// Users whose messages are imported in one transaction.
  static let usersPerBatch = 50

  let storedData: StoredData
  let workspace: Identifier

  /// Prepares an import of the old rows as they are now, in the connection's temporary schema.
  public init(_ storedData: StoredData, workspace: Identifier) throws {
    self.storedData = storedData
    self.workspace = workspace
    let columns = try storedData.number(
      """
      SELECT count(*) FROM pg_attribute WHERE NOT attisdropped AND attnum > 0 AND (
        attrelid = to_regclass('users') AND attname IN ('line_user_id', 'display_name',
          'picture_url', 'created_at')
        OR attrelid = to_regclass('messages') AND attname IN ('id', 'line_user_id', 'direction',
          'message_type', 'content', 'payload', 'sender_role', 'operator_name', 'created_at'))
      """)
    guard columns == 13 else { throw NoLineTables() }
    // Imported messages must not trigger webhooks.
    try storedData.connection.execute(script: "SET chirrup.webhooks = 'off'")
    try createViews()
  }

  /// Counts the rows that `run` would import. Changes nothing.
  public func plan() throws -> Summary {
    let tables = try countTables()
    return Summary(
      visitors: try count(
        """
        SELECT count(DISTINCT line_user_id) FROM line_users u WHERE NOT EXISTS (
          SELECT FROM visitors v WHERE v.workspace_id = $1 AND v.external_id = u.line_user_id)
        """),
      sessions: try count(
        """
        SELECT count(DISTINCT line_user_id) FROM line_messages m
        WHERE NOT pg_temp.is_event(m.message_type) AND NOT EXISTS (SELECT FROM chat_sessions s
          WHERE s.id = pg_temp.derived($1, 'session:' || m.line_user_id))
        """),
      messages: try messagesToImport(),
      friendEvents: try count(
        """
        SELECT count(*) FROM line_messages m
        WHERE pg_temp.is_event(m.message_type) AND NOT EXISTS (SELECT FROM friend_events f
          WHERE f.workspace_id = $1 AND f.id = pg_temp.derived($1, 'message:' || m.id))
        """) + tables.friendEvents,
      settings: try storedData.number(
        """
        SELECT (SELECT count(*) FROM system_settings WHERE workspace_id IS NULL)
          + (SELECT count(*) FROM intents WHERE workspace_id IS NULL)
          + (SELECT count(*) FROM reply_objects WHERE workspace_id IS NULL)
        """) + tables.settings)
  }

  /// Imports what is missing; each batch of users is one transaction.
  public func run(report: (MoveProgress) -> Void = { _ in }) throws -> Summary {
    var done = Summary()
    var progress = MoveProgress(title: "LINE messages", rowsTotal: try messagesToImport())
    let clock = ContinuousClock()
    let start = clock.now
    var last = ""
    while true {
      let rows = try storedData.connection.run(
        Query(
          """
          SELECT max(line_user_id COLLATE "C") FROM (
            SELECT line_user_id FROM line_users WHERE line_user_id COLLATE "C" > $1
            ORDER BY line_user_id COLLATE "C" LIMIT $2) AS page
          """, [.text(last), .int(Int64(LineImport.usersPerBatch))]))
      guard let end = rows.text(0, 0) else { break }
      let batch = try storedData.connection.transaction { _ in
        try importUsers(after: last, upTo: end)
      }
      done.visitors += batch.visitors
      done.sessions += batch.sessions
      done.messages += batch.messages
      done.friendEvents += batch.friendEvents
      last = end
      progress.rowsDone = done.messages
      progress.milliseconds = Int64((clock.now - start) / .milliseconds(1))
      report(progress)
    }
    try storedData.connection.transaction { _ in
      let tables = try importTables()
      done.friendEvents += tables.friendEvents
      done.settings = try assignSettings() + tables.settings
      guard done != Summary() else { return }
      try storedData.audit(
        "line.imported", workspace: workspace, target: nil,
        details: [
          ("visitors", done.visitors), ("sessions", done.sessions), ("messages", done.messages),
          ("friend_events", done.friendEvents), ("settings", done.settings),
        ])
      try storedData.announceChanges()
    }
    return done
  }

  private func messagesToImport() throws -> Int64 {
    try count(
      """
      SELECT count(*) FROM line_messages m
      WHERE NOT pg_temp.is_event(m.message_type) AND NOT EXISTS (SELECT FROM chats c
        WHERE c.id = pg_temp.derived($1, 'message:' || m.id))
      """)
  }

  private func count(_ sql: StaticString) throws -> Int64 {
    try storedData.number(sql, [.uuid(workspace)])
  }

  private func importUsers(after first: String, upTo last: String) throws -> Summary {
    func run(_ sql: SQL) throws -> Int64 {
      let query = Query(sql, [.uuid(workspace), .text(first), .text(last)])
      return Int64(try storedData.connection.run(query).affected)
    }
    return Summary(
      visitors: try run(LineImport.visitors), sessions: try run(LineImport.sessions),
      messages: try run(LineImport.messages), friendEvents: try run(LineImport.friendEvents))
  }

  private func assignSettings() throws -> Int64 {
    var assigned = 0
    for sql: StaticString in [
      "UPDATE system_settings SET workspace_id = $1 WHERE workspace_id IS NULL",
      "UPDATE intents SET workspace_id = $1 WHERE workspace_id IS NULL",
      "UPDATE reply_objects SET workspace_id = $1 WHERE workspace_id IS NULL",
    ] {
      assigned += try storedData.connection.run(Query(sql, [.uuid(workspace)])).affected
    }
    return Int64(assigned)
  }
}

// MARK: Statements. $1 is the workspace; the users are those after $2, up to and including $3.

extension LineImport {
  private static let visitors: SQL = """
    INSERT INTO visitors (id, workspace_id, external_id, name, attributes, created_at, last_seen_at)
    SELECT DISTINCT ON (line_user_id) pg_temp.derived($1, 'user:' || line_user_id), $1,
      line_user_id, coalesce(display_name, ''),
      jsonb_strip_nulls(jsonb_build_object('channel', 'line', 'picture_url', picture_url)),
      coalesce(u.created_at, m.first, now()), coalesce(m.last, u.created_at, now())
    FROM line_users u LEFT JOIN (
      SELECT line_user_id, min(created_at) AS first, max(created_at) AS last FROM line_messages
      WHERE line_user_id COLLATE "C" > $2 AND line_user_id COLLATE "C" <= $3
      GROUP BY line_user_id) AS m USING (line_user_id)
    WHERE line_user_id COLLATE "C" > $2 AND line_user_id COLLATE "C" <= $3
      AND NOT EXISTS (SELECT FROM visitors v
        WHERE v.workspace_id = $1 AND v.external_id = u.line_user_id)
    ORDER BY line_user_id, u.created_at
    ON CONFLICT DO NOTHING
    """

  private static let sessions: SQL = """
    INSERT INTO chat_sessions (id, workspace_id, user_id, status, created_at, closed_at,
      \(ConversationQueue.entryTime), channel)
    SELECT pg_temp.derived($1, 'session:' || m.line_user_id), $1, v.id, 'closed',
      min(m.created_at), max(m.created_at), \(ConversationQueue.outside), 'line'
    FROM line_messages m JOIN visitors v ON v.workspace_id = $1 AND v.external_id = m.line_user_id
    WHERE m.line_user_id COLLATE "C" > $2 AND m.line_user_id COLLATE "C" <= $3
      AND NOT pg_temp.is_event(m.message_type)
    GROUP BY m.line_user_id, v.id
    ON CONFLICT DO NOTHING
    """

  /// Numbers continue after the session's last one; the row lock orders them with concurrent
  /// writers.
  private static let messages: SQL = """
    WITH session AS MATERIALIZED (
      SELECT s.id, s.last_seq, v.external_id, v.id AS visitor
      FROM chat_sessions s JOIN visitors v ON v.workspace_id = $1 AND v.id = s.user_id
      WHERE s.workspace_id = $1 AND s.channel = 'line'
        AND v.external_id COLLATE "C" > $2 AND v.external_id COLLATE "C" <= $3
        AND s.id = pg_temp.derived($1, 'session:' || v.external_id)
      ORDER BY s.id FOR UPDATE OF s
    ), fresh AS (
      SELECT pg_temp.derived($1, 'message:' || m.id) AS id, s.id AS session, s.visitor,
        m.created_at,
        s.last_seq + row_number() OVER (PARTITION BY s.id ORDER BY m.created_at, m.id) AS seq,
        m.role,
        CASE m.message_type WHEN 'text' THEN 'text' ELSE 'card' END AS kind,
        coalesce(m.content, '[' || m.message_type || ']') AS content, m.operator_name,
        CASE WHEN m.message_type = 'text' THEN m.payload
          WHEN jsonb_typeof(m.payload) = 'object'
            THEN jsonb_build_object('type', m.message_type) || m.payload
          ELSE jsonb_strip_nulls(jsonb_build_object('type', m.message_type, 'value', m.payload))
        END AS payload
      FROM session s JOIN line_messages m ON m.line_user_id = s.external_id
      WHERE NOT pg_temp.is_event(m.message_type)
        AND NOT EXISTS (SELECT FROM chats c WHERE c.workspace_id = $1
          AND c.id = pg_temp.derived($1, 'message:' || m.id))
    ), noted AS (
      UPDATE chat_sessions s SET last_seq = f.last, message_count = s.message_count + f.count,
        last_message_at = f.at, last_message_preview = left(f.content, 120),
        last_message_role = f.role, closed_at = CASE s.status WHEN 'closed' THEN f.at END,
        first_response_at = coalesce(s.first_response_at, f.response)
      FROM (
        SELECT session, max(seq) AS last, count(*) AS count,
          min(created_at) FILTER (WHERE role = 'operator') AS response, max(created_at) AS at,
          (array_agg(content ORDER BY seq DESC))[1] AS content,
          (array_agg(role ORDER BY seq DESC))[1] AS role
        FROM fresh GROUP BY session) AS f
      WHERE s.id = f.session AND s.workspace_id = $1
    ), kept AS (
      -- The conversation goes on with the person's next message. What was imported is not sent.
      INSERT INTO channel_conversations AS c (workspace_id, session_id, channel, address,
        is_imported, is_watched, noted_seq, done_seq)
      SELECT $1, s.id, 'line', s.external_id, true, false, f.last, f.last
      FROM (SELECT session, max(seq) AS last FROM fresh GROUP BY session) AS f
      JOIN session s ON s.id = f.session
      WHERE length(s.external_id) <= 128
      ON CONFLICT (workspace_id, session_id) DO UPDATE
        SET noted_seq = greatest(c.noted_seq, excluded.noted_seq),
          done_seq = greatest(c.done_seq, excluded.done_seq)
    )
    INSERT INTO chats (id, workspace_id, session_id, seq, role, kind, content, payload, user_id,
      operator_name, content_hash, created_at)
    SELECT id, $1, session, seq, role, kind, content, payload,
      CASE role WHEN 'visitor' THEN visitor END,
      CASE WHEN role <> 'visitor' THEN operator_name END,
      \(ContentHash.of(kind: "kind", payload: "payload", content: "content")), created_at
    FROM fresh
    """

  private static let friendEvents: SQL = """
    INSERT INTO friend_events (workspace_id, id, visitor_id, channel, event, created_at)
    SELECT $1, pg_temp.derived($1, 'message:' || m.id), v.id, 'line', m.message_type, m.created_at
    FROM line_messages m JOIN visitors v
      ON v.workspace_id = $1 AND v.external_id = m.line_user_id
    WHERE v.external_id COLLATE "C" > $2 AND v.external_id COLLATE "C" <= $3
      AND pg_temp.is_event(m.message_type)
    ON CONFLICT DO NOTHING
    """
}
