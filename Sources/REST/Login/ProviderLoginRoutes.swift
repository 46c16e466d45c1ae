/// Sign-in with the identity provider of a workspace (OpenID Connect, authorization code with
/// PKCE).
///
/// The console begins here and sends the browser to the provider. The provider sends it back to the
/// console, which sends code and state here: no route redirects, and the answer is that of every
/// login.
import Chat
import Conversations
import Directory
import JSON
import Kernel
import OpenID
import OpenSSL
import Primitives

struct ProviderLoginRoutes: RouteGroup {
  let api: API

  private var login: LoginRoutes { LoginRoutes(api) }

  /// The name of a workspace's provider, for the button.
  func show(_ request: APIRequest) async throws(Problem) -> APIResponse {
    let name = try QueryString(request.query)["workspace"] ?? ""
    let attempt = try countAttempt(request)
    let provider = try await provider(ofWorkspaceNamed: name)
    api.logins.succeed(attempt)
    return .json(
      [UInt8].object { json in
        json.appendMember("label", provider.label)
        json.appendMember("password_login", provider.allowsPasswords)
      })
  }

  /// The address at the provider to which the browser goes.
  func begin(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try api.origins.checkNotForeignPage(request)
    let name = try request.jsonObject().requiredString(
      "workspace", bytesMax: APILimits.nameBytes)
    let attempt = try countAttempt(request)
    let provider = try await provider(ofWorkspaceNamed: name)
    let now = request.now
    let found = try await api.servers.providers.run(for: provider.workspace) {
      (client) throws(ProviderFault) in try client.document(of: provider.issuer, now: now)
    }
    let document: ProviderDocument
    switch found {
    case .success(let found): document = found
    case .failure(let fault):
      throw try await refusal(
        provider.workspace, nil, "provider_failed", detail: fault.sentence, request)
    }
    guard let redirectURI = api.origins.console(request) else { throw .noConsole }
    api.logins.succeed(attempt)
    let state = SignInState(provider, redirectURI: redirectURI, now: now)
    let url = AuthorizationRequest(
      clientID: provider.clientID, redirectURI: redirectURI, state: state.state,
      nonce: state.nonce, verifier: state.verifier, scopes: provider.scopes,
      context: provider.requiredACR
    ).url(at: document.authorizationEndpoint)
    return APIResponse.json([UInt8].object { $0.appendMember("url", url) }).addingCookies([
      state.cookie(api.options.secrets, isSecure: api.origins.isSecure(request))
    ])
  }

  /// The provider's answer, as the console got it in its address.
  func finish(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try api.origins.checkNotForeignPage(request)
    let answer = try ProviderAnswer(try request.jsonObject())
    let attempt = try countAttempt(request)
    guard let state = SignInState(request, api.options.secrets), state.state == answer.state else {
      // Nobody has begun here: a forged or late answer, of which nothing is looked up.
      api.note("login.failed", isRefusal: true, reason: "sign_in_state", request)
      throw .signInExpired
    }
    guard
      let provider = try await api.database.run(IdentityProvider.find(in: state.workspace)),
      provider.isEnabled, provider.issuer == state.issuer, provider.clientID == state.clientID
    else { throw .noProvider }
    let isFirst = try await api.database.run(
      UsedChallenge.note(state.digest, until: state.expiresAt, now: request.now))
    guard isFirst else {
      throw try await refusal(provider.workspace, nil, "sign_in_replayed", request)
    }
    if let error = answer.error {
      throw try await refusal(provider.workspace, nil, "provider_refused", detail: error, request)
    }
    let claims = try await claims(answer, state, provider, request)
    let response = try await enter(claims, provider, request)
    api.logins.succeed(attempt)
    return response.addingCookies([
      SignInState.header("", seconds: 0, isSecure: api.origins.isSecure(request))
    ])
  }

  // MARK: Steps

  private func countAttempt(_ request: APIRequest) throws(Problem) -> LoginAttempt {
    // By address only: strangers cannot use up the attempts of a workspace.
    try login.begin(
      LoginAttempt(
        account: "provider \(request.peer)", device: .stranger(address: request.peer)), nil,
      request)
  }

  private func provider(
    ofWorkspaceNamed name: String
  ) async throws(Problem) -> IdentityProvider {
    let found = try await api.database.run(IdentityProvider.enabled(inWorkspaceNamed: name))
    guard let found else { throw .noProvider }
    return found
  }

  /// The person, after the code was exchanged and the token verified.
  private func claims(
    _ answer: ProviderAnswer, _ state: SignInState, _ provider: IdentityProvider,
    _ request: APIRequest
  ) async throws(Problem) -> IdentityClaims {
    // RFC 9207 §2.4: a code of another provider is not sent to this one.
    if let issuer = answer.issuer, issuer != provider.issuer {
      throw try await refusal(provider.workspace, nil, "answer_issuer", request)
    }
    guard let code = answer.code else { throw .missing("code") }
    let place = IdentityProvider.place(in: provider.workspace, issuer: provider.issuer)
    guard let secret = api.options.secrets.open(provider.secret, place: place) else {
      api.options.report(
        "the secret of an identity provider cannot be decrypted: its credentials_key is not "
          + "configured")
      throw .unavailable
    }
    let client = Registration(
      issuer: provider.issuer, clientID: provider.clientID,
      secret: String(decoding: secret, as: UTF8.self))
    let expected = IDToken.Expectation(
      issuer: provider.issuer, clientID: provider.clientID, nonce: state.nonce,
      context: provider.requiredACR, method: provider.requiredAMR)
    let now = request.now
    let grant = Grant(
      code: code, namesIssuer: answer.issuer != nil, verifier: state.verifier,
      redirectURI: state.redirectURI)
    let result = try await api.servers.providers.run(for: provider.workspace) {
      (requests) throws(SignInFault) in
      try requests.claims(
        for: grant, by: client, expected, groupsClaim: provider.groupsClaim, now: now)
    }
    switch result {
    case .success(let claims): return claims
    case .failure(.token(let fault)):
      throw try await refusal(provider.workspace, nil, fault.rawValue, request)
    case .failure(.provider(let fault)):
      throw try await refusal(
        provider.workspace, nil, "provider_failed", detail: fault.sentence, request)
    }
  }

  private func enter(
    _ claims: IdentityClaims, _ provider: IdentityProvider, _ request: APIRequest
  ) async throws(Problem) -> APIResponse {
    let email = claims.isEmailVerified ? claims.email : nil
    let known = email.flatMap { isEmailAddress($0) ? $0 : nil }
    let signIn = ProviderSignIn(
      workspace: provider.workspace, issuer: provider.issuer, subject: claims.subject,
      email: known, name: provider.name(of: claims, email: known),
      role: try provider.role(of: claims.groups), createsMembers: provider.createsMembers,
      takesRolesBack: provider.takesRolesBack)
    let outcome = try await api.database.run(
      signIn.statement(newID: .random(at: request.now), now: request.now))
    guard [.known, .linked, .created].contains(outcome.verdict), let id = outcome.account else {
      throw try await refusal(
        provider.workspace, outcome.account, outcome.verdict.rawValue, request)
    }
    if outcome.hasNewRole { try await api.disconnect([id]) }
    guard
      let account = try await api.database.run(
        Operator.account(id, workspace: provider.workspace))
    else { throw .wrongCredentials }
    let device = api.devices.device(of: id, request)
    if provider.trustsSecondFactor {
      return try await login.enter(
        account, isWeak: false, factor: .provider, device: device, request)
    }
    if account.hasSecondFactor { return login.secondStep(of: account, request) }
    return try await login.enter(account, isWeak: false, factor: nil, device: device, request)
  }

  /// The problem of a refused sign-in, which the log and the workspace's audit log note.
  private func refusal(
    _ workspace: Identifier, _ account: Identifier?, _ reason: String, detail: String? = nil,
    _ request: APIRequest
  ) async throws(Problem) -> Problem {
    api.note("login.failed", isRefusal: true, workspace: workspace, reason: reason, request)
    try await api.database.run(
      AuditLog.signInFailed(
        in: workspace, account, from: request.client, reason: reason, detail: detail))
    return .signInRefused(reason)
  }
}

/// The parameters of an authorization response (RFC 6749 §4.1.2, RFC 9207 §2).
private struct ProviderAnswer {
  var state: String
  var code: String?
  var error: String?
  var issuer: String?

  init(_ object: JSONObject) throws(Problem) {
    state = try object.requiredString("state", bytesMax: APILimits.secretBytes)
    code = try object.nonEmptyString("code", bytesMax: APILimits.codeOfProviderBytes)
    issuer = try object.string("iss", bytesMax: APILimits.issuerBytes)
    let error = try object.nonEmptyString("error", bytesMax: APILimits.nameBytes)
    // A provider's word such as `access_denied`; any other text is not repeated.
    self.error = error.map { text in
      text.utf8.allSatisfy { $0.isLowercaseASCIILetter || $0 == UInt8(ascii: "_") }
        ? text : "another error"
    }
  }
}

extension IdentityProvider {
  /// The highest role that the groups give; nil: none.
  func role(of groups: [String]) throws(Problem) -> String? {
    let stored = [UInt8].object { $0.appendMember("group_roles", json: groupRoles) }
    guard let object = try? JSONObject(stored) else { throw .internalError }
    let known = Set(groups)
    let roles = try GroupRole.all(object).filter { known.contains($0.group) }.map(\.role)
    return roles.max()?.rawValue ?? defaultRole
  }

  fileprivate func name(of claims: IdentityClaims, email: String?) -> String {
    let name = String((claims.name ?? "").trimmingBlanks)
    guard !name.isEmpty, name.utf8.count <= APILimits.nameBytes, !name.utf8.contains(0) else {
      return email?.split(separator: "@").first.map { String($0) } ?? "Member"
    }
    return name
  }
}

extension Problem {
  static let noProvider = Problem(
    status: 404, type: "no_identity_provider", title: "No single sign-on",
    detail: "No workspace of this name has single sign-on. Check the name, or log in with a "
      + "password.")

  static let noConsole = Problem.conflict(
    "The address of the console is not known. The administrator of the server must set public_url.")

  static let signInExpired = Problem(
    status: 401, type: "sign_in_expired", title: "Sign-in expired",
    detail: "This sign-in was not begun in this browser, or took too long. Begin again.",
    headers: unauthenticated.headers)

  static func signInRefused(_ reason: String) -> Problem {
    let detail =
      switch reason {
      case ProviderSignIn.Verdict.unknown.rawValue, ProviderSignIn.Verdict.noRole.rawValue:
        "You are not a member of this workspace. Ask an owner of it to add you."
      case ProviderSignIn.Verdict.unverified.rawValue:
        "Your identity provider has not confirmed your e-mail address. Confirm it there first."
      case ProviderSignIn.Verdict.elsewhere.rawValue:
        "Your account belongs to another workspace, too. Log in with your password."
      case ProviderSignIn.Verdict.taken.rawValue:
        "Another person of your identity provider uses the account with your e-mail address. Ask "
          + "an owner of the workspace to remove that member."
      case ProviderSignIn.Verdict.disabled.rawValue: "Your account is disabled."
      case ProviderSignIn.Verdict.full.rawValue:
        "The workspace has \(Members.countMax) members, the most it may have."
      case "provider_refused": "Your identity provider refused the sign-in. Try again."
      default:
        "The sign-in with your identity provider has failed. Try again; an owner of the workspace "
          + "finds the reason in the audit log."
      }
    return Problem(
      status: 403, type: reason, title: "Sign-in refused", detail: detail)
  }
}
