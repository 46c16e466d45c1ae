/// Parses the frames of one server (RFC 6455 §5.2) in a stream of arbitrary pieces. It stores only
/// a header: 32 bytes per connection, independent of message sizes.
///
/// It counts messages faster than `MessageDecoder` could, and it does not rely on the gateway's
/// code to verify the gateway's frames. Invariant: it is not used after a throw.
import Primitives
import Wire

struct FrameWalker {
  enum Step: Equatable {
    /// All bytes were consumed.
    case needMoreBytes
    /// Payload of a message in this range; `isEnd` with the last byte of the message.
    case data(Range<Int>, isEnd: Bool)
    /// Payload of a ping, pong or close, possibly in pieces.
    case control(Opcode, Range<Int>, isEnd: Bool)
  }

  /// Missing payload bytes of the current frame.
  private var missing = 0
  private var header: [10 of UInt8] = [10 of UInt8](repeating: 0)
  private var headerCount: UInt8 = 0
  /// Of the current frame.
  private var opcode = Opcode.continuation
  private var isFinal = false
  private var isInPayload = false
  /// A fragment was received, but not the last one.
  private var isInMessage = false

  /// Whether the next byte begins a message.
  var isBetweenMessages: Bool { !isInPayload && !isInMessage && headerCount == 0 }

  /// Consumes whole messages that begin with exactly these header bytes, and returns their number.
  /// Everything else is left to `next`.
  @inline(__always)
  func takeWhole(_ shape: FrameShape, _ bytes: RawSpan, _ offset: inout Int) -> Int {
    guard isBetweenMessages, shape.hasShortHeader else { return 0 }
    var count = 0
    let end = bytes.byteCount
    while end &- offset >= shape.frameByteCount, bytes.uint16(at: offset) == shape.first,
      shape.headerByteCount == 2 || bytes.uint16(at: offset &+ 2) == shape.second
    {
      offset &+= shape.frameByteCount
      count &+= 1
    }
    return count
  }

  mutating func next(_ bytes: RawSpan, _ offset: inout Int) throws(FrameFault) -> Step {
    if !isInPayload, !takeTextHeader(bytes, &offset) {
      guard try takeHeader(bytes, &offset) else { return .needMoreBytes }
    }
    let count = min(missing, bytes.byteCount - offset)
    if count == 0, missing > 0 { return .needMoreBytes }
    let range = offset..<offset + count
    offset += count
    missing -= count
    isInPayload = missing > 0
    if opcode.isControl { return .control(opcode, range, isEnd: !isInPayload) }
    let isEnd = !isInPayload && isFinal
    if isEnd { isInMessage = false }
    return .data(range, isEnd: isEnd)
  }

  /// Consumes the header of a whole text message below 64 KiB, the usual case.
  @inline(__always)
  private mutating func takeTextHeader(_ bytes: RawSpan, _ offset: inout Int) -> Bool {
    guard isBetweenMessages, bytes.byteCount &- offset >= 4,
      bytes.byte(at: offset) == 0x81
    else { return false }
    let short = bytes.byte(at: offset &+ 1)
    if short <= 125 {
      missing = Int(short)
      offset &+= 2
    } else {
      missing = Int(bytes.uint16(at: offset &+ 2))
      // The general parser determines the error.
      guard short == 126, missing > 125 else {
        missing = 0
        return false
      }
      offset &+= 4
    }
    opcode = .text
    isFinal = true
    isInPayload = true
    isInMessage = true
    return true
  }

  /// Whether the header is complete.
  private mutating func takeHeader(
    _ bytes: RawSpan, _ offset: inout Int
  ) throws(FrameFault) -> Bool {
    while true {
      let needed = headerByteCount
      if Int(headerCount) == needed, needed > 1 { break }
      guard offset < bytes.byteCount else { return false }
      header[Int(headerCount)] = bytes.byte(at: offset)
      headerCount += 1
      offset += 1
      if headerCount == 1 { try checkFirst() } else if headerCount == 2 { try checkSecond() }
    }
    try enterPayload()
    return true
  }

  /// As far as known: 2, 4 or 10.
  private var headerByteCount: Int {
    if headerCount < 2 { return 2 }
    return header[1] == 126 ? 4 : header[1] == 127 ? 10 : 2
  }

  private mutating func checkFirst() throws(FrameFault) {
    // §5.2: no extension was offered.
    guard header[0] & 0x70 == 0 else { throw .reservedBits }
    guard let opcode = Opcode(rawValue: header[0] & 0x0F) else { throw .reservedOpcode }
    self.opcode = opcode
    isFinal = header[0] & 0x80 != 0
    // §5.4 and §5.5: control frames are not fragmented, and messages are not interleaved.
    if opcode.isControl {
      guard isFinal else { throw .controlFragmented }
    } else if opcode == .continuation {
      guard isInMessage else { throw .continuationWithoutStart }
    } else {
      guard !isInMessage else { throw .messageInterrupted }
    }
  }

  private func checkSecond() throws(FrameFault) {
    // §5.1: a server must not mask.
    guard header[1] & 0x80 == 0 else { throw .masked }
    guard header[1] <= 125 || !opcode.isControl else { throw .controlTooLong }
  }

  private mutating func enterPayload() throws(FrameFault) {
    let count = Int(headerCount)
    var length = 0
    for index in count == 2 ? 1..<2 : 2..<count {
      // §5.2: the most significant bit of the 64-bit length is 0.
      guard length >> 55 == 0 else { throw .lengthOutOfRange }
      length = length << 8 | Int(header[index])
    }
    // §5.2: "the minimal number of bytes MUST be used to encode the length".
    guard count == 2 || length > (count == 4 ? 125 : 0xFFFF) else { throw .lengthNotMinimal }
    if !opcode.isControl { isInMessage = true }
    missing = length
    headerCount = 0
    isInPayload = true
  }
}

/// The header of a whole, unmasked frame with a known payload length, as of a server's reply.
struct FrameShape: Equatable {
  let payloadByteCount: Int
  let headerByteCount: Int
  /// The first two bytes, and the following two.
  let first: UInt16
  let second: UInt16

  init(_ opcode: Opcode, payloadByteCount: Int) {
    self.payloadByteCount = payloadByteCount
    headerByteCount = FrameEncoder.headerByteCount(payloadByteCount: payloadByteCount)
    var header: [UInt8] = []
    FrameEncoder.appendHeader(opcode, payloadByteCount: payloadByteCount, to: &header)
    first = UInt16(header[0]) << 8 | UInt16(header[1])
    second = header.count == 4 ? UInt16(header[2]) << 8 | UInt16(header[3]) : 0
  }

  var frameByteCount: Int { headerByteCount + payloadByteCount }
  /// Frames above 64 KiB are left to the general parser.
  var hasShortHeader: Bool { headerByteCount < 10 }
}
