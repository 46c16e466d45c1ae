/// Links for passwords: for those who have forgotten theirs, and for invited members. The link
/// leads to a page without scripts; its secret is in the path, which no log has.
import Directory
import Mail
import OpenSSL
import Primitives

struct PasswordLinkRoutes: RouteGroup {
  let api: API

  /// The answer and the work are the same whether there is such an account.
  func request(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try api.origins.checkNotForeignPage(request)
    try api.logins.passwordLinks.take(request.peer, request.now)
    let email = try request.jsonObject().requiredString("email", bytesMax: APILimits.emailBytes)
    guard api.options.mailFrom != nil else { throw .noMail }
    let account = try await api.database.run(PasswordLinks.account(email: email))
    do throws(Problem) {
      try await send(
        .passwordReset, to: account, seconds: MailOutbox.resetSeconds, now: request.now)
    } catch {
      // A fault that only accounts can have must not show; that of the database shows for all.
      guard error.status == 429 || error.type == Problem.noMailAddress.type else { throw error }
    }
    return .json(Array("{}".utf8), status: 202)
  }

  /// Sends an invitation to a new member.
  func invite(_ email: String, now: WallTime) async throws(Problem) {
    let account = try await api.database.run(PasswordLinks.account(email: email))
    try await send(.invitation, to: account, seconds: MailOutbox.invitationSeconds, now: now)
  }

  private func send(
    _ kind: MailKind, to account: PasswordLinks.Account?, seconds: Int64, now: WallTime
  ) async throws(Problem) {
    let secret = SecureRandom.token()
    // Without an account the same statements find nothing.
    let id = account?.id ?? .zero
    let workspace = account?.workspace ?? .zero
    try await api.database.run(
      PasswordLinks.add(secretHash(secret), account: id, workspace: workspace, seconds: seconds))
    let mail = try await api.mailSender(of: workspace, now: now)
    guard let account else { return }
    guard let to = MailAddress(account.email, name: account.name) else { throw .noMailAddress }
    let url = (api.options.publicURL ?? "") + API.passwordLinkPath + secret
    let (subject, words, button, end): (String, String, String, String)
    if kind == .invitation {
      subject = "You are invited to \(account.workspaceName)"
      words =
        "You can answer the visitors of \(account.workspaceName) in Chirrup. "
        + "Set a password to begin."
      (button, end) = ("Set a password", "The link counts once, for 7 days.")
    } else {
      subject = "A new password"
      words = "Somebody, probably you, has requested a new password for your account."
      (button, end) = (
        "Set a new password",
        "The link counts once, for 30 minutes. If it was not you, nothing has to be done."
      )
    }
    var content = MailContent(
      to: to, subject: subject,
      letter: Letter(
        brand: account.workspaceName,
        parts: [
          .words("Hello \(account.name.trimmingBlanks),"), .words(words),
          .button(button, url: url), .words(end),
        ]))
    // The gateway's own address: such a message must not depend on a workspace's settings.
    content.fromName = mail.brand
    _ = try await api.queue(content, kind, account.workspace, now: now)
  }

  // MARK: The page

  func show(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try api.logins.passwordLinks.take(request.peer, request.now)
    guard let account = try await account(request) else { return ended }
    return form(account)
  }

  func set(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try api.origins.checkNotForeignPage(request)
    try api.logins.passwordLinks.take(request.peer, request.now)
    guard let account = try await account(request) else { return ended }
    let password = try password(request)
    guard password.unicodeScalars.count >= PasswordPolicy.charactersMin else {
      return form(
        account, fault: "The password needs at least \(PasswordPolicy.charactersMin) characters.")
    }
    let own = [account.email, account.name, account.workspaceName]
    if let fault = PasswordPolicy.fault(password, own: own) {
      return form(account, fault: "The password \(fault.rawValue)")
    }
    let hash = try await api.passwords.hash(password)
    let id = try await api.database.run(
      PasswordLinks.use(secretHash(secret(request)), passwordHash: hash))
    guard let id else { return ended }
    try await api.disconnect([id])
    api.note("password.changed", workspace: account.workspace, reason: "link", request)
    return MailPage.response(
      title: "The password is set",
      "<p>All logins of your account have ended.</p><p><a href=\"/console\">Log in</a></p>")
  }

  private func secret(_ request: APIRequest) -> String {
    String(request.path.dropFirst(API.passwordLinkPath.utf8.count))
  }

  private func account(
    _ request: APIRequest
  ) async throws(Problem) -> PasswordLinks.Account? {
    let secret = secret(request)
    guard secret.utf8.count <= APILimits.secretBytes else { return nil }
    return try await api.database.run(PasswordLinks.account(tokenHash: secretHash(secret)))
  }

  private func password(_ request: APIRequest) throws(Problem) -> String {
    let fields = String(decoding: request.body, as: UTF8.self)
    guard let password = try QueryString(fields)["password"],
      password.utf8.count <= APILimits.passwordBytes
    else { throw .missing("password") }
    return password
  }

  private var ended: APIResponse {
    MailPage.response(
      status: 404, title: "This link has ended",
      "<p>It counts once, and for a short time. Request a new one at the log-in.</p>")
  }

  private func form(_ account: PasswordLinks.Account, fault: String? = nil) -> APIResponse {
    let text = fault.map { "<p class=\"fault\" role=\"alert\">\(Letter.escaped($0))</p>" } ?? ""
    return MailPage.response(
      status: fault == nil ? 200 : 422, title: "Set a password",
      """
      <p>For \(Letter.escaped(account.email))</p>\(text)<form method="post">\
      <input type="email" name="user" value="\(Letter.escaped(account.email))" \
      autocomplete="username" hidden><label for="password">New password</label>\
      <input id="password" name="password" type="password" autocomplete="new-password" required \
      minlength="\(PasswordPolicy.charactersMin)" maxlength="1000" autofocus>\
      <button>Set password</button></form>
      """)
  }
}
