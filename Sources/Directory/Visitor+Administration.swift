public import Postgres
public import Primitives

/// A visitor as operators see and change them.
extension Visitor {
  /// Columns: id, name, e-mail address, external id, whether the host site has signed it,
  /// attributes, time of the block, creation time, time of the last visit, number of conversations.
  ///
  /// An external id may come from an import or from the REST API. Only a signed identity lets a
  /// browser be the visitor of one, and the first visit of a browser is recorded.
  /// The id of a merged visitor gives the one who survived.
  public static func details(_ id: Identifier, in workspace: Identifier) -> Query {
    Query(
      """
      SELECT \(columns("v")) FROM visitors v
      WHERE v.workspace_id = $1::uuid AND v.id = \(surviving("$2::uuid", in: "$1::uuid"))
      """, [.uuid(workspace), .uuid(id)])
  }

  /// The columns of a visitor of the workspace `$1`.
  static func columns(_ v: SQL) -> SQL {
    """
    \(v).id, \(v).name, \(v).email, \(v).external_id,
      \(v).external_id IS NOT NULL AND EXISTS (SELECT FROM friend_events e
        WHERE e.visitor_id = \(v).id AND e.workspace_id = $1::uuid
          AND e.channel = \(Visitor.channel) AND e.event IN ('follow', 'refollow')),
      \(v).attributes::text, \(v).banned_at, \(v).created_at,
      greatest(\(v).last_seen_at, (SELECT max(m.last_seen_at) FROM visitors m
        WHERE m.workspace_id = $1::uuid AND m.merged_into = \(v).id)),
      (SELECT count(*) FROM chat_sessions s WHERE s.workspace_id = $1::uuid
        AND s.user_id = \(v).id AND s.deleted_at IS NULL)
    """
  }

  /// Changes name and e-mail address. Returns the newest 20 conversations of the visitor, which
  /// show the name; nil if the workspace has no such visitor.
  ///
  /// - Parameters:
  ///   - name: nil leaves it unchanged.
  ///   - email: empty or nil removes it.
  ///   - changesEmail: whether `email` is stored.
  public static func change(
    _ id: Identifier, name: String?, email: String?, changesEmail: Bool, by actor: AuditActor
  ) -> Statement<[Identifier]?> {
    Statement(
      Query(
        """
        WITH changed AS (
          UPDATE visitors SET name = coalesce($5::text, name),
            email = CASE WHEN $7::boolean THEN nullif($6::text, '') ELSE email END
          WHERE workspace_id = $1::uuid AND id = \(surviving("$4::uuid", in: "$1::uuid"))
          RETURNING id
        ), noted AS (
          INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id)
          SELECT $1::uuid, $2::uuid, $3::text, 'visitor.changed', id FROM changed
        )
        SELECT (SELECT string_agg(s.id::text, ' ') FROM (
          SELECT id FROM chat_sessions WHERE workspace_id = $1::uuid AND user_id = changed.id
            AND deleted_at IS NULL ORDER BY created_at DESC LIMIT 20) s)
        FROM changed
        """,
        actor.parameters + [.uuid(id), .text(name), .text(email), .bool(changesEmail)])
    ) { rows in
      guard !rows.isEmpty else { return nil }
      return (rows.text(0, 0) ?? "").split(separator: " ").compactMap { Identifier(String($0)) }
    }
  }

  /// Records in the audit log that a visitor's data was exported.
  public static func noteExport(_ id: Identifier, by actor: AuditActor) -> Statement<Void> {
    Statement(
      Query(
        """
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id)
        VALUES ($1::uuid, $2::uuid, $3::text, 'visitor.exported', $4::uuid)
        """, actor.parameters + [.uuid(id)]))
  }
}
