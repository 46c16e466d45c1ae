/// The settings of a workspace. Each setting is replaced as a whole, and only if all settings of
/// the request are valid; `null` restores the default.
import Directory
import JSON
import Postgres
import Primitives
import Wire

struct SettingsRoutes: RouteGroup {
  let api: API

  func showSettings(_ call: Call) async throws(Problem) -> APIResponse {
    let settings = try await api.database.run(WorkspaceSettings.load(call.workspace))
    guard let workspace = try await api.database.run(Workspace.withID(call.workspace)) else {
      throw .unauthenticated
    }
    return .json(
      [UInt8].object { json in
        let values = WorkspaceSettings.Key.allCases.map { ($0.rawValue, settings.value($0)) }
        json.appendMember(
          "settings", json: JSONValue.object(Dictionary(uniqueKeysWithValues: values)).text)
        let origins = workspace.allowedOrigins.map { JSONValue.array($0.map { .string($0) }) }
        json.appendMember("allowed_origins", json: (origins ?? .null).text)
        json.appendMember("public_key", workspace.publicKey)
        json.appendObject("workspace") {
          $0.appendMember("id", workspace.id)
          $0.appendMember("name", workspace.name)
        }
        json.appendArray("limits", api.options.limits) { limit, json in
          json += [UInt8].object {
            $0.appendMember("name", limit.name)
            $0.appendMember("amount", orNull: limit.amount.map { Int64($0) })
            $0.appendMember("seconds", orNull: limit.seconds.map { Int64($0) })
          }
        }
      })
  }

  func changeSettings(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    let values = try await settings(in: object)
    let origins = try allowedOrigins(in: object)
    try await api.database.run(
      WorkspaceSettings.change(
        values, origins: origins, changesOrigins: object.has("allowed_origins"), by: call.actor))
    api.cachedSettings.forget(call.workspace)
    api.watched.forget(call.workspace)
    return try await showSettings(call)
  }

  /// The settings in the body; a value of nil restores the default.
  private func settings(
    in object: JSONObject
  ) async throws(Problem) -> [(key: WorkspaceSettings.Key, value: JSONValue?)] {
    guard let settings = try object.nested("settings") else { return [] }
    var values: [(key: WorkspaceSettings.Key, value: JSONValue?)] = []
    for name in settings.members.keys.sorted() {
      guard let key = WorkspaceSettings.Key(rawValue: name) else {
        let known = WorkspaceSettings.Key.allCases.map(\.rawValue).joined(separator: ", ")
        throw .invalid("There is no setting “\(name)”. The settings are \(known).")
          .at(settings.pointer(to: name))
      }
      guard let text = try settings.object(name, bytesMax: APILimits.bodyBytes) else {
        values.append((key, nil))
        continue
      }
      guard let value = JSONValue(text) else { throw .unstorable(name, in: settings) }
      if let fault = WorkspaceSettings.check(key, value) {
        throw .invalid("\(name): \(fault)").at(settings.pointer(to: name))
      }
      if key == .hours { try await checkTimeZone(value) }
      values.append((key, value))
    }
    return values
  }

  /// PostgreSQL knows which time zones exist.
  func checkTimeZone(
    _ hours: JSONValue, at pointer: String = "/settings/hours/time_zone"
  ) async throws(Problem) {
    var settings = WorkspaceSettings()
    settings.read(.hours, hours)
    let zone = settings.hours.timeZone
    do throws(QueryFailure) {
      try await api.database.attempt(Statement(WorkspaceSettings.checkTimeZone(zone)))
    } catch {
      guard case .refused = error else { throw .database(error) }
      throw .invalid(
        "hours: The time zone “\(zone)” is unknown. Use a name such as Europe/Berlin."
      ).at(pointer)
    }
  }

  private func allowedOrigins(in object: JSONObject) throws(Problem) -> [String]? {
    let texts = try object.strings(
      "allowed_origins", countMax: APILimits.origins, bytesMax: APILimits.originBytes)
    guard let texts else { return nil }
    var origins: [String] = []
    for text in texts {
      guard let origin = WebOrigin.normalize(text) else {
        throw .invalid(
          "allowed_origins: “\(text)” is not an origin such as https://www.example.com."
        ).at("/allowed_origins")
      }
      origins.append(origin)
    }
    return origins
  }
}
