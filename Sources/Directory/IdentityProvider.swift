import Postgres
public import Primitives

/// The identity provider of a workspace (`identity_providers`): with whom its members sign in, and
/// which roles its groups give.
public struct IdentityProvider: Sendable {
  public var workspace: Identifier
  public var isEnabled: Bool
  /// As on the button: “Sign in with …”.
  public var label: String
  public var issuer: String
  public var clientID: String
  public var secret: SecretBox.Sealed
  /// Further scopes, space-separated.
  public var scopes: String
  /// The name of the claim with the groups; empty: none.
  public var groupsClaim: String
  /// JSON: an array of objects with `group` and `role`.
  public var groupRoles: [UInt8]
  /// The role of people in none of the groups; nil: they have none.
  public var defaultRole: String?
  public var createsMembers: Bool
  public var takesRolesBack: Bool
  public var allowsPasswords: Bool
  public var trustsSecondFactor: Bool
  public var requiredACR: String?
  public var requiredAMR: String?

  public init(
    workspace: Identifier, isEnabled: Bool, label: String, issuer: String, clientID: String,
    secret: SecretBox.Sealed, scopes: String, groupsClaim: String, groupRoles: [UInt8],
    defaultRole: String?, createsMembers: Bool, takesRolesBack: Bool, allowsPasswords: Bool,
    trustsSecondFactor: Bool, requiredACR: String?, requiredAMR: String?
  ) {
    self.workspace = workspace
    self.isEnabled = isEnabled
    self.label = label
    self.issuer = issuer
    self.clientID = clientID
    self.secret = secret
    self.scopes = scopes
    self.groupsClaim = groupsClaim
    self.groupRoles = groupRoles
    self.defaultRole = defaultRole
    self.createsMembers = createsMembers
    self.takesRolesBack = takesRolesBack
    self.allowsPasswords = allowsPasswords
    self.trustsSecondFactor = trustsSecondFactor
    self.requiredACR = requiredACR
    self.requiredAMR = requiredAMR
  }

  /// The place to which `SecretBox` binds the client's secret: the issuer is part of it, so that a
  /// secret is never sent to another provider.
  public static func place(in workspace: Identifier, issuer: String) -> String {
    "identity provider:\(workspace):\(issuer)"
  }

  public static func find(in workspace: Identifier) -> Statement<IdentityProvider?> {
    Statement(
      Query("\(listSQL) WHERE p.workspace_id = $1::uuid", [.uuid(workspace)]), answer: provider)
  }

  /// The provider of the workspace with this name, if it is enabled.
  public static func enabled(inWorkspaceNamed name: String) -> Statement<IdentityProvider?> {
    Statement(
      Query(
        """
        \(listSQL) JOIN workspaces w ON w.id = p.workspace_id
        WHERE w.name = $1::text AND p.is_enabled
        """, [.text(name)]), answer: provider)
  }

  private static let listSQL: SQL = """
    SELECT p.workspace_id, p.is_enabled, p.label, p.issuer, p.client_id, p.key_id, p.ciphertext,
      p.scopes, p.groups_claim, p.group_roles::text, p.default_role, p.creates_members,
      p.takes_roles_back, p.allows_passwords, p.trusts_second_factor, p.required_acr,
      p.required_amr
    FROM identity_providers p
    """

  @Sendable private static func provider(_ rows: Rows) -> IdentityProvider? {
    guard !rows.isEmpty, let workspace = rows.uuid(0, 0), let label = rows.text(0, 2),
      let issuer = rows.text(0, 3), let clientID = rows.text(0, 4), let keyID = rows.text(0, 5),
      let ciphertext = rows.bytes(0, 6), let scopes = rows.text(0, 7),
      let groupsClaim = rows.text(0, 8), let groupRoles = rows.bytes(0, 9)
    else { return nil }
    return IdentityProvider(
      workspace: workspace, isEnabled: rows.bool(0, 1) == true, label: label, issuer: issuer,
      clientID: clientID, secret: SecretBox.Sealed(keyID: keyID, bytes: ciphertext),
      scopes: scopes, groupsClaim: groupsClaim, groupRoles: groupRoles,
      defaultRole: rows.text(0, 10), createsMembers: rows.bool(0, 11) == true,
      takesRolesBack: rows.bool(0, 12) == true, allowsPasswords: rows.bool(0, 13) == true,
      trustsSecondFactor: rows.bool(0, 14) == true, requiredACR: rows.text(0, 15),
      requiredAMR: rows.text(0, 16))
  }

  /// Whether a member may log in without the provider: owners always, so that a provider that fails
  /// locks nobody out for good.
  public static func allowsPassword(of member: Operator) -> Statement<Bool> {
    Statement(
      Query(
        """
        SELECT EXISTS (SELECT FROM identity_providers
          WHERE workspace_id = $1::uuid AND is_enabled AND NOT allows_passwords)
        """, [.uuid(member.workspace)])
    ) { rows in member.membership == "owner" || rows.isEmpty || rows.bool(0, 0) != true }
  }

  /// Creates or replaces the provider of the actor's workspace.
  public func put(by actor: AuditActor) -> Statement<Void> {
    Statement(
      Query(
        """
        WITH made AS (
          INSERT INTO identity_providers (workspace_id, is_enabled, label, issuer, client_id,
            key_id, ciphertext, scopes, groups_claim, group_roles, default_role, creates_members,
            takes_roles_back, allows_passwords, trusts_second_factor, required_acr, required_amr)
          VALUES ($1::uuid, $4::boolean, $5::text, $6::text, $7::text, $8::text, $9::bytea,
            $10::text, $11::text, $12::jsonb, $13::text, $14::boolean, $15::boolean, $16::boolean,
            $17::boolean, $18::text, $19::text)
          ON CONFLICT (workspace_id) DO UPDATE SET is_enabled = excluded.is_enabled,
            label = excluded.label, issuer = excluded.issuer, client_id = excluded.client_id,
            key_id = excluded.key_id, ciphertext = excluded.ciphertext, scopes = excluded.scopes,
            groups_claim = excluded.groups_claim, group_roles = excluded.group_roles,
            default_role = excluded.default_role, creates_members = excluded.creates_members,
            takes_roles_back = excluded.takes_roles_back,
            allows_passwords = excluded.allows_passwords,
            trusts_second_factor = excluded.trusts_second_factor,
            required_acr = excluded.required_acr, required_amr = excluded.required_amr,
            updated_at = now()
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
        VALUES ($1::uuid, $2::uuid, $3::text, 'identity_provider.changed', jsonb_build_object(
          'enabled', $4::boolean, 'issuer', $6::text, 'client_id', $7::text,
          'password_login', $16::boolean, 'group_roles', $12::jsonb, 'default_role', $13::text))
        """,
        actor.parameters + [
          .bool(isEnabled), .text(label), .text(issuer), .text(clientID), .text(secret.keyID),
          .bytes(secret.bytes), .text(scopes), .text(groupsClaim),
          .text(String(decoding: groupRoles, as: UTF8.self)), .text(defaultRole),
          .bool(createsMembers), .bool(takesRolesBack), .bool(allowsPasswords),
          .bool(trustsSecondFactor), .text(requiredACR), .text(requiredAMR),
        ]))
  }

  /// False if there is none. The links of its members stay, for the case that it comes back.
  public static func delete(by actor: AuditActor) -> Statement<Bool> {
    Statement(
      Query(
        """
        WITH gone AS (
          DELETE FROM identity_providers WHERE workspace_id = $1::uuid RETURNING issuer
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
        SELECT $1::uuid, $2::uuid, $3::text, 'identity_provider.deleted',
          jsonb_build_object('issuer', issuer)
        FROM gone RETURNING id
        """, actor.parameters)
    ) { !$0.isEmpty }
  }
}
