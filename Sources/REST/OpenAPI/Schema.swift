/// A JSON Schema (2020-12): what a body, an answer or a parameter holds, as the OpenAPI document
/// says it. Each is written once, beside the routes that use it, and is a component of the document
/// when it has a name.
///
/// `maxLength` counts characters and the handlers count bytes of UTF-8: a text that is too long for
/// the schema is too long for the handler, but not the other way round.
import Directory
import JSON

struct Schema: Sendable {
  /// Under which it stands among the components; nil: it stands where it is used.
  private(set) var name: String?
  private var keywords: [String: JSONValue]
  /// What it is made of, so that the document finds its components.
  private(set) var parts: [Schema]

  private init(_ keywords: [String: JSONValue], _ parts: [Schema] = []) {
    self.keywords = keywords
    self.parts = parts
  }

  /// As it stands where it is used.
  var json: JSONValue {
    name.map { .object(["$ref": .string("#/components/schemas/\($0)")]) } ?? definition
  }

  var definition: JSONValue { .object(keywords) }

  /// Whether a body may be left out: nothing in it has to be there.
  var isOptional: Bool {
    keywords["required"] == nil && keywords["anyOf"] == nil && keywords["oneOf"] == nil
  }

  func named(_ name: String) -> Schema {
    var schema = self
    schema.name = name
    return schema
  }

  func saying(_ description: String) -> Schema { with("description", .string(description)) }

  private func with(_ keyword: String, _ value: JSONValue) -> Schema {
    var schema = self
    schema.keywords[keyword] = value
    return schema
  }

  /// The same, or null.
  var orNull: Schema {
    guard name == nil, keywords["format"] == nil, case .string(let type)? = keywords["type"] else {
      return .any(of: [self, Schema(["type": .string("null")])])
    }
    var schema = with("type", .array([.string(type), .string("null")]))
    if case .array(let words)? = keywords["enum"] {
      schema.keywords["enum"] = .array(words + [.null])
    }
    return schema
  }
}

extension Schema {
  static let bool = Schema(["type": .string("boolean")])
  /// Nothing but true.
  static let yes = Schema(["type": .string("boolean"), "const": .bool(true)])
  static let id = string(format: "uuid")
  static let time = string(format: "date-time")
  static let date = string(format: "date")
  static let text = string()
  /// Any members.
  static let object = Schema(["type": .string("object")])

  static func int(_ range: ClosedRange<Int64>) -> Schema {
    Schema([
      "type": .string("integer"), "minimum": .number("\(range.lowerBound)"),
      "maximum": .number("\(range.upperBound)"),
    ])
  }

  /// 0, 1, 2, …
  static let count = Schema(["type": .string("integer"), "minimum": .int(0)])
  static let number = Schema(["type": .string("number")])

  static func string(
    _ length: ClosedRange<Int>? = nil, pattern: String? = nil, format: String? = nil
  ) -> Schema {
    var keywords: [String: JSONValue] = ["type": .string("string")]
    if let length {
      if length.lowerBound > 0 { keywords["minLength"] = .int(length.lowerBound) }
      keywords["maxLength"] = .int(length.upperBound)
    }
    if let pattern { keywords["pattern"] = .string(pattern) }
    if let format { keywords["format"] = .string(format) }
    return Schema(keywords)
  }

  /// One of a few words.
  static func word(_ words: [String]) -> Schema {
    Schema(["type": .string("string"), "enum": .array(words.map { .string($0) })])
  }

  static func array(of element: Schema, _ count: ClosedRange<Int>? = nil) -> Schema {
    var keywords: [String: JSONValue] = ["type": .string("array"), "items": element.json]
    if let count {
      if count.lowerBound > 0 { keywords["minItems"] = .int(count.lowerBound) }
      keywords["maxItems"] = .int(count.upperBound)
    }
    return Schema(keywords, [element])
  }

  /// What is answered: these members, and sometimes some more.
  static func object(
    _ members: [String: Schema], sometimes: [String: Schema] = [:]
  ) -> Schema {
    object(members, others: sometimes)
  }

  /// What comes: members that have to be there, and others, for which null means that they are not.
  static func input(
    _ members: [String: Schema] = [:], optional: [String: Schema] = [:]
  ) -> Schema {
    object(members, others: optional.mapValues(\.orNull))
  }

  /// An input that refuses members which it does not know.
  static func closed(
    _ members: [String: Schema] = [:], optional: [String: Schema] = [:]
  ) -> Schema {
    input(members, optional: optional).with("additionalProperties", .bool(false))
  }

  private static func object(_ members: [String: Schema], others: [String: Schema]) -> Schema {
    let all = members.merging(others) { first, _ in first }
    var keywords: [String: JSONValue] = [
      "type": .string("object"), "properties": .object(all.mapValues(\.json)),
    ]
    if !members.isEmpty {
      keywords["required"] = .array(members.keys.sorted().map { .string($0) })
    }
    return Schema(keywords, Array(all.values))
  }

  /// Members of any name, each of which is one of these.
  static func map(of value: Schema, nameLength: ClosedRange<Int>, countMax: Int) -> Schema {
    Schema(
      [
        "type": .string("object"), "additionalProperties": value.json,
        "maxProperties": .int(countMax), "propertyNames": string(nameLength).json,
      ], [value])
  }

  /// At least one of these.
  static func any(of schemas: [Schema]) -> Schema {
    Schema(["anyOf": .array(schemas.map(\.json))], schemas)
  }
}
