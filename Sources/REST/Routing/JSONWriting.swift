/// Members of responses that the JSON target does not write itself.
import JSON
import Primitives

extension [UInt8] {
  mutating func appendMember(_ key: StaticString, orNull value: String?) {
    if let value { appendMember(key, value) } else { appendMember(key, json: "null") }
  }

  mutating func appendMember(_ key: StaticString, orNull value: Int64?) {
    if let value { appendMember(key, value) } else { appendMember(key, json: "null") }
  }

  mutating func appendMember(_ key: StaticString, orNull value: Identifier?) {
    if let value { appendMember(key, value) } else { appendMember(key, json: "null") }
  }

  /// An array with one element for each of `items`, which `append` writes.
  mutating func appendArray<Item>(
    _ key: StaticString, _ items: some Sequence<Item>,
    _ append: (Item, inout [UInt8]) -> Void
  ) {
    appendKey(key)
    self.append(UInt8(ascii: "["))
    for item in items {
      appendComma()
      append(item, &self)
    }
    self.append(UInt8(ascii: "]"))
  }
}
