/// Actions on many conversations, and macros.
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
  ]
}
