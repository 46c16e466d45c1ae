/// The routes for visitors who have a page open now, and for proactive messages.
extension API {
  static let watchingRoutes: [Route] = [
    Route(
      "POST", "/api/v1/widget/visit", .widget(WatchRoutes.visit),
      "Send which page a visitor has open", body: .beacon, response: .beaconAnswer),
    Route(
      "GET", "\(admin)/live-chat/visitors",
      .member(.agent, .visitorsRead, WatchRoutes.listVisitors),
      "List who is on the site now",
      query: WatchRoutes.listQuery, response: .presentVisitors, isExpensive: true),
    Route(
      "GET", "\(admin)/live-chat/visitors/{id}",
      .member(.agent, .visitorsRead, WatchRoutes.showVisitor),
      "Get somebody who is on the site now, with the trail of pages", response: .presentVisitor),
    Route(
      "POST", "\(admin)/live-chat/visitors/{id}/conversation",
      .member(.agent, .conversationsWrite, WatchRoutes.startConversation),
      "Begin a conversation with somebody who is on the site", body: .firstWords, status: 201,
      response: .oneConversation),
    Route(
      "GET", "\(admin)/proactive-messages",
      .member(.agent, .settingsRead, ProactiveRoutes.listMessages),
      "List the proactive messages, oldest first", query: .page, response: .proactiveMessages),
    Route(
      "POST", "\(admin)/proactive-messages",
      .member(.admin, .settingsWrite, ProactiveRoutes.addMessage), "Add a proactive message",
      body: .newProactiveMessage, status: 201, response: .oneProactiveMessage),
    Route(
      "PATCH", "\(admin)/proactive-messages/{id}",
      .member(.admin, .settingsWrite, ProactiveRoutes.changeMessage),
      "Change a proactive message", body: .proactiveMessagePatch,
      response: .oneProactiveMessage),
    Route(
      "DELETE", "\(admin)/proactive-messages/{id}",
      .member(.admin, .settingsWrite, ProactiveRoutes.deleteMessage),
      "Delete a proactive message", status: 204),
  ]
}
