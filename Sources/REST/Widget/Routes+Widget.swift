/// The routes of the widget, which pages of other websites call.
extension API {
  static let widgetRoutes: [Route] = [
    Route(
      "GET", "/api/v1/widget/config", .widget(WidgetRoutes.widgetConfig),
      "Get the widget's configuration", query: .workspace, response: .widgetConfig),
    Route(
      "POST", "/api/v1/widget/token", .widget(WidgetRoutes.widgetToken),
      "Get a visitor's token and conversation", body: .visitorTokenRequest,
      response: .visitorToken),
    Route(
      "PUT", "/api/v1/widget/profile", .visitor(WidgetRoutes.updateProfile),
      "Change the visitor's own profile", body: .visitorProfile, response: .profileAnswer),
    Route(
      "PUT", "/api/v1/widget/page", .visitor(WidgetRoutes.visitPage),
      "Send the page that the visitor has opened", body: .visitedPage, status: 204),
    Route(
      "POST", "/api/v1/widget/offline", .widget(WidgetRoutes.leaveMessage),
      "Leave a message with the offline form", body: .offlineMessage, status: 201,
      response: .openedSession),
    Route(
      "PUT", "/api/v1/widget/sessions/{id}/rating", .visitor(WidgetRoutes.rate),
      "Rate a conversation", body: .ratingInput, status: 204),
    Route(
      "GET", "/api/v1/widget/sessions/{id}/transcript", .visitor(WidgetRoutes.transcript),
      "Get a conversation as plain text", type: "text/plain", isExpensive: true),
  ]
}
