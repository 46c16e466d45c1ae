/// Keys with which servers call the REST API: shown once, kept as a digest, revoked, not changed.
import Directory
import JSON
import OpenSSL
import Postgres
import Primitives

struct APIKeyRoutes: RouteGroup {
  let rest: API

  static let apiKey = RowShape([
    ("id", .id), ("name", .text), ("scopes", .texts), ("created_by", .optional(.id)),
    ("created_at", .time), ("last_used_at", .optional(.time)), ("expires_at", .optional(.time)),
  ])

  /// Those that were not revoked, newest first.
  func listKeys(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("api_keys", keys: 2)
    return try await rest.list(
      page, APIKeyRoutes.apiKey,
      Query(
        """
        SELECT k.id, k.name, array_to_string(k.scopes, E'\\n'), k.created_by, k.created_at,
          k.last_used_at, k.expires_at,
          (extract(epoch FROM k.created_at) * 1000000)::bigint::text, k.id::text
        FROM api_keys k WHERE k.workspace_id = $1::uuid AND k.revoked_at IS NULL
          AND ($2::timestamptz IS NULL OR (k.created_at, k.id) < ($2::timestamptz, $3::uuid))
        ORDER BY k.created_at DESC, k.id DESC LIMIT $4::bigint
        """, [.uuid(call.workspace), try page.time(0), try page.id(1), page.rowsWanted]))
  }

  func addKey(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try rest.declaredObject(call.request)
    let name = try object.requiredString("name", bytesMax: APILimits.keyNameBytes)
    let given = try object.strings("scopes", countMax: KeyScope.allCases.count, bytesMax: 64)
    guard let given else { throw .missing("scopes") }
    for scope in given where KeyScope(rawValue: scope) == nil {
      let known = KeyScope.allCases.map(\.rawValue).joined(separator: ", ")
      throw .invalid("There is no scope “\(scope)”; there are \(known).")
    }
    let secret = API.keyPrefix + SecureRandom.token()
    let rows = try await rest.run(
      Statement(
        Query(
          """
          WITH made AS (
            INSERT INTO api_keys
              (workspace_id, id, name, token_hash, scopes, created_by, expires_at)
            SELECT $1::uuid, $4::uuid, $5::text, $6::bytea,
              coalesce(string_to_array(nullif($7::text, ''), ' '), '{}'),
              $2::uuid, $8::text::timestamptz
            WHERE (SELECT count(*) FROM api_keys
              WHERE workspace_id = $1::uuid AND revoked_at IS NULL) < $9::bigint
            RETURNING id, name, array_to_string(scopes, E'\\n'), created_by, created_at,
              last_used_at, expires_at
          ), noted AS (
            INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
            SELECT $1::uuid, $2::uuid, $3::text, 'api_key.added', id,
              jsonb_build_object('scopes', to_jsonb(string_to_array($7::text, ' ')))
            FROM made
          )
          SELECT * FROM made
          """,
          call.actor + [
            .uuid(rest.identifier(call.request.now)), .text(name), .bytes(rest.hash(secret)),
            .text(given.joined(separator: " ")), .text(try object.time("expires_at")),
            .int(APILimits.keys),
          ])
      ) { $0 })
    guard !rows.isEmpty else { throw .tooMany("keys", APILimits.keys) }
    func answer(_ key: String?) -> [UInt8] {
      .object { json in
        json.appendKey("api_key")
        APIKeyRoutes.apiKey.append(rows, 0, to: &json)
        if let key { json.appendMember("key", key) }
      }
    }
    var response = APIResponse.json(answer(secret), status: 201)
    response.repeatable = answer(nil)
    return response
  }

  /// The row stays, so that the audit log's ids keep their meaning.
  func revokeKey(_ call: Call) async throws(Problem) -> APIResponse {
    try await rest.remove(
      Query(
        """
        WITH gone AS (
          UPDATE api_keys SET revoked_at = now()
          WHERE workspace_id = $1::uuid AND id = $4::uuid AND revoked_at IS NULL RETURNING id
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id)
        SELECT $1::uuid, $2::uuid, $3::text, 'api_key.revoked', id FROM gone RETURNING id
        """, call.actor + [.uuid(call.parameters.id("id"))]))
  }
}
