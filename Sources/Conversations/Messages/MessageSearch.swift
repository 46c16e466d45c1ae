/// Search in the text of messages.
///
/// There is no index for it: a trigram index makes an insert six times as expensive (500,000
/// messages: 92 µs instead of 16 µs a row) and is larger than the messages. Instead a request scans
/// a bounded number of conversations, newest first; the next request continues at the cursor, with
/// or without hits so far.
public import Postgres
public import Primitives

public enum MessageSearch {
  /// Conversations that one request scans.
  public static let conversationsMax: Int64 = 2_000

  /// Columns: the number of conversations scanned, time and id of the last one; then, for a hit,
  /// session, seq, id, time, role, sender, the sender's name, text, and the conversation's title,
  /// time and status. Without hits there is one row.
  ///
  /// - Parameter after: time and id of a conversation, and a seq in it, at the end of the previous
  ///   page; null for the first page.
  public static func query(
    _ text: String, in workspace: Identifier, after: [Parameter], limit: Int
  ) -> Query {
    Query(
      sql,
      [.uuid(workspace), .text(likePattern(text))] + after + [
        .int(Int64(limit)), .int(conversationsMax),
      ])
  }

  /// After the cursor come the rest of its conversation, then older conversations.
  private static let sql: StaticString = """
    WITH looked AS (
      SELECT id, title, status, created_at FROM chat_sessions
      WHERE workspace_id = $1::uuid AND deleted_at IS NULL
        AND ($3::timestamptz IS NULL OR (created_at, id) <= ($3::timestamptz, $4::uuid))
      ORDER BY created_at DESC, id DESC LIMIT $7::bigint
    ), hits AS (
      SELECT c.session_id, c.seq, c.id, c.created_at AS at, c.role,
        coalesce(c.operator_id, c.user_id) AS sender, CASE WHEN c.role IN ('visitor', 'user') THEN
          (SELECT v.name FROM visitors v WHERE v.id = c.user_id AND v.workspace_id = $1::uuid)
          ELSE c.operator_name END AS name,
        c.content, s.title, s.created_at, s.status
      FROM looked s CROSS JOIN LATERAL (
        SELECT * FROM chats e WHERE e.workspace_id = $1::uuid AND e.session_id = s.id
          AND e.kind <> 'event' AND e.content ILIKE $2::text
          AND ($4::uuid IS NULL OR s.id <> $4::uuid OR e.seq < $5::bigint)
        -- Keeps one index scan for each conversation; a join would read all messages.
        OFFSET 0
      ) c
      ORDER BY s.created_at DESC, s.id DESC, c.seq DESC LIMIT $6::bigint
    ), far AS (
      SELECT (SELECT count(*) FROM looked) AS count, created_at, id FROM looked
      ORDER BY created_at, id LIMIT 1
    )
    SELECT far.count, far.created_at, far.id, h.session_id, h.seq, h.id, h.at, h.role, h.sender,
      h.name, h.content, h.title, h.created_at, h.status
    FROM far LEFT JOIN hits h ON true
    ORDER BY h.created_at DESC, h.session_id DESC, h.seq DESC
    """
}
