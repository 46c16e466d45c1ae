/// The members of a request's body as values, or a problem that names the member. A member that is
/// null counts as missing.
import JSON
import Primitives

extension JSONObject {
  /// A string; nil if it is missing.
  func string(_ name: String, bytesMax: Int) throws(Problem) -> String? {
    guard let token = member(name) else { return nil }
    guard token.kind == .string else { throw .invalidMember(name, in: self, "a string") }
    let value: String
    do throws(JSONText.Fault) {
      value = try string(token)
    } catch {
      throw .unstorable(name, in: self)
    }
    guard !value.utf8.contains(0) else { throw .unstorable(name, in: self) }
    guard value.utf8.count <= bytesMax else { throw .tooLong(name, in: self, bytesMax: bytesMax) }
    return value
  }

  /// A string that is not empty.
  func requiredString(_ name: String, bytesMax: Int) throws(Problem) -> String {
    guard let value = try string(name, bytesMax: bytesMax) else { throw .missing(name, in: self) }
    guard !value.isEmpty else { throw .invalidMember(name, in: self, "a string that is not empty") }
    return value
  }

  /// A string that is not empty; nil if it is missing.
  func nonEmptyString(_ name: String, bytesMax: Int) throws(Problem) -> String? {
    let value = try string(name, bytesMax: bytesMax)
    if value?.isEmpty == true { throw .invalidMember(name, in: self, "a string that is not empty") }
    return value
  }

  /// One of the words; nil if it is missing.
  func word(_ name: String, of words: [String]) throws(Problem) -> String? {
    guard let value = try string(name, bytesMax: 64) else { return nil }
    guard words.contains(value) else {
      throw .invalidMember(name, in: self, "one of " + words.joined(separator: ", "))
    }
    return value
  }

  /// A UUID; nil if it is missing.
  func identifier(_ name: String) throws(Problem) -> Identifier? {
    guard let token = member(name) else { return nil }
    guard token.kind == .string,
      let id = text.withRawSpan({ Identifier(text: $0.extracting(token.range)) })
    else { throw .invalidMember(name, in: self, "a UUID") }
    return id
  }

  /// A boolean; nil if it is missing.
  func bool(_ name: String) throws(Problem) -> Bool? {
    guard let token = member(name) else { return nil }
    switch token.kind {
    case .true_: return true
    case .false_: return false
    default: throw .invalidMember(name, in: self, "true or false")
    }
  }

  /// An integer; nil if it is missing.
  func int(_ name: String, in range: ClosedRange<Int64>) throws(Problem) -> Int64? {
    guard let token = member(name) else { return nil }
    guard token.kind == .number,
      let value = JSONValue.whole(String(decoding: text[token.range], as: UTF8.self)[...]),
      range.contains(value)
    else {
      throw .invalidMember(
        name, in: self, "an integer from \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }

  /// An object as the received text, for a `jsonb` parameter; nil if it is missing.
  func object(_ name: String, bytesMax: Int) throws(Problem) -> [UInt8]? {
    guard let token = member(name) else { return nil }
    guard token.kind == .object else { throw .invalidMember(name, in: self, "an object") }
    guard token.range.count <= bytesMax else { throw .tooLong(name, in: self, bytesMax: bytesMax) }
    let value = Array(text[token.range])
    guard JSONObject.isStorable(value) else { throw .unstorable(name, in: self) }
    return value
  }

  /// An object whose members can be read; nil if it is missing.
  func nested(_ name: String) throws(Problem) -> JSONObject? {
    guard let token = member(name) else { return nil }
    guard token.kind == .object else { throw .invalidMember(name, in: self, "an object") }
    do throws(Fault) {
      var object = try JSONObject(Array(text[token.range]))
      object.pointer = pointer(to: name)
      return object
    } catch {
      throw .json(error)
    }
  }

  /// Whether the member exists, even if it is null.
  func has(_ name: String) -> Bool { members[name] != nil }

  /// A time for PostgreSQL, which checks the calendar; the format is checked here (RFC 3339 §5.6).
  /// Nil if it is missing.
  func time(_ name: String) throws(Problem) -> String? {
    guard let value = try string(name, bytesMax: 40) else { return nil }
    guard JSONObject.isTime(value) else {
      throw .invalidMember(name, in: self, "a time such as 2026-11-22T14:00:00Z")
    }
    return value
  }

  static func isTime(_ text: String) -> Bool {
    let form = Array("0000-00-00T00:00:00".utf8)
    let bytes = Array(text.utf8)
    guard bytes.count > form.count else { return false }
    for (byte, expected) in zip(bytes, form) {
      guard expected == UInt8(ascii: "0") ? byte.isASCIIDigit : byte == expected else {
        return false
      }
    }
    var rest = bytes[form.count...]
    if rest.first == UInt8(ascii: ".") {
      rest = rest.dropFirst()
      let digits = rest.prefix { $0.isASCIIDigit }
      guard 1...9 ~= digits.count else { return false }
      rest = rest.dropFirst(digits.count)
    }
    if rest.elementsEqual("Z".utf8) { return true }
    guard rest.count == 6, let sign = rest.first,
      sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-")
    else { return false }
    return rest.dropFirst().enumerated().allSatisfy { index, byte in
      index == 2 ? byte == UInt8(ascii: ":") : byte.isASCIIDigit
    }
  }

  /// The elements of an array, each as an object with one member that has the array's name; nil if
  /// the array is missing.
  func elements(_ name: String, countMax: Int) throws(Problem) -> [JSONObject]? {
    guard let token = member(name) else { return nil }
    guard token.kind == .array else { throw .invalidMember(name, in: self, "an array") }
    let found = elements(of: token)
    guard found.count <= countMax else {
      throw .invalidMember(name, in: self, "an array of at most \(countMax) elements")
    }
    return found.enumerated().map { index, token in
      element(token, named: name, pointer: "\(pointer(to: name))/\(index)")
    }
  }

  /// The objects of an array; none if the array is missing.
  func objects(_ name: String, countMax: Int) throws(Problem) -> [JSONObject] {
    var found: [JSONObject] = []
    for element in try elements(name, countMax: countMax) ?? [] {
      guard let object = try element.nested(name) else {
        throw .invalidMember(name, in: self, "an array of objects")
      }
      found.append(object)
    }
    return found
  }

  /// The strings of an array without duplicates; nil if the array is missing.
  func strings(_ name: String, countMax: Int, bytesMax: Int) throws(Problem) -> [String]? {
    guard let elements = try elements(name, countMax: countMax) else { return nil }
    var found: [String] = []
    for element in elements {
      guard let text = try element.string(name, bytesMax: bytesMax) else {
        throw .invalidMember(name, in: self, "an array of strings")
      }
      if !found.contains(text) { found.append(text) }
    }
    return found
  }

  /// An array as the received text, for a `jsonb` parameter; nil if it is missing.
  func array(_ name: String) throws(Problem) -> [UInt8]? {
    guard let token = member(name) else { return nil }
    guard token.kind == .array else { throw .invalidMember(name, in: self, "an array") }
    let value = Array(text[token.range])
    guard JSONObject.isStorable(value) else { throw .unstorable(name, in: self) }
    return value
  }
}
