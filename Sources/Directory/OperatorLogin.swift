import Postgres
public import Primitives

/// The claims of an operator's token: a membership with its role and, after a login, the login and
/// the password of that time. The token is valid as long as all of them are.
public struct OperatorLogin: Sendable, Hashable {
  public var id: Identifier
  public var workspace: Identifier
  public var role: String
  /// The hash of the login's cookie in hexadecimal; nil for a token of the command line.
  public var session: String?
  /// See `Operator.credential`; nil for a token of the command line.
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
