public import Postgres
public import Primitives

/// The audit log (`audit_log`): one row for each change, added by the statement that makes the
/// change.
public enum AuditLog {
  /// One page, newest first. Columns: id, actor, the actor's id and name, action, target id,
  /// details, time; then the id as text.
  ///
  /// - Parameter last: the id of the last row of the previous page; nil: the first page.
  public static func page(of workspace: Identifier, after last: Int64?, limit: Int) -> Query {
    Query(
      """
      SELECT a.id, a.actor, a.actor_id, coalesce(
          (SELECT o.name FROM operators o WHERE o.id = a.actor_id),
          (SELECT k.name FROM api_keys k
            WHERE k.workspace_id = $1::uuid AND k.id = a.actor_id)),
        a.action, a.target_id, a.details::text, a.created_at, a.id::text
      FROM audit_log a
      WHERE a.workspace_id = $1::uuid AND ($2::bigint IS NULL OR a.id < $2::bigint)
      ORDER BY a.id DESC LIMIT $3::bigint
      """, [.uuid(workspace), last.map { .int($0) } ?? .null, .int(Int64(limit))])
  }

  /// A conversation that an operator has begun with somebody on the site.
  public static func noteConversation(
    _ session: Identifier, by actor: AuditActor
  ) -> Statement<Void> {
    Statement(
      Query(
        """
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id)
        VALUES ($1::uuid, $2::uuid, $3::text, 'conversation.created', $4::uuid)
        """, actor.parameters + [.uuid(session)]))
  }

  /// A login that was refused for a wrong password or code. Nobody is known to have done it, so the
  /// account is the target.
  ///
  /// The time of the response must not reveal whether the account exists: without one the statement
  /// runs as well, and with one its commit does not wait for the disk. A crash of PostgreSQL may
  /// lose the entries of its last second; the structured log has them.
  ///
  /// - Parameter account: nil: no account has the address, and there is no entry.
  public static func loginFailed(
    _ account: Operator?, from client: OperatorSession.Client, reason: String
  ) -> Statement<Void> {
    Statement(
      Query(
        """
        INSERT INTO audit_log (workspace_id, actor, action, target_id, details)
        SELECT m.workspace_id, 'rule', 'login.failed', m.operator_id, jsonb_build_object(
          'device', $3::text, 'address', $4::text, 'reason', $5::text)
        FROM set_config('synchronous_commit', 'off', true) AS relaxed
          JOIN memberships m ON m.workspace_id = $1::uuid AND m.operator_id = $2::uuid
        """,
        [
          .uuid(account?.workspace), .uuid(account?.id), .text(client.device),
          .text(client.address), .text(reason),
        ]))
  }

  /// A refused sign-in with the identity provider of a workspace.
  ///
  /// - Parameters:
  ///   - account: the member, if one is known.
  ///   - detail: the kind of the provider's failure; nothing that it sent.
  public static func signInFailed(
    in workspace: Identifier, _ account: Identifier?, from client: OperatorSession.Client,
    reason: String, detail: String?
  ) -> Statement<Void> {
    Statement(
      Query(
        """
        INSERT INTO audit_log (workspace_id, actor, action, target_id, details)
        SELECT w.id, 'rule', 'login.failed', m.operator_id, jsonb_strip_nulls(jsonb_build_object(
          'device', $3::text, 'address', $4::text, 'reason', $5::text, 'detail', $6::text))
        FROM workspaces w
          LEFT JOIN memberships m ON m.workspace_id = w.id AND m.operator_id = $2::uuid
        WHERE w.id = $1::uuid
        """,
        [
          .uuid(workspace), .uuid(account), .text(client.device), .text(client.address),
          .text(reason), .text(detail),
        ]))
  }

  /// An administrator disconnects a client.
  ///
  /// - Parameter party: the visitor or operator; nil if the token was not verified yet.
  public static func disconnected(
    _ party: Identifier?, connection: Identifier, reason: String, by actor: AuditActor
  ) -> Statement<Void> {
    Statement(
      Query(
        """
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
        VALUES ($1::uuid, $2::uuid, $3::text, 'connection.disconnected', $4::uuid,
          jsonb_build_object('connection', $5::text, 'reason', $6::text))
        """, actor.parameters + [.uuid(party), .text("\(connection)"), .text(reason)]))
  }

  /// An administrator follows what a client and the gateway send each other, without texts.
  ///
  /// - Parameter party: as for `disconnected`.
  public static func traced(
    _ party: Identifier?, connection: Identifier, by actor: AuditActor
  ) -> Statement<Void> {
    Statement(
      Query(
        """
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
        VALUES ($1::uuid, $2::uuid, $3::text, 'connection.traced', $4::uuid,
          jsonb_build_object('connection', $5::text))
        """, actor.parameters + [.uuid(party), .text("\(connection)")]))
  }

  /// Somebody ran actions on several conversations.
  ///
  /// - Parameters:
  ///   - macro: the macro that has the actions; nil: the request had them.
  ///   - actions: their types, in order.
  public static func ranActions(
    _ actions: [String], macro: Identifier?, conversations: Int, failed: Int, by actor: AuditActor
  ) -> Statement<Void> {
    Statement(
      Query(
        """
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
        VALUES ($1::uuid, $2::uuid, $3::text, 'conversations.changed', $4::uuid,
          jsonb_build_object('actions', $5::text, 'conversations', $6::bigint,
            'failed', $7::bigint))
        """,
        actor.parameters + [
          .uuid(macro), .text(actions.joined(separator: ", ")), .int(Int64(conversations)),
          .int(Int64(failed)),
        ]))
  }
}
