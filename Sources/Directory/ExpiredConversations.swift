import Postgres
public import Primitives

/// The end of closed conversations after a number of days, with their messages, and of visitors
/// who have none left and were not seen since. `chirrup retention` does it by hand, and the gateway
/// by `maintenance.conversation_days`.
///
/// A conversation is expired that is closed or deleted and has had no message since. It is removed
/// as a whole, so that the numbers of the remaining messages have no holes. Each statement is a
/// transaction with a bound; those that an author is given to add an entry to the audit log.
public enum ExpiredConversations {
  /// The most messages that one statement removes, unless a single conversation has more.
  public static let messagesPerBatch: Int64 = 5_000
  /// The most visitors that one statement removes.
  public static let visitorsPerBatch: Int64 = 2_000

  /// Those of one workspace.
  public struct Count: Sendable, Equatable {
    public var workspace: Identifier
    public var workspaceName: String
    public var sessions: Int64
    public var messages: Int64

    public init(
      workspace: Identifier, workspaceName: String, sessions: Int64, messages: Int64
    ) {
      self.workspace = workspace
      self.workspaceName = workspaceName
      self.sessions = sessions
      self.messages = messages
    }
  }

  private static func isExpired(_ s: SQL, days: SQL) -> SQL {
    """
    (\(s).status = 'closed' OR \(s).deleted_at IS NOT NULL)
      AND greatest(\(s).last_message_at, \(s).created_at, \(s).closed_at)
        < now() - \(days)::bigint * interval '1 day'
    """
  }

  /// Counts the expired conversations of each workspace, and those without any are left out.
  ///
  /// - Parameter workspace: nil: all.
  public static func count(days: Int, workspace: Identifier?) -> Statement<[Count]> {
    Statement(
      Query(
        """
        SELECT w.id, w.name, count(*), coalesce(sum(s.last_seq), 0)::bigint
        FROM chat_sessions s JOIN workspaces w ON w.id = s.workspace_id
        WHERE \(isExpired("s", days: "$1")) AND ($2::uuid IS NULL OR s.workspace_id = $2::uuid)
        GROUP BY w.id ORDER BY w.name, w.id
        """, [.int(Int64(days)), .uuid(workspace)])
    ) { rows in
      (0..<rows.count).compactMap { row in
        guard let id = rows.uuid(row, 0) else { return nil }
        return Count(
          workspace: id, workspaceName: rows.text(row, 1) ?? "", sessions: rows.int(row, 2) ?? 0,
          messages: rows.int(row, 3) ?? 0)
      }
    }
  }

  /// Removes a batch of expired conversations, and skips those that another transaction is writing
  /// to. Returns their number and that of their messages.
  ///
  /// - Parameter author: of the entry in the audit log; nil: the caller writes it.
  public static func remove(
    days: Int, of workspace: Identifier, author: String?
  ) -> Statement<(sessions: Int64, messages: Int64)> {
    Statement(
      Query(
        """
        WITH old AS MATERIALIZED (
          SELECT s.id, s.last_seq FROM chat_sessions s
          WHERE s.workspace_id = $1::uuid AND \(isExpired("s", days: "$2"))
          ORDER BY s.id LIMIT 500 FOR UPDATE SKIP LOCKED
        ), chosen AS (
          SELECT id, last_seq FROM (
            SELECT *, sum(last_seq) OVER (ORDER BY id) AS upto,
              row_number() OVER (ORDER BY id) AS n
            FROM old) AS o
          WHERE upto <= $3::bigint OR n = 1
        ), gone AS (
          DELETE FROM chat_sessions s USING chosen c WHERE s.workspace_id = $1::uuid AND s.id = c.id
          RETURNING c.last_seq
        ), refused AS (
          DELETE FROM quarantine q USING chosen c
          WHERE q.workspace_id = $1::uuid AND q.session_id = c.id
        ), noted AS (
          INSERT INTO audit_log (workspace_id, actor, action, details)
          SELECT $1::uuid, $4::text, 'sessions.expired', jsonb_build_object(
            'days', $2::bigint, 'sessions', count(*), 'messages', sum(last_seq))
          FROM gone HAVING count(*) > 0 AND $4::text IS NOT NULL
        )
        SELECT count(*), coalesce(sum(last_seq), 0)::bigint FROM gone
        """,
        [.uuid(workspace), .int(Int64(days)), .int(messagesPerBatch), .text(author)])
    ) { $0.isEmpty ? (0, 0) : ($0.int(0, 0) ?? 0, $0.int(0, 1) ?? 0) }
  }

  /// Removes the visitors of one page, in the order of their ids. They are not counted first: the
  /// search takes most of the time. Those merged into a visitor are removed with the visitor.
  /// Returns their number, and the last id of the page; nil after the last page.
  public static func removeVisitors(
    days: Int, of workspace: Identifier, after last: Identifier, author: String?
  ) -> Statement<(visitors: Int64, last: Identifier?)> {
    Statement(
      Query(
        """
        WITH page AS MATERIALIZED (
          SELECT v.id FROM visitors v
          WHERE v.workspace_id = $1::uuid AND v.id > $3::uuid
            AND v.last_seen_at < now() - $2::bigint * interval '1 day' AND v.banned_at IS NULL
            AND v.merged_into IS NULL AND NOT EXISTS (SELECT FROM chat_sessions s
              WHERE s.workspace_id = $1::uuid AND s.user_id = v.id)
            AND NOT EXISTS (SELECT FROM visitors m WHERE m.merged_into = v.id
              AND m.last_seen_at >= now() - $2::bigint * interval '1 day')
          ORDER BY v.id LIMIT $4::bigint
        ), gone AS (
          DELETE FROM visitors v USING page p
          WHERE v.workspace_id = $1::uuid AND v.id = p.id
            AND v.last_seen_at < now() - $2::bigint * interval '1 day' AND v.banned_at IS NULL
            AND v.merged_into IS NULL
          RETURNING 1
        ), noted AS (
          INSERT INTO audit_log (workspace_id, actor, action, details)
          SELECT $1::uuid, $5::text, 'visitors.expired', jsonb_build_object(
            'days', $2::bigint, 'visitors', count(*))
          FROM gone HAVING count(*) > 0 AND $5::text IS NOT NULL
        )
        SELECT (SELECT count(*) FROM gone), (SELECT id FROM page ORDER BY id DESC LIMIT 1)
        """,
        [
          .uuid(workspace), .int(Int64(days)), .uuid(last), .int(visitorsPerBatch),
          .text(author),
        ])
    ) { $0.isEmpty ? (0, nil) : ($0.int(0, 0) ?? 0, $0.uuid(0, 1)) }
  }

  /// Makes running gateways reload the sessions in their memory, within seconds.
  public static let announce = Statement<Void>(
    Query("UPDATE database_epoch SET generation = generation + 1"))
}
