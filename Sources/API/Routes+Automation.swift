/// What answers by itself: replies, intents and menus.
extension API {
  static let automationRoutes: [Route] = [
    Route(
      "GET", "\(admin)/reply-objects", .member(.agent, .settingsRead, API.listReplyObjects),
      "Lists the reply objects, canned replies among them", query: .page, answer: .replyObjects),
    Route(
      "PUT", "\(admin)/reply-objects/{object_id:text}",
      .member(.agent, .settingsWrite, API.putReplyObject), "Makes or changes a reply object",
      body: .replyObjectChange, answer: .oneReplyObject, mayBeOnlyNew: true,
      texts: .replyObjectName),
    Route(
      "DELETE", "\(admin)/reply-objects/{object_id:text}",
      .member(.admin, .settingsWrite, API.deleteReplyObject), "Deletes a reply object",
      status: 204, texts: .replyObjectName),
    Route(
      "GET", "\(admin)/intents", .member(.agent, .settingsRead, API.listIntents),
      "Lists the intents in the order in which they are tried", query: .page, answer: .intents),
    Route(
      "POST", "\(admin)/intents", .member(.admin, .settingsWrite, API.addIntent),
      "Adds an intent", body: .newIntent, status: 201, answer: .oneIntent),
    Route(
      "PUT", "\(admin)/intents/{name:text}", .member(.admin, .settingsWrite, API.putIntent),
      "Changes an intent", body: .intentChange, answer: .oneIntent, texts: .intentName),
    Route(
      "DELETE", "\(admin)/intents/{name:text}", .member(.admin, .settingsWrite, API.deleteIntent),
      "Deletes an intent", status: 204, texts: .intentName),
    Route(
      "GET", "\(admin)/rich-menus", .member(.agent, .settingsRead, API.listMenus),
      "Lists the menus", query: .page, answer: .menus),
    Route(
      "POST", "\(admin)/rich-menus", .member(.admin, .settingsWrite, API.addMenu), "Adds a menu",
      body: .newMenu, status: 201, answer: .oneMenu),
    Route(
      "PATCH", "\(admin)/rich-menus/{id}", .member(.admin, .settingsWrite, API.changeMenu),
      "Changes a menu; one that is published takes the other one off", body: .menuPatch,
      answer: .oneMenu),
    Route(
      "DELETE", "\(admin)/rich-menus/{id}", .member(.admin, .settingsWrite, API.deleteMenu),
      "Deletes a menu", status: 204),
  ]
}
