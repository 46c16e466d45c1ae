public import Postgres
public import Primitives
import SharedSQL

/// The positions of waiting conversations and the pace of the queue, which visitors see. One
/// statement reads them for a whole workspace.
public enum QueuePositions {
  /// Conversations after this position get none.
  public static let positionsMax: Int64 = 2_000

  public struct Order: Sendable, Equatable {
    /// The sessions, the next one first; empty if the workspace's setting hides positions.
    public var sessions: [Identifier] = []
    /// The mean time between two claims: from the oldest of the last 20 claims within two hours
    /// until now. Nil with fewer than three claims.
    public var placeMilliseconds: Int64?
  }

  public static func query(of workspace: Identifier) -> Query {
    Query(sql, [.uuid(workspace), .int(positionsMax)])
  }

  public static func decode(_ rows: Rows) -> Order {
    Order(
      sessions: (0..<rows.count).compactMap { rows.uuid($0, 0) },
      placeMilliseconds: rows.isEmpty ? nil : rows.int(0, 1))
  }

  private static let sql: SQL = """
    SELECT s.id, (
      SELECT CASE WHEN count(*) >= 3 THEN (extract(epoch FROM clock_timestamp()
        - min(c.claimed_at)) * 1000 / count(*))::bigint END
      FROM (SELECT claimed_at FROM chat_sessions
        WHERE workspace_id = $1::uuid AND claimed_at > now() - interval '2 hours'
        ORDER BY claimed_at DESC LIMIT 20) AS c)
    FROM chirrup_queue($1::uuid) AS q JOIN chat_sessions s ON q.shows_position
    WHERE s.workspace_id = $1::uuid AND \(ConversationQueue.contains("s"))
    ORDER BY \(ConversationQueue.order("s")) LIMIT $2::bigint
    """
}
