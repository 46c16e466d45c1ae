/// What answers by itself: replies, intents and menus.
extension API {
  static let automationRoutes: [Route] = [
    Route(
      "GET", "\(admin)/reply-objects", .member(.agent, .settingsRead, API.listReplyObjects),
      "Lists the reply objects, canned replies among them", query: ["cursor", "limit"]),
    Route(
      "PUT", "\(admin)/reply-objects/{object_id:text}",
      .member(.agent, .settingsWrite, API.putReplyObject), "Makes or changes a reply object",
      body: "ReplyObjectChange"),
    Route(
      "DELETE", "\(admin)/reply-objects/{object_id:text}",
      .member(.admin, .settingsWrite, API.deleteReplyObject), "Deletes a reply object",
      status: 204),
    Route(
      "GET", "\(admin)/intents", .member(.agent, .settingsRead, API.listIntents),
      "Lists the intents in the order in which they are tried", query: ["cursor", "limit"]),
    Route(
      "POST", "\(admin)/intents", .member(.admin, .settingsWrite, API.addIntent),
      "Adds an intent", body: "NewIntent", status: 201),
    Route(
      "PUT", "\(admin)/intents/{name:text}", .member(.admin, .settingsWrite, API.putIntent),
      "Changes an intent", body: "IntentChange"),
    Route(
      "DELETE", "\(admin)/intents/{name:text}", .member(.admin, .settingsWrite, API.deleteIntent),
      "Deletes an intent", status: 204),
    Route(
      "GET", "\(admin)/rich-menus", .member(.agent, .settingsRead, API.listMenus),
      "Lists the menus", query: ["cursor", "limit"]),
    Route(
      "POST", "\(admin)/rich-menus", .member(.admin, .settingsWrite, API.addMenu), "Adds a menu",
      body: "NewMenu", status: 201),
    Route(
      "PATCH", "\(admin)/rich-menus/{id}", .member(.admin, .settingsWrite, API.changeMenu),
      "Changes a menu; one that is published takes the other one off", body: "MenuPatch"),
    Route(
      "DELETE", "\(admin)/rich-menus/{id}", .member(.admin, .settingsWrite, API.deleteMenu),
      "Deletes a menu", status: 204),
  ]
}
