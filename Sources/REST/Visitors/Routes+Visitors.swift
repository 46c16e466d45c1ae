/// Visitors: profile, merging, blocking, export and erasure.
extension API {
  static let visitorRoutes: [Route] = [
    Route(
      "GET", "\(admin)/visitors", .member(.agent, .visitorsRead, VisitorRoutes.searchVisitors),
      "Search visitors by name, e-mail address or id", query: .visitorSearch,
      response: .foundVisitors, isExpensive: true),
    Route(
      "GET", "\(admin)/visitors/{id}", .member(.agent, .visitorsRead, VisitorRoutes.showVisitor),
      "Get a visitor", response: .oneVisitor),
    Route(
      "PATCH", "\(admin)/visitors/{id}",
      .member(.agent, .visitorsWrite, VisitorRoutes.changeVisitor),
      "Change a visitor's name and e-mail address", body: .visitorPatch,
      response: .oneVisitor),
    Route(
      "GET", "\(admin)/visitors/{id}/merge",
      .member(.agent, .visitorsRead, VisitorRoutes.previewMerge),
      "Preview the merge of two visitors", query: .mergePreview, response: .mergePreview,
      problems: [409, 422]),
    Route(
      "POST", "\(admin)/visitors/{id}/merge",
      .member(.agent, .visitorsWrite, VisitorRoutes.mergeVisitors),
      "Merge another visitor into this one", body: .visitorMerge, response: .mergedVisitor,
      problems: [409], isExpensive: true),
    Route(
      "POST", "\(admin)/visitors/{id}/block",
      .member(.agent, .visitorsWrite, VisitorRoutes.blockVisitor),
      "Block a visitor", body: .nothing, response: .oneVisitor, disconnects: .visitor),
    Route(
      "POST", "\(admin)/visitors/{id}/unblock",
      .member(.agent, .visitorsWrite, VisitorRoutes.unblockVisitor), "Unblock a visitor",
      body: .nothing, response: .oneVisitor),
    Route(
      "GET", "\(admin)/visitors/{id}/friend-events",
      .member(.agent, .visitorsRead, VisitorRoutes.listFriendEvents),
      "List when a visitor followed, left, was blocked or came back, newest first", query: .page,
      response: .friendEvents),
    Route(
      "GET", "\(admin)/visitors/{id}/export",
      .member(.admin, .visitorsRead, VisitorRoutes.exportVisitor),
      "Export all stored data of a visitor", response: .visitorExport, isExpensive: true),
    Route(
      "DELETE", "\(admin)/visitors/{id}",
      .member(.admin, .visitorsWrite, VisitorRoutes.eraseVisitor),
      "Erase a visitor and the visitor's messages", status: 204, isExpensive: true),
  ]
}
