import Primitives

/// An event of the gateway. It needs no JSON parser, since the bodies of a run contain no quotes.
struct Event {
  let text: String
  let type: String

  init(_ text: String) {
    self.text = text
    type = Event.field("type", text.utf8) ?? ""
  }

  var session: Identifier? { string("session").flatMap { Identifier($0) } }
  var id: Identifier? { string("id").flatMap { Identifier($0) } }

  func string(_ name: String) -> String? { Event.field(name, text.utf8) }

  func integer(_ name: String) -> Int? { string(name).flatMap { Int($0) } }

  /// The value of the first field with this name, without its quotes.
  private static func field(_ name: String, _ text: String.UTF8View) -> String? {
    let key = Array("\"\(name)\":".utf8)
    let bytes = Array(text)
    guard bytes.count > key.count else { return nil }
    var start = 0
    while start + key.count < bytes.count {
      if bytes[start] == key[0], bytes[start..<(start + key.count)].elementsEqual(key) {
        start += key.count
        let isQuoted = bytes[start] == UInt8(ascii: "\"")
        if isQuoted { start += 1 }
        var end = start
        while end < bytes.count {
          let byte = bytes[end]
          if isQuoted ? byte == UInt8(ascii: "\"") : byte == 0x2C || byte == 0x7D || byte == 0x5D {
            break
          }
          end += 1
        }
        return String(decoding: bytes[start..<end], as: UTF8.self)
      }
      start += 1
    }
    return nil
  }
}
