/// What the widget calls from customers' pages.
extension API {
  static let widgetRoutes: [Route] = [
    Route(
      "GET", "/api/v1/widget/config", .widget(WidgetRoutes.widgetConfig),
      "How the widget of a workspace looks", query: .workspace, answer: .widgetConfig),
    Route(
      "POST", "/api/v1/widget/token", .widget(WidgetRoutes.widgetToken), "A token for a visitor",
      body: .visitorTokenRequest, answer: .visitorToken),
    Route(
      "PUT", "/api/v1/widget/profile", .visitor(WidgetRoutes.updateProfile),
      "What a visitor says about themselves", body: .visitorProfile, answer: .profileAnswer),
    Route(
      "POST", "/api/v1/widget/offline", .widget(WidgetRoutes.leaveMessage),
      "Leaves a message for when somebody is there", body: .offlineMessage, status: 201,
      answer: .openedSession),
    Route(
      "PUT", "/api/v1/widget/sessions/{id}/rating", .visitor(WidgetRoutes.rate),
      "Rates a conversation",
      body: .ratingInput, status: 204),
    Route(
      "GET", "/api/v1/widget/sessions/{id}/transcript", .visitor(WidgetRoutes.transcript),
      "A conversation as plain text", type: "text/plain"),
  ]
}
