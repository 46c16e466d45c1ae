/// What a workspace has set. Each setting is stored whole and only when all of it is right; `null`
/// brings its default back.
import Directory
import JSON
import Postgres
import Primitives
import Wire

struct SettingsRoutes: RouteGroup {
  let rest: API

  func showSettings(_ call: Call) async throws(Problem) -> APIResponse {
    let settings = try await rest.run(WorkspaceSettings.load(call.workspace))
    guard let workspace = try await rest.run(Workspace.withID(call.workspace)) else {
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
      })
  }

  func changeSettings(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try rest.declaredObject(call.request)
    let given = try await checkedSettings(object)
    let origins = try checkedOrigins(object)
    try await rest.run(
      Statement(
        Query(
          """
          WITH given AS (
            SELECT key, value FROM jsonb_to_recordset($4::jsonb) AS g (key text, value text)
          ), cleared AS (
            DELETE FROM system_settings s USING given g
            WHERE s.workspace_id = $1::uuid AND s.key = g.key AND g.value IS NULL
          ), stored AS (
            INSERT INTO system_settings (workspace_id, key, value)
            SELECT $1::uuid, key, value FROM given WHERE value IS NOT NULL
            ON CONFLICT (workspace_id, key) DO UPDATE SET value = excluded.value
          ), origins AS (
            UPDATE workspaces SET allowed_origins = string_to_array($5::text, E'\\n')
            WHERE id = $1::uuid AND $6::boolean
          )
          INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
          SELECT $1::uuid, $2::uuid, $3::text, 'settings.changed', jsonb_build_object(
            'keys', coalesce((SELECT jsonb_agg(key ORDER BY key) FROM given), '[]'),
            'allowed_origins', $6::boolean)
          """,
          call.actor + [
            .json(JSONValue.array(given).text), .text(origins?.joined(separator: "\n")),
            .bool(object.has("allowed_origins")),
          ])))
    rest.cachedSettings.forget(call.workspace)
    return try await showSettings(call)
  }

  /// Key and text of each setting in the body; without a text it is cleared.
  private func checkedSettings(_ object: JSONObject) async throws(Problem) -> [JSONValue] {
    guard let settings = try object.nested("settings") else { return [] }
    var given: [JSONValue] = []
    for name in settings.members.keys.sorted() {
      guard let key = WorkspaceSettings.Key(rawValue: name) else {
        let known = WorkspaceSettings.Key.allCases.map(\.rawValue).joined(separator: ", ")
        throw .invalid("There is no setting “\(name)”; there are \(known).")
      }
      guard let text = try settings.object(name, bytesMax: APILimits.bodyBytes) else {
        given.append(.object(["key": .string(name), "value": .null]))
        continue
      }
      guard let value = JSONValue(text) else { throw .unstorable(name) }
      if let fault = WorkspaceSettings.check(key, value) { throw .invalid("\(name): \(fault)") }
      if key == .hours { try await checkZone(value) }
      let stored = String(decoding: value.text, as: UTF8.self)
      given.append(.object(["key": .string(name), "value": .string(stored)]))
    }
    return given
  }

  /// Which time zones there are, PostgreSQL knows.
  private func checkZone(_ value: JSONValue) async throws(Problem) {
    var settings = WorkspaceSettings()
    settings.read(.hours, value)
    do throws(QueryFailure) {
      _ = try await rest.database.run(
        Query("SELECT now() AT TIME ZONE $1::text", [.text(settings.hours.timeZone)]))
    } catch {
      guard case .refused = error else { throw .database(error) }
      throw .invalid("hours: There is no time zone “\(settings.hours.timeZone)”.")
    }
  }

  private func checkedOrigins(_ object: JSONObject) throws(Problem) -> [String]? {
    let given = try object.strings(
      "allowed_origins", countMax: APILimits.origins, bytesMax: APILimits.originBytes)
    guard let given else { return nil }
    var origins: [String] = []
    for text in given {
      guard let origin = WebOrigin.normalize(text) else {
        throw .invalid("allowed_origins: “\(text)” is no origin as https://www.example.com.")
      }
      origins.append(origin)
    }
    return origins
  }
}
