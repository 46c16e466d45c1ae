/// The secrets with which the host site signs its visitors' identities. A secret is returned once;
/// the database holds it encrypted.
import Directory
import JSON
import OpenSSL
import Postgres

struct IdentitySecretRoutes: RouteGroup {
  let api: API

  static let identitySecret = RowShape([
    ("id", .id), ("created_at", .time), ("ends_at", .optional(.time)),
  ])

  func listSecrets(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("identity_secrets", keys: 2)
    return try await api.list(
      page, IdentitySecretRoutes.identitySecret,
      IdentitySecrets.page(of: call.workspace, after: try page.position, limit: page.rowsWanted))
  }

  func addSecret(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    let hours =
      try object.int("overlap_hours", in: 0...IdentitySecrets.overlapHoursMax)
      ?? IdentitySecrets.overlapHours
    try await sealClear(call)
    let id = call.newID()
    let secret = IdentitySecrets.prefix + SecureRandom.token()
    let sealed = api.options.secrets.seal(
      Array(secret.utf8), place: IdentitySecrets.place(id, in: call.workspace))
    let rows = try await api.database.rows(
      IdentitySecrets.add(id, sealed, overlapHours: hours, by: call.actor))
    guard !rows.isEmpty else { throw .tooMany("identity secrets", IdentitySecrets.acceptedMax) }
    func body(_ secret: String?) -> [UInt8] {
      .object { json in
        json.appendKey("identity_secret")
        IdentitySecretRoutes.identitySecret.append(rows, 0, to: &json)
        json.appendMember("secret", ifAny: secret)
      }
    }
    var response = APIResponse.json(body(secret), status: 201)
    response.repeatable = body(nil)
    return response
  }

  func endSecret(_ call: Call) async throws(Problem) -> APIResponse {
    try await api.delete(IdentitySecrets.end(call.id, by: call.actor))
  }

  /// A secret in clear, which SQL may have set since the start, takes part in the rotation.
  private func sealClear(_ call: Call) async throws(Problem) {
    let found = try await api.database.run(
      IdentitySecrets.inClear(in: call.workspace, limit: 1))
    for (workspace, secret) in found {
      let id = call.newID()
      let sealed = api.options.secrets.seal(
        Array(secret.utf8), place: IdentitySecrets.place(id, in: workspace))
      try await api.database.run(IdentitySecrets.move(secret, of: workspace, to: id, sealed))
    }
  }
}
