/// The OpenAPI document (3.1). It is generated from the table of routes, so that the two cannot
/// differ. Each area has a file with its schemas.
import Directory
import JSON
import Primitives

struct DocumentRoutes: RouteGroup {
  let api: API

  func show(_ request: APIRequest) async throws(Problem) -> APIResponse {
    .json(OpenAPIDocument.text(servedFrom: api.options.publicURL))
  }
}

enum OpenAPIDocument {
  /// The document without its `servers`.
  static let withoutServers: [UInt8] = {
    var paths: [String: JSONValue] = [:]
    for route in API.routes {
      var item = paths[route.path]?.object ?? [:]
      item[route.method.lowercased()] = operation(route)
      paths[route.path] = .object(item)
    }
    return JSONValue.object([
      "openapi": .string("3.1.0"),
      "info": .object([
        "title": .string("Chirrup"), "version": .string("1"), "description": .string(introduction),
      ]),
      "paths": .object(paths), "tags": .array(areaTitles.map { .object(["name": .string($0)]) }),
      "components": .object([
        "schemas": .object(
          Dictionary(
            uniqueKeysWithValues: components.map { ($0, described($1.definition, in: $0)) })),
        "responses": .object(failures), "securitySchemes": .object(logins),
      ]),
    ]).text
  }()

  /// The document with its `servers`: the configured address of the gateway, or else the one from
  /// which the document was fetched (OpenAPI 3.1 §4.8.5: a relative URL).
  static func text(servedFrom url: String?) -> [UInt8] {
    let server = JSONValue.object([
      "url": .string(url ?? "/"), "description": .string("This gateway."),
    ])
    var text: [UInt8] = []
    text.reserveCapacity(withoutServers.count + APILimits.originBytes + 100)
    text.append("{\"servers\":[" as StaticString)
    server.append(to: &text)
    text.append("]," as StaticString)
    // The document is one object with members.
    text.append(contentsOf: withoutServers[1...])
    return text
  }

  /// A schema in which every member has a description, if there is one for its name.
  private static func described(_ schema: JSONValue, in component: String) -> JSONValue {
    switch schema {
    case .array(let elements): return .array(elements.map { described($0, in: component) })
    case .object(var keywords):
      for (keyword, value) in keywords {
        guard keyword == "properties", let members = value.object else {
          keywords[keyword] = described(value, in: component)
          continue
        }
        keywords[keyword] = .object(
          Dictionary(
            uniqueKeysWithValues: members.map { name, schema in
              (name, describedMember(name, described(schema, in: component), in: component))
            }))
      }
      return .object(keywords)
    default: return schema
    }
  }

  private static func describedMember(
    _ name: String, _ schema: JSONValue, in component: String
  ) -> JSONValue {
    guard case .object(var keywords) = schema, keywords["description"] == nil,
      let text = MemberTexts.description(of: name, in: component)
    else { return schema }
    keywords["description"] = .string(text)
    return .object(keywords)
  }

  private static let introduction = """
    The REST API of a Chirrup gateway. Errors are problem documents (RFC 9457). Lists are paged \
    with a cursor and a limit. A write with an Idempotency-Key takes effect once within 24 hours, \
    however often it is sent. Secrets that are returned once (of an API key or a webhook) are in \
    the first response and not in a repeated one; if you lose one, delete the key or webhook and \
    create another. Limits of texts count bytes of UTF-8. U+0000 is refused in all texts. Requests \
    with a login are limited for each member, API key, visitor and workspace: RateLimit-Policy \
    states the limits, RateLimit what remains of the nearest one, and above it the response is 429 \
    with Retry-After and the name of the limit. Operations with x-expensive read much: few of one \
    workspace run at once, further ones wait.
    """

  private static let logins: [String: JSONValue] = [
    "operator": .object([
      "type": .string("http"), "scheme": .string("bearer"),
      "description": .string("An operator's token, or an API key (ck_…)."),
    ]),
    "console": .object([
      "type": .string("apiKey"), "in": .string("cookie"), "name": .string(API.cookieName),
      "description": .string(
        "The console's cookie. A write also requires the header Sec-Fetch-Site or Origin, with "
          + "which the browser shows that a page of the gateway sent it."),
    ]),
    "visitor": .object([
      "type": .string("http"), "scheme": .string("bearer"),
      "description": .string("A visitor's token (POST /api/v1/widget/token)."),
    ]),
  ]

  /// The named schemas that routes refer to.
  static let components: [String: Schema] = {
    var found: [String: Schema] = [:]
    func collect(_ schema: Schema) {
      if let name = schema.name {
        guard found[name] == nil else { return }
        found[name] = schema
      }
      for part in schema.parts { collect(part) }
    }
    collect(.problem)
    for route in API.routes {
      for schema in [route.body, route.response, route.texts] { if let schema { collect(schema) } }
      for parameter in route.query { collect(parameter.schema) }
    }
    return found
  }()

  // MARK: Operations

  private static func operation(_ route: Route) -> JSONValue {
    var operation: [String: JSONValue] = [
      "operationId": .string(operationID(route)), "summary": .string(route.summary),
      "description": .text(OperationTexts.descriptions[operationID(route)]),
      "tags": .array([.string(area(route))]),
      "parameters": .array(parameters(route)),
      "responses": .object(responses(route)),
      "security": .array(logins(of: route).map { .object([$0: .array([])]) }),
    ]
    if case .forMembers(let least, let scope, _) = route.handler {
      operation["x-role"] = .string(least.rawValue)
      operation["x-scope"] = scope.map { .string($0.rawValue) } ?? .null
    }
    if route.isExpensive { operation["x-expensive"] = .bool(true) }
    if let body = route.body {
      var content = ["schema": body.json]
      content["example"] = body.name.flatMap { Examples.request($0) }
      operation["requestBody"] = .object([
        "required": .bool(!body.isOptional),
        "content": .object([route.bodyType: .object(content)]),
      ])
    }
    return .object(operation)
  }

  /// The alternatives; empty: the operation requires no login.
  private static func logins(of route: Route) -> [String] {
    switch route.handler {
    case .forWidgets: []
    case .forAnybody: route.needsCookie ? ["console"] : []
    case .forVisitors: ["visitor"]
    case .forMembers: ["operator", "console"]
    }
  }

  /// `patch_admin_members_id` for `PATCH /api/v1/admin/members/{id}`.
  static func operationID(_ route: Route) -> String {
    let words = route.path.split(separator: "/").dropFirst(2)
      .map { $0.filter { $0 != "{" && $0 != "}" }.replacing("-", with: "_") }
    return ([route.method.lowercased()] + words).joined(separator: "_")
  }

  /// The groups of operations in the order of the document; the longest beginning of a path counts.
  private static let areas: [(path: String, title: String)] = [
    ("admin/assist", "Assist"), ("admin/channels", "Channels"), ("channels", "Channels"),
    ("admin/live-chat", "Conversations"), ("admin/visitors", "Visitors"),
    ("admin/macros", "Macros"), ("admin/views", "Saved views"),
    ("admin/live-chat/visitors", "Visitors on the site"),
    ("admin/proactive-messages", "Proactive messages"),
    ("admin/reply-objects", "Canned replies"),
    ("admin/intents", "Intents"), ("admin/rich-menus", "Menus"), ("admin/tags", "Tags"),
    ("admin/teams", "Teams"), ("admin/mail", "E-mail"), ("mail", "E-mail"),
    ("admin/webhooks", "Webhooks"), ("admin/members", "Members"),
    ("admin/settings", "Settings"), ("admin/live-chat/analytics", "Analytics"),
    ("admin/api-keys", "API keys"),
    ("admin/credentials", "Credentials"), ("admin/identity-secrets", "Identity secrets"),
    ("admin/identity-provider", "Single sign-on"), ("admin/audit-log", "Audit log"),
    ("admin/connection", "Connections"), ("attachments", "Attachments"),
    ("admin/attachments", "Attachments"), ("widget", "Widget"), ("auth", "Login"),
    ("openapi.json", "This document"),
  ]

  private static var areaTitles: [String] {
    areas.reduce(into: []) { if !$0.contains($1.title) { $0.append($1.title) } }
  }

  private static func area(_ route: Route) -> String {
    let path = route.path.dropFirst("/api/v1/".count)
    let area = areas.filter { path.hasPrefix($0.path) }.max { $0.path.count < $1.path.count }
    guard let area else { preconditionFailure("no area has the path \(route.path)") }
    return area.title
  }

  private static func parameters(_ route: Route) -> [JSONValue] {
    var found: [JSONValue] = []
    var segment = ""
    for part in route.parts {
      switch part {
      case .word(let word): segment = word
      case .id(let name):
        found.append(pathParameter(name, segment, .id))
        segment = name
      case .text(let name):
        found.append(pathParameter(name, segment, route.texts))
        segment = name
      }
    }
    for item in route.query {
      found.append(parameter(item.name, "query", item.schema, isRequired: item.isRequired))
    }
    if route.isIdempotent {
      found.append(parameter("Idempotency-Key", "header", .idempotencyKey, isRequired: false))
    }
    if route.allowsConditionalCreate {
      found.append(parameter("If-None-Match", "header", .createOnly, isRequired: false))
    }
    return found
  }

  /// - Parameter segment: what stands before it in the path: a fixed word, or a parameter.
  private static func pathParameter(
    _ name: String, _ segment: String, _ schema: Schema
  ) -> JSONValue {
    parameter(
      name, "path", schema, isRequired: true, text: OperationTexts.segments[segment],
      example: schema.json["format"]?.string == "uuid"
        ? .string(Examples.id) : .text(OperationTexts.names[segment]))
  }

  private static func parameter(
    _ name: String, _ place: String, _ schema: Schema, isRequired: Bool, text: String? = nil,
    example: JSONValue? = nil
  ) -> JSONValue {
    var parameter: [String: JSONValue] = [
      "name": .string(name), "in": .string(place), "required": .bool(isRequired),
      "schema": schema.json,
    ]
    parameter["description"] =
      (text.map { .string($0) } ?? schema.json["description"]
        ?? OperationTexts.parameters[name].map { .string($0) })
    parameter["example"] = example ?? Examples.parameters[name]
    return .object(parameter)
  }

  // MARK: Responses

  private static func responses(_ route: Route) -> [String: JSONValue] {
    var responses: [String: JSONValue] = ["\(route.status)": success(route)]
    // The id was sent before.
    if route.status == 201 { responses["200"] = success(route) }
    for status in route.errorStatuses {
      responses["\(status)"] =
        route.type == "text/html" && route.problems.contains(status)
        ? failureOfPage(status)
        : .object(["$ref": .string("#/components/responses/\(status)")])
    }
    return responses
  }

  /// An error that a page for people tells, or a problem.
  private static func failureOfPage(_ status: Int) -> JSONValue {
    var response = failures["\(status)"]?.object ?? [:]
    var content = response["content"]?.object ?? [:]
    content["text/html"] = .object([
      "schema": Schema.text.json, "example": .string("<!doctype html>"),
    ])
    response["content"] = .object(content)
    return .object(response)
  }

  private static func success(_ route: Route) -> JSONValue {
    var response: [String: JSONValue] = ["description": .string(route.summary + ".")]
    var headers: [String: JSONValue] = [:]
    switch route.handler {
    case .forMembers, .forVisitors: headers = rateLimitHeaders
    case .forWidgets, .forAnybody: break
    }
    if route.isIdempotent {
      headers["Idempotency-Replayed"] = header(
        .word(["true"]), "The response of the first request with this Idempotency-Key.")
    }
    if !headers.isEmpty { response["headers"] = .object(headers) }
    if route.status != 204 {
      let schema = route.response ?? .text
      response["content"] = .object([
        route.type: .object(["schema": schema.json, "example": example(of: route)])
      ])
    }
    return .object(response)
  }

  private static func example(of route: Route) -> JSONValue {
    if let text = OperationTexts.plainResponses[operationID(route)] { return .string(text) }
    return route.response.map { Examples.value(of: $0.json) } ?? .string("")
  }

  private static func header(
    _ schema: Schema, _ description: String, isRequired: Bool = false
  ) -> JSONValue {
    .object([
      "schema": schema.json, "description": .string(description), "required": .bool(isRequired),
    ])
  }

  /// See draft-ietf-httpapi-ratelimit-headers.
  private static let rateLimitHeaders = [
    "RateLimit-Policy": header(
      .text, "The limits: name, requests (q), and seconds (w), as in \"member\";q=1200;w=60."),
    "RateLimit": header(
      .text,
      "The limit that is nearest: name, requests that remain (r), and seconds until all of them "
        + "are allowed again (t), as in \"member\";r=1199;t=1."),
  ]

  /// The error responses, by status.
  private static let failures: [String: JSONValue] = {
    let titles = [
      400: "The request is invalid; `detail` tells where.",
      401: "The request has no valid login, or the login has expired.",
      403: "The caller may not do this, or not from this page.",
      404: "The caller's workspace does not have this resource.",
      409: "The request conflicts with the current state, or the first request with this "
        + "Idempotency-Key is still running (Retry-After).",
      412: "The resource exists, and the request has If-None-Match: *.",
      413: "A text, the body or a file is too long.",
      414: "The URL is too long.",
      415: "The body is not declared with the media type of the operation.",
      416: "The file has no bytes in this range.",
      422:
        "A value cannot be stored, a password is weak, or the Idempotency-Key belongs to another "
        + "request.",
      429: "Too many requests; `limit` tells of what, Retry-After when to try again.",
      503: "The database does not respond, or the gateway is overloaded; Retry-After tells when to "
        + "try again.",
    ]
    return Dictionary(
      uniqueKeysWithValues: titles.map { status, title in
        var response: [String: JSONValue] = [
          "description": .string(title),
          "content": .object(["application/problem+json": .object(problemContent(status))]),
        ]
        let wait = header(
          .int(1...86_400), "The seconds to wait.", isRequired: status == 429 || status == 503)
        switch status {
        case 401:
          let challenge = header(
            .text, "The authentication scheme (RFC 9110 §11.6.1).", isRequired: true)
          response["headers"] = .object(["WWW-Authenticate": challenge])
        case 429:
          response["headers"] = .object(
            rateLimitHeaders.merging(["Retry-After": wait]) { first, _ in first })
        case 409, 503: response["headers"] = .object(["Retry-After": wait])
        default: break
        }
        return ("\(status)", .object(response))
      })
  }()
}

extension OpenAPIDocument {
  /// The schema of error responses, and those that occur with this status.
  private static func problemContent(_ status: Int) -> [String: JSONValue] {
    var content = ["schema": Schema.problem.json]
    let known = Examples.problems[status] ?? []
    if !known.isEmpty {
      content["examples"] = .object(
        Dictionary(
          known.map { problem in
            let name = problem["type"]?.string?.split(separator: ":").last.map { String($0) }
            return (name ?? "", .object(["value": problem]))
          }, uniquingKeysWith: { first, _ in first }))
    }
    return content
  }
}

extension Schema {
  static let createOnly = word(["*"]).described(
    "Creates the resource; an existing one remains unchanged (412).")

  static let idempotencyKey = string(
    1...APILimits.idempotencyKeyBytes, pattern: "^[!-~]+$"
  ).described(
    "A text of your choice. Requests with the same key take effect once within 24 hours.")
}
