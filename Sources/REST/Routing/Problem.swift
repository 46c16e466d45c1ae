/// An error as its reader gets it (RFC 9457, `application/problem+json`): what happened, and what
/// to do.
///
/// `type` is a stable name for programs, `title` its constant text, `detail` a sentence for a
/// person.
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
  /// The operator who was faster.
  var winner: (id: Identifier, name: String)?
  /// How many conversations an operator may have.
  var capacity: Int64?

  func response() -> APIResponse {
    let body = [UInt8].object { json in
      json.appendMember("type", "urn:chirrup:problem:\(type)")
      json.appendMember("title", title)
      json.appendMember("status", Int64(status))
      json.appendMember("detail", detail)
      if let winner {
        json.appendObject("winner") {
          $0.appendMember("id", winner.id)
          $0.appendMember("name", winner.name)
        }
      }
      if let capacity { json.appendMember("capacity", capacity) }
    }
    return APIResponse(
      status: status, headers: [("Content-Type", "application/problem+json")] + headers, body: body)
  }

  func retry(afterSeconds seconds: Int) -> Problem {
    var problem = self
    problem.headers.append(("Retry-After", String(max(1, seconds))))
    return problem
  }
}

extension Problem {
  static func invalid(_ detail: String) -> Problem {
    Problem(status: 400, type: "invalid_request", title: "Invalid request", detail: detail)
  }

  /// `JobThread` has no room.
  static let tooBusy = Problem(
    status: 503, type: "too_busy", title: "Too busy",
    detail: "Too many patterns wait to be compiled or matched; try again in a moment.",
    headers: [("Retry-After", "1")])

  /// 422: the text is understood, and cannot be kept.
  static func pattern(_ fault: PatternFault) -> Problem {
    switch fault.reason {
    case .syntax: .invalid("keyword: \(fault.sentence)")
    case .tooLarge, .workspaceFull:
      Problem(
        status: 422, type: "pattern_too_large", title: "Pattern too large",
        detail: "keyword: \(fault.sentence)")
    }
  }

  static func wrongType(_ name: String, _ expected: String) -> Problem {
    .invalid("The member “\(name)” must be \(expected).")
  }

  static func tooLong(_ name: String, bytesMax: Int) -> Problem {
    Problem(
      status: 413, type: "too_large", title: "Too large",
      detail: "The member “\(name)” may have at most \(bytesMax) bytes; shorten it.")
  }

  static func missing(_ name: String) -> Problem {
    .invalid("The member “\(name)” is missing; send it in the JSON body.")
  }

  static func forbidden(_ type: String, _ detail: String) -> Problem {
    Problem(status: 403, type: type, title: "Forbidden", detail: detail)
  }

  static func conflict(_ detail: String) -> Problem {
    Problem(status: 409, type: "conflict", title: "Conflict", detail: detail)
  }

  /// A workspace has as many of these as it may.
  static func tooMany(_ what: String, _ most: Int64) -> Problem {
    Problem(
      status: 409, type: "too_many", title: "Too many",
      detail: "A workspace may have at most \(most) \(what); delete some first.")
  }

  static let refusedValue = Problem(
    status: 422, type: "rejected", title: "Rejected",
    detail: "The database cannot store a value of this request; change it before trying again.")

  static let notFound = Problem(
    status: 404, type: "not_found", title: "Not found",
    detail: "There is nothing at this address; check the path.")

  /// The same for a conversation that does not exist and for one of somebody else.
  static let noSuchSession = Problem(
    status: 404, type: "no_such_session", title: "No such conversation",
    detail: "There is no conversation with this id in your workspace; it may have been deleted.")

  static let unauthenticated = Problem(
    status: 401, type: "unauthenticated", title: "Not logged in",
    detail:
      "Log in, or send “Authorization: Bearer” with an operator's token that has not expired.",
    headers: [("WWW-Authenticate", "Bearer realm=\"chirrup\"")])

  static func rateLimited(afterSeconds seconds: Int) -> Problem {
    let wait = max(1, seconds)
    return Problem(
      status: 429, type: "rate_limited", title: "Too many requests",
      detail: "Too many requests came from here; try again in \(wait) s."
    ).retry(afterSeconds: wait)
  }

  static let unavailable = Problem(
    status: 503, type: "unavailable", title: "Temporarily unavailable",
    detail: "The database does not answer at the moment; try again shortly."
  ).retry(afterSeconds: 2)

  static let internalError = Problem(
    status: 500, type: "internal", title: "Internal error",
    detail: "The gateway failed to answer this request; its log says why.")

  static func database(_ failure: QueryFailure) -> Problem {
    switch failure {
    case .unavailable, .overloaded: return .unavailable
    case .refused(let state, _):
      if state.isTransient { return .unavailable }
      switch state.errorClass {
      // Data that PostgreSQL will never take.
      case "22":
        return .refusedValue
      // What the tables refuse and no reader of the body has: somebody else was faster, or a value
      // that a constraint forbids.
      case "23":
        return state.code == "23505" || state.code == "23503"
          ? .conflict("Something of this name exists already, or is gone by now; look again.")
          : .refusedValue
      default: return .internalError
      }
    }
  }

  static func json(_ fault: JSONObject.Fault) -> Problem {
    switch fault {
    case .malformed: .invalid("The body is not valid JSON in UTF-8; check its syntax.")
    case .notAnObject: .invalid("The body must be a JSON object.")
    case .tooDeep:
      .invalid("The body's JSON is nested deeper than \(JSONScanner.depthMax) levels; flatten it.")
    case .tooManyKeys:
      .invalid("An object of the body has more than \(JSONScanner.keysMax) members; send fewer.")
    }
  }

  static func unstorable(_ name: String) -> Problem {
    Problem(
      status: 422, type: "rejected", title: "Rejected",
      detail: "The member “\(name)” holds U+0000 or half of a surrogate pair; remove it.")
  }
}

extension Problem {
  static let bodyTooLarge = Problem(
    status: 413, type: "too_large", title: "Too large",
    detail: "The body may have at most \(APILimits.bodyBytes) bytes; send less.")

  static let unsupportedMediaType = Problem(
    status: 415, type: "unsupported_media_type", title: "Not JSON",
    detail: "Send the body as JSON, with “Content-Type: application/json”.")

  static func wrongMethod(allowed: [String]) -> Problem {
    let list = allowed.joined(separator: ", ")
    return Problem(
      status: 405, type: "method_not_allowed", title: "Method not allowed",
      detail: "This address does not know the method of this request; use \(list).",
      headers: [("Allow", list)])
  }
}
