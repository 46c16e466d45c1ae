/// The identity provider of a workspace: its registration, which people become members, and which
/// roles its groups give. The client's secret is written and never returned.
import Directory
import JSON
import OpenID
import Primitives
import Webhooks

struct IdentityProviderRoutes: RouteGroup {
  let api: API

  func show(_ call: Call) async throws(Problem) -> APIResponse {
    let provider = try await api.database.run(IdentityProvider.find(in: call.workspace))
    return .json(body(provider, call))
  }

  /// The provider must answer, so that its administrator sees a wrong address at once.
  func put(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    let issuer = try object.requiredString("issuer", bytesMax: APILimits.issuerBytes)
    guard ProviderDocument.isAllowed(issuer, under: api.options.webhookGuard),
      !issuer.contains("?")
    else {
      throw .invalidMember(
        "issuer", "an address of the public internet that begins with https://, without a query")
    }
    let secret = try await sealedSecret(object, issuer, call)
    let provider = try read(object, issuer, secret, call)
    if provider.isEnabled {
      let now = call.request.now
      let result = try await api.servers.providers.run(for: call.workspace) {
        (client) throws(ProviderFault) in try client.document(of: issuer, now: now)
      }
      if case .failure(let fault) = result {
        throw .member("issuer", "cannot be used. \(fault.sentence)")
      }
    }
    try await api.database.run(provider.put(by: call.actor))
    return .json(body(provider, call))
  }

  func delete(_ call: Call) async throws(Problem) -> APIResponse {
    try await api.delete(IdentityProvider.delete(by: call.actor))
  }

  /// The secret of the body, else the stored one if it belongs to the same issuer.
  private func sealedSecret(
    _ object: JSONObject, _ issuer: String, _ call: Call
  ) async throws(Problem) -> SecretBox.Sealed {
    let text = try object.nonEmptyString(
      "client_secret", bytesMax: APILimits.clientSecretBytes)
    if let text {
      return api.options.secrets.seal(
        Array(text.utf8), place: IdentityProvider.place(in: call.workspace, issuer: issuer))
    }
    let stored = try await api.database.run(IdentityProvider.find(in: call.workspace))
    guard let stored, stored.issuer == issuer else { throw .missing("client_secret") }
    return stored.secret
  }

  private func read(
    _ object: JSONObject, _ issuer: String, _ secret: SecretBox.Sealed, _ call: Call
  ) throws(Problem) -> IdentityProvider {
    let clientID = try object.requiredString("client_id", bytesMax: APILimits.clientIDBytes)
    let scopes =
      try object.strings("scopes", countMax: 16, bytesMax: APILimits.claimNameBytes) ?? []
    guard scopes.allSatisfy({ isScope($0) }) else {
      throw .invalidMember("scopes", "an array of scopes, each without blanks and quotes")
    }
    let mapping = try GroupRole.all(object)
    let label = try object.requiredString("label", bytesMax: APILimits.providerLabelBytes)
    let claim = try object.string("groups_claim", bytesMax: APILimits.claimNameBytes) ?? ""
    return IdentityProvider(
      workspace: call.workspace, isEnabled: try object.bool("enabled") ?? true, label: label,
      issuer: issuer, clientID: clientID, secret: secret,
      scopes: scopes.joined(separator: " "), groupsClaim: claim,
      groupRoles: GroupRole.json(mapping),
      defaultRole: try object.word("default_role", of: Membership.allCases.map(\.rawValue)),
      createsMembers: try object.bool("create_members") ?? false,
      takesRolesBack: try object.bool("take_roles_back") ?? false,
      allowsPasswords: try object.bool("password_login") ?? true,
      trustsSecondFactor: try object.bool("trust_second_factor") ?? false,
      requiredACR: try object.nonEmptyString("required_acr", bytesMax: APILimits.claimNameBytes),
      requiredAMR: try object.nonEmptyString("required_amr", bytesMax: APILimits.claimNameBytes))
  }

  /// RFC 6749 §3.3.
  private func isScope(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != 0x22 && $0 != 0x5C }
  }

  private func body(_ provider: IdentityProvider?, _ call: Call) -> [UInt8] {
    .object { json in
      json.appendMember("redirect_uri", orNull: api.origins.console(call.request))
      guard let provider else {
        return json.appendMember("identity_provider", json: "null" as StaticString)
      }
      json.appendObject("identity_provider") { json in
        json.appendMember("enabled", provider.isEnabled)
        json.appendMember("label", provider.label)
        json.appendMember("issuer", provider.issuer)
        json.appendMember("client_id", provider.clientID)
        json.appendMember(
          "scopes", texts: provider.scopes.split(separator: " ").map { String($0) })
        json.appendMember("groups_claim", provider.groupsClaim)
        json.appendMember("group_roles", json: provider.groupRoles)
        json.appendMember("default_role", orNull: provider.defaultRole)
        json.appendMember("create_members", provider.createsMembers)
        json.appendMember("take_roles_back", provider.takesRolesBack)
        json.appendMember("password_login", provider.allowsPasswords)
        json.appendMember("trust_second_factor", provider.trustsSecondFactor)
        json.appendMember("required_acr", orNull: provider.requiredACR)
        json.appendMember("required_amr", orNull: provider.requiredAMR)
      }
    }
  }
}

/// A group of a provider and the role that it gives.
struct GroupRole {
  var group: String
  var role: Membership

  /// Those of the member `group_roles`; none without it.
  static func all(_ object: JSONObject) throws(Problem) -> [GroupRole] {
    var all: [GroupRole] = []
    for element in try object.objects("group_roles", countMax: APILimits.groupRoles) {
      let group = try element.requiredString("group", bytesMax: APILimits.groupBytes)
      let word = try element.word("role", of: Membership.allCases.map(\.rawValue))
      guard let role = word.flatMap({ Membership(rawValue: $0) }) else {
        throw .missing("role", in: element)
      }
      all.append(GroupRole(group: group, role: role))
    }
    return all
  }

  static func json(_ all: [GroupRole]) -> [UInt8] {
    var json: [UInt8] = Array("[".utf8)
    for each in all {
      json.appendComma()
      json += [UInt8].object {
        $0.appendMember("group", each.group)
        $0.appendMember("role", each.role.rawValue)
      }
    }
    return json + Array("]".utf8)
  }
}
