import Postgres
public import Primitives

/// The end of old entries. The login of a gateway may not delete any, so these statements need the
/// tables' owner: whoever has taken over a gateway cannot remove the traces.
///
/// Entries of erased visitors stay, since an import reads them: the person is not imported again.
extension AuditLog {
  /// The most entries that one statement removes.
  public static let prunedPerBatch: Int64 = 5_000

  private static func isPrunable(days: SQL) -> SQL {
    """
    created_at < now() - \(days)::bigint * interval '1 day' AND action <> 'visitor.erased'
    """
  }

  /// Whether the connection's user may delete entries.
  public static let mayPrune = Statement<Bool>(
    Query("SELECT has_table_privilege('audit_log', 'DELETE')")
  ) { $0.isEmpty ? false : $0.bool(0, 0) ?? false }

  /// The entries of one workspace that pruning removes.
  public struct Prunable: Sendable, Equatable {
    public var workspace: Identifier
    public var workspaceName: String
    public var entries: Int64
    public var oldest: WallTime
  }

  /// Counts them. Workspaces without any are left out.
  ///
  /// - Parameter workspace: nil: all.
  public static func prunable(days: Int, workspace: Identifier?) -> Statement<[Prunable]> {
    Statement(
      Query(
        """
        SELECT w.id, w.name, a.entries, a.oldest
        FROM (
          SELECT workspace_id, count(*) AS entries, min(created_at) AS oldest FROM audit_log
          WHERE \(isPrunable(days: "$1")) AND ($2::uuid IS NULL OR workspace_id = $2::uuid)
          GROUP BY workspace_id) AS a
        JOIN workspaces w ON w.id = a.workspace_id ORDER BY w.name, w.id
        """, [.int(Int64(days)), .uuid(workspace)]
      ).plannedAnew()
    ) { rows in
      (0..<rows.count).compactMap { row in
        guard let id = rows.uuid(row, 0), let oldest = rows.time(row, 3) else { return nil }
        return Prunable(
          workspace: id, workspaceName: rows.text(row, 1) ?? "", entries: rows.int(row, 2) ?? 0,
          oldest: oldest)
      }
    }
  }

  /// Removes a batch of them, the oldest first, and adds an entry about it to each workspace.
  /// Returns their number.
  ///
  /// - Parameters:
  ///   - workspace: nil: all.
  ///   - author: `command` or `rule`.
  public static func prune(
    days: Int, workspace: Identifier?, author: String
  ) -> Statement<Int64> {
    Statement(
      Query(
        """
        WITH old AS MATERIALIZED (
          SELECT workspace_id, id FROM audit_log
          WHERE \(isPrunable(days: "$1")) AND ($2::uuid IS NULL OR workspace_id = $2::uuid)
          ORDER BY created_at LIMIT $3::bigint FOR UPDATE SKIP LOCKED
        ), gone AS (
          DELETE FROM audit_log a USING old o
          WHERE a.workspace_id = o.workspace_id AND a.id = o.id
          RETURNING a.workspace_id, a.created_at
        ), noted AS (
          INSERT INTO audit_log (workspace_id, actor, action, details)
          SELECT workspace_id, $4::text, 'audit.pruned', jsonb_build_object('days', $1::bigint,
            'entries', count(*), 'oldest', min(created_at), 'newest', max(created_at))
          FROM gone GROUP BY workspace_id
        )
        SELECT count(*) FROM gone
        """,
        [.int(Int64(days)), .uuid(workspace), .int(prunedPerBatch), .text(author)]
      ).plannedAnew()
    ) { $0.isEmpty ? 0 : $0.int(0, 0) ?? 0 }
  }
}
