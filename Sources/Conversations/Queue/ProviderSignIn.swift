public import Directory
import Postgres
public import Primitives

/// The sign-in of a person whom the identity provider of a workspace has named: finds the member,
/// links or creates one, and follows the roles of the groups.
///
/// An identity is (issuer, subject) in one workspace. An unknown one is linked to a member by a
/// verified e-mail address only, and never to an account of another workspace: that workspace's
/// owners have not chosen this provider, which could name anybody.
public struct ProviderSignIn: Sendable {
  public var workspace: Identifier
  public var issuer: String
  public var subject: String
  /// Nil unless it is verified.
  public var email: String?
  public var name: String
  /// Of the groups, or of people in none of them; nil: none.
  public var role: String?
  public var createsMembers: Bool
  public var takesRolesBack: Bool

  public init(
    workspace: Identifier, issuer: String, subject: String, email: String?, name: String,
    role: String?, createsMembers: Bool, takesRolesBack: Bool
  ) {
    self.workspace = workspace
    self.issuer = issuer
    self.subject = subject
    self.email = email
    self.name = name
    self.role = role
    self.createsMembers = createsMembers
    self.takesRolesBack = takesRolesBack
  }

  public enum Verdict: String, Sendable, Equatable {
    case known, linked, created
    /// No member has this identity or address, and none is to be created.
    case unknown = "person_unknown"
    /// The identity is new, and the provider states no verified address.
    case unverified = "email_unverified"
    /// The person's groups give no role.
    case noRole = "no_role"
    /// The account is a member of another workspace, too, or only of others.
    case elsewhere = "account_of_another_workspace"
    /// Another identity of the provider is linked to the account with this address.
    case taken = "another_identity_linked"
    case disabled = "account_disabled"
    case full = "too_many_members"
  }

  public struct Outcome: Sendable {
    public var verdict: Verdict
    public var account: Identifier?
    /// The role was changed: tokens with the older one end.
    public var hasNewRole: Bool
  }

  /// - Parameter newID: the id of an account that is created.
  public func statement(newID: Identifier, now: WallTime) -> Statement<Outcome> {
    Statement(
      Query(
        ProviderSignIn.sql,
        [
          .uuid(workspace), .text(issuer), .text(subject), .text(email), .text(name), .text(role),
          .bool(createsMembers), .bool(takesRolesBack), .uuid(newID), .time(now),
          .int(Members.countMax),
        ]
      ).after(.members(of: workspace))
    ) { rows in
      guard !rows.isEmpty, let verdict = rows.text(0, 0).flatMap({ Verdict(rawValue: $0) }) else {
        return Outcome(verdict: .elsewhere, account: nil, hasNewRole: false)
      }
      return Outcome(
        verdict: verdict, account: rows.uuid(0, 1), hasNewRole: rows.bool(0, 2) == true)
    }
  }

  /// The lock of the members keeps two owners from losing their roles at the same time. A password
  /// that was given and never replaced ends with the link.
  private static let sql: SQL = """
    WITH found AS (
      SELECT operator_id AS id, true AS is_known FROM operator_identities
      WHERE workspace_id = $1::uuid AND issuer = $2::text AND subject = $3::text
    ), target AS (
      SELECT id, is_known FROM found
      UNION ALL
      SELECT o.id, false FROM operators o
      WHERE NOT EXISTS (SELECT FROM found) AND $4::text IS NOT NULL
        AND chirrup_address(o.email) = chirrup_address($4::text)
    ), state AS (
      SELECT t.id, t.is_known, m.role, o.disabled_at IS NOT NULL AS is_disabled,
        EXISTS (SELECT FROM memberships x
          WHERE x.operator_id = t.id AND x.workspace_id <> $1::uuid) AS is_shared,
        NOT t.is_known AND EXISTS (SELECT FROM operator_identities y WHERE y.operator_id = t.id
          AND y.workspace_id = $1::uuid AND y.issuer = $2::text) AS is_taken,
        EXISTS (SELECT FROM memberships w JOIN operators u ON u.id = w.operator_id
          WHERE w.workspace_id = $1::uuid AND w.role = 'owner' AND u.disabled_at IS NULL
            AND w.operator_id <> t.id) AS has_other_owner
      FROM target t JOIN operators o ON o.id = t.id
        LEFT JOIN memberships m ON m.operator_id = t.id AND m.workspace_id = $1::uuid
    ), verdict AS (
      SELECT id, role, has_other_owner, CASE
        WHEN role IS NULL OR is_shared THEN 'account_of_another_workspace'
        WHEN is_disabled THEN 'account_disabled'
        WHEN is_taken THEN 'another_identity_linked'
        WHEN $6::text IS NULL AND $8::boolean THEN 'no_role'
        WHEN is_known THEN 'known' ELSE 'linked' END AS word
      FROM state
      UNION ALL
      SELECT NULL, NULL, true, CASE
        WHEN $4::text IS NULL THEN 'email_unverified'
        WHEN NOT $7::boolean THEN 'person_unknown'
        WHEN $6::text IS NULL THEN 'no_role'
        WHEN (SELECT count(*) FROM memberships WHERE workspace_id = $1::uuid) >= $11::bigint
          THEN 'too_many_members'
        ELSE 'created' END
      WHERE NOT EXISTS (SELECT FROM target)
    ), made AS (
      INSERT INTO operators (id, email, name)
      SELECT $9::uuid, $4::text, $5::text FROM verdict WHERE word = 'created'
      ON CONFLICT DO NOTHING RETURNING id
    ), joined AS (
      INSERT INTO memberships (workspace_id, operator_id, role)
      SELECT $1::uuid, id, $6::text FROM made RETURNING operator_id
    ), raised AS (
      UPDATE memberships m SET role = $6::text FROM verdict v
      WHERE v.word IN ('known', 'linked') AND m.workspace_id = $1::uuid AND m.operator_id = v.id
        AND $6::text <> m.role AND (v.role <> 'owner' OR v.has_other_owner)
        AND ($8::boolean OR array_position('{agent,admin,owner}'::text[], $6::text)
          > array_position('{agent,admin,owner}'::text[], m.role))
      RETURNING m.operator_id
    ), settled AS (
      UPDATE operators o SET password_hash = NULL, must_change_password = false FROM verdict v
      WHERE v.word = 'linked' AND o.id = v.id AND o.must_change_password
    ), linked AS (
      INSERT INTO operator_identities (workspace_id, issuer, subject, operator_id, created_at,
        last_used_at)
      SELECT $1::uuid, $2::text, $3::text, id, $10::timestamptz, $10::timestamptz
      FROM (SELECT id FROM verdict WHERE word = 'linked' UNION ALL SELECT id FROM made) AS n
    ), used AS (
      UPDATE operator_identities i SET last_used_at = $10::timestamptz FROM verdict v
      WHERE v.word = 'known' AND i.workspace_id = $1::uuid AND i.issuer = $2::text
        AND i.subject = $3::text
    ), noted AS (
      INSERT INTO audit_log (workspace_id, actor, action, target_id, details)
      SELECT $1::uuid, 'rule', n.action, n.id, jsonb_strip_nulls(jsonb_build_object(
        'reason', 'identity_provider', 'role', n.role, 'issuer', $2::text))
      FROM (
        SELECT id, 'member.added' AS action, $6::text AS role FROM made
        UNION ALL SELECT id, 'member.linked', NULL FROM verdict WHERE word = 'linked'
        UNION ALL SELECT operator_id, 'member.changed', $6::text FROM raised) AS n
    )
    SELECT CASE WHEN v.word = 'created' AND NOT EXISTS (SELECT FROM made)
        THEN 'account_of_another_workspace' ELSE v.word END,
      coalesce(v.id, (SELECT id FROM made)), EXISTS (SELECT FROM raised)
    FROM verdict v
    """
}
