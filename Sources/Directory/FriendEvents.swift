public import Postgres
public import Primitives

/// When a visitor followed, left, was blocked or came back (`friend_events`).
public enum FriendEvents {
  public static let kinds = ["follow", "unfollow", "block", "unblock", "refollow"]

  /// One page, newest first, with the events of those who were merged into the visitor. Columns:
  /// id, event, channel, time; then time (µs) and id as text.
  ///
  /// - Parameter last: the last row of the previous page; nil: the first page.
  public static func page(
    of visitor: Identifier, in workspace: Identifier, after last: ListPosition?, limit: Int
  ) -> Query {
    Query(
      """
      SELECT e.id, e.event, e.channel, e.created_at,
        (extract(epoch FROM e.created_at) * 1000000)::bigint::text, e.id::text
      FROM friend_events e WHERE e.workspace_id = $1::uuid
        AND e.visitor_id IN (SELECT v.id FROM visitors v WHERE v.workspace_id = $1::uuid
          AND \(Visitor.isOf("v", visitor: Visitor.surviving("$2::uuid", in: "$1::uuid"))))
        AND ($3::timestamptz IS NULL OR (e.created_at, e.id) < ($3::timestamptz, $4::uuid))
      ORDER BY e.created_at DESC, e.id DESC LIMIT $5::bigint
      """,
      [.uuid(workspace), .uuid(visitor), .time(last?.at), .uuid(last?.id), .int(Int64(limit))])
  }
}
