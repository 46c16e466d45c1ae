/// What a workspace has set up: its settings, members and keys.
extension API {
  static let workspaceRoutes: [Route] = [
    Route(
      "GET", "\(admin)/settings", .member(.agent, .settingsRead, SettingsRoutes.showSettings),
      "What the workspace has set, defaults included", answer: .settings),
    Route(
      "PATCH", "\(admin)/settings", .member(.admin, .settingsWrite, SettingsRoutes.changeSettings),
      "Changes settings; null brings a default back", body: .settingsPatch,
      answer: .settings),
    Route(
      "GET", "\(admin)/members", .member(.agent, .membersRead, MemberRoutes.listMembers),
      "Lists the members, oldest first", query: .page, answer: .members),
    Route(
      "POST", "\(admin)/members", .member(.admin, .membersInvite, MemberRoutes.addMember),
      "Makes an account for a new member; an API key: for an agent", body: .newMember, status: 201,
      answer: .oneMember),
    Route(
      "PATCH", "\(admin)/members/{id}", .member(.admin, .membersManage, MemberRoutes.changeMember),
      "Changes a member; an API key: an agent", body: .memberPatch, answer: .oneMember,
      shutsOut: .named),
    Route(
      "DELETE", "\(admin)/members/{id}", .member(.admin, .membersManage, MemberRoutes.removeMember),
      "Removes a member; an API key: an agent", status: 204, shutsOut: .named),
    Route(
      "GET", "\(admin)/tags", .member(.agent, .conversationsRead, TagRoutes.listTags),
      "Lists the tags",
      query: .page, answer: .tags),
    Route(
      "PUT", "\(admin)/tags/{name:text}", .member(.agent, .conversationsWrite, TagRoutes.putTag),
      "Makes or changes a tag", body: .tagChange, answer: .oneTag, allowsConditionalCreate: true,
      texts: .tagName),
    Route(
      "DELETE", "\(admin)/tags/{name:text}",
      .member(.admin, .conversationsWrite, TagRoutes.deleteTag),
      "Deletes a tag, also from its conversations", status: 204, texts: .tagName),
    Route(
      "GET", "\(admin)/credentials",
      .member(.agent, .settingsRead, CredentialRoutes.listCredentials),
      "Lists the credentials without their secrets", query: .page, answer: .credentials),
    Route(
      "PUT", "\(admin)/credentials/{provider:text}",
      .member(.admin, .settingsWrite, CredentialRoutes.putCredential),
      "Writes a secret of another service",
      body: .credentialChange, answer: .oneCredential, allowsConditionalCreate: true,
      texts: .provider),
    Route(
      "DELETE", "\(admin)/credentials/{provider:text}",
      .member(.admin, .settingsWrite, CredentialRoutes.deleteCredential), "Deletes a secret",
      query: [QueryParameter(name: "name", schema: .line)],
      status: 204, texts: .provider),
    Route(
      "GET", "\(admin)/api-keys", .member(.admin, nil, APIKeyRoutes.listKeys),
      "Lists the API keys, newest first", query: .page, answer: .apiKeys),
    Route(
      "POST", "\(admin)/api-keys", .member(.admin, nil, APIKeyRoutes.addKey),
      "Makes an API key, which is shown once", body: .newKey, status: 201, answer: .madeKey),
    Route(
      "DELETE", "\(admin)/api-keys/{id}", .member(.admin, nil, APIKeyRoutes.revokeKey),
      "Revokes an API key", status: 204, shutsOut: .named),
    Route(
      "GET", "\(admin)/audit-log", .member(.admin, .auditRead, SettingsRoutes.listAudit),
      "Who did what, newest first", query: .page, answer: .auditLog),
  ]
}
