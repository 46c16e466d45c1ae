/// Login and logout, and the caller's own account.
extension API {
  static let loginRoutes: [Route] = [
    Route(
      "POST", "/api/v1/auth/login", .open(LoginRoutes.login), "Log an operator in",
      body: .credentialsOfLogin, response: .login, problems: [401, 403, 429]),
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
      disconnects: .caller),
  ]
}
