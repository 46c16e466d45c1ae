import Chat
import Directory
import Primitives

/// A JSON object from a peer: checked once in full (RFC 8259, bounded in depth and keys), then read
/// member by member. Numbers and nested objects stay the text that came, so nothing is rounded on
/// the way to storage. Of members with the same name the last counts, as in PostgreSQL's `jsonb`.
struct JSONObject {
  enum Fault: Error, Equatable {
    case malformed
    case notAnObject
    case tooDeep
    case tooManyKeys
  }

  let text: [UInt8]
  private(set) var members: [String: JSONScanner.Token] = [:]

  /// Without members.
  init() { text = [] }

  /// Some values of a text that was checked.
  init(text: [UInt8], members: [String: JSONScanner.Token]) {
    self.text = text
    self.members = members
  }

  init(_ text: [UInt8]) throws(Fault) {
    self.text = text
    // The scanner expects UTF-8, which frames have been checked for, but bodies have not.
    guard String(validating: text, as: UTF8.self) != nil else { throw .malformed }
    let found: [String: JSONScanner.Token]?
    do throws(JSONScanner.Fault) {
      found = try text.withRawSpan(JSONObject.members)
    } catch {
      throw error.objectFault
    }
    guard let found else { throw .notAnObject }
    members = found
  }

  /// The members of the whole text; nil when it is a sound value of another type.
  private static func members(
    of text: RawSpan
  ) throws(JSONScanner.Fault) -> [String: JSONScanner.Token]? {
    var whole = JSONScanner()
    let value = try whole.value(text, depth: 0)
    whole.skipSpace(text)
    guard whole.isAtEnd(text) else { throw .syntax }
    guard value.kind == .object else { return nil }
    var members: [String: JSONScanner.Token] = [:]
    var scanner = JSONScanner(offset: value.range.lowerBound + 1)
    scanner.skipSpace(text)
    while !scanner.accept(UInt8(ascii: "}"), text) {
      let key = try scanner.key(text)
      let token = try scanner.value(text, depth: 1)
      // A name that cannot be stored is none that is asked for.
      if let name = try? decoded(key, in: text) { members[name] = token }
      scanner.skipSpace(text)
      _ = scanner.accept(UInt8(ascii: ","), text)
      scanner.skipSpace(text)
    }
    return members
  }

  private static func decoded(
    _ token: JSONScanner.Token, in text: RawSpan
  ) throws(JSONText.Fault) -> String {
    var characters: [UInt8] = []
    try JSONText.decode(token, in: text, to: &characters)
    return String(decoding: characters, as: UTF8.self)
  }

  func member(_ name: String) -> JSONScanner.Token? {
    guard let token = members[name], token.kind != .null else { return nil }
    return token
  }

  /// A string; nil when the member is missing or null.
  func string(_ name: String, bytesMax: Int) throws(Problem) -> String? {
    guard let token = member(name) else { return nil }
    guard token.kind == .string else { throw .wrongType(name, "a string") }
    let value: String
    do throws(JSONText.Fault) {
      value = try text.withRawSpan { (span) throws(JSONText.Fault) in
        try JSONObject.decoded(token, in: span)
      }
    } catch {
      throw .unstorable(name)
    }
    guard !value.utf8.contains(0) else { throw .unstorable(name) }
    guard value.utf8.count <= bytesMax else { throw .tooLong(name, bytesMax: bytesMax) }
    return value
  }

  func identifier(_ name: String) throws(Problem) -> Identifier? {
    guard let token = member(name) else { return nil }
    guard token.kind == .string,
      let id = text.withRawSpan({ Identifier(text: $0.extracting(token.range)) })
    else { throw .wrongType(name, "a UUID") }
    return id
  }

  func bool(_ name: String) throws(Problem) -> Bool? {
    guard let token = member(name) else { return nil }
    switch token.kind {
    case .true_: return true
    case .false_: return false
    default: throw .wrongType(name, "true or false")
    }
  }

  /// A whole number; nil when the member is missing or null.
  func int(_ name: String, in range: ClosedRange<Int64>) throws(Problem) -> Int64? {
    guard let token = member(name) else { return nil }
    guard token.kind == .number,
      let value = JSONValue.whole(String(decoding: text[token.range], as: UTF8.self)[...]),
      range.contains(value)
    else { throw .wrongType(name, "a whole number, \(range.lowerBound) to \(range.upperBound)") }
    return value
  }

  /// An object as the text that came, ready for `jsonb`; nil when the member is missing or null.
  func object(_ name: String, bytesMax: Int) throws(Problem) -> [UInt8]? {
    guard let token = member(name) else { return nil }
    guard token.kind == .object else { throw .wrongType(name, "an object") }
    guard token.range.count <= bytesMax else { throw .tooLong(name, bytesMax: bytesMax) }
    let value = Array(text[token.range])
    guard JSONObject.isStorable(value) else { throw .unstorable(name) }
    return value
  }

  /// An object to read; nil when the member is missing or null.
  func nested(_ name: String) throws(Problem) -> JSONObject? {
    guard let token = member(name) else { return nil }
    guard token.kind == .object else { throw .wrongType(name, "an object") }
    do throws(Fault) {
      return try JSONObject(Array(text[token.range]))
    } catch {
      throw .json(error)
    }
  }

  /// Whether `jsonb` takes every string of this valid JSON: it has no U+0000 and no half surrogate
  /// pairs. In valid JSON a backslash stands only inside a string, so its escapes can be found
  /// without a parser.
  static func isStorable(_ json: [UInt8]) -> Bool {
    var rest = json[...]
    var isHighPending = false
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\") else {
        if isHighPending { return false }
        continue
      }
      guard rest.popFirst() == UInt8(ascii: "u") else {
        if isHighPending { return false }
        continue
      }
      var unit: UInt32 = 0
      for digit in rest.prefix(4) { unit = unit << 4 | UInt32(hexadecimalValue(digit) ?? 0) }
      rest = rest.dropFirst(4)
      let isLow = (0xDC00...0xDFFF).contains(unit)
      guard unit != 0, isLow == isHighPending else { return false }
      isHighPending = (0xD800...0xDBFF).contains(unit)
    }
    return !isHighPending
  }
}

extension JSONScanner.Fault {
  fileprivate var objectFault: JSONObject.Fault {
    switch self {
    case .syntax: .malformed
    case .tooDeep: .tooDeep
    case .tooManyKeys: .tooManyKeys
    }
  }
}
