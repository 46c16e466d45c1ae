/// Writes that are done once, however often they are sent (`Idempotency-Key`).
///
/// The key is claimed before the handler runs, so that of two twins at the same time one runs and
/// the other is told to come again (409). A repetition within a day gets the first one's answer;
/// the same key with another request is refused (422). A secret that is shown once is shown to the
/// first one only: its answer is kept without it, and what holds one of a person's words is kept
/// encrypted. What fails on our side (5xx) or by a limit (429) is forgotten,
/// so that it can be tried again.
import Directory
import Postgres
import Primitives

extension API {
  func once(
    _ call: Call, _ run: () async throws(Problem) -> APIResponse
  ) async throws(Problem) -> APIResponse {
    let keys = call.request.headers.filter { $0.name.equalsIgnoringASCIICase("Idempotency-Key") }
    guard let key = keys.first?.value else { return try await run() }
    guard keys.count == 1, 1...APILimits.idempotencyKeyBytes ~= key.utf8.count,
      key.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
    else { throw .wrongIdempotencyKey }
    switch try await claim(key, call) {
    case .answered(let response): return response
    case .running: throw .idempotencyRunning
    case .differs: throw .idempotencyConflict
    case .full: throw .rateLimited(afterSeconds: 3_600)
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

  private enum Claim {
    case claimed, running, differs, full
    case answered(APIResponse)
  }

  private func claim(_ key: String, _ call: Call) async throws(Problem) -> Claim {
    let text = requestText(call.request)
    let digest = options.secrets.digest(of: text)
    let rows = try await run(
      Statement(
        Query(
          API.claimKeySQL,
          [
            .uuid(call.workspace), .uuid(call.caller.id), .text(key), .bytes(digest),
            .int(APILimits.idempotencyKeys),
          ])
      ) { $0 })
    guard !rows.isEmpty else { return .full }
    if rows.bool(0, 0) == true { return .claimed }
    // Claimed by a twin after this statement began: it cannot be seen yet.
    guard let known = rows.bytes(0, 1) else { return .running }
    guard known == digest || options.secrets.recognises(text, by: known) else { return .differs }
    guard let status = rows.int(0, 2) else { return .running }
    let sealed = SecretBox.Sealed(keyID: rows.text(0, 4) ?? "", bytes: rows.bytes(0, 5) ?? [])
    guard let body = options.secrets.open(sealed, place: place(key, call)) else { return .running }
    var response = APIResponse(
      status: Int(status), headers: [("Idempotency-Replayed", "true")], body: body)
    if let type = rows.text(0, 3) { response.headers.append(("Content-Type", type)) }
    return .answered(response)
  }

  /// A claim whose gateway died is taken over after a minute, and one of yesterday at once. Each
  /// claim sweeps some of those that are over.
  private static let claimKeySQL: StaticString = """
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

  /// The handler has done its work, so what goes wrong here is only reported.
  private func keep(_ response: APIResponse, _ key: String, _ call: Call) async {
    var parameters: [Parameter] = [.uuid(call.workspace), .uuid(call.caller.id), .text(key)]
    let isFinal = response.status < 500 && response.status != 429
    do throws(QueryFailure) {
      let body = response.repeatable ?? response.body
      guard isFinal, body.count <= APILimits.idempotencyBodyBytes else {
        _ = try await database.run(Query(API.releaseKeySQL, parameters))
        return
      }
      let sealed = options.secrets.seal(body, place: place(key, call))
      let type = response.headers.first { $0.name.equalsIgnoringASCIICase("Content-Type") }?.value
      parameters += [
        .int(Int64(response.status)), .text(type), .text(sealed.keyID), .bytes(sealed.bytes),
      ]
      _ = try await database.run(Query(API.keepAnswerSQL, parameters))
    } catch {
      options.report("an answer could not be kept for its Idempotency-Key: \(error)")
    }
  }

  private static let releaseKeySQL: StaticString = """
    DELETE FROM idempotency_keys
    WHERE workspace_id = $1::uuid AND caller_id = $2::uuid AND key = $3::text
    """

  private static let keepAnswerSQL: StaticString = """
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
    "An Idempotency-Key has 1 to \(APILimits.idempotencyKeyBytes) visible characters of ASCII.")

  static let idempotencyConflict = Problem(
    status: 422, type: "idempotency_conflict", title: "Another request",
    detail: "This Idempotency-Key belongs to another request; send this one under a new key.")

  static let idempotencyRunning = Problem(
    status: 409, type: "idempotency_running", title: "Still running",
    detail: "The request with this Idempotency-Key is still running; ask again in a moment."
  ).retry(afterSeconds: 1)
}
