/// The configuration of a workspace: settings, members, tags, credentials, API keys, audit log.
extension API {
  static let workspaceRoutes: [Route] = [
    Route(
      "GET", "\(admin)/settings", .member(.agent, .settingsRead, SettingsRoutes.showSettings),
      "Get the settings, including defaults", response: .settings),
    Route(
      "PATCH", "\(admin)/settings", .member(.admin, .settingsWrite, SettingsRoutes.changeSettings),
      "Change settings; null restores a default", body: .settingsPatch, response: .settings),
    Route(
      "GET", "\(admin)/members", .member(.agent, .membersRead, MemberRoutes.listMembers),
      "List the members, oldest first", query: .page, response: .members),
    Route(
      "POST", "\(admin)/members", .member(.admin, .membersInvite, MemberRoutes.addMember),
      "Add a member with a new account; an API key can add agents only", body: .newMember,
      status: 201, response: .oneMember, event: "member.added"),
    Route(
      "PATCH", "\(admin)/members/{id}", .member(.admin, .membersManage, MemberRoutes.changeMember),
      "Change a member; an API key can change agents only", body: .memberPatch,
      response: .oneMember, disconnects: .target, event: "member.changed"),
    Route(
      "DELETE", "\(admin)/members/{id}", .member(.admin, .membersManage, MemberRoutes.removeMember),
      "Remove a member; an API key can remove agents only", status: 204, disconnects: .target,
      event: "member.removed"),
    Route(
      "POST", "\(admin)/members/{id}/reset-second-factor",
      .member(.owner, nil, MemberRoutes.resetSecondFactor),
      "Remove the second factor of a member who has lost it; ends the member's logins",
      status: 204, disconnects: .target, event: "second_factor.reset"),
    Route(
      "GET", "\(admin)/tags", .member(.agent, .conversationsRead, TagRoutes.listTags),
      "List the tags in the order of their names", query: .page, response: .tags),
    Route(
      "PUT", "\(admin)/tags/{name:text}", .member(.agent, .conversationsWrite, TagRoutes.putTag),
      "Create or replace a tag", body: .tagChange, response: .oneTag, allowsConditionalCreate: true,
      texts: .tagName),
    Route(
      "DELETE", "\(admin)/tags/{name:text}",
      .member(.admin, .conversationsWrite, TagRoutes.deleteTag),
      "Delete a tag, also from its conversations", status: 204, isExpensive: true, texts: .tagName),
    Route(
      "GET", "\(admin)/credentials",
      .member(.agent, .settingsRead, CredentialRoutes.listCredentials),
      "List the credentials, without their secrets", query: .page, response: .credentials),
    Route(
      "PUT", "\(admin)/credentials/{provider:text}",
      .member(.admin, .settingsWrite, CredentialRoutes.putCredential),
      "Create or replace a credential", body: .credentialChange, response: .oneCredential,
      allowsConditionalCreate: true, texts: .provider, event: "credential.changed"),
    Route(
      "DELETE", "\(admin)/credentials/{provider:text}",
      .member(.admin, .settingsWrite, CredentialRoutes.deleteCredential), "Delete a credential",
      query: [QueryParameter(name: "name", schema: .line)],
      status: 204, texts: .provider, event: "credential.deleted"),
    Route(
      "GET", "\(admin)/api-keys", .member(.admin, nil, APIKeyRoutes.listKeys),
      "List the API keys, newest first", query: .page, response: .apiKeys),
    Route(
      "POST", "\(admin)/api-keys", .member(.admin, nil, APIKeyRoutes.addKey),
      "Create an API key, which is returned once", body: .newKey, status: 201, response: .madeKey,
      event: "api_key.added"),
    Route(
      "DELETE", "\(admin)/api-keys/{id}", .member(.admin, nil, APIKeyRoutes.revokeKey),
      "Revoke an API key", status: 204, disconnects: .target, event: "api_key.revoked"),
    Route(
      "GET", "\(admin)/identity-secrets", .member(.admin, nil, IdentitySecretRoutes.listSecrets),
      "List the secrets that sign visitors' identities, newest first", query: .page,
      response: .identitySecrets),
    Route(
      "POST", "\(admin)/identity-secrets", .member(.admin, nil, IdentitySecretRoutes.addSecret),
      "Create an identity secret, which is returned once; the others end after an overlap",
      body: .newIdentitySecret, status: 201, response: .madeIdentitySecret,
      event: "identity_secret.added"),
    Route(
      "DELETE", "\(admin)/identity-secrets/{id}",
      .member(.admin, nil, IdentitySecretRoutes.endSecret), "End an identity secret now",
      status: 204, event: "identity_secret.ended"),
    Route(
      "GET", "\(admin)/identity-provider",
      .member(.admin, nil, IdentityProviderRoutes.show),
      "Get the identity provider (OpenID Connect), without its secret",
      response: .identityProvider),
    Route(
      "PUT", "\(admin)/identity-provider", .member(.owner, nil, IdentityProviderRoutes.put),
      "Create or replace the identity provider, which must answer", body: .identityProviderChange,
      response: .identityProvider, event: "identity_provider.changed"),
    Route(
      "DELETE", "\(admin)/identity-provider",
      .member(.owner, nil, IdentityProviderRoutes.delete),
      "Delete the identity provider; its members stay", status: 204, problems: [404],
      event: "identity_provider.deleted"),
    Route(
      "GET", "\(admin)/audit-log", .member(.admin, .auditRead, SettingsRoutes.listAudit),
      "List the changes in the workspace, newest first", query: .page, response: .auditLog,
      isExpensive: true),
  ]
}
