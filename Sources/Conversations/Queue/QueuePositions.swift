public import Postgres
public import Primitives
import SharedSQL

/// Who waits in a workspace, in order, and how quickly it has moved of late: one statement for all
/// who are told their place.
public enum QueuePositions {
  /// Those behind are told nothing.
  public static let positionsMax: Int64 = 2_000

  public struct Order: Sendable, Equatable {
    /// The sessions, the next one first; empty where the workspace does not tell positions.
    public var sessions: [Identifier] = []
    /// Time between two that are taken, from the last twenty within two hours; nil while there are
    /// fewer than three. A line that stands still makes it longer.
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
