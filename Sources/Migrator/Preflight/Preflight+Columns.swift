extension Preflight {
  /// Each column that Chirrup knows in a table that it adopts, with the types that it can read and
  /// write. `required`: the application must have it. `shared`: both may use it. `own`: Chirrup
  /// alone gives it its meaning and writes it in every row.
  static let knownColumns = """
    ('workspaces', 'id', ARRAY['uuid'], 'required'),
    ('workspaces', 'name', ARRAY['text', 'character varying'], 'required'),
    ('workspaces', 'created_at', ARRAY['timestamp with time zone'], 'shared'),
    ('workspaces', 'updated_at', ARRAY['timestamp with time zone'], 'shared'),
    ('workspaces', 'public_key', NULL, 'own'), ('workspaces', 'identity_secret', NULL, 'own'),
    ('workspaces', 'settings', NULL, 'own'), ('workspaces', 'allowed_origins', NULL, 'own'),
    ('chats', 'id', ARRAY['uuid'], 'required'),
    ('chats', 'workspace_id', ARRAY['uuid'], 'required'),
    ('chats', 'role', ARRAY['text', 'character varying'], 'required'),
    ('chats', 'content', ARRAY['text'], 'required'),
    ('chats', 'created_at', ARRAY['timestamp with time zone'], 'required'),
    ('chats', 'session_id', ARRAY['uuid'], 'shared'), ('chats', 'user_id', ARRAY['uuid'], 'shared'),
    ('chats', 'payload', ARRAY['jsonb'], 'shared'),
    ('chats', 'operator_id', ARRAY['uuid'], 'shared'),
    ('chats', 'operator_name', ARRAY['text', 'character varying'], 'shared'),
    ('chats', 'seq', NULL, 'own'), ('chats', 'kind', NULL, 'own'),
    ('chats', 'content_hash', NULL, 'own'),
    ('chat_sessions', 'id', ARRAY['uuid'], 'required'),
    ('chat_sessions', 'workspace_id', ARRAY['uuid'], 'required'),
    ('chat_sessions', 'user_id', ARRAY['uuid'], 'shared'),
    ('chat_sessions', 'title', ARRAY['text', 'character varying'], 'shared'),
    ('chat_sessions', 'created_at', ARRAY['timestamp with time zone'], 'shared'),
    ('chat_sessions', 'updated_at', ARRAY['timestamp with time zone'], 'shared'),
    ('chat_sessions', 'deleted_at', ARRAY['timestamp with time zone'], 'shared'),
    ('chat_sessions', 'status', NULL, 'own'),
    ('chat_sessions', 'assigned_operator_id', NULL, 'own'),
    ('chat_sessions', 'operator_name', NULL, 'own'), ('chat_sessions', 'last_seq', NULL, 'own'),
    ('chat_sessions', 'epoch', NULL, 'own'), ('chat_sessions', 'last_message_at', NULL, 'own'),
    ('chat_sessions', 'last_message_preview', NULL, 'own'),
    ('chat_sessions', 'last_message_role', NULL, 'own'),
    ('chat_sessions', 'message_count', NULL, 'own'),
    ('chat_sessions', 'waiting_since', NULL, 'own'),
    ('chat_sessions', 'claimed_at', NULL, 'own'),
    ('chat_sessions', 'first_response_at', NULL, 'own'),
    ('chat_sessions', 'closed_at', NULL, 'own'), ('chat_sessions', 'closed_by', NULL, 'own'),
    ('chat_sessions', 'transfer_count', NULL, 'own'), ('chat_sessions', 'channel', NULL, 'own'),
    ('chat_sessions', 'context', NULL, 'own'), ('chat_sessions', 'queued_at', NULL, 'own'),
    ('chat_sessions', 'returned_by', NULL, 'own'),
    ('chat_sessions', 'team_id', NULL, 'own'), ('chat_sessions', 'team_since', NULL, 'own'),
    ('chat_sessions', 'merged_from', NULL, 'own'),
    ('chat_sessions', 'deleted_by', NULL, 'own'), ('chat_sessions', 'deleted_via', NULL, 'own'),
    ('system_settings', 'key', ARRAY['text', 'character varying'], 'required'),
    ('system_settings', 'value', ARRAY['text', 'character varying'], 'required'),
    ('system_settings', 'workspace_id', ARRAY['uuid'], 'shared'),
    ('system_settings', 'updated_at', ARRAY['timestamp with time zone'], 'shared'),
    ('intents', 'name', ARRAY['text', 'character varying'], 'required'),
    ('intents', 'keyword', ARRAY['text', 'character varying'], 'shared'),
    ('intents', 'workspace_id', ARRAY['uuid'], 'shared'),
    ('intents', 'match_kind', ARRAY['text', 'character varying'], 'shared'),
    ('intents', 'replies', ARRAY['jsonb'], 'shared'),
    ('intents', 'position', ARRAY['integer'], 'shared'),
    ('intents', 'is_enabled', ARRAY['boolean'], 'shared'),
    ('reply_objects', 'object_id', ARRAY['text', 'character varying'], 'required'),
    ('reply_objects', 'object_type', ARRAY['text', 'character varying'], 'required'),
    ('reply_objects', 'payload', ARRAY['jsonb'], 'required'),
    ('reply_objects', 'workspace_id', ARRAY['uuid'], 'shared'),
    ('reply_objects', 'alt_text', ARRAY['text', 'character varying'], 'shared'),
    ('reply_objects', 'shortcut', ARRAY['text', 'character varying'], 'shared'),
    ('reply_objects', 'updated_at', ARRAY['timestamp with time zone'], 'shared')
    """

  /// Columns that are missing, have another type, are computed, or are ours by name alone.
  static let columns = """
    SELECT k.relation, k.name, 'is missing', NULL::bigint, NULL,
      'Chirrup reads and writes ' || array_to_string(k.types, ' or ') || ' in it',
      format('ALTER TABLE %I RENAME COLUMN … TO %I; or %s', k.relation, k.name, \(ownSchema)), true
    FROM adoptable t JOIN known k USING (relation)
    WHERE k.use = 'required' AND t.relkind = 'r' AND NOT EXISTS (SELECT FROM pg_attribute
      WHERE attrelid = t.oid AND attname = k.name AND NOT attisdropped)
    UNION ALL
    SELECT c.relation, c.name, format('is %s, and %s in Chirrup', c.type, c.types[1]), NULL, NULL,
      'the gateway could not read or write it', CASE
        WHEN c.type LIKE 'timestamp without%' THEN format('ALTER TABLE %I ALTER COLUMN %I TYPE '
          'timestamptz USING %2$I AT TIME ZONE ''UTC''; (the time zone in which the application '
          'writes its times)', c.relation, c.name)
        WHEN c.types[1] = 'uuid' AND c.type NOT IN ('text', 'character varying', 'character') THEN
          \(ownSchema)
        ELSE format('ALTER TABLE %I ALTER COLUMN %I TYPE %s USING %2$I::%3$s;', c.relation, c.name,
          c.types[1]) END, true
    FROM (SELECT t.relation, k.name, k.types, format_type(atttypid, NULL) AS type
      FROM adoptable t JOIN known k USING (relation)
      JOIN pg_attribute ON attrelid = t.oid AND attname = k.name AND NOT attisdropped
      WHERE k.use <> 'own' AND t.relkind = 'r') AS c
    WHERE c.type <> ALL (c.types)
    UNION ALL
    SELECT t.relation, k.name, 'is a column of the application''s own',
      NULL, format('SELECT count(%I) FROM %I', k.name, t.relation),
      'Chirrup would write its own values in it',
      format('ALTER TABLE %I RENAME COLUMN %I TO app_%2$s; (and in the application), or %s',
        t.relation, k.name, \(ownSchema)), true
    FROM adoptable t JOIN known k USING (relation)
    JOIN pg_attribute ON attrelid = t.oid AND attname = k.name AND NOT attisdropped
    WHERE k.use = 'own' AND t.relkind = 'r'
    UNION ALL
    SELECT t.relation, k.name, 'is computed by PostgreSQL', NULL, NULL,
      'Chirrup could not write it', format('ALTER TABLE %I ALTER COLUMN %I DROP EXPRESSION;',
        t.relation, k.name), true
    FROM adoptable t JOIN known k USING (relation)
    JOIN pg_attribute ON attrelid = t.oid AND attname = k.name AND NOT attisdropped
    WHERE attgenerated <> '' OR attidentity = 'a'
    UNION ALL
    SELECT relation, 'role', 'holds at most ' || atttypmod - 4 || ' characters', NULL, NULL,
      'Chirrup writes visitor, operator, bot and system',
      format('ALTER TABLE %I ALTER COLUMN role TYPE varchar(16);', relation), true
    FROM adoptable t JOIN pg_attribute ON attrelid = t.oid AND attname = 'role'
    WHERE relation = 'chats' AND atttypid = 'varchar'::regtype AND atttypmod BETWEEN 4 AND 11
    """

  /// Values that the application demands of each row and that Chirrup's own rows do not have.
  static let demands = """
    SELECT t.relation, attname, 'must have a value and has no default', NULL::bigint, NULL,
      'NOT NULL is dropped until `down`, which deletes Chirrup''s rows without a value',
      format('ALTER TABLE %I ALTER COLUMN %I SET DEFAULT …;', t.relation, attname), false
    FROM adoptable t JOIN pg_attribute ON attrelid = t.oid AND attnum > 0 AND NOT attisdropped
    WHERE attnotnull AND NOT atthasdef AND attidentity = '' AND t.relkind = 'r'
      AND attname <> ALL (CASE t.relation WHEN 'workspaces' THEN ARRAY['id', 'name']
        WHEN 'chats' THEN ARRAY['id', 'workspace_id', 'session_id', 'role', 'content', 'created_at']
        WHEN 'chat_sessions' THEN ARRAY['id', 'workspace_id']
        WHEN 'system_settings' THEN ARRAY['key', 'value']
        WHEN 'intents' THEN ARRAY['name', 'keyword']
        ELSE ARRAY['object_id', 'object_type', 'payload'] END)
      AND NOT EXISTS (SELECT FROM pg_constraint
        WHERE conrelid = attrelid AND contype = 'p' AND attnum = ANY (conkey))
    """
}
