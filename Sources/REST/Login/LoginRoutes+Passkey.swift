/// Login with a passkey: instead of a password, or as the second step after it.
import Directory
import JSON
import Primitives

extension LoginRoutes {
  /// The options for `navigator.credentials.get()`. Without a first step they name no passkey, so
  /// that they reveal nothing; the browser offers those that it has for this host.
  func passkeyOptions(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try api.origins.checkNotForeignPage(request)
    let step = try await firstStep(request)
    guard let place = api.origins.relyingParty(request) else { throw .noPasskeysHere }
    var known: [Passkey.Descriptor] = []
    if let step {
      known = try await api.database.run(
        Passkey.descriptors(of: step.member.id, relyingParty: place.id))
    }
    let challenge = PasskeyChallenge(now: request.now)
    let token = challenge.sealed(api.options.secrets, for: .login)
    return .json(
      [UInt8].object { json in
        json.appendMember("challenge", token)
        json.appendObject("public_key") {
          PasskeyOptions.login(host: place.id, known, challenge, to: &$0)
        }
      })
  }

  func loginWithPasskey(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try api.origins.checkNotForeignPage(request)
    let object = try request.jsonObject()
    let token = try object.requiredString("challenge", bytesMax: APILimits.challengeBytes)
    let workspace = try object.string("workspace", bytesMax: APILimits.nameBytes)
    guard let credential = try object.nested("credential") else { throw .missing("credential") }
    let response = try PasskeyResponse(credential)
    let step = try await firstStep(request)
    guard let place = api.origins.relyingParty(request) else { throw .noPasskeysHere }
    guard
      let challenge = PasskeyChallenge(token, api.options.secrets, for: .login, now: request.now)
    else { throw .passkeyRequestExpired }
    let passkey = try await api.database.run(
      Passkey.find(credentialID: response.id, relyingParty: place.id))
    var account = step
    if let passkey, step == nil {
      account = try await api.database.run(
        Operator.account(passkey.account, workspaceName: workspace))
    }
    let device = account.flatMap { api.devices.device(of: $0.member.id, request) }
    let attempt = try begin(
      LoginAttempt(
        account: account?.member.id.description ?? "unknown passkey",
        device: device.map { .known($0) } ?? .stranger(address: request.peer)),
      account?.member, request)
    let expected = PasskeyExpectation(challenge: challenge.bytes, relyingParty: place)
    let fault = try await fault(
      of: response, passkey, account?.member, expected, challenge, isFirstStep: step == nil, request
    )
    if let fault {
      try await fail(account?.member, reason: fault.rawValue, request)
      throw .wrongPasskey
    }
    guard let account else { throw .wrongPasskey }
    api.logins.succeed(attempt)
    if step == nil { try await checkNeedsNoProvider(account, request) }
    return try await enter(account, isWeak: false, factor: .passkey, device: device, request)
  }

  /// Nil if the passkey is one of the account's, and the challenge is now used up.
  private func fault(
    of response: PasskeyResponse, _ passkey: Passkey?, _ member: Operator?,
    _ expected: PasskeyExpectation, _ challenge: PasskeyChallenge, isFirstStep: Bool,
    _ request: APIRequest
  ) async throws(Problem) -> PasskeyFault? {
    guard let passkey else { return .unknown }
    guard passkey.account == member?.id else { return .wrongAccount }
    switch try response.proven(by: passkey, expected, isFirstStep: isFirstStep) {
    case .failure(let fault): return fault
    case .success(let data):
      let use = try await api.database.run(
        passkey.use(
          challenge: challenge.digest, expiry: challenge.expiresAt, signCount: data.signCount,
          isSynced: data.isSynced, now: request.now))
      switch use {
      case .done: return nil
      case .replayed: return .replayed
      case .counter: return .counter
      }
    }
  }

  /// The account of the first step, by the member `login` of the body; nil if there was none.
  private func firstStep(_ request: APIRequest) async throws(Problem) -> Operator.Account? {
    let text = try request.jsonObject().string("login", bytesMax: APILimits.challengeBytes)
    guard let text else { return nil }
    return try await account(of: text, request)
  }

  /// The account of a challenge that the first step of a login has given.
  func account(
    of text: String, _ request: APIRequest
  ) async throws(Problem) -> Operator.Account {
    guard let challenge = LoginChallenge(text, api.options.secrets, now: request.now),
      let account = try await api.database.run(
        Operator.account(challenge.account, workspace: challenge.workspace)),
      account.member.credential == challenge.credential
    else { throw .challengeExpired }
    return account
  }
}
