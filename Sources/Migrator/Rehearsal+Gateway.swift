extension Rehearsal {
  /// The statements of a gateway: a visitor writes, an operator claims, answers and closes.
  public static let gatewayStatements = [
    """
    INSERT INTO workspaces (id, name) VALUES ('30000000-0000-4000-8000-000000000001', 'Gateway');
    INSERT INTO visitors (id, workspace_id) VALUES
      ('30000000-0000-4000-8000-000000000002', '30000000-0000-4000-8000-000000000001');
    INSERT INTO operators (id, email, name) VALUES
      ('30000000-0000-4000-8000-000000000003', 'dana@example.org', 'Dana');
    INSERT INTO chat_sessions (id, workspace_id, user_id, context, waiting_since) VALUES
      ('30000000-0000-4000-8000-000000000004', '30000000-0000-4000-8000-000000000001',
        '30000000-0000-4000-8000-000000000002', '{}', NULL)
    """,
    """
    INSERT INTO chats (id, workspace_id, session_id, seq, role, kind, content, payload, user_id,
      operator_id, operator_name, content_hash, created_at)
    VALUES ('30000000-0000-4000-8000-000000000005', '30000000-0000-4000-8000-000000000001',
      '30000000-0000-4000-8000-000000000004', 1, 'visitor', 'text', 'Hello', NULL,
      '30000000-0000-4000-8000-000000000002', NULL, NULL, '', now());
    UPDATE chat_sessions SET last_seq = 1, message_count = 1, waiting_since = now()
    WHERE id = '30000000-0000-4000-8000-000000000004'
    """,
    """
    SELECT chirrup_change('30000000-0000-4000-8000-000000000001',
      '30000000-0000-4000-8000-000000000004', 'claimed', '30000000-0000-4000-8000-000000000003',
      'Dana', '30000000-0000-4000-8000-000000000003', 'Dana', gen_random_uuid(), 'Dana joined',
      '{"event": "claimed"}', gen_random_uuid(), 'a note')
    """,
    """
    SELECT 1 / count(*) FROM chat_sessions WHERE last_seq = 3 AND status = 'active'
      AND workspace_id = '30000000-0000-4000-8000-000000000001'
    """,
  ]
}
