/// Links with which a member sets a password once (`password_links`). Only a digest of their secret
/// is stored.
import Postgres
public import Primitives

public enum PasswordLinks {
  /// The account of an address, with its oldest membership.
  public struct Account: Sendable, Equatable {
    public var id: Identifier
    public var name: String
    /// As stored: the entered one may only look like it.
    public var email: String
    public var workspace: Identifier
    public var workspaceName: String
  }

  /// Nil for disabled accounts.
  public static func account(email: String) -> Statement<Account?> {
    Statement(
      Query(
        """
        SELECT o.id, o.name, o.email, w.id, w.name FROM operators o
        JOIN memberships m ON m.operator_id = o.id JOIN workspaces w ON w.id = m.workspace_id
        WHERE chirrup_address(o.email) = chirrup_address($1::text) AND o.disabled_at IS NULL
        ORDER BY m.created_at, w.id LIMIT 1
        """, [.text(email)]), answer: account)
  }

  /// The account of a link in force.
  public static func account(tokenHash: [UInt8]) -> Statement<Account?> {
    Statement(
      Query(
        """
        SELECT o.id, o.name, o.email, w.id, w.name FROM password_links l
        JOIN operators o ON o.id = l.operator_id JOIN workspaces w ON w.id = l.workspace_id
        WHERE l.token_hash = $1::bytea AND l.expires_at > now() AND o.disabled_at IS NULL
        """, [.bytes(tokenHash)]), answer: account)
  }

  @Sendable private static func account(_ rows: Rows) -> Account? {
    guard !rows.isEmpty, let id = rows.uuid(0, 0), let name = rows.text(0, 1),
      let email = rows.text(0, 2), let workspace = rows.uuid(0, 3)
    else { return nil }
    return Account(
      id: id, name: name, email: email, workspace: workspace,
      workspaceName: rows.text(0, 4) ?? "")
  }

  /// Stores a link. The account's earlier links remain until one of them is used.
  public static func add(
    _ tokenHash: [UInt8], account: Identifier, workspace: Identifier, seconds: Int64
  ) -> Statement<Void> {
    Statement(
      Query(
        """
        INSERT INTO password_links (token_hash, operator_id, workspace_id, expires_at)
        SELECT $1::bytea, operator_id, workspace_id, now() + $4::bigint * interval '1 second'
        FROM memberships WHERE operator_id = $2::uuid AND workspace_id = $3::uuid
        """, [.bytes(tokenHash), .uuid(account), .uuid(workspace), .int(seconds)]))
  }

  /// Uses a link: sets the password, ends all logins of the account and its other links. Nil if the
  /// link has ended.
  public static func use(_ tokenHash: [UInt8], passwordHash: String) -> Statement<Identifier?> {
    Statement(
      Query(
        """
        WITH used AS (
          DELETE FROM password_links l USING operators o
          WHERE l.token_hash = $1::bytea AND l.expires_at > now()
            AND o.id = l.operator_id AND o.disabled_at IS NULL
          RETURNING l.operator_id, l.workspace_id
        ), others AS (
          DELETE FROM password_links l USING used
          WHERE l.operator_id = used.operator_id AND l.token_hash <> $1::bytea
        ), ended AS (
          DELETE FROM operator_sessions s USING used WHERE s.operator_id = used.operator_id
        ), changed AS (
          UPDATE operators o SET password_hash = $2::text, must_change_password = false
          FROM used WHERE o.id = used.operator_id RETURNING o.id
        ), noted AS (
          INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
          SELECT workspace_id, operator_id, 'operator', 'member.changed', operator_id,
            jsonb_build_object('password', true) FROM used
        )
        SELECT id FROM changed
        """, [.bytes(tokenHash), .text(passwordHash)])
    ) { $0.isEmpty ? nil : $0.uuid(0, 0) }
  }
}
