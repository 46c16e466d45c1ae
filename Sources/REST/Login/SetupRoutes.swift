/// The first owner of a gateway, by the one-time link that `chirrup serve` prints while there is no
/// operator (`SetupCode`). Afterwards the route refuses everything.
import Directory
import JSON
import Kernel
import OpenSSL
import Primitives

struct SetupRoutes: RouteGroup {
  let api: API

  /// Creates the owner and the workspace, and logs the owner in.
  func create(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try api.origins.checkNotForeignPage(request)
    // Counted before the check, and uncounted if the code is right.
    try api.logins.setupTries.take(request.peer, request.now)
    guard try await api.database.run(FirstOwner.isMissing) else { throw .alreadySetUp }
    let object = try request.jsonObject()
    let code = try object.requiredString("code", bytesMax: SetupCode.byteCountMax)
    switch SetupCode.check(code, api.options.secrets, now: request.now) {
    case .valid: api.logins.setupTries.giveBack(request.peer)
    case .expired: throw .setupCodeExpired
    case .unknown:
      api.note("setup.refused", isRefusal: true, request)
      throw .wrongSetupCode
    }
    let email = try object.requiredString("email", bytesMax: APILimits.emailBytes)
    guard isEmailAddress(email) else { throw .invalidMember("email", "an e-mail address") }
    let name = try object.requiredString("name", bytesMax: APILimits.nameBytes)
    let workspace = try object.requiredString("workspace", bytesMax: APILimits.nameBytes)
    guard let password = try object.newPassword("password") else { throw .missing("password") }
    if let fault = PasswordPolicy.fault(password, own: [email, name, workspace]) {
      throw .weakPassword(fault).at(object.pointer(to: "password"), reason: fault.rawValue)
    }
    let owner = FirstOwner(
      email: email, name: name, passwordHash: try await api.passwords.hash(password),
      workspace: workspace, workspaceID: .random(at: request.now),
      publicKey: "pk_" + SecureRandom.token(byteCount: 18))
    guard let id = try await api.database.run(owner.create) else { throw .alreadySetUp }
    guard let account = try await api.database.run(Operator.account(FirstOwner.id, workspace: id))
    else { throw .alreadySetUp }
    api.note("setup.done", account: account.member, request)
    return try await LoginRoutes(api).enter(
      account, isWeak: false, factor: nil, device: nil, request)
  }
}

extension Problem {
  static let alreadySetUp = Problem(
    status: 409, type: "already_set_up", title: "Already set up",
    detail: "This gateway has an owner. Log in to the console.")

  static let wrongSetupCode = Problem.forbidden(
    "wrong_setup_code",
    "This link is not one of this gateway. Open the link that it printed when it started.")

  static let setupCodeExpired = Problem.forbidden(
    "setup_code_expired",
    "This link has expired. Restart the gateway, and open the link that it then prints.")
}
