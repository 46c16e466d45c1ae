/// What the widget calls from customers' pages.
extension API {
  static let widgetRoutes: [Route] = [
    Route(
      "GET", "/api/v1/widget/config", .widget(API.widgetConfig),
      "How the widget of a workspace looks", query: ["workspace"]),
    Route(
      "POST", "/api/v1/widget/token", .widget(API.widgetToken), "A token for a visitor",
      body: "VisitorTokenRequest"),
    Route(
      "PUT", "/api/v1/widget/profile", .visitor(API.updateProfile),
      "What a visitor says about themselves", body: "VisitorProfile"),
    Route(
      "POST", "/api/v1/widget/offline", .widget(API.leaveMessage),
      "Leaves a message for when somebody is there", body: "OfflineMessage", status: 201),
    Route(
      "PUT", "/api/v1/widget/sessions/{id}/rating", .visitor(API.rate), "Rates a conversation",
      body: "Rating", status: 204),
    Route(
      "GET", "/api/v1/widget/sessions/{id}/transcript", .visitor(API.transcript),
      "A conversation as plain text"),
  ]
}
