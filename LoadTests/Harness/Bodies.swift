/// The text of a message as a function of its id, so that a receiver can verify the body from the
/// id alone.
///
/// A body is the id followed by a filler of several scripts, emoji and characters that JSON
/// escapes. The id selects one of 64 starting points in the filler, so that the bytes of another
/// message's buffer are detected.
import Primitives

struct Bodies: Sendable {
  let byteCount: Int
  /// By `id.low & 63`: the stored text, and its escaped form in a JSON string.
  private let fillers: [[UInt8]]
  private let escapedFillers: [[UInt8]]

  static let byteCountMin = Identifier.textByteCount

  init(byteCount: Int) {
    precondition(byteCount >= Bodies.byteCountMin, "a body holds at least its id")
    self.byteCount = byteCount
    let phrase = Array(
      " Where is my parcel? สวัสดีครับ · مرحبا كيف حالك · 注文はどこですか 🙂👩‍👩‍👧 \"quoted\" C:\\orders\t#42\n"
        .unicodeScalars)
    let room = byteCount - Identifier.textByteCount
    fillers = (0..<64).map { start in
      var filler: [UInt8] = []
      var index = start
      while true {
        let character = Array(String(phrase[index % phrase.count]).utf8)
        if filler.count + character.count > room { break }
        filler += character
        index += 1
      }
      return filler + [UInt8](repeating: UInt8(ascii: "."), count: room - filler.count)
    }
    escapedFillers = fillers.map { filler in
      var escaped: [UInt8] = []
      for byte in filler { appendEscaped(byte, to: &escaped) }
      return escaped
    }
  }

  func appendEscapedBody(of id: Identifier, to bytes: inout [UInt8]) {
    id.appendText(to: &bytes)
    bytes.append(contentsOf: escapedFillers[Int(id.low & 63)])
  }

  func body(of id: Identifier) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(byteCount)
    id.appendText(to: &bytes)
    return bytes + fillers[Int(id.low & 63)]
  }

  func isBody(_ bytes: [UInt8], of id: Identifier) -> Bool {
    guard bytes.count == byteCount else { return false }
    let textIsRight = bytes.withRawSpan { span in
      Identifier(text: span.extracting(0..<Identifier.textByteCount)) == id
    }
    return textIsRight
      && bytes[Identifier.textByteCount...].elementsEqual(fillers[Int(id.low & 63)])
  }
}

/// RFC 8259 §7: what must be escaped inside a string.
private func appendEscaped(_ byte: UInt8, to bytes: inout [UInt8]) {
  switch byte {
  case UInt8(ascii: "\""): bytes.append("\\\"")
  case UInt8(ascii: "\\"): bytes.append("\\\\")
  case UInt8(ascii: "\n"): bytes.append("\\n")
  case UInt8(ascii: "\t"): bytes.append("\\t")
  default:
    precondition(byte >= 0x20, "the filler has no other control characters")
    bytes.append(byte)
  }
}
