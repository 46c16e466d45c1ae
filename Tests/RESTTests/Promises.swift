/// Compares every response in the tests with the OpenAPI document: status, media type, headers, and
/// each member of the body. A member that the document does not declare is a fault too.
import Directory
import JSON
import Primitives
import Testing

@testable import REST

enum Promises {
  /// The difference between a response and the document; nil if there is none, or no such route.
  static func fault(_ method: String, _ path: String, _ answer: APIResponse) -> String? {
    let parts = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    let sought = method == "HEAD" ? "GET" : method
    guard
      let route = API.routes.first(where: {
        $0.method == sought && Route.match(parts, $0.parts) != nil
      })
    else { return nil }
    let isSuccess = answer.status == route.status || answer.status == 200 && route.status == 201
    guard isSuccess || route.errorStatuses.contains(answer.status) else {
      return "the status \(answer.status) is not declared"
    }
    if answer.status == 204 {
      return answer.body.isEmpty ? nil : "there is a body"
    }
    for name in required(answer.status) where header(name, answer) == nil {
      return "there is no \(name)"
    }
    let type = isSuccess ? route.type : "application/problem+json"
    guard header("Content-Type", answer)?.split(separator: ";").first ?? "" == type else {
      return "the type is \(header("Content-Type", answer) ?? "none")"
    }
    // The document has more members than `JSONValue` accepts.
    if type == ConversationRoutes.exportType {
      return answer.body.split(separator: UInt8(ascii: "\n")).allSatisfy {
        JSONValue(Array($0)) != nil
      }
        ? nil : "a line is no JSON"
    }
    guard type != "text/plain", !route.path.hasSuffix("/openapi.json") else { return nil }
    guard let value = JSONValue(answer.body) else { return "the body is no JSON" }
    let schema = isSuccess ? route.response : .problem
    return schema.flatMap { fault(value, $0.json, "answer") }
  }

  private static func required(_ status: Int) -> [String] {
    switch status {
    case 401: ["WWW-Authenticate"]
    case 429, 503: ["Retry-After"]
    default: []
    }
  }

  private static func header(_ name: String, _ answer: APIResponse) -> String? {
    answer.headers.first { $0.name == name }?.value
  }

  /// Checks the part of JSON Schema that the document uses for responses.
  static func fault(_ value: JSONValue, _ schema: JSONValue, _ place: String) -> String? {
    if let reference = schema["$ref"]?.string {
      let name = reference.split(separator: "/").last.map { String($0) } ?? ""
      guard let component = OpenAPIDocument.components[name] else {
        return "\(place): no schema \(name)"
      }
      return fault(value, component.definition, place)
    }
    if let choices = schema["anyOf"]?.array {
      let faults = choices.compactMap { fault(value, $0, place) }
      return faults.count < choices.count ? nil : faults.first
    }
    if let words = schema["enum"]?.array, !words.contains(value) {
      return "\(place) is \(String(decoding: value.text, as: UTF8.self))"
    }
    guard types(schema["type"]).contains(where: { isOf($0, value) }) else {
      return "\(place) is of another type"
    }
    switch value {
    case .string(let text): return fault(text, schema, place)
    case .number(let digits):
      guard let least = schema["minimum"]?.int, let number = Int(digits) else { return nil }
      return number < least ? "\(place) is \(number)" : nil
    case .array(let elements):
      guard let items = schema["items"] else { return nil }
      return elements.lazy.compactMap { fault($0, items, "\(place)[]") }.first
    case .object(let members): return fault(members, schema, place)
    case .null, .bool: return nil
    }
  }

  private static func fault(
    _ members: [String: JSONValue], _ schema: JSONValue, _ place: String
  ) -> String? {
    guard let known = schema["properties"]?.object else { return nil }
    for name in (schema["required"]?.array ?? []).compactMap(\.string) where members[name] == nil {
      return "\(place) has no \(name)"
    }
    for (name, value) in members {
      guard let schema = known[name] else { return "\(place).\(name) is not declared" }
      if let fault = fault(value, schema, "\(place).\(name)") { return fault }
    }
    return nil
  }

  private static func fault(_ text: String, _ schema: JSONValue, _ place: String) -> String? {
    let isSound =
      switch schema["format"]?.string {
      case "uuid": Identifier(text) != nil
      case "date": isDate(text)
      case "date-time": text.count >= 20 && text.hasSuffix("Z") && isDate(String(text.prefix(10)))
      default: true
      }
    return isSound ? nil : "\(place) is “\(text)”"
  }

  private static func types(_ type: JSONValue?) -> [String] {
    if let name = type?.string { return [name] }
    return (type?.array ?? []).compactMap(\.string)
  }

  private static func isOf(_ type: String, _ value: JSONValue) -> Bool {
    switch (type, value) {
    case ("null", .null), ("boolean", .bool), ("string", .string), ("array", .array),
      ("object", .object), ("number", .number):
      true
    case ("integer", .number(let digits)): Int(digits) != nil
    default: false
    }
  }
}

@Suite struct PromiseTests {
  @Test("deviations from the document are found")
  func bites() throws {
    let path = "/api/v1/admin/live-chat/conversations/\(World.identifier())/read"
    func fault(_ status: Int, _ body: String, _ type: String = "application/json") -> String? {
      Promises.fault(
        "POST", path,
        APIResponse(status: status, headers: [("Content-Type", type)], body: Array(body.utf8)))
    }
    #expect(fault(200, #"{"read_seq":1}"#) == nil)
    #expect(fault(200, #"{"read_seq":"1"}"#) != nil)
    #expect(fault(200, #"{"read_seq":-1}"#) != nil)
    #expect(fault(200, #"{"read_seq":1,"more":2}"#) == "answer.more is not declared")
    #expect(fault(200, "{}") == "answer has no read_seq")
    #expect(fault(200, #"{"read_seq":1}"#, "text/html") != nil)
    #expect(fault(418, "{}") == "the status 418 is not declared")
    #expect(fault(429, "{}", "application/problem+json") == "there is no Retry-After")
  }
}
