/// Reads the members of one setting. An invalid member counts as its default, so that a table that
/// was filled by hand cannot stop a workspace; `fault` describes the first one to the API's client.
import JSON

struct SettingReader {
  private let members: [String: JSONValue]
  private var unread: Set<String>
  /// The prefix of names in a fault, such as `days[2].`.
  private let prefix: String
  private var found: String?
  let isObject: Bool

  /// A sentence about the first invalid member; nil if all are valid.
  var fault: String? {
    if let found { return found }
    return unread.min().map { "The member “\(prefix)\($0)” is unknown." }
  }

  init(_ value: JSONValue?, prefix: String = "") {
    self.prefix = prefix
    isObject = value?.object != nil
    members = value?.object ?? [:]
    unread = Set(members.keys)
    if let value, value.object == nil {
      found = "“\(prefix.isEmpty ? "value" : String(prefix.dropLast()))” must be an object."
    }
  }

  mutating func refuse(_ name: String, _ expected: String) {
    if found == nil { found = "The member “\(prefix)\(name)” must be \(expected)." }
  }

  /// Nil if the member is missing or null.
  mutating func value(_ name: String) -> JSONValue? {
    unread.remove(name)
    guard let value = members[name], value != .null else { return nil }
    return value
  }

  mutating func bool(_ name: String, _ standard: Bool) -> Bool {
    guard let value = value(name) else { return standard }
    guard let bool = value.bool else {
      refuse(name, "true or false")
      return standard
    }
    return bool
  }

  mutating func int(_ name: String, _ standard: Int, in range: ClosedRange<Int>) -> Int {
    guard let value = value(name) else { return standard }
    guard let number = value.int, range.contains(number) else {
      refuse(name, "a whole number, \(range.lowerBound) to \(range.upperBound)")
      return standard
    }
    return number
  }

  mutating func text(_ name: String, bytesMax: Int) -> String? {
    guard let value = value(name) else { return nil }
    guard let text = value.string, text.utf8.count <= bytesMax else {
      refuse(name, "a text of at most \(bytesMax) bytes")
      return nil
    }
    return text
  }

  mutating func choice(_ name: String, _ standard: String, of all: [String]) -> String {
    guard let value = value(name) else { return standard }
    guard let text = value.string, all.contains(text) else {
      refuse(name, "one of \(all.joined(separator: ", "))")
      return standard
    }
    return text
  }

  /// A list of at most `max` elements; invalid elements are left out.
  mutating func list<Element>(
    _ name: String, max: Int, _ read: (JSONValue, String) -> (Element?, fault: String?)
  ) -> [Element]? {
    guard let value = value(name) else { return nil }
    guard let elements = value.array, elements.count <= max else {
      refuse(name, "a list of at most \(max) elements")
      return nil
    }
    return elements.enumerated().compactMap { index, element in
      let (value, fault) = read(element, "\(prefix)\(name)[\(index)]")
      if let fault, found == nil { found = fault }
      return value
    }
  }

  /// The reader of a nested object; nil if the member is missing or null.
  mutating func nested(_ name: String) -> SettingReader? {
    value(name).map { SettingReader($0, prefix: "\(prefix)\(name).") }
  }

  mutating func take(faultOf nested: SettingReader) {
    if found == nil { found = nested.fault }
  }
}
