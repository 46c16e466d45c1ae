/// Finding what was said.
///
/// There is no index for it: one of trigrams takes six times the time of an insert (measured with
/// 500,000 messages: 92 µs a row for 16 µs) and more room than the messages themselves. Instead a
/// request looks through a bounded number of conversations, the newest first, by the indexes that
/// are there, and its cursor says where the next one goes on, also when nothing was found so far.
public import Postgres
public import Primitives

public enum MessageSearch {
  /// Conversations that one request looks through.
  public static let conversationsMax: Int64 = 2_000

  /// Columns: how many conversations were looked through, time and id of the last of them; then of
  /// a hit, if there is any, session, seq, id, time, role, sender, the sender's name, text, and the
  /// conversation's title, time and status.
  ///
  /// - Parameter after: time and id of a conversation, and a seq in it, where the page before
  ///   ended; NULL for the first page.
  public static func query(
    _ text: String, in workspace: Identifier, after: [Parameter], limit: Int
  ) -> Query {
    Query(
      sql,
      [.uuid(workspace), .text(likePattern(text))] + after + [
        .int(Int64(limit)), .int(conversationsMax),
      ])
  }

  /// Behind the cursor: the rest of its conversation, then the older ones.
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
        -- Keeps it a step for each conversation: joined, all messages there are would be read.
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
