/// Base64 (RFC 4648): the URL alphabet without padding for tokens and cursors, the standard one for
/// password hashes and the WebSocket handshake.
///
/// Decoding is strict: no padding, no blanks, no spare bits, so that one value has one text.
@frozen
public struct Base64: Sendable {
  /// RFC 4648 §5, `-` and `_`.
  public static let url = Base64(digit62: UInt8(ascii: "-"), digit63: UInt8(ascii: "_"))
  /// RFC 4648 §4, `+` and `/`.
  public static let standard = Base64(digit62: UInt8(ascii: "+"), digit63: UInt8(ascii: "/"))

  @usableFromInline let digit62: UInt8
  @usableFromInline let digit63: UInt8

  /// Without padding.
  public func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    append(bytes, padded: false, to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// `padded`: `=` up to a multiple of four digits (RFC 4648 §3.2).
  public func append(_ bytes: [UInt8], padded: Bool, to text: inout [UInt8]) {
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
      return padded ? 4 * groups : (bytes.count * 4 + 2) / 3
    }
  }

  private func digit(_ value: UInt8) -> UInt8 {
    switch value {
    case 0..<26: UInt8(ascii: "A") + value
    case 26..<52: UInt8(ascii: "a") + value - 26
    case 52..<62: UInt8(ascii: "0") + value - 52
    case 62: digit62
    default: digit63
    }
  }

  /// The six bits of a digit; nil for any other byte.
  @inlinable @inline(__always)
  public func value(of digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
    case digit62: 62
    case digit63: 63
    default: nil
    }
  }

  @inlinable @inline(__always)
  public func isDigit(_ byte: UInt8) -> Bool { value(of: byte) != nil }

  public func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
    Array(text).withRawSpan { decode($0) }
  }

  public func decode(_ text: RawSpan) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.byteCount * 3 / 4)
    var pending: UInt32 = 0
    var bits = 0
    for offset in 0..<text.byteCount {
      guard let value = value(of: text.byte(at: offset)) else { return nil }
      pending = pending << 6 | UInt32(value)
      bits += 6
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: pending >> UInt32(bits)))
      }
    }
    // Six remaining bits are a lone digit; remaining bits that are set would give the same bytes a
    // second text.
    guard bits < 6, pending & (1 << UInt32(bits) - 1) == 0 else { return nil }
    return bytes
  }
}
