import Primitives

/// A JSON object from a client: validated once (RFC 8259, with limits on depth and keys), then read
/// member by member. Numbers and nested values keep their text, so nothing is rounded before it is
/// stored. Of members with the same name, the last counts, as in PostgreSQL's `jsonb`.
public struct JSONObject: Sendable {
  public enum Fault: Error, Equatable {
    case malformed
    case notAnObject
    case tooDeep
    case tooManyKeys
  }

  public let text: [UInt8]
  public private(set) var members: [String: JSONScanner.Token] = [:]
  /// The place of this object in the whole text, as a JSON Pointer (RFC 6901); empty at the root.
  public var pointer = ""
  /// The only member stands for an element of an array, and `pointer` is the place of that element.
  private var isElement = false

  /// An object without members.
  public init() { text = [] }

  /// An object whose only member, with this name, is an element of an array of this object.
  public func element(_ token: JSONScanner.Token, named name: String, pointer: String) -> JSONObject
  {
    var object = JSONObject(text: text, members: [name: token])
    object.pointer = pointer
    object.isElement = true
    return object
  }

  private init(text: [UInt8], members: [String: JSONScanner.Token]) {
    self.text = text
    self.members = members
  }

  public init(_ text: [UInt8]) throws(Fault) {
    self.text = text
    // The scanner requires UTF-8. Frames were validated, HTTP bodies were not.
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

  /// The members of the whole text. Returns nil when it is a valid value of another type.
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
      // No member with an undecodable name is ever read.
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

  /// The place of a member in the whole text (RFC 6901).
  public func pointer(to name: String) -> String {
    isElement ? pointer : pointer + "/" + JSONObject.pointerToken(name)
  }

  /// A name as a part of a JSON Pointer: `~` and `/` are escaped (RFC 6901 §3).
  private static func pointerToken(_ name: String) -> String {
    name.reduce(into: "") { token, character in
      switch character {
      case "~": token += "~0"
      case "/": token += "~1"
      default: token.append(character)
      }
    }
  }

  /// A member's value, or nil when it is missing or null.
  public func member(_ name: String) -> JSONScanner.Token? {
    guard let token = members[name], token.kind != .null else { return nil }
    return token
  }

  /// The text of a string token of this object.
  public func string(_ token: JSONScanner.Token) throws(JSONText.Fault) -> String {
    try text.withRawSpan { (span) throws(JSONText.Fault) in
      try JSONObject.decoded(token, in: span)
    }
  }

  /// The elements of an array token of this object.
  public func elements(of array: JSONScanner.Token) -> [JSONScanner.Token] {
    text.withRawSpan { text in
      var elements: [JSONScanner.Token] = []
      var scanner = JSONScanner(offset: array.range.lowerBound + 1)
      scanner.skipSpace(text)
      while !scanner.accept(UInt8(ascii: "]"), text) {
        guard let element = try? scanner.value(text, depth: 1) else { break }
        elements.append(element)
        scanner.skipSpace(text)
        _ = scanner.accept(UInt8(ascii: ","), text)
        scanner.skipSpace(text)
      }
      return elements
    }
  }

  /// Whether `jsonb` accepts every string of this valid JSON text: none has U+0000 or an unpaired
  /// surrogate. In valid JSON a backslash occurs only inside strings, so no parser is needed.
  public static func isStorable(_ json: [UInt8]) -> Bool {
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
