/// Schemas of members, tags, credentials, API keys, the audit log and the caller's account.
import Directory

extension Schema {
  private static let member = MemberRoutes.member.schema.named("Member")
  static let members = page("members", of: member).named("Members")
  static let oneMember = object(["member": member]).named("MemberAnswer")
  static let newMember = input(
    ["email": email, "name": name],
    optional: [
      "role": role,
      "invite": bool.described(
        "Send a link for a password by e-mail; needs a mail server (409 without)."),
      "password": password.described(
        "Must be changed at the first login. Without one the member cannot log in. An API key "
          + "cannot set it (403)."
      ),
    ]
  ).named("NewMember")
  static let memberPatch = input(optional: [
    "name": name, "role": role, "disabled": bool,
    "password": password.described(
      "Must be changed at the next login. Not your own, and not with an API key (403)."
    ),
  ]).named("MemberPatch")

  /// See `tagName`.
  static let tagName = string(
    1...APILimits.tagBytes,
    pattern: #"^[^\x00-\x20/\\\x7f]([^\x00-\x1f/\\\x7f]{0,48}[^\x00-\x20/\\\x7f])?$"#)
  private static let tag = TagRoutes.tag.schema.named("Tag")
  static let tags = page("tags", of: tag).named("Tags")
  static let oneTag = object(["tag": tag]).named("TagAnswer")
  static let tagChange = input(optional: ["colour": colour]).named("TagChange")

  private static let credential = CredentialRoutes.credential.schema.named("Credential")
  static let credentials = page("credentials", of: credential).named("Credentials")
  static let oneCredential = object(["credential": credential]).named("CredentialAnswer")
  static let provider = string(1...64, pattern: "^[a-z][a-z0-9_-]{0,63}$")
  private static let credentialName = string(1...100, pattern: #"^[^\x00-\x1f\x7f]+$"#)
  static let credentialChange = input(
    ["secret": string(1...APILimits.credentialBytes)], optional: ["name": credentialName]
  ).named("CredentialChange")

  private static let apiKey = APIKeyRoutes.apiKey.schema.named("Key")
  static let apiKeys = page("api_keys", of: apiKey).named("Keys")
  static let madeKey = object(
    ["api_key": apiKey],
    sometimes: ["key": string(pattern: "^ck_").described("The key; only in the first response.")]
  ).named("KeyAnswer")
  static let newKey = input(
    [
      "name": string(1...APILimits.keyNameBytes),
      "scopes": array(
        of: word(KeyScope.allCases.map(\.rawValue)), 0...KeyScope.allCases.count),
    ], optional: ["expires_at": moment]
  ).named("NewKey")

  private static let identitySecret = IdentitySecretRoutes.identitySecret.schema
    .named("IdentitySecret")
  static let identitySecrets = page("identity_secrets", of: identitySecret)
    .named("IdentitySecrets")
  static let madeIdentitySecret = object(
    ["identity_secret": identitySecret],
    sometimes: [
      "secret": string(pattern: "^is_").described("The secret; only in the first response.")
    ]
  ).named("IdentitySecretAnswer")
  static let newIdentitySecret = input(
    optional: ["overlap_hours": int(0...IdentitySecrets.overlapHoursMax)]
  ).named("NewIdentitySecret")

  static let auditLog = page("audit_log", of: SettingsRoutes.auditEntry.schema.named("AuditEntry"))
    .named("AuditLog")

  private static let account: [String: Schema] = [
    "operator": object(["id": id, "name": text, "email": text, "role": role]),
    "workspace": object(["id": id, "name": text, "public_key": text]),
  ]
  static let me = object(account).named("Account")
  static let login = object(
    account.merging([
      "token": text, "expires_at": time,
      "must_change_password": bool.described(
        "If true, other requests are refused until it is changed."),
      "must_add_second_factor": bool.described(
        "If true, other requests are refused until a second factor is set up."),
    ]) { first, _ in first }
  ).named("Login")
  /// The response to a login with a password.
  static let loginStep = any(of: [
    login,
    object([
      "challenge": text.described(
        "The account has a second factor: send it with a code to /api/v1/auth/login/code, or as "
          + "`login` with a passkey to /api/v1/auth/login/passkey."),
      "methods": array(of: word(["code", "passkey", "recovery_code"]))
        .described("The second steps that the account has."),
    ]).named("LoginChallenge"),
  ])
  private static let code = string(1...APILimits.codeBytes)
  static let loginCode = input([
    "challenge": string(0...APILimits.challengeBytes),
    "code": code.described("A code of the app, or a recovery code. Each is accepted once."),
  ]).named("LoginCode")
  static let secondFactor = object([
    "enabled": bool.described("Whether a password alone is not enough."),
    "app": bool, "recovery_codes_left": count,
    "passkeys": array(of: passkey),
    "has_password": bool.described(
      "False for members who log in with single sign-on only: their changes need a recent login."),
    "required": bool.described("Whether the workspace requires one."),
  ]).named("SecondFactor")
  static let currentPassword = input(optional: [
    "current": string(1...APILimits.passwordBytes).described(
      "The caller's password. An account without one needs a login within the last 10 minutes.")
  ]).named("CurrentPassword")
  static let newCode = input(["code": code]).named("NewCode")
  static let secondFactorRemoval = input(
    ["code": code], optional: ["current": string(1...APILimits.passwordBytes)]
  ).named("SecondFactorRemoval")
  static let newSecondFactor = object(
    sometimes: [
      "secret": text.described("In base32 (RFC 4648 §6); only in the first response."),
      "uri": text.described("The same for a QR code: otpauth://totp/…"),
    ]
  ).named("NewSecondFactor")
  static let recoveryCodes = object(
    sometimes: ["recovery_codes": array(of: text).described("Only in the first response.")]
  ).named("RecoveryCodes")
  static let credentialsOfLogin = input(
    [
      "email": string(0...APILimits.emailBytes),
      "password": string(0...APILimits.passwordBytes),
    ], optional: ["workspace": string(0...APILimits.nameBytes)]
  ).named("LoginRequest")
  static let setup = input([
    "code": string(1...SetupCode.byteCountMax).described(
      "The code in the link that `chirrup serve` prints while there is no operator."),
    "email": email, "name": string(1...APILimits.nameBytes), "password": password,
    "workspace": string(1...APILimits.nameBytes).described("The name of the workspace."),
  ]).named("Setup")
  static let loginSessions = object([
    "sessions": array(of: LoginSessionRoutes.session.schema.named("LoginSession"))
  ]).named("LoginSessions")
  static let endedSessions = object([
    "ended": count.described("The number of logins that were ended.")
  ]).named("EndedSessions")
  static let passwordChange = input([
    "current": string(1...APILimits.passwordBytes), "new": password,
  ]).named("PasswordChange")
}
