public import Directory
import Postgres
import Primitives

/// Statements of the sweep: which attachments are past their time, and which bytes have no row.
/// Each has a bound. The order keeps the promise: a row says "removed" first, then its bytes go,
/// then the row; so there is never a row without bytes that anybody could get, and a crash leaves
/// work for the next sweep only.
public enum AttachmentSweep {
  /// Rows of one statement.
  public static let rowsMax: Int64 = 200

  /// Removes uploads that are in no message after a day. Returns their number.
  public static let expire = Statement(
    Query(
      """
      WITH old AS (
        SELECT workspace_id, id FROM chat_attachments
        WHERE state IN ('uploading', 'stored')
          AND coalesce(stored_at, created_at) < now() - $2::bigint * interval '1 hour'
        LIMIT $1::bigint FOR UPDATE SKIP LOCKED
      ), gone AS (
        UPDATE chat_attachments a SET state = 'removed', removed_at = now() FROM old o
        WHERE a.workspace_id = o.workspace_id AND a.id = o.id RETURNING 1
      )
      SELECT count(*) FROM gone
      """, [.int(rowsMax), .int(AttachmentLimits.unsentHours)])
  ) { $0.isEmpty ? 0 : $0.int(0, 0) ?? 0 }

  /// Looks once, a day after it, whether each message that has attachments was committed: its
  /// gateway may have crashed before. Returns the number of those that were looked at.
  public static let settle = Statement(
    Query(
      """
      WITH due AS (
        SELECT workspace_id, id FROM chat_attachments
        WHERE state = 'bound' AND NOT is_settled
          AND bound_at < now() - $2::bigint * interval '1 hour'
        LIMIT $1::bigint FOR UPDATE SKIP LOCKED
      ), looked AS (
        UPDATE chat_attachments a SET is_settled = true,
          state = CASE WHEN c.is_there THEN a.state ELSE 'removed' END,
          removed_at = CASE WHEN NOT c.is_there THEN now() END
        FROM due d CROSS JOIN LATERAL (
          SELECT EXISTS (SELECT FROM chats m JOIN chat_attachments x
            ON x.workspace_id = d.workspace_id AND x.id = d.id
            WHERE m.id = x.message_id AND m.workspace_id = x.workspace_id
              AND m.session_id = x.session_id AND m.kind = 'file') AS is_there
        ) AS c
        WHERE a.workspace_id = d.workspace_id AND a.id = d.id RETURNING 1
      )
      SELECT count(*) FROM looked
      """, [.int(rowsMax), .int(AttachmentLimits.unsentHours)])
  ) { $0.isEmpty ? 0 : $0.int(0, 0) ?? 0 }

  /// Removes the attachments of conversations that no longer exist, in the next page of rows.
  ///
  /// - Returns: the last row of the page; nil: there are no further ones.
  public static func removeForsaken(
    after last: AttachmentKey?
  ) -> Statement<(last: AttachmentKey, removed: Int64)?> {
    Statement(
      Query(
        """
        WITH page AS MATERIALIZED (
          SELECT a.workspace_id, a.id, a.session_id, a.state FROM chat_attachments a
          WHERE $2::uuid IS NULL OR (a.workspace_id, a.id) > ($2::uuid, $3::uuid)
          ORDER BY a.workspace_id, a.id LIMIT $1::bigint
        ), gone AS (
          UPDATE chat_attachments a SET state = 'removed', removed_at = now() FROM page p
          WHERE a.workspace_id = p.workspace_id AND a.id = p.id AND a.state <> 'removed'
            AND NOT EXISTS (SELECT FROM chat_sessions s
              WHERE s.id = p.session_id AND s.workspace_id = p.workspace_id)
          RETURNING 1
        )
        SELECT p.workspace_id, p.id, (SELECT count(*) FROM gone) FROM page p
        ORDER BY p.workspace_id DESC, p.id DESC LIMIT 1
        """, [.int(pageMax), .uuid(last?.workspace), .uuid(last?.id)])
    ) { rows in
      guard !rows.isEmpty, let workspace = rows.uuid(0, 0), let id = rows.uuid(0, 1) else {
        return nil
      }
      return (AttachmentKey(workspace: workspace, id: id), rows.int(0, 2) ?? 0)
    }
  }

  private static let pageMax: Int64 = 2_000

  /// Removed rows whose bytes have to go. A request that stores one of them needs less than this
  /// minute for its end.
  public static let removed = Statement(
    Query(
      """
      SELECT workspace_id, id FROM chat_attachments
      WHERE state = 'removed' AND removed_at < now() - interval '1 minute'
      ORDER BY removed_at LIMIT $1::bigint
      """, [.int(rowsMax)])
  ) { keys($0) }

  /// Forgets rows whose bytes are gone.
  public static func forget(_ keys: [AttachmentKey]) -> Statement<Void> {
    Statement(
      Query(
        """
        DELETE FROM chat_attachments a USING unnest($1::uuid[], $2::uuid[]) AS k (workspace, id)
        WHERE a.workspace_id = k.workspace AND a.id = k.id AND a.state = 'removed'
        """, [.uuids(keys.map(\.workspace)), .uuids(keys.map(\.id))]))
  }

  /// Which of these have a row.
  public static func known(_ keys: [AttachmentKey]) -> Statement<Set<AttachmentKey>> {
    Statement(
      Query(
        """
        SELECT a.workspace_id, a.id FROM chat_attachments a
        JOIN unnest($1::uuid[], $2::uuid[]) AS k (workspace, id)
          ON a.workspace_id = k.workspace AND a.id = k.id
        """, [.uuids(keys.map(\.workspace)), .uuids(keys.map(\.id))])
    ) { Set(self.keys($0)) }
  }

  private static func keys(_ rows: Rows) -> [AttachmentKey] {
    (0..<rows.count).compactMap { row in
      guard let workspace = rows.uuid(row, 0), let id = rows.uuid(row, 1) else { return nil }
      return AttachmentKey(workspace: workspace, id: id)
    }
  }
}
