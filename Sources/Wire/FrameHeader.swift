import Primitives

/// The 2 to 14 bytes before a payload (RFC 6455 §5.2), read from however many of them have arrived.
///
/// The checks run in the order of the bytes, so a header that arrives in pieces gives the same
/// fault as a complete one, at the first invalid byte.
struct FrameHeader {
  static let byteCountMax = 14

  var opcode: Opcode
  var isFinal: Bool
  /// RSV1 of permessage-deflate (RFC 7692 §6): the message that begins here is deflated.
  var isDeflated = false
  /// Bytes of the header itself.
  var byteCount: UInt8
  /// The masking key, first byte lowest; 0 masks nothing.
  var maskKey: UInt32
  var payloadByteCount: Int

  /// Nil while more bytes are needed.
  @inline(__always)
  static func parse(
    _ bytes: RawSpan, at start: Int, isMaskRequired: Bool, allowsDeflated: Bool
  ) throws(FrameFault) -> FrameHeader? {
    let available = bytes.byteCount - start
    guard available >= 1 else { return nil }
    let first = bytes.byte(at: start)
    // §5.2: RSV bits are 0 unless an extension defines them. RSV1 is that of permessage-deflate
    // when negotiated (RFC 7692 §6), and on the first frame of a message only.
    guard first & 0x30 == 0 else { throw .reservedBits }
    let isDeflated = first & 0x40 != 0
    guard allowsDeflated || !isDeflated else { throw .reservedBits }
    guard let opcode = Opcode(rawValue: first & 0x0F) else { throw .reservedOpcode }
    guard !isDeflated || opcode == .text || opcode == .binary else { throw .reservedBits }
    let isFinal = first & 0x80 != 0
    // §5.5: control frames are not fragmented.
    guard isFinal || !opcode.isControl else { throw .controlFragmented }

    guard available >= 2 else { return nil }
    let second = bytes.byte(at: start + 1)
    let isMasked = second & 0x80 != 0
    // §5.1: clients mask every frame, servers none.
    guard isMasked == isMaskRequired else { throw isMaskRequired ? .unmasked : .masked }
    let shortLength = Int(second & 0x7F)
    // §5.5: at most 125 bytes, which excludes the longer length forms.
    guard shortLength <= 125 || !opcode.isControl else { throw .controlTooLong }

    var headerBytes = 2
    var length = shortLength
    // §5.2: "the minimal number of bytes MUST be used to encode the length".
    if shortLength == 126 {
      guard available >= 4 else { return nil }
      length = Int(bytes.uint16(at: start + 2))
      guard length > 125 else { throw .lengthNotMinimal }
      headerBytes = 4
    } else if shortLength == 127 {
      // §5.2: the most significant bit must be 0. It is checked before the rest arrives.
      guard available >= 3 else { return nil }
      guard bytes.byte(at: start + 2) & 0x80 == 0 else { throw .lengthOutOfRange }
      guard available >= 10 else { return nil }
      length = Int(bytes.uint64(at: start + 2))
      guard length > 0xFFFF else { throw .lengthNotMinimal }
      headerBytes = 10
    }
    var maskKey: UInt32 = 0
    if isMasked {
      guard available >= headerBytes + 4 else { return nil }
      let high = UInt32(bytes.uint16(at: start + headerBytes))
      let low = UInt32(bytes.uint16(at: start + headerBytes + 2))
      maskKey = (high << 16 | low).byteSwapped
      headerBytes += 4
    }
    return FrameHeader(
      opcode: opcode, isFinal: isFinal, isDeflated: isDeflated, byteCount: UInt8(headerBytes),
      maskKey: maskKey, payloadByteCount: length)
  }
}

/// The frame types of RFC 6455 §5.2. Any other value on the wire is a fault (1002).
public enum Opcode: UInt8, Equatable, Sendable {
  case continuation = 0x0
  case text = 0x1
  case binary = 0x2
  case close = 0x8
  case ping = 0x9
  case pong = 0xA

  /// Control frames are never fragmented and carry at most 125 bytes (RFC 6455 §5.5).
  @inlinable
  public var isControl: Bool { rawValue & 0x8 != 0 }
}
