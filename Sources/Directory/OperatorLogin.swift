import Postgres
public import Primitives

/// What an operator's token stands for: a membership with its role, and, for one who logged in, the
/// login and the password at that time. When any of it is gone, so is the token's worth.
public struct OperatorLogin: Sendable, Hashable {
  public var id: Identifier
  public var workspace: Identifier
  public var role: String
  /// The hash of the login's cookie, in hexadecimal; nil for a token of the command line.
  public var session: String?
  /// See `Operator.credential`; nil likewise.
  public var credential: String?

  public init(
    id: Identifier, workspace: Identifier, role: String, session: String?, credential: String?
  ) {
    self.id = id
    self.workspace = workspace
    self.role = role
    self.session = session
    self.credential = credential
  }
}
