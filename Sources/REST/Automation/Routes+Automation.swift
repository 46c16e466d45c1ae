/// The bot and the menus of the widget: reply objects, intents and menus.
extension API {
  static let automationRoutes: [Route] = [
    Route(
      "GET", "\(admin)/reply-objects",
      .member(.agent, .settingsRead, ReplyObjectRoutes.listReplyObjects),
      "List the reply objects, including canned replies", query: .page, response: .replyObjects),
    Route(
      "PUT", "\(admin)/reply-objects/{object_id:text}",
      .member(.agent, .settingsWrite, ReplyObjectRoutes.putReplyObject),
      "Create or replace a reply object", body: .replyObjectChange, response: .oneReplyObject,
      allowsConditionalCreate: true, texts: .replyObjectName),
    Route(
      "DELETE", "\(admin)/reply-objects/{object_id:text}",
      .member(.admin, .settingsWrite, ReplyObjectRoutes.deleteReplyObject),
      "Delete a reply object", status: 204, texts: .replyObjectName),
    Route(
      "GET", "\(admin)/intents", .member(.agent, .settingsRead, IntentRoutes.listIntents),
      "List the intents in the order in which the bot tries them", query: .page,
      response: .intents),
    Route(
      "POST", "\(admin)/intents", .member(.admin, .settingsWrite, IntentRoutes.addIntent),
      "Add an intent", body: .newIntent, status: 201, response: .oneIntent),
    Route(
      "PUT", "\(admin)/intents/{name:text}",
      .member(.admin, .settingsWrite, IntentRoutes.putIntent),
      "Change an intent", body: .intentChange, response: .oneIntent, texts: .intentName),
    Route(
      "DELETE", "\(admin)/intents/{name:text}",
      .member(.admin, .settingsWrite, IntentRoutes.deleteIntent),
      "Delete an intent", status: 204, texts: .intentName),
    Route(
      "GET", "\(admin)/rich-menus", .member(.agent, .settingsRead, MenuRoutes.listMenus),
      "List the menus, oldest first", query: .page, response: .menus),
    Route(
      "POST", "\(admin)/rich-menus", .member(.admin, .settingsWrite, MenuRoutes.addMenu),
      "Add a menu; publishing it withdraws the published one", body: .newMenu, status: 201,
      response: .oneMenu),
    Route(
      "PATCH", "\(admin)/rich-menus/{id}", .member(.admin, .settingsWrite, MenuRoutes.changeMenu),
      "Change a menu; publishing it withdraws the published one", body: .menuPatch,
      response: .oneMenu),
    Route(
      "DELETE", "\(admin)/rich-menus/{id}", .member(.admin, .settingsWrite, MenuRoutes.deleteMenu),
      "Delete a menu", status: 204),
  ]
}
