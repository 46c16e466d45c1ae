/// The OpenAPI document (3.1), made from the table of routes: what is not in the table is not in
/// the document, and the other way round. The schemas stand in `OpenAPI+Schemas.swift`.
import Directory
import Primitives

extension API {
  func openAPI(_ request: APIRequest) async throws(Problem) -> APIResponse {
    .json(API.document)
  }

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
        "title": .string("Chirrup"), "version": .string("1"),
        "description": .string(
          "The REST API of a Chirrup gateway. Errors are problem documents (RFC 9457). Lists have "
            + "a cursor and a limit. A write may carry an Idempotency-Key, which makes it happen "
            + "once within 24 hours."),
      ]),
      "paths": .object(paths),
      "components": .object([
        "schemas": .object(schemas.mapValues { JSONValue($0) ?? .null }),
        "securitySchemes": .object([
          "operator": .object([
            "type": .string("http"), "scheme": .string("bearer"),
            "description": .string("An operator's token, or an API key (ck_…)."),
          ]),
          "visitor": .object([
            "type": .string("http"), "scheme": .string("bearer"),
            "description": .string("The token of a visitor's widget."),
          ]),
        ]),
      ]),
    ]).text
  }()

  private static func operation(_ route: Route) -> JSONValue {
    var operation: [String: JSONValue] = [
      "operationId": .string(operationID(route)), "summary": .string(route.summary),
      "tags": .array([.string(area(route))]),
      "parameters": .array(parameters(route)),
      "responses": .object(responses(route)),
    ]
    switch route.handler {
    case .widget, .open: operation["security"] = .array([])
    case .visitor: operation["security"] = .array([.object(["visitor": .array([])])])
    case .member(let least, let scope, _):
      operation["security"] = .array([.object(["operator": .array([])])])
      operation["x-role"] = .string(least.rawValue)
      operation["x-scope"] = scope.map { .string($0.rawValue) } ?? .null
    }
    if let body = route.body {
      operation["requestBody"] = .object([
        "required": .bool(true),
        "content": .object(["application/json": .object(["schema": reference(body)])]),
      ])
    }
    return .object(operation)
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
      case .id(let name): found.append(parameter(name, "path", "Id"))
      case .text(let name): found.append(parameter(name, "path", "Name"))
      }
    }
    for name in route.query { found.append(parameter(name, "query", "query_\(name)")) }
    return found
  }

  private static func parameter(_ name: String, _ place: String, _ schema: String) -> JSONValue {
    let isRequired = place == "path" || requiredParameters.contains(name)
    return .object([
      "name": .string(name), "in": .string(place), "required": .bool(isRequired),
      "schema": schemas[schema] == nil ? .object(["type": .string("string")]) : reference(schema),
    ])
  }

  /// Where a list has them, it cannot do without.
  private static let requiredParameters: Set<String> = ["workspace"]

  private static func responses(_ route: Route) -> [String: JSONValue] {
    let problem: JSONValue = .object([
      "description": .string("What went wrong, and what to do."),
      "content": .object(["application/problem+json": .object(["schema": reference("Problem")])]),
    ])
    var responses: [String: JSONValue] = [
      "\(route.status)": success(route), "default": problem,
    ]
    // What was sent before under the same id is there already.
    if route.status == 201 { responses["200"] = success(route) }
    return responses
  }

  private static func success(_ route: Route) -> JSONValue {
    guard route.status != 204 else { return .object(["description": .string("Done.")]) }
    let schema = route.answer.map { reference($0) } ?? .object(["type": .string("object")])
    return .object([
      "description": .string(route.summary),
      "content": .object(["application/json": .object(["schema": schema])]),
    ])
  }

  private static func reference(_ name: String) -> JSONValue {
    guard schemas[name] != nil else { return .object(["type": .string("object")]) }
    return .object(["$ref": .string("#/components/schemas/\(name)")])
  }
}
