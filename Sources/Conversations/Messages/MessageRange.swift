public import Chat
public import Directory
import Postgres
public import Primitives

/// A page of a session's log, in ascending order.
public struct MessagePage: Sendable {
  public var entries: [Entry]
  public var head: Int64
  public var epoch: String
  /// More entries follow in the direction of the page.
  public var hasMore: Bool
}

/// The part of a log to read: after a seq, or before one.
public enum MessageRange: Sendable {
  case after(Int64)
  case before(Int64)

  /// Bytes of bodies and payloads in one page, as for `history` of the WebSocket. A page always has
  /// its first entry.
  public static let pageBytes = Limits.historyBytes

  /// Reads at most `limit` entries and `pageBytes` bytes, together with the session's head, from
  /// one snapshot. Nil if the workspace has no such session.
  public func page(
    of session: Identifier, workspace: Identifier, limit: Int
  ) -> Statement<MessagePage?> {
    let isDescending: Bool
    let query: Query
    switch self {
    case .after(let seq):
      isDescending = false
      query = Query(
        """
        SELECT s.last_seq, s.epoch || coalesce((SELECT epoch FROM database_epoch), ''),
          c.seq, c.id, c.role, c.kind,
          coalesce(c.operator_id, c.user_id), CASE WHEN c.role IN ('visitor', 'user') THEN
            (SELECT v.name FROM visitors v WHERE v.id = c.user_id AND v.workspace_id = $2::uuid)
            ELSE c.operator_name END,
          c.content, c.payload::text, c.created_at, c.found
        FROM chat_sessions s LEFT JOIN LATERAL (
          SELECT f.*, count(*) OVER () AS found, sum(octet_length(f.content)
            + coalesce(octet_length(f.payload::text), 0)) OVER (ORDER BY f.seq) AS bytes,
            row_number() OVER (ORDER BY f.seq) AS place
          FROM (
            SELECT * FROM chats e
            WHERE e.workspace_id = $2::uuid AND e.session_id = s.id AND e.seq > $3::bigint
            ORDER BY e.seq LIMIT $4::bigint) AS f
        ) c ON c.bytes <= $5::bigint OR c.place = 1
        WHERE s.id = $1::uuid AND s.workspace_id = $2::uuid AND s.deleted_at IS NULL
        ORDER BY c.seq
        """,
        [
          .uuid(session), .uuid(workspace), .int(seq), .int(Int64(limit) + 1),
          .int(Int64(MessageRange.pageBytes)),
        ])
    case .before(let seq):
      isDescending = true
      query = Query(
        """
        SELECT s.last_seq, s.epoch || coalesce((SELECT epoch FROM database_epoch), ''),
          c.seq, c.id, c.role, c.kind,
          coalesce(c.operator_id, c.user_id), CASE WHEN c.role IN ('visitor', 'user') THEN
            (SELECT v.name FROM visitors v WHERE v.id = c.user_id AND v.workspace_id = $2::uuid)
            ELSE c.operator_name END,
          c.content, c.payload::text, c.created_at, c.found
        FROM chat_sessions s LEFT JOIN LATERAL (
          SELECT f.*, count(*) OVER () AS found, sum(octet_length(f.content)
            + coalesce(octet_length(f.payload::text), 0)) OVER (ORDER BY f.seq DESC) AS bytes,
            row_number() OVER (ORDER BY f.seq DESC) AS place
          FROM (
            SELECT * FROM chats e
            WHERE e.workspace_id = $2::uuid AND e.session_id = s.id AND e.seq < $3::bigint
            ORDER BY e.seq DESC LIMIT $4::bigint) AS f
        ) c ON c.bytes <= $5::bigint OR c.place = 1
        WHERE s.id = $1::uuid AND s.workspace_id = $2::uuid AND s.deleted_at IS NULL
        ORDER BY c.seq DESC
        """,
        [
          .uuid(session), .uuid(workspace), .int(seq), .int(Int64(limit) + 1),
          .int(Int64(MessageRange.pageBytes)),
        ])
    }
    return Statement(query) { rows in
      guard !rows.isEmpty else { return nil }
      let entries = (0..<rows.count).compactMap { entry(rows, $0) }
      let kept = entries.prefix(limit)
      return MessagePage(
        entries: isDescending ? kept.reversed() : Array(kept), head: rows.int(0, 0) ?? 0,
        epoch: rows.text(0, 1) ?? "", hasMore: kept.count < rows.int(0, 11) ?? 0)
    }
  }
}

/// Nil for a session without entries.
private func entry(_ rows: Rows, _ row: Int) -> Entry? {
  guard let seq = rows.int(row, 2), let id = rows.uuid(row, 3), let role = rows.bytes(row, 4),
    let kind = rows.bytes(row, 5)
  else { return nil }
  return Entry(
    // Rows of older systems may have other kinds and roles, and no time.
    seq: seq, id: id, role: role.withRawSpan { Role(text: $0) } ?? .system,
    kind: kind.withRawSpan { EntryKind(text: $0) } ?? .text, sender: rows.uuid(row, 6),
    senderName: rows.bytes(row, 7) ?? [], body: rows.bytes(row, 8) ?? [],
    payload: rows.bytes(row, 9) ?? [],
    at: rows.time(row, 10) ?? WallTime(microseconds: 0))
}
