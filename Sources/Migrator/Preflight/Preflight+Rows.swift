extension Preflight {
  /// Messages without a key, a workspace, a role or a time.
  static let messagesWithoutValue = Contents(
    columns: ["chats.id", "chats.workspace_id", "chats.role", "chats.created_at"],
    sql: """
      SELECT 'chats', v.name, 'is NULL', v.n, 'id = ' || v.example, v.action, v.remedy,
        v.name <> 'created_at'
      FROM (SELECT count(*) FILTER (WHERE id IS NULL) AS ids,
          count(*) FILTER (WHERE workspace_id IS NULL) AS workspaces,
          count(*) FILTER (WHERE role IS NULL) AS roles,
          count(*) FILTER (WHERE created_at IS NULL) AS times,
          min(id::text) FILTER (WHERE workspace_id IS NULL) AS workspace_example,
          min(id::text) FILTER (WHERE role IS NULL) AS role_example,
          min(id::text) FILTER (WHERE created_at IS NULL) AS time_example FROM chats) AS c
      CROSS JOIN LATERAL (VALUES
        ('id', ids, NULL, 'a message needs a key',
          'UPDATE chats SET id = gen_random_uuid() WHERE id IS NULL;'),
        ('workspace_id', workspaces, workspace_example, 'a message needs a workspace',
          'UPDATE chats SET workspace_id = ''…'' WHERE workspace_id IS NULL; (or DELETE)'),
        ('role', roles, role_example, 'a message needs a role',
          'UPDATE chats SET role = ''system'' WHERE role IS NULL;'),
        ('created_at', times, time_example, 'it stays; the message comes first in its '
          'conversation, and is shown with the time 1970-01-01',
          'UPDATE chats SET created_at = ''…'' WHERE created_at IS NULL;')
      ) AS v (name, n, example, action, remedy)
      WHERE v.n > 0 AND EXISTS (SELECT FROM adoptable WHERE relation = 'chats')
      """)

  /// Messages of workspaces that do not exist.
  static let orphanMessages = Contents(
    columns: ["chats.id", "chats.workspace_id", "workspaces.id"],
    sql: """
      SELECT 'chats', 'workspace_id', 'names a workspace that does not exist', count(*),
        'workspace_id = ' || min(c.workspace_id::text), 'a session belongs to a workspace',
        'INSERT INTO workspaces (id, …) SELECT DISTINCT workspace_id, … FROM chats c WHERE NOT '
          'EXISTS (SELECT FROM workspaces w WHERE w.id = c.workspace_id); (or DELETE)', true
      FROM chats c WHERE workspace_id IS NOT NULL
        AND NOT EXISTS (SELECT FROM workspaces w WHERE w.id = c.workspace_id)
        AND EXISTS (SELECT FROM adoptable WHERE relation = 'chats')
      HAVING count(*) > 0
      """)

  /// Messages of sessions that do not exist, or of another workspace's sessions.
  static let lostSessions = Contents(
    columns: [
      "chats.session_id", "chats.workspace_id", "chat_sessions.id", "chat_sessions.workspace_id",
    ],
    sql: """
      SELECT 'chats', 'session_id',
        'names a session that does not exist or is another workspace''s',
        count(*), 'session_id = ' || min(c.session_id::text), 'a message belongs to a session',
        'UPDATE chats c SET session_id = NULL WHERE NOT EXISTS (SELECT FROM chat_sessions s '
          'WHERE s.id = c.session_id AND s.workspace_id = c.workspace_id);', true
      FROM chats c WHERE session_id IS NOT NULL AND NOT EXISTS (SELECT FROM chat_sessions s
          WHERE s.id = c.session_id AND s.workspace_id = c.workspace_id)
        AND EXISTS (SELECT FROM adoptable WHERE relation = 'chats')
      HAVING count(*) > 0
      """)

  static let unknownRoles = Contents(
    columns: ["chats.id", "chats.role"],
    sql: """
      SELECT 'chats', 'role', format('is %L', role), count(*), 'id = ' || min(id::text),
        'it stays, and is shown as a line of the system',
        format('UPDATE chats SET role = ''system'' WHERE role = %L;', role), false
      FROM chats
      WHERE role NOT IN ('visitor', 'operator', 'bot', 'system', 'user', 'assistant')
        AND EXISTS (SELECT FROM adoptable WHERE relation = 'chats')
      GROUP BY role ORDER BY count(*) DESC LIMIT 20
      """)

  static let emptyContents = Contents(
    columns: ["chats.id", "chats.content"],
    sql: """
      SELECT 'chats', 'content', 'is NULL', count(*), 'id = ' || min(id::text),
        'it stays, and is shown as an empty text',
        'UPDATE chats SET content = '''' WHERE content IS NULL;', false
      FROM chats WHERE content IS NULL AND EXISTS (SELECT FROM adoptable WHERE relation = 'chats')
      HAVING count(*) > 0
      """)

  /// Sessions without a workspace or a time.
  static let sessionContents = ["workspace_id", "created_at"].map { column in
    Contents(
      columns: ["chat_sessions.id", "chat_sessions.\(column)"],
      sql: """
        SELECT 'chat_sessions', '\(column)', 'is NULL', count(*), 'id = ' || min(id::text),
          'a session needs it',
          'UPDATE chat_sessions SET \(column) = ''…'' WHERE \(column) IS NULL;', true
        FROM chat_sessions WHERE \(column) IS NULL
          AND EXISTS (SELECT FROM adoptable WHERE relation = 'chat_sessions')
        HAVING count(*) > 0
        """)
  }

  static let doubleIntents = Contents(
    columns: ["intents.name"],
    sql: """
      SELECT 'intents', 'name', 'has two rows named ' || quote_literal(name), count(*),
        'name = ' || quote_literal(name), 'an intent is found by its name',
        format('UPDATE intents SET name = name || '' 2'' WHERE ctid = (SELECT max(ctid) '
          'FROM intents WHERE name = %L);', name), true
      FROM intents WHERE EXISTS (SELECT FROM adoptable WHERE relation = 'intents')
      GROUP BY name HAVING count(*) > 1 ORDER BY name LIMIT 20
      """)
}
