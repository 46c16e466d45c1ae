/// Logging in and out of the console.
extension API {
  static let loginRoutes: [Route] = [
    Route(
      "POST", "/api/v1/auth/login", .open(API.login), "Logs an operator in", body: "Credentials"),
    Route(
      "POST", "/api/v1/auth/token", .open(API.renewToken),
      "A new token for the socket, by the console's cookie"),
    Route("POST", "/api/v1/auth/logout", .open(API.logout), "Ends the login", status: 204),
    Route(
      "GET", "/api/v1/auth/me", .member(.agent, nil, API.showMe), "Who is logged in, and where"),
    Route(
      "POST", "/api/v1/auth/password", .member(.agent, nil, API.changePassword),
      "Changes the caller's own password", body: "PasswordChange", status: 204),
  ]
}
