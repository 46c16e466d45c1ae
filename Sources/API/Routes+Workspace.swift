/// What a workspace has set up: its settings, members and keys.
extension API {
  static let workspaceRoutes: [Route] = [
    Route(
      "GET", "\(admin)/settings", .member(.agent, .settingsRead, API.showSettings),
      "What the workspace has set, defaults included", answer: .settings),
    Route(
      "PATCH", "\(admin)/settings", .member(.admin, .settingsWrite, API.changeSettings),
      "Changes settings; null brings a default back", body: .settingsPatch,
      answer: .settings),
    Route(
      "GET", "\(admin)/members", .member(.agent, .membersRead, API.listMembers),
      "Lists the members, oldest first", query: .page, answer: .members),
    Route(
      "POST", "\(admin)/members", .member(.admin, .membersInvite, API.addMember),
      "Makes an account for a new member; an API key: for an agent", body: .newMember, status: 201,
      answer: .oneMember),
    Route(
      "PATCH", "\(admin)/members/{id}", .member(.admin, .membersManage, API.changeMember),
      "Changes a member; an API key: an agent", body: .memberPatch, answer: .oneMember,
      shutsOut: .named),
    Route(
      "DELETE", "\(admin)/members/{id}", .member(.admin, .membersManage, API.removeMember),
      "Removes a member; an API key: an agent", status: 204, shutsOut: .named),
    Route(
      "GET", "\(admin)/tags", .member(.agent, .conversationsRead, API.listTags), "Lists the tags",
      query: .page, answer: .tags),
    Route(
      "PUT", "\(admin)/tags/{name:text}", .member(.agent, .conversationsWrite, API.putTag),
      "Makes or changes a tag", body: .tagChange, answer: .oneTag, mayBeOnlyNew: true,
      texts: .tagName),
    Route(
      "DELETE", "\(admin)/tags/{name:text}", .member(.admin, .conversationsWrite, API.deleteTag),
      "Deletes a tag, also from its conversations", status: 204, texts: .tagName),
    Route(
      "GET", "\(admin)/credentials", .member(.agent, .settingsRead, API.listCredentials),
      "Lists the credentials without their secrets", query: .page, answer: .credentials),
    Route(
      "PUT", "\(admin)/credentials/{provider:text}",
      .member(.admin, .settingsWrite, API.putCredential), "Writes a secret of another service",
      body: .credentialChange, answer: .oneCredential, mayBeOnlyNew: true, texts: .provider),
    Route(
      "DELETE", "\(admin)/credentials/{provider:text}",
      .member(.admin, .settingsWrite, API.deleteCredential), "Deletes a secret",
      query: [QueryParameter(name: "name", schema: .line)],
      status: 204, texts: .provider),
    Route(
      "GET", "\(admin)/api-keys", .member(.admin, nil, API.listKeys),
      "Lists the API keys, newest first", query: .page, answer: .apiKeys),
    Route(
      "POST", "\(admin)/api-keys", .member(.admin, nil, API.addKey),
      "Makes an API key, which is shown once", body: .newKey, status: 201, answer: .madeKey),
    Route(
      "DELETE", "\(admin)/api-keys/{id}", .member(.admin, nil, API.revokeKey),
      "Revokes an API key", status: 204, shutsOut: .named),
    Route(
      "GET", "\(admin)/audit-log", .member(.admin, .auditRead, API.listAudit),
      "Who did what, newest first", query: .page, answer: .auditLog),
  ]
}
