public import Chat
import Postgres
public import Primitives
import SharedSQL

extension Workers {
  /// Stores one message as the journal stores a batch.
  public func store(
    session: Identifier, workspace: Identifier, id: Identifier, role: String, kind: String,
    sender: Identifier?, name: String, body: [UInt8], payload: [UInt8]?
  ) async -> Outcome {
    let query = Query(
      """
      WITH target AS (
        SELECT id, last_seq FROM chat_sessions WHERE id = $1::uuid AND workspace_id = $2::uuid
        FOR UPDATE
      ), line AS (
        INSERT INTO chats (id, workspace_id, session_id, seq, role, kind, content, payload,
          user_id, operator_id, operator_name, content_hash, created_at)
        SELECT $3::uuid, $2::uuid, t.id, t.last_seq + 1, $4::text, $5::text, $8::text, $9::jsonb,
          CASE WHEN $4::text = 'visitor' THEN $6::uuid END,
          CASE WHEN $4::text = 'operator' THEN $6::uuid END, nullif($7::text, ''), '\\x00'::bytea,
          clock_timestamp()
        FROM target t ON CONFLICT (id) DO NOTHING RETURNING seq, created_at
      ), changed AS (
        UPDATE chat_sessions s SET last_seq = line.seq,
          last_message_at = CASE WHEN $5::text IN ('note', 'event') THEN s.last_message_at
            ELSE line.created_at END,
          last_message_preview = CASE WHEN $5::text IN ('note', 'event')
            THEN s.last_message_preview ELSE left($8::text, 120) END,
          last_message_role = CASE WHEN $5::text IN ('note', 'event') THEN s.last_message_role
            ELSE $4::text END,
          \(ConversationQueue.enter("s", at: "line.created_at")),
          message_count = s.message_count
            + CASE WHEN $5::text IN ('note', 'event') THEN 0 ELSE 1 END,
          first_response_at = CASE WHEN $4::text = 'operator' AND $5::text = 'text'
            THEN coalesce(s.first_response_at, line.created_at) ELSE s.first_response_at END
        FROM target t, line WHERE s.id = t.id
      )
      SELECT seq, created_at, false FROM line UNION ALL
      SELECT seq, created_at, true FROM chats WHERE id = $3::uuid
      """,
      [
        .uuid(session), .uuid(workspace), .uuid(id), .text(role), .text(kind), .uuid(sender),
        .text(name), .utf8(body), payload.map { .json($0) } ?? .null,
      ])
    // A twin that was committed after the statement had begun is neither stored nor seen by it, but
    // by the next one.
    for _ in 0..<2 {
      guard let rows = try? await run(query) else { break }
      if rows.count > 0, let seq = rows.int(0, 0), let at = rows.time(0, 1) {
        let isDuplicate = rows.bool(0, 2) ?? false
        return Outcome(verdict: isDuplicate ? .duplicate : .stored, seq: seq, at: at)
      }
    }
    return Outcome(verdict: .rejected)
  }
}
