/// An operator's own account.
import Directory
import JSON
import OpenSSL
import Postgres
import Primitives

extension LoginRoutes {
  func showMe(_ call: Call) async throws(Problem) -> APIResponse {
    let member = try call.member
    guard let workspace = try await rest.run(Workspace.withID(member.workspace)) else {
      throw .unauthenticated
    }
    return .json(
      [UInt8].object { json in
        appendAccount(
          member, workspaceName: workspace.name, publicKey: workspace.publicKey, to: &json)
      })
  }

  /// What the console knows about who uses it.
  func appendAccount(
    _ member: Operator, workspaceName: String, publicKey: String, to json: inout [UInt8]
  ) {
    json.appendObject("operator") {
      $0.appendMember("id", member.id)
      $0.appendMember("name", member.name)
      $0.appendMember("email", member.email)
      $0.appendMember("role", member.membership)
    }
    json.appendObject("workspace") {
      $0.appendMember("id", member.workspace)
      $0.appendMember("name", workspaceName)
      $0.appendMember("public_key", publicKey)
    }
  }

  /// The caller's other logins end; this one stays, and its next token knows the new password.
  func changePassword(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try rest.declaredObject(call.request)
    let member = try call.member
    let current = try object.requiredString("current", bytesMax: APILimits.passwordBytes)
    guard let new = try newPassword(object, "new") else { throw .missing("new") }
    if member.mustChangePassword, new == current { throw .samePassword }
    try rest.takeRate(rest.loginsByEmail, member.email.lowercased(), call.request.now)
    let known = try await rest.run(
      Statement(
        Query("SELECT password_hash FROM operators WHERE id = $1::uuid", [.uuid(member.id)])
      ) { $0.isEmpty ? nil : $0.text(0, 0) })
    guard try await isRight(current, known), let known else { throw .wrongPassword }
    let secret = rest.cookie(call.request).map { Parameter.bytes(rest.hash($0)) } ?? .null
    let isChanged = try await rest.run(
      Statement(
        Query(
          """
          WITH changed AS (
            UPDATE operators SET password_hash = $4::text, must_change_password = false
            WHERE id = $2::uuid AND password_hash = $5::text RETURNING id
          ), ended AS (
            DELETE FROM operator_sessions s USING changed c
            WHERE s.operator_id = c.id AND s.token_hash IS DISTINCT FROM $6::bytea
          ), kept AS (
            UPDATE operator_sessions s
            SET credential = left(encode(sha256(convert_to($4::text, 'UTF8')), 'hex'), 16)
            FROM changed c WHERE s.operator_id = c.id AND s.token_hash = $6::bytea
          )
          INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id)
          SELECT $1::uuid, $2::uuid, $3::text, 'password.changed', id FROM changed RETURNING id
          """,
          call.actor + [.text(try await hashed(new)), .text(known), secret])
      ) { !$0.isEmpty })
    guard isChanged else { throw .wrongPassword }
    return APIResponse(status: 204)
  }

  /// A password that somebody chose; nil when the member is missing.
  func newPassword(_ object: JSONObject, _ name: String) throws(Problem) -> String? {
    guard let password = try object.string(name, bytesMax: APILimits.passwordBytes) else {
      return nil
    }
    // NIST SP 800-63B §5.1.1.2: each code point counts as one character.
    guard password.unicodeScalars.count >= APILimits.passwordCharactersMin else {
      throw .wrongType(name, "at least \(APILimits.passwordCharactersMin) characters long")
    }
    return password
  }
}

extension Problem {
  static let wrongPassword = Problem.forbidden(
    "wrong_password", "The current password is another one.")

  /// 403 as for the wrong one: the body is right, and this account may not have it.
  static let samePassword = Problem.forbidden(
    "same_password", "This is the password that you were given; choose another one.")
}
