/// How far a caller reaches among the members of a workspace, in one place: whom it may make,
/// change and remove, which role it may give, and whether it may give a password.
import Directory
import Primitives

extension Caller {
  /// The highest role that the caller may give, and whose holders it may change. A key lies on
  /// servers and in their settings, so a stolen one must not lead to more than it is itself.
  var reach: Membership {
    switch self {
    case .member: membership == .owner ? .owner : .admin
    case .key: .agent
    }
  }

  /// The roles up to `reach`, as the statements take them.
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
        "An API key makes and changes agents only; an administrator does this in the console.")
    }
  }

  /// With a password that it has set itself a key could log in as the member, and who finds a
  /// console open could keep the account.
  ///
  /// - Parameter id: nil: a member who is only made by this.
  func checkMayGivePassword(to id: Identifier?) throws(Problem) {
    switch self {
    case .member(let member):
      guard member.id == id else { return }
      throw .forbidden(
        "own_password",
        "One's own password is changed with the current one (POST \(API.passwordPath)).")
    case .key:
      throw .forbidden(
        "key_sets_no_password",
        "An API key sets no password; leave it out, and an administrator gives one in the console.")
    }
  }

  /// A password that somebody else has given opens nothing but the change to one's own.
  func checkOwnPassword(_ route: Route) throws(Problem) {
    guard case .member(let member) = self, member.mustChangePassword,
      route.path != API.passwordPath
    else { return }
    throw .passwordChangeRequired
  }
}

extension API {
  static let passwordPath = "/api/v1/auth/password"
}

extension Problem {
  static let passwordChangeRequired = Problem.forbidden(
    "password_change_required",
    "Somebody else has given this password; choose your own first (POST \(API.passwordPath)).")
}
