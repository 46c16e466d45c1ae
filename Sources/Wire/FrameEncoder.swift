public import Primitives

/// Appends frames to a byte array (RFC 6455 §5.2), final and unfragmented. The server's are
/// unmasked; the client's take their masking key from the caller, who owns the randomness (§5.3).
public enum FrameEncoder {
  /// Payload bytes of a control frame (§5.5).
  public static let controlBytesMax = 125
  /// Bytes of the reason of a close frame: 125 less the code.
  public static let closeReasonBytesMax = 123

  /// Bytes of the header of an unmasked frame: 2, 4 or 10.
  @inlinable
  public static func headerByteCount(payloadByteCount: Int) -> Int {
    payloadByteCount <= 125 ? 2 : payloadByteCount <= 0xFFFF ? 4 : 10
  }

  @inlinable
  public static func appendHeader(
    _ opcode: Opcode, payloadByteCount: Int, to bytes: inout [UInt8]
  ) {
    appendHeader(opcode, payloadByteCount: payloadByteCount, maskBit: 0, to: &bytes)
  }

  @inlinable
  public static func appendFrame(_ opcode: Opcode, payload: RawSpan, to bytes: inout [UInt8]) {
    let count = payload.byteCount
    guard count <= 0xFFFF else {
      appendHeader(opcode, payloadByteCount: count, maskBit: 0, to: &bytes)
      bytes.append(payload)
      return
    }
    precondition(
      !opcode.isControl || count <= controlBytesMax, "control frame too long (§5.5)")
    // Header and payload share one reservation.
    let isShort = count <= 125
    let header = isShort ? 2 : 4
    let first = UInt32(0x80 | opcode.rawValue)
    let word =
      isShort
      ? first | UInt32(count) << 8
      : first | 126 << 8 | UInt32(UInt16(truncatingIfNeeded: count).byteSwapped) << 16
    // SAFETY: the pointers are used only inside the closures. The header's word is four bytes, for
    // which there is always room; the bytes it writes beyond the header are overwritten or not
    // counted.
    unsafe bytes.append(upTo: count + 4) { room in
      unsafe room.storeBytes(of: word.littleEndian, as: UInt32.self)
      let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: room[header...])
      unsafe payload.withUnsafeBytes { unsafe rest.copyMemory(from: $0) }
      return header + count
    }
  }

  /// Appends a message that is already deflated (RFC 7692 §6): RSV1 is set.
  @inlinable
  public static func appendDeflatedFrame(
    _ opcode: Opcode, payload: RawSpan, to bytes: inout [UInt8]
  ) {
    precondition(!opcode.isControl, "control frames are never deflated (RFC 7692 §6.1)")
    let start = bytes.count
    appendFrame(opcode, payload: payload, to: &bytes)
    bytes[start] |= 0x40
  }

  /// The payload's range in a whole unmasked frame that this encoder made.
  @inlinable
  public static func payloadRange(ofFrame frame: RawSpan) -> Range<Int> {
    switch frame.byte(at: 1) {
    case 126: 4..<frame.byteCount
    case 127: 10..<frame.byteCount
    default: 2..<frame.byteCount
    }
  }

  /// Appends a frame whose payload `body` writes directly after the header, so that a text of
  /// unknown length is written once. `body` may only append.
  @inlinable
  public static func appendFrame<Failure: Error>(
    _ opcode: Opcode, to bytes: inout [UInt8],
    body: (inout [UInt8]) throws(Failure) -> Void
  ) throws(Failure) {
    // Reserves the common four-byte header; the others move the payload by a few bytes.
    let start = bytes.count
    bytes.append(bigEndian: UInt32(0))
    let payloadStart = start + 4
    try body(&bytes)
    let count = bytes.count - payloadStart
    precondition(count >= 0, "a frame's body may only append")
    closeFrame(opcode, start: start, payloadByteCount: count, in: &bytes)
  }

  /// Writes the header over the four bytes kept for it.
  @usableFromInline
  static func closeFrame(
    _ opcode: Opcode, start: Int, payloadByteCount count: Int, in bytes: inout [UInt8]
  ) {
    bytes[start] = 0x80 | opcode.rawValue
    if count <= 125 {
      bytes[start + 1] = UInt8(count)
      bytes.removeSubrange(start + 2..<start + 4)
    } else if count <= 0xFFFF {
      bytes[start + 1] = 126
      bytes[start + 2] = UInt8(truncatingIfNeeded: count >> 8)
      bytes[start + 3] = UInt8(truncatingIfNeeded: count)
    } else {
      var header: [UInt8] = []
      appendHeader(opcode, payloadByteCount: count, to: &header)
      bytes.replaceSubrange(start..<start + 4, with: header)
    }
  }

  /// A client's frame: copied and masked with `maskKey`, whose lowest byte masks the first byte.
  public static func appendMaskedFrame(
    _ opcode: Opcode, payload: RawSpan, maskKey: UInt32, to bytes: inout [UInt8]
  ) {
    appendHeader(opcode, payloadByteCount: payload.byteCount, maskBit: 0x80, to: &bytes)
    appendMasked(payload, maskKey: maskKey, to: &bytes)
  }

  /// A close frame (§5.5.1). A reason that is too long is cut between two characters.
  public static func appendClose(
    _ code: CloseCode, reason: String = "", to bytes: inout [UInt8]
  ) {
    appendFrame(.close, to: &bytes) { appendClosePayload(code, reason: reason, to: &$0) }
  }

  public static func appendClose(
    _ code: CloseCode, reason: StaticString, to bytes: inout [UInt8]
  ) {
    appendClose(code, reason: reason.description, to: &bytes)
  }

  public static func appendMaskedClose(
    _ code: CloseCode, reason: String = "", maskKey: UInt32, to bytes: inout [UInt8]
  ) {
    var payload: [UInt8] = []
    appendClosePayload(code, reason: reason, to: &payload)
    payload.withRawSpan {
      appendMaskedFrame(.close, payload: $0, maskKey: maskKey, to: &bytes)
    }
  }

  private static func appendClosePayload(
    _ code: CloseCode, reason: String, to bytes: inout [UInt8]
  ) {
    precondition(code.isReceivable, "this close code is never sent (RFC 6455 §7.4.1)")
    bytes.append(bigEndian: code.rawValue)
    let text = reason.utf8
    var end = text.endIndex
    if text.count > closeReasonBytesMax {
      end = text.index(text.startIndex, offsetBy: closeReasonBytesMax)
      // Back to the first byte of the character that did not fit.
      while text[end] & 0xC0 == 0x80 { end = text.index(before: end) }
    }
    bytes.append(contentsOf: text[..<end])
  }

  private static func appendMasked(
    _ payload: RawSpan, maskKey: UInt32, to bytes: inout [UInt8]
  ) {
    bytes.append(bigEndian: maskKey.byteSwapped)
    let start = bytes.count
    bytes.append(payload)
    _ = bytes.withMutableRawSpan { (span: inout MutableRawSpan) in
      Masking.apply(maskKey, to: &span, in: start..<span.byteCount)
    }
  }

  @inlinable
  static func appendHeader(
    _ opcode: Opcode, payloadByteCount: Int, maskBit: UInt8, to bytes: inout [UInt8]
  ) {
    precondition(
      !opcode.isControl || payloadByteCount <= controlBytesMax, "control frame too long (§5.5)")
    bytes.append(0x80 | opcode.rawValue)
    if payloadByteCount <= 125 {
      bytes.append(maskBit | UInt8(payloadByteCount))
    } else if payloadByteCount <= 0xFFFF {
      bytes.append(maskBit | 126)
      bytes.append(bigEndian: UInt16(payloadByteCount))
    } else {
      bytes.append(maskBit | 127)
      bytes.append(bigEndian: UInt64(payloadByteCount))
    }
  }
}
