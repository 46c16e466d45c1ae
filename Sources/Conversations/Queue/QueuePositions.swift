public import Directory
import Postgres
public import Primitives
import SharedSQL

/// The positions of waiting conversations and the pace of the queue, which visitors see. One
/// statement reads the positions of a whole workspace.
public enum QueuePositions {
  /// A waiting conversation and its line (`ConversationQueue.line`).
  public struct Entry: Sendable, Equatable {
    public var session: Identifier
    public var line: Identifier
  }

  /// Conversations of a workspace after this position get none.
  public static let positionsMax: Int64 = 2_000

  /// The conversations with a position, the next one of each line first; none if the workspace's
  /// setting hides positions.
  ///
  /// A line has positions during its business hours and while one of its operators is available.
  /// While no member of a team is available, its overflowed conversations keep their positions,
  /// because every operator may take them.
  ///
  /// - Parameter isOpen: during the workspace's business hours.
  public static func statement(
    of workspace: Identifier, isOpen: Bool, now: WallTime
  ) -> Statement<[Entry]> {
    Statement(
      Query(sql, [.uuid(workspace), .int(positionsMax), .bool(isOpen), .time(now)])
    ) { rows in
      (0..<rows.count).compactMap { row in
        guard let session = rows.uuid(row, 0), let line = rows.uuid(row, 1) else { return nil }
        return Entry(session: session, line: line)
      }
    }
  }

  /// Each function in a subquery with OFFSET 0 is called once and not for each conversation.
  private static let sql: SQL = """
    WITH workspace AS MATERIALIZED (
      SELECT chirrup_is_anybody_available($1::uuid) AS is_staffed
      FROM chirrup_queue($1::uuid) AS q WHERE q.shows_position
    ), lines AS MATERIALIZED (
      SELECT $1::uuid AS id, NULL::timestamptz AS overflow FROM workspace
      WHERE is_staffed AND $3::boolean
      UNION ALL
      SELECT t.id, CASE WHEN NOT t.is_staffed
        THEN now() - make_interval(mins => t.overflow_after_minutes) END
      FROM workspace w CROSS JOIN (
        SELECT c.id, c.overflow_after_minutes,
          chirrup_is_team_available($1::uuid, c.id) AS is_staffed
        FROM chat_teams c WHERE c.workspace_id = $1::uuid
          AND CASE WHEN c.hours IS NULL THEN $3::boolean
            ELSE chirrup_is_open(c.hours, $4::timestamptz) END
        OFFSET 0) AS t
      WHERE t.is_staffed OR w.is_staffed AND t.overflow_after_minutes IS NOT NULL
    )
    SELECT s.id, l.id
    FROM lines l CROSS JOIN LATERAL (
      SELECT s.id, s.\(ConversationQueue.entryTime) FROM chat_sessions s
      WHERE s.workspace_id = $1::uuid AND \(ConversationQueue.contains("s"))
        AND \(ConversationQueue.line("s")) = l.id
        AND (l.overflow IS NULL OR \(ConversationQueue.waitsForTeamSince("s")) <= l.overflow)
      ORDER BY \(ConversationQueue.order("s")) LIMIT $2::bigint) AS s
    ORDER BY \(ConversationQueue.order("s")) LIMIT $2::bigint
    """

  /// The time that a position of the line takes, in milliseconds, from its last conversations that
  /// operators took: see `chirrup_line_pace` in the migrations. Nil without enough of them.
  public static func pace(of line: Identifier, in workspace: Identifier) -> Statement<Int64?> {
    Statement(
      Query("SELECT chirrup_line_pace($1::uuid, $2::uuid)", [.uuid(workspace), .uuid(line)])
    ) { $0.isEmpty ? nil : $0.int(0, 0) }
  }
}
