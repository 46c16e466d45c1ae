/// Push messages to the browser of the caller's login.
extension API {
  private static let pushPath = "/api/v1/auth/push"

  static let pushRoutes: [Route] = [
    Route(
      "GET", pushPath, .member(.agent, nil, PushRoutes.show),
      "Get the key for push messages, and what the caller's login is sent", response: .push),
    Route(
      "PUT", pushPath, .member(.agent, nil, PushRoutes.put),
      "Send push messages to the browser of the caller's login", body: .pushSubscription,
      status: 204),
    Route(
      "DELETE", pushPath, .member(.agent, nil, PushRoutes.delete),
      "Send no more push messages to the browser of the caller's login", status: 204),
  ]
}
