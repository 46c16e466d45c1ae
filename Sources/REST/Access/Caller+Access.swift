/// The access of a caller: to routes, by role or scope; and to other members of the workspace, whom
/// the caller may create, change and remove up to a role.
import Directory
import Primitives

extension Caller {
  /// The one place that enforces roles and scopes, by the values in the table of routes.
  func checkAccess(from least: Membership, _ scope: KeyScope?) throws(Problem) {
    switch self {
    case .member:
      guard membership >= least else { throw .forbidden(least) }
    case .key(let key):
      guard let scope else { throw .operatorsOnly }
      guard key.scopes.contains(scope.rawValue) else { throw .insufficientScope(scope) }
    }
  }

  /// The highest role that the caller may give, and whose holders it may change. A key is stored
  /// on servers, so a stolen one must not give access to more than agents.
  var reach: Membership {
    switch self {
    case .member: membership == .owner ? .owner : .admin
    case .key: .agent
    }
  }

  /// The roles up to `reach`, as `MemberChange` takes them.
  var reachedRoles: String {
    Membership.allCases.filter { $0 <= reach }.map(\.rawValue).joined(separator: " ")
  }

  func checkReach(of role: Membership) throws(Problem) {
    guard role <= reach else { throw beyondReach }
  }

  var beyondReach: Problem {
    switch self {
    case .member: .forbidden(.owner)
    case .key:
      .forbidden(
        "key_reaches_agents",
        "An API key can create and change agents only. An administrator can do this in the console."
      )
    }
  }

  /// Members change their own password with the current one, so that an open console does not
  /// suffice to take an account over. An API key gives no passwords, because with one it could log
  /// in as the member.
  ///
  /// - Parameter id: the member who gets the password; nil: a new member.
  func checkMayGivePassword(to id: Identifier?) throws(Problem) {
    switch self {
    case .member(let member):
      guard member.id == id else { return }
      throw .forbidden(
        "own_password",
        "You change your own password with POST \(API.passwordPath), which requires the current "
          + "one.")
    case .key:
      throw .forbidden(
        "key_sets_no_password",
        "An API key cannot set a password. Omit it; an administrator can set one in the console.")
    }
  }

  /// Until the member has replaced a password that somebody else has set or that is easy to guess,
  /// it allows that change only; then, if the workspace requires a second factor, only to set one
  /// up.
  func checkRestriction(_ route: Route) throws(Problem) {
    guard case .member(let member) = self else { return }
    if member.mustChangePassword {
      guard route.path == API.passwordPath else { throw .passwordChangeRequired }
    } else if member.mustEnrol {
      guard route.path.hasPrefix(API.secondFactorPath) else { throw .secondFactorRequired }
    }
  }
}

extension API {
  static let passwordPath = "/api/v1/auth/password"
  static let secondFactorPath = "/api/v1/auth/second-factor"
}

extension Problem {
  static func forbidden(_ least: Membership) -> Problem {
    .forbidden(
      "forbidden",
      least == .owner
        ? "This requires the role owner. Ask an owner of the workspace."
        : "This requires the role admin. Ask an administrator of the workspace to do it, or to "
          + "change your role.")
  }

  static func insufficientScope(_ scope: KeyScope) -> Problem {
    .forbidden(
      "insufficient_scope",
      "The API key does not have the scope “\(scope.rawValue)”. Create a key with this scope.")
  }

  static let secondFactorRequired = Problem.forbidden(
    "second_factor_required",
    "Your workspace requires a second factor. Set one up first (POST "
      + "\(API.secondFactorPath)/app).")

  static let passwordChangeRequired = Problem.forbidden(
    "password_change_required",
    "Your password was set by somebody else, or is easy to guess. Choose a new one first (POST "
      + "\(API.passwordPath)).")
}
