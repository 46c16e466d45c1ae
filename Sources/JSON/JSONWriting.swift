public import Primitives

/// Writes JSON objects (RFC 8259) into a byte array in one pass, without a tree of values.
extension Array where Element == UInt8 {
  /// Appends a comma unless the next member or element is the first. Only a value or an opening
  /// bracket can precede it, so the last byte decides.
  public mutating func appendComma() {
    guard let last, last != UInt8(ascii: "{"), last != UInt8(ascii: "[") else { return }
    append(UInt8(ascii: ","))
  }

  public mutating func appendKey(_ key: StaticString) {
    appendComma()
    append(UInt8(ascii: "\""))
    append(key)
    append("\":" as StaticString)
  }

  public mutating func appendMember(_ key: StaticString, _ value: String) {
    appendMember(key, utf8: Array(value.utf8))
  }

  /// - Parameter value: valid UTF-8, as all text from PostgreSQL is.
  public mutating func appendMember(_ key: StaticString, utf8 value: [UInt8]) {
    appendKey(key)
    JSONText.append(quoted: value, to: &self)
  }

  /// Omits the member when the text is nil.
  public mutating func appendMember(_ key: StaticString, ifAny value: String?) {
    if let value { appendMember(key, value) }
  }

  public mutating func appendMember(_ key: StaticString, _ value: Int64) {
    appendKey(key)
    append(decimal: value)
  }

  public mutating func appendMember(_ key: StaticString, _ value: Bool) {
    appendMember(key, json: value ? "true" : "false")
  }

  public mutating func appendMember(_ key: StaticString, _ value: Identifier) {
    appendKey(key)
    append(UInt8(ascii: "\""))
    value.appendText(to: &self)
    append(UInt8(ascii: "\""))
  }

  public mutating func appendMember(_ key: StaticString, _ value: WallTime?) {
    guard let value else { return appendMember(key, json: "null") }
    appendKey(key)
    append(UInt8(ascii: "\""))
    value.appendText(to: &self)
    append(UInt8(ascii: "\""))
  }

  /// - Parameter value: valid JSON text.
  public mutating func appendMember(_ key: StaticString, json value: [UInt8]) {
    appendKey(key)
    append(contentsOf: value)
  }

  public mutating func appendMember(_ key: StaticString, json value: StaticString) {
    appendKey(key)
    append(value)
  }

  /// Appends `"key":["…","…"]`.
  public mutating func appendMember(_ key: StaticString, texts: [String]) {
    appendKey(key)
    append(UInt8(ascii: "["))
    for text in texts {
      appendComma()
      JSONText.append(quoted: Array(text.utf8), to: &self)
    }
    append(UInt8(ascii: "]"))
  }

  /// Appends `"key":{…}` with the members that `members` appends.
  public mutating func appendObject(_ key: StaticString, _ members: (inout [UInt8]) -> Void) {
    appendKey(key)
    append(UInt8(ascii: "{"))
    members(&self)
    append(UInt8(ascii: "}"))
  }

  /// Returns `{…}` with the members that `members` appends.
  public static func object(_ members: (inout [UInt8]) -> Void) -> [UInt8] {
    var json = Array("{".utf8)
    members(&json)
    json.append(UInt8(ascii: "}"))
    return json
  }
}
