import Primitives

/// A JSON value as a tree, for small values of many shapes: settings, replies, menus. The limits
/// are those of `JSONScanner`. Of members with the same name, the last counts, as in PostgreSQL's
/// `jsonb`.
public indirect enum JSONValue: Sendable, Equatable {
  case null
  case bool(Bool)
  /// The text of the number, so that nothing is rounded.
  case number(String)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// Nil unless the text is one valid value in UTF-8 that PostgreSQL can store.
  public init?(_ json: [UInt8]) {
    guard String(validating: json, as: UTF8.self) != nil,
      let value = json.withRawSpan({ JSONValue.whole($0) })
    else { return nil }
    self = value
  }

  public init?(_ json: String) { self.init(Array(json.utf8)) }

  public static func text(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
  public static func int(_ value: Int) -> JSONValue { .number(String(value)) }

  private static func whole(_ text: RawSpan) -> JSONValue? {
    var scanner = JSONScanner()
    // Validates the whole text, which the functions below rely on.
    guard let token = try? scanner.value(text, depth: 0) else { return nil }
    scanner.skipSpace(text)
    return scanner.isAtEnd(text) ? value(token, text) : nil
  }

  private static func value(_ token: JSONScanner.Token, _ text: RawSpan) -> JSONValue? {
    switch token.kind {
    case .null: return .null
    case .true_: return .bool(true)
    case .false_: return .bool(false)
    case .number: return .number(text.extracting(token.range).string)
    case .string: return decoded(token, text).map { .string($0) }
    case .array: return array(text.extracting(token.range))
    case .object: return object(text.extracting(token.range))
    }
  }

  /// Nil for an unpaired surrogate and for U+0000, which PostgreSQL cannot store.
  private static func decoded(_ token: JSONScanner.Token, _ text: RawSpan) -> String? {
    var bytes: [UInt8] = []
    guard (try? JSONText.decode(token, in: text, to: &bytes)) != nil, !bytes.contains(0) else {
      return nil
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func array(_ text: RawSpan) -> JSONValue? {
    var elements: [JSONValue] = []
    var scanner = JSONScanner(offset: 1)
    scanner.skipSpace(text)
    while !scanner.accept(UInt8(ascii: "]"), text) {
      guard let token = try? scanner.value(text, depth: 0), let element = value(token, text) else {
        return nil
      }
      elements.append(element)
      scanner.skipSpace(text)
      _ = scanner.accept(UInt8(ascii: ","), text)
      scanner.skipSpace(text)
    }
    return .array(elements)
  }

  private static func object(_ text: RawSpan) -> JSONValue? {
    var members: [String: JSONValue] = [:]
    var scanner = JSONScanner(offset: 1)
    scanner.skipSpace(text)
    while !scanner.accept(UInt8(ascii: "}"), text) {
      guard let key = try? scanner.key(text), let name = decoded(key, text),
        let token = try? scanner.value(text, depth: 0), let member = value(token, text)
      else { return nil }
      members[name] = member
      scanner.skipSpace(text)
      _ = scanner.accept(UInt8(ascii: ","), text)
      scanner.skipSpace(text)
    }
    return .object(members)
  }
}

extension JSONValue {
  /// A member of an object. Nil when it is missing or null, and for other types.
  public subscript(_ name: String) -> JSONValue? {
    guard case .object(let members) = self, let value = members[name], value != .null else {
      return nil
    }
    return value
  }

  public var string: String? {
    if case .string(let text) = self { text } else { nil }
  }

  public var bool: Bool? {
    if case .bool(let value) = self { value } else { nil }
  }

  public var int: Int? {
    if case .number(let digits) = self { JSONValue.whole(digits[...]).map { Int($0) } } else { nil }
  }

  /// The value of an integer; `5.0` is one too (JSON Schema 2020-12, Validation §6.1.1). Nil for
  /// other numbers.
  public static func whole(_ digits: Substring) -> Int64? {
    let halves = digits.utf8.split(separator: UInt8(ascii: "."), maxSplits: 1)
    guard halves.count < 2 || halves[1].allSatisfy({ $0 == UInt8(ascii: "0") }) else { return nil }
    return halves.first.flatMap { Int64(Substring($0)) }
  }

  public var array: [JSONValue]? {
    if case .array(let elements) = self { elements } else { nil }
  }

  public var object: [String: JSONValue]? {
    if case .object(let members) = self { members } else { nil }
  }

  /// Appends the value as JSON text, with members in the order of their names, so that equal values
  /// have equal texts.
  public func append(to json: inout [UInt8]) {
    switch self {
    case .null: json.append("null" as StaticString)
    case .bool(true): json.append("true" as StaticString)
    case .bool(false): json.append("false" as StaticString)
    case .number(let digits): json.append(contentsOf: digits.utf8)
    case .string(let text): JSONText.append(quoted: Array(text.utf8), to: &json)
    case .array(let elements):
      json.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { json.append(UInt8(ascii: ",")) }
        element.append(to: &json)
      }
      json.append(UInt8(ascii: "]"))
    case .object(let members):
      json.append(UInt8(ascii: "{"))
      for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
        if index > 0 { json.append(UInt8(ascii: ",")) }
        JSONText.append(quoted: Array(member.key.utf8), to: &json)
        json.append(UInt8(ascii: ":"))
        member.value.append(to: &json)
      }
      json.append(UInt8(ascii: "}"))
    }
  }

  public var text: [UInt8] {
    var json: [UInt8] = []
    append(to: &json)
    return json
  }
}
