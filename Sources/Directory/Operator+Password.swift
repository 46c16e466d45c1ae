import Postgres
public import Primitives

/// The password of an account, as its owner changes it.
extension Operator {
  public static func passwordHash(of id: Identifier) -> Statement<String?> {
    Statement(
      Query("SELECT password_hash FROM operators WHERE id = $1::uuid", [.uuid(id)])
    ) { $0.isEmpty ? nil : $0.text(0, 0) }
  }

  /// The account may only change its password until it has done so.
  public static func requireNewPassword(_ id: Identifier) -> Statement<Void> {
    Statement(
      Query(
        "UPDATE operators SET must_change_password = true WHERE id = $1::uuid", [.uuid(id)]))
  }

  /// Replaces the password of the operator who is the actor, and ends the operator's other logins.
  /// The kept login gets the credential of the new password. False if `oldHash` is no longer the
  /// account's.
  ///
  /// - Parameter keptLogin: the hash of the cookie's secret; nil: all logins end.
  public static func changePassword(
    from oldHash: String, to newHash: String, keptLogin: [UInt8]?, by actor: AuditActor
  ) -> Statement<Bool> {
    Statement(
      Query(
        """
        WITH changed AS (
          UPDATE operators SET password_hash = $4::text, must_change_password = false
          WHERE id = $2::uuid AND password_hash = $5::text RETURNING id
        ), ended AS (
          DELETE FROM operator_sessions s USING changed c
          WHERE s.operator_id = c.id AND s.token_hash IS DISTINCT FROM $6::bytea
        ), kept AS (
          UPDATE operator_sessions s
          SET credential = \(Operator.credential(of: "$4::text"))
          FROM changed c WHERE s.operator_id = c.id AND s.token_hash = $6::bytea
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id)
        SELECT $1::uuid, $2::uuid, $3::text, 'password.changed', id FROM changed RETURNING id
        """,
        actor.parameters + [
          .text(newHash), .text(oldHash), keptLogin.map { .bytes($0) } ?? .null,
        ])
    ) { !$0.isEmpty }
  }
}
