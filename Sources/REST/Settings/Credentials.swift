/// Secrets of other services: written, replaced and deleted, never shown.
import Directory
import JSON
import Postgres
import Primitives

struct CredentialRoutes: RouteGroup {
  let rest: API

  static let credential = RowShape([
    ("provider", .text), ("name", .text), ("updated_at", .time),
  ])

  func listCredentials(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("credentials", keys: 2)
    return try await rest.list(
      page, CredentialRoutes.credential,
      Query(
        """
        SELECT provider, name, updated_at, provider, name FROM credentials
        WHERE workspace_id = $1::uuid
          AND ($2::text IS NULL OR (provider, name) > ($2::text, $3::text))
        ORDER BY provider, name LIMIT $4::bigint
        """, [.uuid(call.workspace), page.key(0), page.key(1), page.rowsWanted]))
  }

  func putCredential(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try rest.declaredObject(call.request)
    let provider = call.parameters.text("provider")
    guard isProvider(provider) else {
      throw .invalid("A service is named in small letters, digits, - and _, as “line”.")
    }
    let name = try object.string("name", bytesMax: APILimits.nameBytes) ?? "default"
    guard isCredentialName(name) else { throw .wrongType("name", "1 to 100 characters") }
    let secret = try object.requiredString("secret", bytesMax: APILimits.credentialBytes)
    let isConditionalCreate = try call.isConditionalCreate
    let sealed = rest.options.secrets.seal(
      Array(secret.utf8), place: "credential:\(call.workspace):\(provider):\(name)")
    return try await rest.answer(
      "credential", CredentialRoutes.credential,
      Query(
        """
        WITH made AS (
          INSERT INTO credentials (workspace_id, provider, name, key_id, ciphertext)
          SELECT $1::uuid, $4::text, $5::text, $6::text, $7::bytea
          WHERE EXISTS (SELECT FROM credentials WHERE workspace_id = $1::uuid
              AND provider = $4::text AND name = $5::text)
            OR (SELECT count(*) FROM credentials WHERE workspace_id = $1::uuid) < $8::bigint
          ON CONFLICT (workspace_id, provider, name) DO UPDATE
            SET key_id = excluded.key_id, ciphertext = excluded.ciphertext
            WHERE NOT $9::boolean
          RETURNING provider, name, updated_at
        ), noted AS (
          INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
          SELECT $1::uuid, $2::uuid, $3::text, 'credential.changed',
            jsonb_build_object('provider', provider, 'name', name)
          FROM made
        )
        SELECT * FROM made
        """,
        call.actor + [
          .text(provider), .text(name), .text(sealed.keyID), .bytes(sealed.bytes),
          .int(APILimits.credentials), .bool(isConditionalCreate),
        ]),
      orElse: try await rest.unwritten(
        Query(
          """
          SELECT name FROM credentials
          WHERE workspace_id = $1::uuid AND provider = $2::text AND name = $3::text
          """, [.uuid(call.workspace), .text(provider), .text(name)]),
        isConditionalCreate: isConditionalCreate,
        orElse: .tooMany("credentials", APILimits.credentials)))
  }

  /// `?name=` tells several of one service apart.
  func deleteCredential(_ call: Call) async throws(Problem) -> APIResponse {
    let name = try QueryString(call.request.query)["name"] ?? "default"
    return try await rest.remove(
      Query(
        """
        WITH gone AS (
          DELETE FROM credentials
          WHERE workspace_id = $1::uuid AND provider = $4::text AND name = $5::text
          RETURNING provider, name
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
        SELECT $1::uuid, $2::uuid, $3::text, 'credential.deleted',
          jsonb_build_object('provider', provider, 'name', name)
        FROM gone RETURNING id
        """, call.actor + [.text(call.parameters.text("provider")), .text(name)]))
  }

  /// As the table wants it.
  private func isProvider(_ text: String) -> Bool {
    guard let first = text.utf8.first, 0x61...0x7A ~= first, text.utf8.count <= 64 else {
      return false
    }
    return text.utf8.allSatisfy {
      0x61...0x7A ~= $0 || 0x30...0x39 ~= $0 || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-")
    }
  }

  private func isCredentialName(_ name: String) -> Bool {
    (1...100).contains(name.unicodeScalars.count)
      && name.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
  }
}
