/// The second factor of the caller's account: an app for one-time codes, and recovery codes
/// (`PasskeyRoutes` has the passkeys). The password is asked again before a change, so that an open
/// console does not suffice.
import Directory
import JSON
import OpenSSL
import Postgres
import Primitives

struct SecondFactorRoutes: RouteGroup {
  let api: API

  func show(_ call: Call) async throws(Problem) -> APIResponse {
    let member = try call.member
    let state = try await api.database.run(
      SecondFactor.state(of: member.id, now: call.request.now))
    let isRequired = try await api.settings(of: call.workspace, now: call.request.now)
      .settings.security.requiresSecondFactor
    let passkeys = try await api.database.rows(Passkey.list(of: member.id))
    let password = try await api.database.run(Operator.passwordHash(of: member.id))
    return .json(
      [UInt8].object { json in
        json.appendMember("enabled", state.secret != nil || passkeys.count > 0)
        json.appendMember("app", state.secret != nil)
        json.appendMember("recovery_codes_left", Int64(state.recoveryDigests.count))
        json.appendMember("required", isRequired)
        json.appendMember("has_password", password != nil)
        json.appendArray("passkeys", 0..<passkeys.count) {
          PasskeyRoutes.passkey.append(passkeys, $0, to: &$1)
        }
      })
  }

  /// A new secret for an app. The account keeps the older one until a code of the new one is
  /// entered.
  func begin(_ call: Call) async throws(Problem) -> APIResponse {
    let member = try call.member
    try await api.confirmIdentity(call)
    let workspace = try await api.database.run(Workspace.withID(member.workspace))?.name ?? ""
    let secret = SecureRandom.bytes(TimeCode.secretBytes)
    let sealed = api.options.secrets.seal(secret, place: SecondFactor.place(of: member.id))
    try await api.database.run(
      SecondFactor.begin(sealed, of: member.id, now: call.request.now))
    let text = Base32.encode(secret)
    let issuer = "Chirrup \(workspace)".percentEncoded()
    var response = APIResponse.json(
      [UInt8].object { json in
        json.appendMember("secret", text)
        json.appendMember(
          "uri",
          "otpauth://totp/\(issuer):\(member.email.percentEncoded())?secret=\(text)"
            + "&issuer=\(issuer)")
      })
    response.repeatable = Array("{}".utf8)
    return response
  }

  /// The first code of a new secret puts it into use.
  func confirm(_ call: Call) async throws(Problem) -> APIResponse {
    let member = try call.member
    let now = call.request.now
    let code = try call.request.jsonObject().requiredString(
      "code", bytesMax: APILimits.codeBytes)
    let attempt = try api.logins.begin(
      LoginAttempt(account: member.id.description, device: .member), now)
    let state = try await api.database.run(SecondFactor.state(of: member.id, now: now))
    guard let pending = state.pending else { throw .nothingPending }
    let step = TimeCode.step(
      of: RecoveryCode.normalForm(code), secret: try api.opened(pending, of: member.id), at: now)
    guard let step else { throw .wrongOwnCode }
    api.logins.succeed(attempt)
    let codes = api.newRecoveryCodes()
    let isConfirmed = try await api.database.run(
      SecondFactor.confirm(
        pending, step: step, recoveryDigests: api.recoveryDigests(codes, of: member.id),
        keptLogin: try api.authenticator.currentLogin(call.request), now: now, by: call.actor))
    guard isConfirmed else { throw .nothingPending }
    return response(codes)
  }

  func replaceRecoveryCodes(_ call: Call) async throws(Problem) -> APIResponse {
    let member = try call.member
    try await api.confirmIdentity(call)
    let codes = api.newRecoveryCodes()
    let isReplaced = try await api.database.run(
      SecondFactor.replaceRecoveryCodes(
        api.recoveryDigests(codes, of: member.id), by: call.actor))
    guard isReplaced else { throw .noSecondFactor }
    return response(codes)
  }

  func remove(_ call: Call) async throws(Problem) -> APIResponse {
    let member = try call.member
    let now = call.request.now
    let code = try call.request.jsonObject().requiredString(
      "code", bytesMax: APILimits.codeBytes)
    let isRequired = try await api.settings(of: call.workspace, now: now)
      .settings.security.requiresSecondFactor
    let hasPasskey = try await api.database.rows(Passkey.list(of: member.id)).count > 0
    guard !isRequired || hasPasskey else { throw .secondFactorIsRequired }
    try await api.confirmIdentity(call)
    let attempt = try api.logins.begin(
      LoginAttempt(account: member.id.description, device: .member), now)
    let factor = try await api.useCode(
      code, of: member.id, workspace: member.workspace, now: now)
    guard factor != nil else { throw .wrongOwnCode }
    api.logins.succeed(attempt)
    switch try await api.database.run(SecondFactor.removeApp(by: call.actor)) {
    case .done: return APIResponse(status: 204)
    case .last: throw .secondFactorIsRequired
    case .none: throw .noSecondFactor
    }
  }

  /// The codes, which are returned once.
  private func response(_ codes: [String]) -> APIResponse {
    var response = APIResponse.json(
      [UInt8].object { $0.appendMember("recovery_codes", texts: codes) })
    response.repeatable = Array("{}".utf8)
    return response
  }
}

extension MemberRoutes {
  /// For a member who has lost the app and the recovery codes.
  func resetSecondFactor(_ call: Call) async throws(Problem) -> APIResponse {
    guard call.id != call.caller.id else { throw .ownSecondFactor }
    switch try await api.database.run(SecondFactor.reset(call.id, by: call.actor)) {
    case .done: return APIResponse(status: 204)
    case .none?: throw .noSecondFactor
    case .shared: throw .sharedSecondFactor
    case nil: throw .noSuchResource
    }
  }
}

extension Problem {
  static let nothingPending = Problem.conflict(
    "No new second factor waits for its first code, or it has waited for too long. Begin again.")

  static let noSecondFactor = Problem.conflict("The account has no second factor.")

  static let ownSecondFactor = Problem.forbidden(
    "own_second_factor",
    "You change your own second factor in your security settings. If you have lost it, another "
      + "owner can reset it.")

  static let sharedSecondFactor = Problem.conflict(
    "This account is also a member of other workspaces. An administrator of the server can reset "
      + "its second factor: chirrup operator reset-second-factor.")

  static let secondFactorIsRequired = Problem.conflict(
    "Your workspace requires a second factor. Set up another app instead: it replaces this one.")

  /// 403 as for a wrong password of a caller who is logged in.
  static let wrongOwnCode = Problem.forbidden(
    "wrong_code", "The code is wrong, has expired or was used before. Enter the current one.")
}
