import Primitives

/// The bounds on one WebSocket message.
public struct MessageLimits: Equatable, Sendable {
  /// Payload bytes of all fragments together.
  public var messageBytes: Int
  /// Frames of one message, the first included.
  public var fragments: Int

  public init(messageBytes: Int, fragments: Int) {
    self.messageBytes = messageBytes
    self.fragments = fragments
  }

  /// Payload bytes of a deflated message. Incompressible data grows: by an eighth
  /// and a 64th where zlib's worst block is used, and by the markers of flushes. The inflater
  /// holds the output to `messageBytes` exactly.
  public var deflatedBytes: Int { messageBytes + messageBytes / 8 + messageBytes / 64 + 1_024 }
}

/// Turns the bytes of one peer into messages and control frames (RFC 6455 §5 to §8), without owning
/// the memory they arrive in.
///
/// It unmasks in place. A message that is complete in the caller's buffer is returned as a range of
/// it. Partial messages are copied to `assembly`, the only heap memory, which an idle connection
/// does not have.
///
/// Invariants: after a fault or a close frame nothing is ever yielded again, and further bytes are
/// discarded (§1.4, §7.1.7); at most `limits.messageBytes` + 125 bytes are held, or
/// `limits.deflatedBytes` + 125 where deflated messages are allowed; the segmentation of the stream
/// affects only `Location`.
public struct MessageDecoder: Sendable {
  /// Which side this is: servers require masks, clients forbid them (§5.1).
  public enum Role: UInt8, Sendable { case server, client }

  public enum Location: Equatable, Sendable {
    /// Unmasked, at these offsets of the buffer given to `next`.
    case inPlace(Range<Int>)
    /// Read it by `withAssembled` before the next call of `next`.
    case assembled
  }

  public enum Step: Equatable, Sendable {
    /// Every byte is consumed; the buffer may be reused.
    case needMoreBytes
    /// `.text` (already checked to be UTF-8) or `.binary`.
    case message(Opcode, Location)
    /// The same, still deflated (RFC 7692 §7.2.2): neither its length nor its text is checked.
    /// Yielded only if `allowsDeflated` is set.
    case deflatedMessage(Opcode, Location)
    case ping(Location)
    case pong(Location)
    /// The code is nil when the frame had no payload (§7.1.5: 1005).
    case close(CloseCode?, reason: Location)
  }

  private enum Phase: UInt8 { case header, payload, finished }

  /// May change at any time, for example when a peer has authenticated.
  public var limits: MessageLimits
  /// permessage-deflate was negotiated for this connection.
  public let allowsDeflated: Bool
  /// The fragments so far, then the bytes of a partial control frame.
  private var assembly: [UInt8] = []
  /// The number of bytes of `assembly` that belong to the message.
  private var messageByteCount = 0
  private var fragmentCount = 0
  /// Payload bytes of the current frame that have not arrived.
  private var missing = 0
  private var frame = FrameHeader(
    opcode: .continuation, isFinal: true, byteCount: 0, maskKey: 0, payloadByteCount: 0)
  /// The bytes of a header that the end of a segment interrupted.
  private var scratch = InlineArray<14, UInt8>(repeating: 0)
  private var scratchCount: UInt8 = 0
  private var utf8 = UTF8Validator()
  /// `.continuation` between messages.
  private var messageOpcode = Opcode.continuation
  private var isMessageDeflated = false
  private var role: Role
  private var phase = Phase.header
  /// The start in `assembly` of the payload last yielded; -1 for none.
  private var lentFrom = -1

  public init(role: Role, limits: MessageLimits, allowsDeflated: Bool = false) {
    precondition(limits.messageBytes >= 0 && limits.fragments >= 1, "limits that nothing can meet")
    self.role = role
    self.limits = limits
    self.allowsDeflated = allowsDeflated
  }

  /// Whether a fault or a close frame has ended this direction.
  public var isFinished: Bool { phase == .finished }

  /// Whether a message has begun and not ended: an idle timeout should not count this time as
  /// silence.
  public var isInsideMessage: Bool { messageOpcode != .continuation || phase == .payload }

  /// Consumes bytes from `offset` on, up to the end of the next message or control frame.
  public mutating func next(
    _ buffer: inout MutableRawSpan, offset: inout Int
  ) throws(FrameFault) -> Step {
    if lentFrom >= 0 { clearAssembled() }
    do throws(FrameFault) {
      if messageOpcode == .continuation, phase == .header, scratchCount == 0,
        let message = try WholeMessage.read(
          &buffer, at: offset, isMasked: role == .server, byteCountMax: limits.messageBytes)
      {
        offset = message.range.upperBound
        return .message(message.opcode, .inPlace(message.range))
      }
      return try nextPiece(&buffer, offset: &offset)
    } catch {
      finish()
      throw error
    }
  }

  /// The slow path: every input that is not a `WholeMessage`, one rule after the other. It is not
  /// inlined, because the fast path would then save and restore every register.
  @inline(never)
  private mutating func nextPiece(
    _ buffer: inout MutableRawSpan, offset: inout Int
  ) throws(FrameFault) -> Step {
    while true {
      switch phase {
      case .finished:
        offset = buffer.byteCount
        return .needMoreBytes
      case .header:
        guard let header = try readHeader(buffer.bytes, offset: &offset) else {
          return .needMoreBytes
        }
        try begin(header)
      case .payload:
        if let step = try readPayload(&buffer, offset: &offset) { return step }
        if phase == .payload { return .needMoreBytes }
      }
    }
  }

  /// Ends this direction after a fault in the content of a message: nothing is yielded again.
  public mutating func finish() {
    phase = .finished
    assembly = []
    lentFrom = -1
  }

  /// Lends the payload whose location was `.assembled`; empty when there is none.
  public func withAssembled<Result: ~Copyable, Failure: Error>(
    _ body: (RawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try assembly.withRawSpan { (bytes) throws(Failure) -> Result in
      let start = lentFrom < 0 ? bytes.byteCount : lentFrom
      return try body(bytes.extracting(start..<bytes.byteCount))
    }
  }

  /// The payload whose location was `.assembled`, for the caller to keep. The message's own buffer
  /// is handed over without a copy; only a control frame between fragments is copied out.
  public mutating func takeAssembled() -> [UInt8] {
    var taken: [UInt8] = []
    if lentFrom == 0 {
      swap(&taken, &assembly)
      lentFrom = -1
    } else if lentFrom > 0 {
      taken.append(contentsOf: assembly[lentFrom...])
      clearAssembled()
    }
    return taken
  }

  /// Frees the memory of the yielded payload. `next` does it too; call this when the connection may
  /// then be idle for hours.
  public mutating func clearAssembled() {
    guard lentFrom >= 0 else { return }
    if lentFrom == 0 || phase == .finished {
      assembly = []
    } else {
      assembly.removeLast(assembly.count - lentFrom)
    }
    lentFrom = -1
  }

  /// Nil when the segment ends inside the header.
  @inline(__always)
  private mutating func readHeader(
    _ bytes: RawSpan, offset: inout Int
  ) throws(FrameFault) -> FrameHeader? {
    if scratchCount == 0,
      let header = try FrameHeader.parse(
        bytes, at: offset, isMaskRequired: role == .server, allowsDeflated: allowsDeflated)
    {
      offset += Int(header.byteCount)
      return header
    }
    while offset < bytes.byteCount {
      scratch[Int(scratchCount)] = bytes.byte(at: offset)
      scratchCount += 1
      offset += 1
      // SAFETY: UInt8 has no padding, and the span does not outlive this statement.
      let seen = unsafe scratch.span.bytes.extracting(0..<Int(scratchCount))
      if let header = try FrameHeader.parse(
        seen, at: 0, isMaskRequired: role == .server, allowsDeflated: allowsDeflated)
      {
        scratchCount = 0
        return header
      }
    }
    return nil
  }

  /// The checks of a header before any payload: the order of fragments (§5.4) and the limits.
  private mutating func begin(_ header: FrameHeader) throws(FrameFault) {
    if !header.opcode.isControl {
      if header.opcode == .continuation {
        guard messageOpcode != .continuation else { throw .continuationWithoutStart }
      } else {
        guard messageOpcode == .continuation else { throw .messageInterrupted }
        messageOpcode = header.opcode
        isMessageDeflated = header.isDeflated
        fragmentCount = 0
        utf8 = UTF8Validator()
      }
      // Subtracted, not added: the declared length can be near Int.max.
      let limit = isMessageDeflated ? limits.deflatedBytes : limits.messageBytes
      guard header.payloadByteCount <= limit - messageByteCount else { throw .messageTooBig }
      guard fragmentCount < limits.fragments else { throw .tooManyFragments }
      fragmentCount += 1
    }
    frame = header
    missing = header.payloadByteCount
    phase = .payload
  }

  /// Nil when the segment ends inside the payload, or a fragment that is not the last one is
  /// complete.
  @inline(__always)
  private mutating func readPayload(
    _ buffer: inout MutableRawSpan, offset: inout Int
  ) throws(FrameFault) -> Step? {
    let range = offset..<offset + min(missing, buffer.byteCount - offset)
    Masking.apply(frame.maskKey, to: &buffer, in: range)
    frame.maskKey = Masking.advance(frame.maskKey, by: range.count)
    offset = range.upperBound
    missing -= range.count
    if frame.opcode.isControl { return try readControl(buffer.bytes, range) }

    let isText = messageOpcode == .text && !isMessageDeflated
    if isText {
      // §8.1, and at the first impossible byte rather than at the end of the message.
      guard utf8.accept(buffer.bytes, in: range) else { throw .textInvalid }
    }
    let isEnd = missing == 0 && frame.isFinal
    if isEnd && isText && !utf8.isComplete { throw .textInvalid }
    // The usual message: one frame, whole in the buffer.
    let isInPlace = isEnd && messageByteCount == 0 && range.count == frame.payloadByteCount
    if !isInPlace {
      assembly.append(buffer.bytes.extracting(range))
      messageByteCount += range.count
    }
    if missing > 0 { return nil }
    phase = .header
    if !isEnd { return nil }
    let opcode = messageOpcode
    messageOpcode = .continuation
    if !isInPlace {
      messageByteCount = 0
      lentFrom = 0
    }
    let location = isInPlace ? Location.inPlace(range) : .assembled
    return isMessageDeflated ? .deflatedMessage(opcode, location) : .message(opcode, location)
  }

  /// Control frames may stand between the fragments of a message (§5.4), so their pieces are
  /// stored after it.
  private mutating func readControl(
    _ bytes: RawSpan, _ range: Range<Int>
  ) throws(FrameFault) -> Step? {
    let isInPlace = missing == 0 && range.count == frame.payloadByteCount
    if !isInPlace { assembly.append(bytes.extracting(range)) }
    if missing > 0 { return nil }
    phase = .header
    if !isInPlace { lentFrom = messageByteCount }
    switch frame.opcode {
    case .ping: return .ping(isInPlace ? .inPlace(range) : .assembled)
    case .pong: return .pong(isInPlace ? .inPlace(range) : .assembled)
    default: break
    }
    // §5.5.1: a close frame is the last thing a peer sends.
    phase = .finished
    if isInPlace {
      let code = try closeCode(bytes.extracting(range))
      let reason = min(range.lowerBound + 2, range.upperBound)..<range.upperBound
      return .close(code, reason: .inPlace(reason))
    }
    let start = messageByteCount
    let code = try assembly.withRawSpan { (held) throws(FrameFault) in
      try closeCode(held.extracting(start..<held.byteCount))
    }
    lentFrom = min(start + 2, assembly.count)
    return .close(code, reason: .assembled)
  }
}

/// §5.5.1, §7.4: nothing, or a code that a peer may send and a reason in UTF-8.
private func closeCode(_ payload: RawSpan) throws(FrameFault) -> CloseCode? {
  if payload.byteCount == 0 { return nil }
  guard payload.byteCount >= 2 else { throw .closePayloadOfOneByte }
  let code = CloseCode(rawValue: payload.uint16(at: 0))
  guard code.isReceivable else { throw .closeCodeForbidden }
  guard UTF8Validator.isValid(payload.extracting(2..<payload.byteCount)) else {
    throw .closeReasonInvalid
  }
  return code
}

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
