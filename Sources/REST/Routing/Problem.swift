/// An error response (RFC 9457, `application/problem+json`).
///
/// `type` is a stable name for programs, `title` its constant text. `detail` is for a person: what
/// happened, why, and what to do. If one member of the body is wrong, `pointer` is its place (RFC
/// 6901), and `reason` says what is wrong without naming it: a form shows it at the field.
import Automation
import Chat
import JSON
import Postgres
import Primitives

struct Problem: Error {
  var status: Int
  var type: String
  var title: String
  var detail: String
  var headers: [(name: String, value: String)] = []
  /// The wrong member of the body, as a JSON Pointer.
  var pointer: String?
  /// The predicate of the sentence about the member.
  var reason: String?
  /// The operator who has claimed the conversation.
  var winner: (id: Identifier, name: String)?
  /// The most open conversations of an operator.
  var capacity: Int64?
  /// The limit that was exceeded (429).
  var limit: String?
  /// The bytes of an upload that were received.
  var received: Int64?

  func response() -> APIResponse {
    let body = [UInt8].object { json in
      json.appendMember("type", "urn:chirrup:problem:\(type)")
      json.appendMember("title", title)
      json.appendMember("status", Int64(status))
      json.appendMember("detail", detail)
      json.appendMember("pointer", ifAny: pointer)
      json.appendMember("reason", ifAny: reason)
      if let winner {
        json.appendObject("winner") {
          $0.appendMember("id", winner.id)
          $0.appendMember("name", winner.name)
        }
      }
      if let capacity { json.appendMember("capacity", capacity) }
      json.appendMember("limit", ifAny: limit)
      if let received { json.appendMember("received", received) }
    }
    return APIResponse(
      status: status, headers: [("Content-Type", "application/problem+json")] + headers, body: body)
  }

  /// The problem of the member at `pointer`.
  func at(_ pointer: String, reason: String? = nil) -> Problem {
    var problem = self
    problem.pointer = pointer
    problem.reason = reason
    return problem
  }

  func retry(afterSeconds seconds: Int) -> Problem {
    var problem = self
    problem.headers.append(("Retry-After", String(max(1, seconds))))
    return problem
  }
}

// MARK: 400, 413, 415, 422: the request

extension Problem {
  static func invalid(_ detail: String) -> Problem {
    Problem(status: 400, type: "invalid_request", title: "Invalid request", detail: detail)
  }

  /// - Parameter expected: what follows “must be”.
  static func invalidParameter(_ name: String, _ expected: String) -> Problem {
    .invalid("The parameter “\(name)” must be \(expected).")
  }

  /// - Parameters:
  ///   - object: the object with the member; by default the body.
  ///   - expected: what follows “must be”.
  static func invalidMember(
    _ name: String, in object: JSONObject = JSONObject(), _ expected: String
  ) -> Problem {
    .member(name, in: object, "must be \(expected).")
  }

  static func missing(_ name: String, in object: JSONObject = JSONObject()) -> Problem {
    .member(name, in: object, "is missing or empty. Send it in the JSON body.")
  }

  /// - Parameter reason: what follows the name of the member.
  static func member(
    _ name: String, in object: JSONObject = JSONObject(), _ reason: String
  ) -> Problem {
    .invalid("The member “\(name)” \(reason)").at(object.pointer(to: name), reason: reason)
  }

  static func json(_ fault: JSONObject.Fault) -> Problem {
    switch fault {
    case .malformed: .invalid("The body is not valid JSON in UTF-8. Check its syntax.")
    case .notAnObject: .invalid("The body must be a JSON object.")
    case .tooDeep:
      .invalid("The JSON of the body is nested deeper than \(JSONScanner.depthMax) levels.")
    case .tooManyKeys:
      .invalid("An object in the body has more than \(JSONScanner.keysMax) members.")
    }
  }

  static func tooLong(_ name: String, in object: JSONObject, bytesMax: Int) -> Problem {
    let reason = "exceeds \(bytesMax) bytes. Shorten it."
    return Problem(
      status: 413, type: "too_large", title: "Too large",
      detail: "The member “\(name)” \(reason)"
    ).at(object.pointer(to: name), reason: reason)
  }

  static let bodyTooLarge = Problem(
    status: 413, type: "too_large", title: "Too large",
    detail: "The body exceeds \(APILimits.bodyBytes) bytes. Shorten it.")

  static let unsupportedMediaType = Problem(
    status: 415, type: "unsupported_media_type", title: "Not JSON",
    detail: "The body is not declared as JSON. Send the header “Content-Type: application/json”.")

  static func unstorable(_ name: String, in object: JSONObject) -> Problem {
    let reason = "contains U+0000 or a lone surrogate, which cannot be stored. Remove it."
    return Problem(
      status: 422, type: "rejected", title: "Rejected",
      detail: "The member “\(name)” \(reason)"
    ).at(object.pointer(to: name), reason: reason)
  }

  static let refusedValue = Problem(
    status: 422, type: "rejected", title: "Rejected",
    detail: "The database cannot store a value of this request. Change it before you try again.")

  /// 422 for limits: the pattern is valid, but too large to store.
  static func pattern(_ fault: PatternFault) -> Problem {
    switch fault.reason {
    case .syntax: .invalid("keyword: \(fault.sentence)").at("/keyword")
    case .tooLarge, .workspaceFull:
      Problem(
        status: 422, type: "pattern_too_large", title: "Pattern too large",
        detail: "keyword: \(fault.sentence)"
      ).at("/keyword")
    }
  }
}

// MARK: 401, 403, 429: the caller

extension Problem {
  static let unauthenticated = Problem(
    status: 401, type: "unauthenticated", title: "Not logged in",
    detail: "The request has no valid token, API key or cookie, or it has expired. Log in, or send "
      + "“Authorization: Bearer” with a current token.",
    headers: [("WWW-Authenticate", "Bearer realm=\"chirrup\"")])

  static func forbidden(_ type: String, _ detail: String) -> Problem {
    Problem(status: 403, type: type, title: "Forbidden", detail: detail)
  }

  /// - Parameter limit: the subject of the limit, as “address” or “member”.
  static func rateLimited(afterSeconds seconds: Int, limit: String) -> Problem {
    let wait = max(1, seconds)
    let subject =
      switch limit {
      case "key": "with this API key"
      case "member", "visitor", "account", "parts": "for this account"
      case "workspace": "for this workspace"
      case "idempotency_keys": "with different Idempotency-Keys"
      default: "from your address"
      }
    return Problem(
      status: 429, type: "rate_limited", title: "Too many requests",
      detail: "Too many requests were sent \(subject). Try again in \(wait) s.", limit: limit
    ).retry(afterSeconds: wait)
  }
}

// MARK: 404, 405, 409: the resource

extension Problem {
  static let notFound = Problem(
    status: 404, type: "not_found", title: "Not found",
    detail: "The API has no such path, or an id in it is malformed. Check the path.")

  /// The same whether it does not exist or belongs to another workspace.
  static let noSuchSession = Problem(
    status: 404, type: "no_such_session", title: "No such conversation",
    detail: "Your workspace has no conversation with this id. It may have been deleted.")

  static func wrongMethod(allowed: [String]) -> Problem {
    let list = allowed.joined(separator: ", ")
    return Problem(
      status: 405, type: "method_not_allowed", title: "Method not allowed",
      detail: "This path does not support the method of the request. Use \(list).",
      headers: [("Allow", list)])
  }

  static func conflict(_ detail: String) -> Problem {
    Problem(status: 409, type: "conflict", title: "Conflict", detail: detail)
  }

  /// - Parameter items: what the workspace has `countMax` of.
  static func tooMany(_ items: String, _ countMax: Int64) -> Problem {
    Problem(
      status: 409, type: "too_many", title: "Too many",
      detail: "The workspace has \(countMax) \(items), the most it may have. Delete some first.")
  }
}

// MARK: 500, 503: the gateway

extension Problem {
  static let internalError = Problem(
    status: 500, type: "internal", title: "Internal error",
    detail: "The gateway failed to process the request. Its log tells why.")

  static let unavailable = Problem(
    status: 503, type: "unavailable", title: "Temporarily unavailable",
    detail: "The database does not respond. Try again in a few seconds."
  ).retry(afterSeconds: 2)

  /// The queue of `API.patterns` is full.
  static let tooBusy = Problem(
    status: 503, type: "too_busy", title: "Too busy",
    detail: "Too many patterns are waiting to be compiled or matched. Try again in a second.",
    headers: [("Retry-After", "1")])

  static func database(_ failure: QueryFailure) -> Problem {
    switch failure {
    case .unavailable, .overloaded: return .unavailable
    case .refused(let state, _):
      if state == .queryCanceled { return .tookTooLong }
      if state.isTransient { return .unavailable }
      switch state.errorClass {
      // Data exception: PostgreSQL never accepts the value.
      case "22": return .refusedValue
      // Constraint violation that no check of the body can find: a simultaneous request, or a
      // value that a constraint forbids.
      case "23":
        return state.code == "23505" || state.code == "23503"
          ? .conflict(
            "Another request has created or deleted something with this name. Read the current "
              + "state, then try again.")
          : .refusedValue
      default: return .internalError
      }
    }
  }
}
