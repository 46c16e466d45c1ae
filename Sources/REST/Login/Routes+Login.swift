/// Login and logout, and the caller's own account.
extension API {
  private static let sessionsPath = "/api/v1/auth/sessions"
  private static let passkeysPath = "\(secondFactorPath)/passkeys"

  static let loginRoutes: [Route] = [
    Route(
      "POST", "/api/v1/auth/login", .open(LoginRoutes.login), "Log an operator in",
      body: .credentialsOfLogin, response: .loginStep, problems: [401, 403, 429]),
    Route(
      "POST", "/api/v1/auth/login/code", .open(LoginRoutes.loginWithCode),
      "Enter the code of the second factor, the second step of a login", body: .loginCode,
      response: .login, problems: [401, 403, 429]),
    Route(
      "POST", "/api/v1/auth/login/passkey/options", .open(LoginRoutes.passkeyOptions),
      "Get the options for a login with a passkey", body: .passkeyLoginBegin,
      response: .passkeyOptions, problems: [401, 403, 409]),
    Route(
      "POST", "/api/v1/auth/login/passkey", .open(LoginRoutes.loginWithPasskey),
      "Log in with a passkey, instead of a password or as the second step",
      body: .passkeyLogin, response: .login, problems: [401, 403, 409, 429]),
    Route(
      "GET", SignInState.path, .open(ProviderLoginRoutes.show),
      "Get the name of a workspace's identity provider",
      query: [QueryParameter(name: "workspace", schema: .line(0...APILimits.nameBytes))],
      response: .providerButton, problems: [404, 429]),
    Route(
      "POST", "\(SignInState.path)/begin", .open(ProviderLoginRoutes.begin),
      "Begin a sign-in with the identity provider: get the address for the browser",
      body: .providerBegin, response: .providerAddress, problems: [403, 404, 409, 429]),
    Route(
      "POST", "\(SignInState.path)/finish", .open(ProviderLoginRoutes.finish),
      "Finish a sign-in with the answer of the identity provider", body: .providerAnswer,
      response: .loginStep, problems: [401, 403, 404, 429]),
    Route(
      "POST", "/api/v1/auth/setup", .open(SetupRoutes.create),
      "Create the first owner and workspace of a gateway without operators, and log them in",
      body: .setup, response: .login, problems: [403, 409, 429]),
    Route(
      "POST", "/api/v1/auth/token", .open(LoginRoutes.renewToken),
      "Get a new token for the WebSocket with the console's cookie", response: .login,
      problems: [401, 403], needsCookie: true),
    Route(
      "POST", "/api/v1/auth/logout", .open(LoginRoutes.logout),
      "End the login of the cookie or of the bearer token", status: 204,
      problems: [401, 403, 409]),
    Route(
      "GET", "/api/v1/auth/me", .member(.agent, nil, LoginRoutes.showMe),
      "Get the caller's account and workspace", response: .me),
    Route(
      "POST", passwordPath, .member(.agent, nil, LoginRoutes.changePassword),
      "Change the caller's own password", body: .passwordChange, status: 204,
      disconnects: .caller, event: "password.changed"),
    Route(
      "GET", secondFactorPath, .member(.agent, nil, SecondFactorRoutes.show),
      "Get whether the caller's account has a second factor", response: .secondFactor),
    Route(
      "POST", "\(secondFactorPath)/app", .member(.agent, nil, SecondFactorRoutes.begin),
      "Get a new secret for an app; it counts from its first code on", body: .currentPassword,
      response: .newSecondFactor),
    Route(
      "POST", "\(secondFactorPath)/app/confirm", .member(.agent, nil, SecondFactorRoutes.confirm),
      "Enter the first code of the new secret; ends the account's other logins", body: .newCode,
      response: .recoveryCodes, disconnects: .caller, event: "second_factor.added"),
    Route(
      "POST", "\(secondFactorPath)/recovery-codes",
      .member(.agent, nil, SecondFactorRoutes.replaceRecoveryCodes),
      "Replace the recovery codes", body: .currentPassword, response: .recoveryCodes,
      event: "recovery_codes.replaced"),
    Route(
      "POST", "\(secondFactorPath)/remove", .member(.agent, nil, SecondFactorRoutes.remove),
      "Remove the second factor of the caller's account", body: .secondFactorRemoval, status: 204,
      event: "second_factor.removed"),
    Route(
      "POST", passkeysPath, .member(.agent, nil, PasskeyRoutes.begin),
      "Get the options of a new passkey", body: .currentPassword, response: .passkeyOptions),
    Route(
      "POST", "\(passkeysPath)/confirm", .member(.agent, nil, PasskeyRoutes.confirm),
      "Add a new passkey; the account's first factor ends its other logins", body: .newPasskey,
      status: 201, response: .addedPasskey, disconnects: .caller, event: "passkey.added"),
    Route(
      "POST", "\(passkeysPath)/{id}/remove", .member(.agent, nil, PasskeyRoutes.remove),
      "Remove a passkey of the caller's account", body: .currentPassword, status: 204,
      event: "passkey.removed"),
    Route(
      "GET", sessionsPath, .member(.agent, nil, LoginSessionRoutes.listSessions),
      "List the logins of the caller's account, this one first", response: .loginSessions),
    Route(
      "DELETE", "\(sessionsPath)/{id}", .member(.agent, nil, LoginSessionRoutes.endSession),
      "End a login of the caller's account", status: 204, disconnects: .caller,
      event: "login.ended"),
    Route(
      "POST", "\(sessionsPath)/end-others",
      .member(.agent, nil, LoginSessionRoutes.endOtherSessions),
      "End all logins of the caller's account except this one", response: .endedSessions,
      disconnects: .caller, event: "login.others_ended"),
  ]
}
