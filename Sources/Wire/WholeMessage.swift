import Primitives

/// The fast path of `MessageDecoder`: a message of one final, uncompressed frame that is complete
/// in the buffer.
struct WholeMessage {
  var opcode: Opcode
  /// The payload's offsets in the buffer.
  var range: Range<Int>
  private var maskKey: UInt32

  /// Returns nil for any other input and leaves the buffer unchanged: the decoder then applies one
  /// rule after the other and reports the fault, if any. The returned payload is unmasked. Throws
  /// `.textInvalid` when a text is not UTF-8.
  @inline(__always)
  static func read(
    _ buffer: inout MutableRawSpan, at start: Int, isMasked: Bool, byteCountMax: Int
  ) throws(FrameFault) -> WholeMessage? {
    guard let message = locate(buffer.bytes, start, isMasked), message.range.count <= byteCountMax
    else { return nil }
    if isMasked && Masking.apply(message.maskKey, to: &buffer, in: message.range) { return message }
    guard
      message.opcode == .binary || UTF8Validator.isValid(buffer.bytes.extracting(message.range))
    else { throw .textInvalid }
    return message
  }

  @inline(__always)
  private static func locate(
    _ bytes: RawSpan, _ start: Int, _ isMasked: Bool
  ) -> WholeMessage? {
    let available = bytes.byteCount &- start
    var headerByteCount = isMasked ? 6 : 2
    guard available >= headerByteCount else { return nil }
    let opcode: Opcode
    switch bytes.byte(at: start) {
    case 0x81: opcode = .text
    case 0x82: opcode = .binary
    default: return nil
    }
    let second = bytes.byte(at: start &+ 1)
    guard (second & 0x80 != 0) == isMasked else { return nil }
    var byteCount = Int(second & 0x7F)
    if byteCount == 127 { return nil }
    if byteCount == 126 {
      headerByteCount &+= 2
      guard available >= headerByteCount else { return nil }
      byteCount = Int(bytes.uint16(at: start &+ 2))
      guard byteCount > 125 else { return nil }
    }
    guard byteCount <= available &- headerByteCount else { return nil }
    let begin = start &+ headerByteCount
    return WholeMessage(
      opcode: opcode, range: begin..<begin &+ byteCount,
      maskKey: isMasked ? UInt32(littleEndian: bytes.uint32(at: begin &- 4)) : 0)
  }
}
