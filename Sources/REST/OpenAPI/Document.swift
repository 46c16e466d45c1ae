/// The OpenAPI document (3.1), made from the table of routes: what is not in the table is not in
/// the document, and the other way round. The schemas stand beside it, one file for each area.
import Directory
import JSON
import Primitives

struct DocumentRoutes: RouteGroup {
  let rest: API

  func show(_ request: APIRequest) async throws(Problem) -> APIResponse {
    .json(API.document)
  }
}

extension API {
  /// Made once.
  static let document: [UInt8] = {
    var paths: [String: JSONValue] = [:]
    for route in routes {
      var item = paths[route.path]?.object ?? [:]
      item[route.method.lowercased()] = operation(route)
      paths[route.path] = .object(item)
    }
    return JSONValue.object([
      "openapi": .string("3.1.0"),
      "info": .object([
        "title": .string("Chirrup"), "version": .string("1"), "description": .string(introduction),
      ]),
      "paths": .object(paths),
      "components": .object([
        "schemas": .object(components.mapValues(\.definition)),
        "responses": .object(failures), "securitySchemes": .object(logins),
      ]),
    ]).text
  }()

  private static let introduction = """
    The REST API of a Chirrup gateway. Errors are problem documents (RFC 9457). Lists have a \
    cursor and a limit. A write may carry an Idempotency-Key, which makes it happen once within \
    24 hours; a secret that is shown once (an API key, a webhook's) is in the first answer and \
    not in a repetition: delete what was made and make another. Where a schema bounds a text, the \
    bound counts bytes of UTF-8, and U+0000 is refused everywhere.
    """

  private static let logins: [String: JSONValue] = [
    "operator": .object([
      "type": .string("http"), "scheme": .string("bearer"),
      "description": .string("An operator's token, or an API key (ck_…)."),
    ]),
    "console": .object([
      "type": .string("apiKey"), "in": .string("cookie"), "name": .string(cookieName),
      "description": .string(
        "The console's cookie. A write with it also needs the browser's proof that a page of the "
          + "gateway sent it: Sec-Fetch-Site, or Origin."),
    ]),
    "visitor": .object([
      "type": .string("http"), "scheme": .string("bearer"),
      "description": .string("The token of a visitor's widget."),
    ]),
  ]

  /// Every schema with a name that a route leads to.
  static let components: [String: Schema] = {
    var found: [String: Schema] = [:]
    func look(_ schema: Schema) {
      if let name = schema.name {
        guard found[name] == nil else { return }
        found[name] = schema
      }
      for part in schema.parts { look(part) }
    }
    look(.problem)
    for route in routes {
      for schema in [route.body, route.answer, route.texts] { if let schema { look(schema) } }
      for parameter in route.query { look(parameter.schema) }
    }
    return found
  }()

  // MARK: One operation

  private static func operation(_ route: Route) -> JSONValue {
    var operation: [String: JSONValue] = [
      "operationId": .string(operationID(route)), "summary": .string(route.summary),
      "tags": .array([.string(area(route))]),
      "parameters": .array(parameters(route)),
      "responses": .object(responses(route)),
      "security": .array(logins(of: route).map { .object([$0: .array([])]) }),
    ]
    if case .forMembers(let least, let scope, _) = route.handler {
      operation["x-role"] = .string(least.rawValue)
      operation["x-scope"] = scope.map { .string($0.rawValue) } ?? .null
    }
    if let body = route.body {
      operation["requestBody"] = .object([
        "required": .bool(!body.isOptional),
        "content": .object(["application/json": .object(["schema": body.json])]),
      ])
    }
    return .object(operation)
  }

  /// One of them is enough; none: nobody is asked.
  private static func logins(of route: Route) -> [String] {
    switch route.handler {
    case .forWidgets: []
    case .forAnybody: route.needsCookie ? ["console"] : []
    case .forVisitors: ["visitor"]
    case .forMembers: ["operator", "console"]
    }
  }

  /// `PATCH /api/v1/admin/members/{id}` is `patch_admin_members_id`.
  private static func operationID(_ route: Route) -> String {
    let words = route.path.split(separator: "/").dropFirst(2)
      .map { $0.filter { $0 != "{" && $0 != "}" }.replacing("-", with: "_") }
    return ([route.method.lowercased()] + words).joined(separator: "_")
  }

  private static func area(_ route: Route) -> String {
    let words = route.path.split(separator: "/").dropFirst(2).map { String($0) }
    let rest = words.first == "admin" ? Array(words.dropFirst()) : words
    return rest.first == "live-chat" && rest.count > 1 ? rest[1] : rest.first ?? ""
  }

  private static func parameters(_ route: Route) -> [JSONValue] {
    var found: [JSONValue] = []
    for part in route.parts {
      switch part {
      case .word: continue
      case .id(let name): found.append(parameter(name, "path", .id, isRequired: true))
      case .text(let name): found.append(parameter(name, "path", route.texts, isRequired: true))
      }
    }
    for item in route.query {
      found.append(parameter(item.name, "query", item.schema, isRequired: item.isRequired))
    }
    if route.isOnce {
      found.append(parameter("Idempotency-Key", "header", .idempotencyKey, isRequired: false))
    }
    if route.allowsConditionalCreate {
      found.append(parameter("If-None-Match", "header", .onlyNew, isRequired: false))
    }
    return found
  }

  private static func parameter(
    _ name: String, _ place: String, _ schema: Schema, isRequired: Bool
  ) -> JSONValue {
    .object([
      "name": .string(name), "in": .string(place), "required": .bool(isRequired),
      "schema": schema.json,
    ])
  }

  // MARK: What is answered

  private static func responses(_ route: Route) -> [String: JSONValue] {
    var responses: [String: JSONValue] = ["\(route.status)": success(route)]
    // What was sent before under the same id is there already.
    if route.status == 201 { responses["200"] = success(route) }
    for status in route.failures {
      responses["\(status)"] = .object(["$ref": .string("#/components/responses/\(status)")])
    }
    return responses
  }

  private static func success(_ route: Route) -> JSONValue {
    var response: [String: JSONValue] = ["description": .string(route.summary + ".")]
    if route.isOnce {
      response["headers"] = .object([
        "Idempotency-Replayed": header(
          .word(["true"]), "It was done before, under the same Idempotency-Key.")
      ])
    }
    if route.status != 204 {
      let schema = route.answer ?? .text
      response["content"] = .object([route.type: .object(["schema": schema.json])])
    }
    return .object(response)
  }

  private static func header(
    _ schema: Schema, _ description: String, isRequired: Bool = false
  ) -> JSONValue {
    .object([
      "schema": schema.json, "description": .string(description), "required": .bool(isRequired),
    ])
  }

  /// Each failure once, by its status.
  private static let failures: [String: JSONValue] = {
    let titles = [
      400: "The request is wrong: `detail` says where.",
      401: "Nobody is logged in, or not any more.",
      403: "The caller may not do this, or not from this page.",
      404: "There is no such thing in the caller's workspace.",
      409: "It conflicts with what is there; or the same write is still running (Retry-After).",
      412: "It is there already, and If-None-Match was sent.",
      413: "A text or the body is too long.",
      414: "The address of the request is too long.",
      415: "The body is not declared as application/json.",
      422: "It cannot be stored; or the Idempotency-Key belongs to another request.",
      429: "Too many requests; Retry-After says when to come again.",
      503: "The database does not answer, or too much waits; Retry-After says when to come again.",
    ]
    return Dictionary(
      uniqueKeysWithValues: titles.map { status, title in
        var response: [String: JSONValue] = [
          "description": .string(title),
          "content": .object([
            "application/problem+json": .object(["schema": Schema.problem.json])
          ]),
        ]
        let wait = header(
          .int(1...86_400), "Seconds to wait.", isRequired: status == 429 || status == 503)
        switch status {
        case 401:
          let challenge = header(.text, "RFC 9110 §11.6.1.", isRequired: true)
          response["headers"] = .object(["WWW-Authenticate": challenge])
        case 409, 429, 503: response["headers"] = .object(["Retry-After": wait])
        default: break
        }
        return ("\(status)", .object(response))
      })
  }()
}

extension Schema {
  static let onlyNew = word(["*"]).saying("Makes it, and changes nothing that is there already.")

  static let idempotencyKey = string(
    1...APILimits.idempotencyKeyBytes, pattern: "^[!-~]+$"
  ).saying("Of the caller's choice; the same key and request within 24 hours happen once.")
}
