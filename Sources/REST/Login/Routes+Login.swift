/// Logging in and out of the console.
extension API {
  static let loginRoutes: [Route] = [
    Route(
      "POST", "/api/v1/auth/login", .open(LoginRoutes.login), "Logs an operator in",
      body: .credentialsOfLogin, answer: .login, problems: [401, 403, 429]),
    Route(
      "POST", "/api/v1/auth/token", .open(LoginRoutes.renewToken),
      "A new token for the socket, by the console's cookie", answer: .login, problems: [401, 403],
      needsCookie: true),
    Route(
      "POST", "/api/v1/auth/logout", .open(LoginRoutes.logout),
      "Ends the login of the cookie, or of the bearer token", status: 204,
      problems: [401, 403, 409]),
    Route(
      "GET", "/api/v1/auth/me", .member(.agent, nil, LoginRoutes.showMe),
      "Who is logged in, and where",
      answer: .me),
    Route(
      "POST", passwordPath, .member(.agent, nil, LoginRoutes.changePassword),
      "Changes the caller's own password", body: .passwordChange, status: 204, shutsOut: .caller),
  ]
}
