import Postgres
public import Primitives

/// The first operator of a database, who owns its workspace.
public struct FirstOwner: Sendable {
  /// The id of every first owner. Simultaneous requests to any number of gateways insert the same
  /// primary key, so PostgreSQL lets one of them succeed.
  public static let id = Identifier("00000000-0000-7000-8000-000000000001") ?? .zero

  public var email: String
  public var name: String
  public var passwordHash: String
  /// The workspace's name. A workspace of this name gets the owner; otherwise it is created.
  public var workspace: String
  /// The id and the public key of a workspace that is created.
  public var workspaceID: Identifier
  public var publicKey: String

  public init(
    email: String, name: String, passwordHash: String, workspace: String,
    workspaceID: Identifier, publicKey: String
  ) {
    self.email = email
    self.name = name
    self.passwordHash = passwordHash
    self.workspace = workspace
    self.workspaceID = workspaceID
    self.publicKey = publicKey
  }

  /// Whether the database has no operator.
  public static let isMissing = Statement<Bool>(
    Query("SELECT NOT EXISTS (SELECT FROM operators)")
  ) { !$0.isEmpty && $0.bool(0, 0) == true }

  /// Creates the owner and their workspace.
  ///
  /// - Returns: the workspace's id; nil if the database has an operator.
  public var create: Statement<Identifier?> {
    Statement(
      Query(
        """
        WITH owner AS (
          INSERT INTO operators (id, email, name, password_hash, must_change_password)
          SELECT $1::uuid, $2::text, $3::text, $4::text, false
          WHERE NOT EXISTS (SELECT FROM operators)
          ON CONFLICT DO NOTHING RETURNING id
        ), known AS (
          SELECT id FROM workspaces WHERE name = $5::text ORDER BY created_at, id LIMIT 1
        ), made AS (
          INSERT INTO workspaces (id, name, public_key)
          SELECT $6::uuid, $5::text, $7::text FROM owner WHERE NOT EXISTS (SELECT FROM known)
          RETURNING id
        ), joined AS (
          INSERT INTO memberships (workspace_id, operator_id, role)
          SELECT place.id, owner.id, 'owner'
          FROM owner, (SELECT id FROM known UNION ALL SELECT id FROM made) AS place
          RETURNING workspace_id, operator_id
        )
        INSERT INTO audit_log (workspace_id, actor, action, target_id, details)
        SELECT workspace_id, 'command', 'member.added', operator_id,
          jsonb_build_object('role', 'owner')
        FROM joined RETURNING workspace_id
        """,
        [
          .uuid(FirstOwner.id), .text(email), .text(name), .text(passwordHash), .text(workspace),
          .uuid(workspaceID), .text(publicKey),
        ])
    ) { $0.isEmpty ? nil : $0.uuid(0, 0) }
  }
}
