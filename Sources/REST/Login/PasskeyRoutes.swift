/// The passkeys of the caller's account. The password is asked again before one is added or
/// removed, so that an open console does not suffice.
import Directory
import JSON
import OpenSSL
import Primitives

struct PasskeyRoutes: RouteGroup {
  let api: API

  static let passkey = RowShape([
    ("id", .id), ("name", .text), ("host", .text), ("synced", .bool), ("created_at", .time),
    ("last_used_at", .optional(.time)),
  ])

  /// The options of a new passkey, for `navigator.credentials.create()`.
  func begin(_ call: Call) async throws(Problem) -> APIResponse {
    let member = try call.member
    guard let place = api.origins.relyingParty(call.request) else { throw .noPasskeysHere }
    try await api.confirmIdentity(call)
    let workspace = try await api.database.run(Workspace.withID(member.workspace))?.name ?? ""
    let known = try await api.database.run(
      Passkey.descriptors(of: member.id, relyingParty: place.id))
    let challenge = PasskeyChallenge(now: call.request.now)
    let token = challenge.sealed(api.options.secrets, for: .registration(of: member.id))
    return .json(
      [UInt8].object { json in
        json.appendMember("challenge", token)
        json.appendObject("public_key") {
          PasskeyOptions.creation(
            of: member, workspace: workspace, host: place.id, known, challenge, to: &$0)
        }
      })
  }

  /// Stores the new passkey; the account's first factor gives it recovery codes.
  func confirm(_ call: Call) async throws(Problem) -> APIResponse {
    let member = try call.member
    let now = call.request.now
    let object = try call.request.jsonObject()
    let token = try object.requiredString("challenge", bytesMax: APILimits.challengeBytes)
    let name = try object.requiredString("name", bytesMax: APILimits.passkeyNameBytes)
    guard let credential = try object.nested("credential") else { throw .missing("credential") }
    let response = try PasskeyResponse(credential)
    guard let place = api.origins.relyingParty(call.request) else { throw .noPasskeysHere }
    guard
      let challenge = PasskeyChallenge(
        token, api.options.secrets, for: .registration(of: member.id), now: now)
    else { throw .registrationExpired }
    let expected = PasskeyExpectation(challenge: challenge.bytes, relyingParty: place)
    let new: Passkey.New
    switch try response.registered(expected, name: name) {
    case .success(let passkey): new = passkey
    case .failure(let fault):
      api.note(
        "passkey.refused", isRefusal: true, account: member, reason: fault.rawValue, call.request)
      throw .wrongNewPasskey
    }
    let codes = api.newRecoveryCodes()
    let added = try await api.database.run(
      Passkey.add(
        new, recoveryDigests: api.recoveryDigests(codes, of: member.id),
        keptLogin: try api.authenticator.currentLogin(call.request), now: now, by: call.actor))
    switch added {
    case .first(let id): return answer(id, codes)
    case .further(let id): return answer(id, [])
    case .refused: throw .passkeyNotAdded
    }
  }

  /// The recovery codes are returned once.
  private func answer(_ id: Identifier, _ codes: [String]) -> APIResponse {
    var response = APIResponse.json(
      [UInt8].object { json in
        json.appendMember("id", id)
        if !codes.isEmpty { json.appendMember("recovery_codes", texts: codes) }
      }, status: 201)
    response.repeatable = [UInt8].object { $0.appendMember("id", id) }
    return response
  }

  func remove(_ call: Call) async throws(Problem) -> APIResponse {
    try await api.confirmIdentity(call)
    switch try await api.database.run(Passkey.remove(call.id, by: call.actor)) {
    case .done: return APIResponse(status: 204)
    case .last: throw .secondFactorIsRequired
    case .none: throw .noSuchResource
    }
  }
}

extension API {
  /// An account without a password confirms itself by a login within this time.
  private static let recentSeconds: Int64 = 600

  /// Checks that the caller is the account's owner: by the member `current` of the body, the
  /// password, or, if the account has none, by a recent login.
  func confirmIdentity(_ call: Call) async throws(Problem) {
    let member = try call.member
    let current = try call.request.jsonObject().string(
      "current", bytesMax: APILimits.passwordBytes)
    let hash = try await database.run(Operator.passwordHash(of: member.id))
    guard let hash else {
      let since = call.request.now.advanced(bySeconds: -API.recentSeconds)
      guard let login = try authenticator.currentLogin(call.request),
        try await database.run(OperatorSession.began(tokenHash: login, since: since))
      else { throw .loginTooOld }
      return
    }
    guard let current else { throw .passwordNeeded }
    let attempt = try logins.begin(
      LoginAttempt(account: member.id.description, device: .member), call.request.now)
    guard try await passwords.verify(current, against: hash, isKnown: true) else {
      throw .wrongPassword
    }
    logins.succeed(attempt)
  }

  func newRecoveryCodes() -> [String] {
    (0..<SecondFactor.recoveryCodes).map { _ in RecoveryCode.random() }
  }

  func recoveryDigests(_ codes: [String], of account: Identifier) -> [[UInt8]] {
    codes.map {
      options.secrets.digest(
        of: SecondFactor.recoveryText(RecoveryCode.normalForm($0), of: account))
    }
  }
}

/// The options for the browser as JSON (WebAuthn §5.4 and §5.5, in the forms of §5.1.8 and §5.1.9).
enum PasskeyOptions {
  private static let milliseconds = PasskeyChallenge.seconds * 1_000

  static func creation(
    of member: Operator, workspace: String, host: String, _ known: [Passkey.Descriptor],
    _ challenge: PasskeyChallenge, to json: inout [UInt8]
  ) {
    json.appendObject("rp") {
      $0.appendMember("id", host)
      $0.appendMember("name", "Chirrup \(workspace)")
    }
    json.appendObject("user") {
      $0.appendMember("id", Base64.url.encode(PasskeyResponse.userHandle(of: member.id)))
      $0.appendMember("name", member.email)
      $0.appendMember("displayName", member.name)
    }
    json.appendMember("challenge", Base64.url.encode(challenge.bytes))
    json.appendArray("pubKeyCredParams", SignatureAlgorithm.allCases) { algorithm, json in
      json += [UInt8].object {
        $0.appendMember("type", "public-key")
        $0.appendMember("alg", algorithm.rawValue)
      }
    }
    json.appendMember("timeout", milliseconds)
    json.appendMember("attestation", "none")
    json.appendObject("authenticatorSelection") {
      $0.appendMember("residentKey", "required")
      $0.appendMember("requireResidentKey", true)
      $0.appendMember("userVerification", "required")
    }
    append(known, "excludeCredentials", to: &json)
  }

  /// - Parameter known: the passkeys that may be used; empty: any.
  static func login(
    host: String, _ known: [Passkey.Descriptor], _ challenge: PasskeyChallenge,
    to json: inout [UInt8]
  ) {
    json.appendMember("challenge", Base64.url.encode(challenge.bytes))
    json.appendMember("rpId", host)
    json.appendMember("timeout", milliseconds)
    json.appendMember("userVerification", "required")
    append(known, "allowCredentials", to: &json)
  }

  private static func append(
    _ known: [Passkey.Descriptor], _ name: StaticString, to json: inout [UInt8]
  ) {
    json.appendArray(name, known) { passkey, json in
      json += [UInt8].object {
        $0.appendMember("type", "public-key")
        $0.appendMember("id", Base64.url.encode(passkey.credentialID))
        $0.appendMember("transports", texts: passkey.transports)
      }
    }
  }
}

extension Problem {
  static let loginTooOld = Problem.forbidden(
    "login_too_old",
    "Your account has no password, so this requires a login within the last 10 minutes. Log in "
      + "again.")

  /// 409: whether the body needs it depends on the account.
  static let passwordNeeded = Problem.conflict(
    "Your account has a password. Send it as the member “current”.")

  static let passkeyNotAdded = Problem.conflict(
    "This passkey is registered already, or the account has \(Passkey.countMax) passkeys, the most "
      + "it may have. Remove one first.")
}
