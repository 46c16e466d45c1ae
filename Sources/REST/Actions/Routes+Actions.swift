/// Actions on many conversations, macros, and saved views.
extension API {
  static let actionRoutes: [Route] = [
    Route(
      "POST", "\(admin)/live-chat/bulk", .member(.agent, nil, BulkRoutes.change),
      "Change several conversations", body: .bulkChange, response: .actionResults),
    Route(
      "GET", "\(admin)/macros", .member(.agent, .settingsRead, MacroRoutes.listMacros),
      "List the macros of the workspace and your own", query: .page, response: .macros),
    Route(
      "POST", "\(admin)/macros", .member(.agent, .settingsWrite, MacroRoutes.addMacro),
      "Add a macro", body: .newMacro, status: 201, response: .oneMacro),
    Route(
      "PATCH", "\(admin)/macros/{id}", .member(.agent, .settingsWrite, MacroRoutes.changeMacro),
      "Change a macro", body: .macroPatch, response: .oneMacro),
    Route(
      "DELETE", "\(admin)/macros/{id}", .member(.agent, .settingsWrite, MacroRoutes.deleteMacro),
      "Delete a macro", status: 204),
    Route(
      "POST", "\(admin)/macros/{id}/run", .member(.agent, nil, MacroRoutes.runMacro),
      "Run a macro on conversations", body: .macroRun, response: .actionResults),
    Route(
      "GET", "\(admin)/views", .member(.agent, .conversationsRead, ViewRoutes.listViews),
      "List the saved views of the workspace and your own", query: .page, response: .views,
      isExpensive: true),
    Route(
      "POST", "\(admin)/views", .member(.agent, .settingsWrite, ViewRoutes.addView),
      "Save a view", body: .newView, status: 201, response: .oneView),
    Route(
      "PATCH", "\(admin)/views/{id}", .member(.agent, .settingsWrite, ViewRoutes.changeView),
      "Change a saved view", body: .viewPatch, response: .oneView),
    Route(
      "DELETE", "\(admin)/views/{id}", .member(.agent, .settingsWrite, ViewRoutes.deleteView),
      "Delete a saved view", status: 204),
  ]
}
