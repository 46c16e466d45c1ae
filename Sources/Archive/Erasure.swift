/// One person's right to be forgotten, and to a copy of what is kept.
///
/// Erased messages keep their place and number, so that no log has a hole: what they said becomes
/// `[erased]`. Their sessions get a new epoch, so that clients and gateways drop their copies.
public import Postgres
public import Primitives

extension Archive {
  /// What erasing a visitor changes, or changed.
  public struct Erasure: Sendable, Equatable {
    public var sessions: Int64
    public var messages: Int64

    public init(sessions: Int64 = 0, messages: Int64 = 0) {
      self.sessions = sessions
      self.messages = messages
    }
  }

  /// Nil when the workspace has no such visitor. Changes nothing.
  public func erasure(
    of visitor: Identifier, workspace: Identifier
  ) throws(QueryFailure) -> Erasure? {
    let parameters: [Parameter] = [.uuid(workspace), .uuid(visitor)]
    let known = try number(
      "SELECT count(*) FROM visitors WHERE workspace_id = $1 AND id = $2", parameters)
    guard known > 0 else { return nil }
    return Erasure(
      sessions: try number(
        "SELECT count(*) FROM chat_sessions WHERE workspace_id = $1 AND user_id = $2", parameters),
      messages: try number(
        """
        SELECT count(*) FROM chats c WHERE workspace_id = $1 AND kind <> 'event' AND (user_id = $2
          OR session_id IN (SELECT id FROM chat_sessions WHERE workspace_id = $1 AND user_id = $2))
        """, parameters))
  }

  /// Erases everything of a visitor, in a transaction for each session and one for the rest; what
  /// interrupts it leaves a visitor who can be erased again.
  public func erase(_ visitor: Identifier, workspace: Identifier) throws -> Erasure {
    let parameters: [Parameter] = [.uuid(workspace), .uuid(visitor)]
    var done = Erasure()
    // First of all the way back into the conversation.
    try connection.run(
      Query(
        "DELETE FROM refresh_tokens WHERE workspace_id = $1 AND visitor_id = $2", parameters))
    let rows = try connection.run(
      Query(
        "SELECT id FROM chat_sessions WHERE workspace_id = $1 AND user_id = $2 ORDER BY id",
        parameters))
    for session in (0..<rows.count).compactMap({ rows.uuid($0, 0) }) {
      done.messages += try connection.transaction { connection in
        try connection.run(Query(Archive.eraseSession, [.uuid(workspace), .uuid(session)]))
        return Int64(
          try connection.run(Query(Archive.eraseLog, [.uuid(workspace), .uuid(session)])).affected)
      }
      done.sessions += 1
    }
    try connection.transaction { connection in
      done.messages += Int64(
        try connection.run(Query(Archive.eraseElsewhere, parameters)).affected)
      for sql in Archive.eraseRest { try connection.run(Query(sql, parameters)) }
      try tell(
        "visitor.erased", workspace: workspace, target: visitor,
        details: [("sessions", done.sessions), ("messages", done.messages)])
      try announceChanges()
    }
    return done
  }

  private static let eraseSession: StaticString = """
    UPDATE chat_sessions SET title = '', context = '{}', epoch = left(md5(random()::text), 8),
      last_message_preview = CASE WHEN last_message_preview IS NOT NULL THEN '[erased]' END,
      status = 'closed', closed_at = coalesce(closed_at, now()), waiting_since = NULL
    WHERE workspace_id = $1 AND id = $2
    """

  /// The hash of what was said would tell whoever guesses it.
  private static let eraseLog: StaticString = """
    UPDATE chats SET content = '[erased]', payload = NULL, user_id = NULL,
      content_hash = sha256(convert_to(kind || E'\\n\\n[erased]', 'UTF8'))
    WHERE workspace_id = $1 AND session_id = $2 AND kind <> 'event'
    """

  /// In conversations of others, which have moved there from another system.
  private static let eraseElsewhere: StaticString = """
    UPDATE chats SET content = '[erased]', payload = NULL, user_id = NULL,
      content_hash = sha256(convert_to(kind || E'\\n\\n[erased]', 'UTF8'))
    WHERE workspace_id = $1 AND user_id = $2
    """

  private static let eraseRest: [StaticString] = [
    """
    DELETE FROM quarantine WHERE workspace_id = $1 AND (sender_id = $2
      OR session_id IN (SELECT id FROM chat_sessions WHERE workspace_id = $1 AND user_id = $2))
    """,
    "DELETE FROM read_marks WHERE workspace_id = $1 AND person_id = $2",
    "DELETE FROM friend_events WHERE workspace_id = $1 AND visitor_id = $2",
    """
    UPDATE csat_responses SET comment = NULL, visitor_id = NULL
    WHERE workspace_id = $1 AND visitor_id = $2
    """,
    """
    DELETE FROM webhook_deliveries
    WHERE workspace_id = $1 AND payload::text LIKE '%' || $2 || '%'
    """,
    "UPDATE chat_sessions SET user_id = NULL WHERE workspace_id = $1 AND user_id = $2",
    "DELETE FROM visitors WHERE workspace_id = $1 AND id = $2",
  ]

  // MARK: A copy

  /// Everything that is kept about a visitor, as one JSON object; nil when there is none.
  /// Notes are what operators wrote to each other, and no part of it.
  public func export(
    _ visitor: Identifier, workspace: Identifier
  ) throws(QueryFailure) -> String? {
    let rows = try connection.run(
      Query(Archive.exportSQL, [.uuid(workspace), .uuid(visitor)]))
    return rows.isEmpty ? nil : rows.text(0, 0)
  }

  private static let exportSQL: StaticString = """
    SELECT jsonb_build_object(
      'visitor', to_jsonb(v) - 'workspace_id',
      'sessions', coalesce((
        SELECT jsonb_agg(jsonb_build_object('id', s.id, 'title', s.title, 'status', s.status,
          'channel', s.channel, 'context', s.context, 'created_at', s.created_at,
          'closed_at', s.closed_at, 'messages', coalesce((
            SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object('seq', c.seq, 'id', c.id,
              'role', c.role, 'kind', c.kind, 'by', c.operator_name, 'body', c.content,
              'payload', c.payload, 'at', c.created_at)) ORDER BY c.seq)
            FROM chats c WHERE c.workspace_id = $1 AND c.session_id = s.id AND c.kind <> 'note'),
          '[]')) ORDER BY s.created_at, s.id)
        FROM chat_sessions s WHERE s.workspace_id = $1 AND s.user_id = v.id), '[]'),
      'follows', coalesce((
        SELECT jsonb_agg(jsonb_build_object('channel', f.channel, 'event', f.event,
          'at', f.created_at) ORDER BY f.created_at)
        FROM friend_events f WHERE f.workspace_id = $1 AND f.visitor_id = v.id), '[]'),
      'ratings', coalesce((
        SELECT jsonb_agg(jsonb_build_object('session', r.session_id, 'rating', r.rating,
          'comment', r.comment, 'at', r.created_at) ORDER BY r.created_at)
        FROM csat_responses r WHERE r.workspace_id = $1 AND r.visitor_id = v.id), '[]'),
      'refused', coalesce((
        SELECT jsonb_agg(jsonb_build_object('session', q.session_id, 'id', q.message_id,
          'body_base64', encode(q.body, 'base64'), 'payload_base64', encode(q.payload, 'base64'),
          'reason', q.reason, 'at', q.created_at) ORDER BY q.created_at)
        FROM quarantine q WHERE q.workspace_id = $1 AND q.sender_id = v.id), '[]')
    )::text
    FROM visitors v WHERE v.workspace_id = $1 AND v.id = $2
    """
}
