public import Directory
import Postgres
public import Primitives
import SharedSQL

/// The positions of waiting conversations and the pace of the queue, which visitors see. One
/// statement reads the positions of a whole workspace.
public enum QueuePositions {
  /// Conversations after this position get none.
  public static let positionsMax: Int64 = 2_000

  /// The sessions, the next one first; none if the workspace's setting hides positions, or while no
  /// operator is available.
  public static func statement(of workspace: Identifier) -> Statement<[Identifier]> {
    Statement(Query(sql, [.uuid(workspace), .int(positionsMax)])) { rows in
      (0..<rows.count).compactMap { rows.uuid($0, 0) }
    }
  }

  /// The function in a subquery is called once and not for each conversation.
  private static let sql: SQL = """
    SELECT s.id
    FROM (SELECT q.shows_position AND chirrup_is_anybody_available($1::uuid) AS shows
      FROM chirrup_queue($1::uuid) AS q OFFSET 0) AS q
    JOIN chat_sessions s ON q.shows
    WHERE s.workspace_id = $1::uuid AND \(ConversationQueue.contains("s"))
    ORDER BY \(ConversationQueue.order("s")) LIMIT $2::bigint
    """

  /// The time that a position of the queue takes, in milliseconds, from the last conversations that
  /// operators took: see `chirrup_pace` in the migrations. Nil without enough of them.
  public static func pace(of workspace: Identifier) -> Statement<Int64?> {
    Statement(Query("SELECT chirrup_pace($1::uuid)", [.uuid(workspace)])) {
      $0.isEmpty ? nil : $0.int(0, 0)
    }
  }
}
