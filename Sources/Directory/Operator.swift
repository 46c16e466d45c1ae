import Postgres
public import Primitives

/// An operator as a member of one workspace.
public struct Operator: Sendable, Equatable {
  public var id: Identifier
  public var email: String
  public var name: String
  /// `owner`, `admin` or `agent`.
  public var membership: String
  public var workspace: Identifier
  /// The first 16 hexadecimal digits of the SHA-256 of the password's hash: it changes with the
  /// password. Nil if the statement does not select it.
  public var credential: String?
  /// The password was set by another person or is easy to guess: the only permitted action is to
  /// change it.
  public var mustChangePassword: Bool
  /// The workspace requires a second factor, and there was none at this login: the only permitted
  /// action is to set one up.
  public var mustEnrol: Bool

  public init(
    id: Identifier, email: String, name: String, membership: String, workspace: Identifier,
    credential: String? = nil, mustChangePassword: Bool = false, mustEnrol: Bool = false
  ) {
    self.id = id
    self.email = email
    self.name = name
    self.membership = membership
    self.workspace = workspace
    self.credential = credential
    self.mustChangePassword = mustChangePassword
    self.mustEnrol = mustEnrol
  }
}

extension Operator {
  /// The role in the token of an operator who must change their password. No membership has it, so
  /// that every check of a role refuses such a token.
  public static let roleBeforeOwnPassword = "password_change_required"
  /// The same for an operator who must set up a second factor.
  public static let roleBeforeSecondFactor = "second_factor_required"

  /// The role in the operator's next token.
  public var tokenRole: String {
    if mustChangePassword { return Operator.roleBeforeOwnPassword }
    return mustEnrol ? Operator.roleBeforeSecondFactor : membership
  }

  /// The SQL expression of `credential`.
  ///
  /// - Parameter hash: the expression of the password's hash.
  static func credential(of hash: SQL) -> SQL {
    "left(encode(sha256(convert_to(coalesce(\(hash), ''), 'UTF8')), 'hex'), 16)"
  }

  /// The data of a login: the account, its password hash, and the workspace.
  public struct Account: Sendable {
    public var member: Operator
    /// Nil: the account has no password.
    public var passwordHash: String?
    public var workspaceName: String
    public var workspacePublicKey: String
    public var hasApp: Bool
    public var hasPasskey: Bool

    /// Whether a password alone is not enough.
    public var hasSecondFactor: Bool { hasApp || hasPasskey }
  }

  /// Finds an account with a password by the normal form of its e-mail address (`chirrup_address`),
  /// with the oldest membership unless `workspace` names one. Nil for disabled accounts.
  public static func account(email: String, workspace: String?) -> Statement<Account?> {
    Statement(
      Query(
        """
        \(accountSQL)
        WHERE chirrup_address(o.email) = chirrup_address($1::text) AND o.disabled_at IS NULL
          AND o.password_hash IS NOT NULL
          AND ($2::text IS NULL OR w.name = $2::text)
        ORDER BY m.created_at, w.id LIMIT 1
        """, [.text(email), .text(workspace)]), answer: account)
  }

  /// The account of the second step of a login; nil if it is disabled or has left the workspace.
  public static func account(_ id: Identifier, workspace: Identifier) -> Statement<Account?> {
    Statement(
      Query(
        """
        \(accountSQL)
        WHERE o.id = $1::uuid AND w.id = $2::uuid AND o.disabled_at IS NULL
        """, [.uuid(id), .uuid(workspace)]), answer: account)
  }

  /// The account of a passkey, with the oldest membership unless `workspace` names one. Nil if it
  /// is disabled.
  public static func account(_ id: Identifier, workspaceName: String?) -> Statement<Account?> {
    Statement(
      Query(
        """
        \(accountSQL)
        WHERE o.id = $1::uuid AND o.disabled_at IS NULL
          AND ($2::text IS NULL OR w.name = $2::text)
        ORDER BY m.created_at, w.id LIMIT 1
        """, [.uuid(id), .text(workspaceName)]), answer: account)
  }

  private static let accountSQL: SQL = """
    SELECT o.id, o.email, o.name, m.role, w.id,
      \(Operator.credential(of: "o.password_hash")),
      o.must_change_password, false, o.password_hash, w.name, w.public_key,
      \(SecondFactor.hasApp("o.id")), \(SecondFactor.hasPasskey("o.id"))
    FROM operators o
    JOIN memberships m ON m.operator_id = o.id
    JOIN workspaces w ON w.id = m.workspace_id
    """

  @Sendable private static func account(_ rows: Rows) -> Account? {
    guard let member = Operator(rows), let name = rows.text(0, 9), let key = rows.text(0, 10)
    else { return nil }
    return Account(
      member: member, passwordHash: rows.text(0, 8), workspaceName: name, workspacePublicKey: key,
      hasApp: rows.bool(0, 11) == true, hasPasskey: rows.bool(0, 12) == true)
  }

  /// The member of a token; nil if they were disabled, left the workspace or logged out, or if
  /// their password or role has changed.
  public static func member(_ login: OperatorLogin) -> Statement<Operator?> {
    Statement(
      Query(
        """
        SELECT o.id, o.email, o.name, m.role, m.workspace_id,
          \(Operator.credential(of: "o.password_hash")),
          o.must_change_password, coalesce(s.must_enrol, false)
        FROM memberships m JOIN operators o ON o.id = m.operator_id
          LEFT JOIN operator_sessions s ON s.token_hash = decode($3::text, 'hex')
        WHERE m.operator_id = $1::uuid AND m.workspace_id = $2::uuid AND o.disabled_at IS NULL
          AND (m.role = $4::text
            OR o.must_change_password AND $4::text = $5::text
            OR s.must_enrol AND $4::text = $6::text)
          AND ($3::text IS NULL OR s.token_hash IS NOT NULL)
        """,
        [
          .uuid(login.id), .uuid(login.workspace), .text(login.session), .text(login.role),
          .text(roleBeforeOwnPassword), .text(roleBeforeSecondFactor),
        ])
    ) { rows in
      guard let member = Operator(rows) else { return nil }
      return login.credential == nil || login.credential == member.credential ? member : nil
    }
  }

  /// The operator with this e-mail address, with or without a membership.
  public static func withEmail(_ email: String) -> Statement<(id: Identifier, name: String)?> {
    Statement(
      Query(
        "SELECT id, name FROM operators WHERE chirrup_address(email) = chirrup_address($1::text)",
        [.text(email)])
    ) { rows in
      guard !rows.isEmpty, let id = rows.uuid(0, 0), let name = rows.text(0, 1) else { return nil }
      return (id, name)
    }
  }

  /// Whether a workspace has any member.
  public static func isAnybody(in workspace: Identifier) -> Statement<Bool> {
    Statement(
      Query(
        "SELECT EXISTS (SELECT FROM memberships WHERE workspace_id = $1::uuid)",
        [.uuid(workspace)])
    ) { rows in rows.isEmpty ? false : rows.bool(0, 0) ?? false }
  }

  /// The first members of a workspace, oldest first, for `chirrup token operator`.
  public static func members(of workspace: Identifier, limit: Int) -> Statement<[Operator]> {
    Statement(
      Query(
        """
        SELECT o.id, o.email, o.name, m.role, m.workspace_id
        FROM memberships m JOIN operators o ON o.id = m.operator_id
        WHERE m.workspace_id = $1::uuid AND o.disabled_at IS NULL
        ORDER BY m.created_at, o.id LIMIT $2::bigint
        """, [.uuid(workspace), .int(Int64(limit))])
    ) { rows in (0..<rows.count).compactMap { Operator(rows, row: $0) } }
  }

  /// Creates an account with its membership, by the command line. Nil if the e-mail address is
  /// taken.
  public static func create(
    id: Identifier, email: String, name: String, passwordHash: String, workspace: Identifier,
    membership: String, mustChangePassword: Bool = false
  ) -> Statement<Operator?> {
    Statement(
      Query(
        """
        WITH made AS (
          INSERT INTO operators (id, email, name, password_hash, must_change_password)
          VALUES ($1::uuid, $2::text, $3::text, $4::text, $7::boolean)
          ON CONFLICT DO NOTHING
          RETURNING id, email, name
        ), joined AS (
          INSERT INTO memberships (workspace_id, operator_id, role)
          SELECT $5::uuid, id, $6::text FROM made
          RETURNING role, workspace_id
        ), noted AS (
          INSERT INTO audit_log (workspace_id, actor, action, target_id, details)
          SELECT $5::uuid, 'command', 'member.added', id, jsonb_build_object('role', $6::text)
          FROM made
        )
        SELECT made.id, made.email, made.name, joined.role, joined.workspace_id FROM made, joined
        """,
        [
          .uuid(id), .text(email), .text(name), .text(passwordHash), .uuid(workspace),
          .text(membership), .bool(mustChangePassword),
        ])
    ) { Operator($0) }
  }

  /// Adds an existing account to a workspace, or changes its role there, by the command line.
  public static func join(
    _ id: Identifier, workspace: Identifier, membership: String
  ) -> Statement<Void> {
    Statement(
      Query(
        """
        WITH joined AS (
          INSERT INTO memberships (workspace_id, operator_id, role)
          VALUES ($1::uuid, $2::uuid, $3::text)
          ON CONFLICT (workspace_id, operator_id) DO UPDATE SET role = excluded.role
        )
        INSERT INTO audit_log (workspace_id, actor, action, target_id, details)
        VALUES ($1::uuid, 'command', 'member.changed', $2::uuid,
          jsonb_build_object('role', $3::text))
        """, [.uuid(workspace), .uuid(id), .text(membership)]))
  }

  /// Sets the password of an account and ends all its logins, by the command line.
  public static func setPassword(
    _ id: Identifier, hash: String, mustChange: Bool = false
  ) -> Statement<Void> {
    Statement(
      Query(
        """
        WITH ended AS (DELETE FROM operator_sessions WHERE operator_id = $1::uuid),
        changed AS (
          UPDATE operators SET password_hash = $2::text, must_change_password = $3::boolean
          WHERE id = $1::uuid
        )
        INSERT INTO audit_log (workspace_id, actor, action, target_id, details)
        SELECT workspace_id, 'command', 'member.changed', operator_id,
          jsonb_build_object('password', true)
        FROM memberships WHERE operator_id = $1::uuid
        """, [.uuid(id), .text(hash), .bool(mustChange)]))
  }

  /// Disables or enables an account, by the command line; its logins end.
  public static func setDisabled(_ id: Identifier, _ isDisabled: Bool) -> Statement<Void> {
    Statement(
      Query(
        """
        WITH ended AS (DELETE FROM operator_sessions WHERE operator_id = $1::uuid),
        changed AS (
          UPDATE operators SET disabled_at = CASE WHEN $2::boolean THEN now() END
          WHERE id = $1::uuid
        )
        INSERT INTO audit_log (workspace_id, actor, action, target_id, details)
        SELECT workspace_id, 'command', 'member.changed', operator_id,
          jsonb_build_object('disabled', $2::boolean)
        FROM memberships WHERE operator_id = $1::uuid
        """, [.uuid(id), .bool(isDisabled)]))
  }

  /// Columns: id, e-mail address, name, role, workspace; optionally the credential, whether the
  /// password must be changed, and whether a second factor must be set up.
  init?(_ rows: Rows, row: Int = 0) {
    guard row < rows.count, let id = rows.uuid(row, 0), let email = rows.text(row, 1),
      let name = rows.text(row, 2), let membership = rows.text(row, 3),
      let workspace = rows.uuid(row, 4)
    else { return nil }
    self.init(
      id: id, email: email, name: name, membership: membership, workspace: workspace,
      credential: rows.columnCount > 5 ? rows.text(row, 5) : nil,
      mustChangePassword: rows.columnCount > 6 && rows.bool(row, 6) == true,
      mustEnrol: rows.columnCount > 7 && rows.bool(row, 7) == true)
  }
}
