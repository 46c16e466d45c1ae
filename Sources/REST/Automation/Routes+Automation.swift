/// What answers by itself: replies, intents and menus.
extension API {
  static let automationRoutes: [Route] = [
    Route(
      "GET", "\(admin)/reply-objects",
      .member(.agent, .settingsRead, ReplyObjectRoutes.listReplyObjects),
      "Lists the reply objects, canned replies among them", query: .page, answer: .replyObjects),
    Route(
      "PUT", "\(admin)/reply-objects/{object_id:text}",
      .member(.agent, .settingsWrite, ReplyObjectRoutes.putReplyObject),
      "Makes or changes a reply object",
      body: .replyObjectChange, answer: .oneReplyObject, allowsConditionalCreate: true,
      texts: .replyObjectName),
    Route(
      "DELETE", "\(admin)/reply-objects/{object_id:text}",
      .member(.admin, .settingsWrite, ReplyObjectRoutes.deleteReplyObject),
      "Deletes a reply object",
      status: 204, texts: .replyObjectName),
    Route(
      "GET", "\(admin)/intents", .member(.agent, .settingsRead, IntentRoutes.listIntents),
      "Lists the intents in the order in which they are tried", query: .page, answer: .intents),
    Route(
      "POST", "\(admin)/intents", .member(.admin, .settingsWrite, IntentRoutes.addIntent),
      "Adds an intent", body: .newIntent, status: 201, answer: .oneIntent),
    Route(
      "PUT", "\(admin)/intents/{name:text}",
      .member(.admin, .settingsWrite, IntentRoutes.putIntent),
      "Changes an intent", body: .intentChange, answer: .oneIntent, texts: .intentName),
    Route(
      "DELETE", "\(admin)/intents/{name:text}",
      .member(.admin, .settingsWrite, IntentRoutes.deleteIntent),
      "Deletes an intent", status: 204, texts: .intentName),
    Route(
      "GET", "\(admin)/rich-menus", .member(.agent, .settingsRead, MenuRoutes.listMenus),
      "Lists the menus", query: .page, answer: .menus),
    Route(
      "POST", "\(admin)/rich-menus", .member(.admin, .settingsWrite, MenuRoutes.addMenu),
      "Adds a menu",
      body: .newMenu, status: 201, answer: .oneMenu),
    Route(
      "PATCH", "\(admin)/rich-menus/{id}", .member(.admin, .settingsWrite, MenuRoutes.changeMenu),
      "Changes a menu; one that is published takes the other one off", body: .menuPatch,
      answer: .oneMenu),
    Route(
      "DELETE", "\(admin)/rich-menus/{id}", .member(.admin, .settingsWrite, MenuRoutes.deleteMenu),
      "Deletes a menu", status: 204),
  ]
}
