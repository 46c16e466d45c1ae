/// API keys, with which servers use the REST API. A key is returned once; the database holds its
/// hash.
import Directory
import JSON
import OpenSSL
import Postgres

struct APIKeyRoutes: RouteGroup {
  let api: API

  static let apiKey = RowShape([
    ("id", .id), ("name", .text), ("scopes", .texts), ("created_by", .optional(.id)),
    ("created_at", .time), ("last_used_at", .optional(.time)), ("expires_at", .optional(.time)),
  ])

  func listKeys(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("api_keys", keys: 2)
    return try await api.list(
      page, APIKeyRoutes.apiKey,
      APIKeys.page(of: call.workspace, after: try page.position, limit: page.rowsWanted))
  }

  func addKey(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    let name = try object.requiredString("name", bytesMax: APILimits.keyNameBytes)
    let scopes = try object.strings("scopes", countMax: KeyScope.allCases.count, bytesMax: 64)
    guard let scopes else { throw .missing("scopes") }
    for scope in scopes where KeyScope(rawValue: scope) == nil {
      let known = KeyScope.allCases.map(\.rawValue).joined(separator: ", ")
      throw .invalid(
        "There is no scope “\(scope)”. The scopes are \(known)."
      ).at("/scopes")
    }
    let secret = Authenticator.keyPrefix + SecureRandom.token()
    let rows = try await api.database.rows(
      APIKeys.add(
        call.newID(), name: name, tokenHash: secretHash(secret), scopes: scopes,
        expiresAt: try object.time("expires_at"), by: call.actor))
    guard !rows.isEmpty else { throw .tooMany("API keys", APIKeys.countMax) }
    func body(_ key: String?) -> [UInt8] {
      .object { json in
        json.appendKey("api_key")
        APIKeyRoutes.apiKey.append(rows, 0, to: &json)
        json.appendMember("key", ifAny: key)
      }
    }
    var response = APIResponse.json(body(secret), status: 201)
    response.repeatable = body(nil)
    return response
  }

  func revokeKey(_ call: Call) async throws(Problem) -> APIResponse {
    try await api.delete(APIKeys.revoke(call.id, by: call.actor))
  }
}
