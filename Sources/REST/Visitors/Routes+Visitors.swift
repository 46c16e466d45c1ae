/// Visitors: who they are, whether they may write, and what is kept of them.
extension API {
  static let visitorRoutes: [Route] = [
    Route(
      "GET", "\(admin)/visitors/{id}", .member(.agent, .visitorsRead, VisitorRoutes.showVisitor),
      "Who a visitor is", answer: .oneVisitor),
    Route(
      "PATCH", "\(admin)/visitors/{id}",
      .member(.agent, .visitorsWrite, VisitorRoutes.changeVisitor),
      "Changes a visitor's name and e-mail address", body: .visitorPatch,
      answer: .oneVisitor),
    Route(
      "POST", "\(admin)/visitors/{id}/block",
      .member(.agent, .visitorsWrite, VisitorRoutes.blockVisitor),
      "Keeps a visitor from writing", body: .nothing, answer: .oneVisitor, shutsOut: .named),
    Route(
      "POST", "\(admin)/visitors/{id}/unblock",
      .member(.agent, .visitorsWrite, VisitorRoutes.unblockVisitor), "Lets a visitor write again",
      body: .nothing, answer: .oneVisitor),
    Route(
      "GET", "\(admin)/visitors/{id}/export",
      .member(.admin, .visitorsRead, VisitorRoutes.exportVisitor),
      "Everything that is kept about a visitor", answer: .visitorExport),
    Route(
      "DELETE", "\(admin)/visitors/{id}",
      .member(.admin, .visitorsWrite, VisitorRoutes.eraseVisitor),
      "Erases a visitor and what the visitor said", status: 204),
  ]
}
