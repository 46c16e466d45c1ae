public import Postgres
public import Primitives

/// The members of a workspace (`memberships`, with their accounts in `operators`).
public enum Members {
  /// The most members of one workspace.
  public static let countMax: Int64 = 1_000

  /// One page, oldest first. Columns: id, name, e-mail address, role, whether the account is
  /// disabled, whether the member is connected, whether the member takes conversations, number of
  /// open conversations, `none`, `given` or `own` password, whether there is a second factor,
  /// creation time; then creation time (µs) and id as text.
  ///
  /// - Parameter last: the last row of the previous page; nil: the first page.
  public static func page(
    of workspace: Identifier, after last: ListPosition?, limit: Int
  ) -> Query {
    Query(
      listSQL,
      [.uuid(workspace), .null, .time(last?.at), .uuid(last?.id), .int(Int64(limit))])
  }

  /// One member, with the columns of `page`.
  public static func find(_ id: Identifier, in workspace: Identifier) -> Query {
    Query(listSQL, [.uuid(workspace), .uuid(id), .null, .null, .int(1)])
  }

  /// Whether the workspace has this member and the account is not disabled.
  public static func isActive(_ id: Identifier, in workspace: Identifier) -> Statement<Bool> {
    Statement(
      Query(
        """
        SELECT o.id FROM memberships m JOIN operators o ON o.id = m.operator_id
        WHERE m.workspace_id = $1::uuid AND m.operator_id = $2::uuid AND o.disabled_at IS NULL
        """, [.uuid(workspace), .uuid(id)])
    ) { !$0.isEmpty }
  }

  private static let listSQL: SQL = """
    SELECT o.id, o.name, o.email, m.role, o.disabled_at IS NOT NULL, p.operator_id IS NOT NULL,
      coalesce(p.is_available, false),
      (SELECT count(*) FROM chat_sessions s WHERE s.workspace_id = $1::uuid
        AND s.assigned_operator_id = o.id AND s.status = 'active' AND s.deleted_at IS NULL),
      CASE WHEN o.password_hash IS NULL THEN 'none' WHEN o.must_change_password THEN 'given'
        ELSE 'own' END,
      \(SecondFactor.exists("o.id")),
      m.created_at, (extract(epoch FROM m.created_at) * 1000000)::bigint::text, o.id::text
    FROM memberships m JOIN operators o ON o.id = m.operator_id
    LEFT JOIN operator_presence p ON p.workspace_id = $1::uuid AND p.operator_id = o.id
      AND chirrup_is_present(p.seen_at)
    WHERE m.workspace_id = $1::uuid AND ($2::uuid IS NULL OR o.id = $2::uuid)
      AND ($3::timestamptz IS NULL OR (m.created_at, o.id) > ($3::timestamptz, $4::uuid))
    ORDER BY m.created_at, o.id LIMIT $5::bigint
    """

  /// Creates an account and its membership; false if an account has this e-mail address, or the
  /// workspace already has `countMax` members.
  ///
  /// - Parameter passwordHash: of a password that the member must change at the first login; nil:
  ///   the account has no password.
  public static func add(
    _ id: Identifier, email: String, name: String, role: String, passwordHash: String?,
    by actor: AuditActor
  ) -> Statement<Bool> {
    Statement(
      Query(
        """
        WITH made AS (
          INSERT INTO operators (id, email, name, password_hash, must_change_password)
          SELECT $4::uuid, $5::text, $6::text, $7::text, $7::text IS NOT NULL
          WHERE (SELECT count(*) FROM memberships WHERE workspace_id = $1::uuid) < $9::bigint
          ON CONFLICT DO NOTHING RETURNING id
        ), joined AS (
          INSERT INTO memberships (workspace_id, operator_id, role)
          SELECT $1::uuid, id, $8::text FROM made
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
        SELECT $1::uuid, $2::uuid, $3::text, 'member.added', id,
          jsonb_build_object('role', $8::text)
        FROM made RETURNING id
        """,
        actor.parameters + [
          .uuid(id), .text(email), .text(name), .text(passwordHash), .text(role), .int(countMax),
        ])
    ) { !$0.isEmpty }
  }
}
