/// A JSON Schema (2020-12) of a body, a response or a parameter. A schema with a name is a
/// component of the OpenAPI document.
///
/// `maxLength` counts characters, the handlers count bytes of UTF-8. So a handler may refuse a text
/// that the schema allows; it accepts no longer ones.
import Directory
import JSON

struct Schema: Sendable {
  /// The name of the component; nil: the schema is written where it is used.
  private(set) var name: String?
  private var keywords: [String: JSONValue]
  /// The schemas that it refers to.
  private(set) var parts: [Schema]

  private init(_ keywords: [String: JSONValue], _ parts: [Schema] = []) {
    self.keywords = keywords
    self.parts = parts
  }

  /// The definition, or a reference to the component.
  var json: JSONValue {
    name.map { .object(["$ref": .string("#/components/schemas/\($0)")]) } ?? definition
  }

  var definition: JSONValue { .object(keywords) }

  /// Whether a body may be omitted, because no member is required.
  var isOptional: Bool {
    keywords["required"] == nil && keywords["anyOf"] == nil && keywords["oneOf"] == nil
      && keywords["format"] == nil
  }

  func named(_ name: String) -> Schema {
    var schema = self
    schema.name = name
    return schema
  }

  func described(_ description: String) -> Schema { with("description", .string(description)) }

  private func with(_ keyword: String, _ value: JSONValue) -> Schema {
    var schema = self
    schema.keywords[keyword] = value
    return schema
  }

  /// This schema, or null.
  var orNull: Schema {
    guard name == nil, keywords["format"] == nil, case .string(let type)? = keywords["type"] else {
      var inner = self
      let description = name == nil ? inner.keywords.removeValue(forKey: "description") : nil
      let either = Schema.any(of: [inner, Schema(["type": .string("null")])])
      return description.map { either.with("description", $0) } ?? either
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
  static let constantTrue = Schema(["type": .string("boolean"), "const": .bool(true)])
  static let id = string(format: "uuid")
  static let time = string(format: "date-time")
  static let date = string(format: "date")
  static let text = string()
  /// An object with any members.
  static let object = Schema(["type": .string("object")])

  static func int(_ range: ClosedRange<Int64>) -> Schema {
    Schema([
      "type": .string("integer"), "minimum": .number("\(range.lowerBound)"),
      "maximum": .number("\(range.upperBound)"),
    ])
  }

  /// A non-negative integer.
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

  /// One of the words.
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

  /// A response with these members. Those of `sometimes` are optional.
  static func object(
    _ members: [String: Schema] = [:], sometimes: [String: Schema] = [:]
  ) -> Schema {
    object(members, others: sometimes)
  }

  /// A request's object. An optional member may be null, which has the same meaning as missing.
  static func input(
    _ members: [String: Schema] = [:], optional: [String: Schema] = [:]
  ) -> Schema {
    object(members, others: optional.mapValues(\.orNull))
  }

  /// A request's object without other members.
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

  /// An object with members of any name.
  static func map(of value: Schema, nameLength: ClosedRange<Int>, countMax: Int) -> Schema {
    Schema(
      [
        "type": .string("object"), "additionalProperties": value.json,
        "maxProperties": .int(countMax), "propertyNames": string(nameLength).json,
      ], [value])
  }

  /// At least one of the schemas.
  static func any(of schemas: [Schema]) -> Schema {
    Schema(["anyOf": .array(schemas.map(\.json))], schemas)
  }
}
