/// Drafts for operators, and the endpoint that writes them.
extension API {
  static let assistRoutes: [Route] = [
    Route(
      "GET", "\(admin)/assist", .member(.admin, nil, AssistSettingsRoutes.show),
      "Get the endpoint that writes drafts, without its key, and the tokens spent",
      response: .assist),
    Route(
      "PUT", "\(admin)/assist", .member(.admin, nil, AssistSettingsRoutes.put),
      "Create or replace the endpoint that writes drafts", body: .assistChange, response: .assist,
      event: "assist.changed"),
    Route(
      "DELETE", "\(admin)/assist", .member(.admin, nil, AssistSettingsRoutes.delete),
      "Delete the endpoint that writes drafts, and its key", status: 204, problems: [404],
      event: "assist.deleted"),
    Route(
      "POST", "\(admin)/assist/trial", .member(.admin, nil, AssistTrialRoutes.run),
      "Try the endpoint that writes drafts", response: .assistTrial, problems: [409]),
    Route(
      "GET", "\(admin)/live-chat/assist", .member(.agent, nil, DraftRoutes.showUses),
      "List the drafts that are turned on", response: .assistUses),
    Route(
      "POST", "\(conversations)/{id}/assist", .member(.agent, nil, DraftRoutes.write),
      "Have a draft written: a reply, a summary or a translation", body: .newDraft,
      type: Route.eventStream, problems: [409], isExpensive: true),
  ]
}
