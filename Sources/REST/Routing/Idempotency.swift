/// Writes that take effect once, however often they are sent (`Idempotency-Key`).
///
/// The key is claimed before the handler runs: of two requests at the same time one runs, and the
/// other receives 409. A repetition within 24 hours receives the first response; the same key with
/// another request is refused (422). Stored responses are encrypted and lack secrets that are shown
/// once. Responses to failures of ours (5xx) and to rate limits (429) are not stored, so that the
/// request can be repeated.
import Directory
import Postgres
import Primitives

struct IdempotentWrites: Sendable {
  let database: APIDatabase
  let secrets: SecretBox
  let report: @Sendable (String) -> Void

  func once(
    _ call: Call, _ run: () async throws(Problem) -> APIResponse
  ) async throws(Problem) -> APIResponse {
    let keys = call.request.headerValues("Idempotency-Key")
    guard let key = keys.first else { return try await run() }
    guard keys.count == 1, 1...APILimits.idempotencyKeyBytes ~= key.utf8.count,
      key.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
    else { throw .wrongIdempotencyKey }
    switch try await claim(key, call) {
    case .completed(let response): return response
    case .running: throw .idempotencyRunning
    case .differs: throw .idempotencyConflict
    case .tooManyKeys: throw .rateLimited(afterSeconds: 3_600, limit: "idempotency_keys")
    case .claimed: break
    }
    let response: APIResponse
    do throws(Problem) {
      response = try await run()
    } catch {
      await keep(error.response(), key, call)
      throw error
    }
    await keep(response, key, call)
    return response
  }

  private enum ClaimOutcome {
    /// The handler must run.
    case claimed
    /// The first request with this key has not ended.
    case running
    /// The key belongs to a different request.
    case differs
    /// The caller has `APILimits.idempotencyKeys` remembered keys.
    case tooManyKeys
    case completed(APIResponse)
  }

  private func claim(_ key: String, _ call: Call) async throws(Problem) -> ClaimOutcome {
    let text = requestText(call.request)
    let digest = secrets.digest(of: text)
    let rows = try await database.rows(
      Query(
        IdempotentWrites.claimSQL,
        [
          .uuid(call.workspace), .uuid(call.caller.id), .text(key), .bytes(digest),
          .int(APILimits.idempotencyKeys),
        ]))
    guard !rows.isEmpty else { return .tooManyKeys }
    if rows.bool(0, 0) == true { return .claimed }
    // The other request claimed the key after this statement's snapshot.
    guard let known = rows.bytes(0, 1) else { return .running }
    guard known == digest || secrets.recognises(text, by: known) else { return .differs }
    guard let status = rows.int(0, 2) else { return .running }
    let sealed = SecretBox.Sealed(keyID: rows.text(0, 4) ?? "", bytes: rows.bytes(0, 5) ?? [])
    guard let body = secrets.open(sealed, place: place(key, call)) else { return .running }
    var response = APIResponse(
      status: Int(status), headers: [("Idempotency-Replayed", "true")], body: body)
    if let type = rows.text(0, 3) { response.headers.append(("Content-Type", type)) }
    return .completed(response)
  }

  /// A claim that has no response after a minute is taken over, because its gateway has crashed;
  /// so is an expired one. Each claim deletes some expired keys.
  private static let claimSQL: StaticString = """
    WITH swept AS (
      DELETE FROM idempotency_keys WHERE ctid IN (
        SELECT ctid FROM idempotency_keys
        WHERE created_at < now() - interval '24 hours'
          AND NOT (workspace_id = $1::uuid AND caller_id = $2::uuid AND key = $3::text)
        ORDER BY created_at LIMIT 20 FOR UPDATE SKIP LOCKED)
    ), room AS (
      SELECT WHERE (SELECT count(*) FROM (SELECT FROM idempotency_keys
        WHERE workspace_id = $1::uuid AND caller_id = $2::uuid LIMIT $5::bigint) k) < $5::bigint
    ), claimed AS (
      INSERT INTO idempotency_keys AS k (workspace_id, caller_id, key, request_hash)
      SELECT $1::uuid, $2::uuid, $3::text, $4::bytea FROM room
      ON CONFLICT (workspace_id, caller_id, key) DO UPDATE SET
        request_hash = excluded.request_hash, created_at = now(), status = NULL,
        content_type = NULL, key_id = NULL, body = NULL
      WHERE k.created_at < now() - interval '24 hours'
        OR k.status IS NULL AND k.created_at < now() - interval '1 minute'
      RETURNING true
    )
    SELECT EXISTS (SELECT FROM claimed), k.request_hash, k.status, k.content_type, k.key_id, k.body
    FROM (SELECT) AS one LEFT JOIN idempotency_keys k
      ON k.workspace_id = $1::uuid AND k.caller_id = $2::uuid AND k.key = $3::text
    WHERE EXISTS (SELECT FROM room) OR k.key IS NOT NULL
    """

  /// Stores the response, or releases the key. The handler has taken effect, so a failure is only
  /// reported.
  private func keep(_ response: APIResponse, _ key: String, _ call: Call) async {
    var parameters: [Parameter] = [.uuid(call.workspace), .uuid(call.caller.id), .text(key)]
    let isFinal = response.status < 500 && response.status != 429
    do throws(QueryFailure) {
      let body = response.repeatable ?? response.body
      guard isFinal, body.count <= APILimits.idempotencyBodyBytes else {
        try await database.attempt(Statement(Query(IdempotentWrites.releaseSQL, parameters)))
        return
      }
      let sealed = secrets.seal(body, place: place(key, call))
      let type = response.headers.first { $0.name.equalsIgnoringASCIICase("Content-Type") }?.value
      parameters += [
        .int(Int64(response.status)), .text(type), .text(sealed.keyID), .bytes(sealed.bytes),
      ]
      try await database.attempt(Statement(Query(IdempotentWrites.keepSQL, parameters)))
    } catch {
      report("the response to an Idempotency-Key could not be stored: \(error)")
    }
  }

  private static let releaseSQL: StaticString = """
    DELETE FROM idempotency_keys
    WHERE workspace_id = $1::uuid AND caller_id = $2::uuid AND key = $3::text
    """

  private static let keepSQL: StaticString = """
    UPDATE idempotency_keys
    SET status = $4::bigint, content_type = $5::text, key_id = $6::text, body = $7::bytea
    WHERE workspace_id = $1::uuid AND caller_id = $2::uuid AND key = $3::text
    """

  private func place(_ key: String, _ call: Call) -> String {
    "idempotency:\(call.workspace):\(call.caller.id):\(key)"
  }

  private func requestText(_ request: APIRequest) -> [UInt8] {
    Array("\(request.method)\n\(request.path)\n\(request.query)\n".utf8) + request.body
  }
}

extension Problem {
  static let wrongIdempotencyKey = Problem.invalid(
    "The header Idempotency-Key must occur once and have 1 to \(APILimits.idempotencyKeyBytes) "
      + "visible ASCII characters.")

  static let idempotencyConflict = Problem(
    status: 422, type: "idempotency_conflict", title: "Idempotency-Key in use",
    detail: "This Idempotency-Key was sent with a different request within the last 24 hours. "
      + "Send this request with a new key.")

  static let idempotencyRunning = Problem(
    status: 409, type: "idempotency_running", title: "Still running",
    detail: "The first request with this Idempotency-Key is still running. Repeat this one in a "
      + "second."
  ).retry(afterSeconds: 1)
}
