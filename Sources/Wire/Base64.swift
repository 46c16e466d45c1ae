import Primitives

/// Base64 with padding (RFC 4648 §4): the form of `Sec-WebSocket-Key` and `Sec-WebSocket-Accept`.
enum Base64 {
  static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    append(bytes, to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  static func append(_ bytes: [UInt8], to text: inout [UInt8]) {
    let groups = (bytes.count + 2) / 3
    // SAFETY: the room has four bytes for each group, and each group writes its own four.
    unsafe text.append(upTo: 4 * groups) { room in
      for position in 0..<groups {
        let start = 3 * position
        let count = min(3, bytes.count - start)
        var group = UInt32(bytes[start]) << 16
        if count > 1 { group |= UInt32(bytes[start + 1]) << 8 }
        if count > 2 { group |= UInt32(bytes[start + 2]) }
        for index in 0..<4 {
          unsafe room[4 * position + index] =
            index > count
            ? UInt8(ascii: "=")
            : digit(UInt8(truncatingIfNeeded: group >> UInt32(18 - 6 * index) & 0x3F))
        }
      }
      return 4 * groups
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    switch value {
    case 0..<26: UInt8(ascii: "A") + value
    case 26..<52: UInt8(ascii: "a") + value - 26
    case 52..<62: UInt8(ascii: "0") + value - 52
    case 62: UInt8(ascii: "+")
    default: UInt8(ascii: "/")
    }
  }

  static func isDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
      true
    default: false
    }
  }
}
