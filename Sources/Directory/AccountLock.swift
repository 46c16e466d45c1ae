import Postgres
import Primitives

extension Lock {
  /// Serialises changes of an account's factors and logins, so that a login that was checked
  /// without a second factor does not begin while one is being added.
  static func account(_ id: Identifier?) -> Lock {
    Lock(
      "SELECT pg_advisory_xact_lock(hashtextextended('chirrup account ' || $1::uuid::text, 0))",
      [.uuid(id)])
  }

  /// Held by a change of the settings of a workspace, so that no member's last factor is removed
  /// while the workspace begins to require one. It comes before `account`.
  static func factorRule(of workspace: Identifier?) -> Lock {
    Lock(
      """
      SELECT pg_advisory_xact_lock(
        hashtextextended('chirrup factor rule ' || $1::uuid::text, 0))
      """, [.uuid(workspace)])
  }

  /// Keeps the rules of an account's workspaces until the transaction ends. Accounts do not wait
  /// for each other.
  static func factorRules(for account: Identifier?) -> Lock {
    Lock(
      """
      SELECT pg_advisory_xact_lock_shared(
        hashtextextended('chirrup factor rule ' || m.workspace_id::text, 0))
      FROM (SELECT workspace_id FROM memberships WHERE operator_id = $1::uuid
        ORDER BY workspace_id) AS m
      """, [.uuid(account)])
  }
}
