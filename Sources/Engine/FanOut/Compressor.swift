import Chat
import Compression
import Primitives
import Wire

/// How a loop compresses. What was agreed with a peer stands in its `DeflateAgreement`.
public struct CompressionOptions: Sendable, Equatable {
  /// zlib's 1 (fast) to 9 (small).
  public var level: Int
  /// zlib's 1 to 9: the size of a deflater's hash chains and of what it holds back.
  public var memoryLevel: Int
  /// Texts shorter than this are sent as they are.
  public var thresholdBytes: Int

  public init(level: Int = 1, memoryLevel: Int = 5, thresholdBytes: Int = 512) {
    self.level = level
    self.memoryLevel = memoryLevel
    self.thresholdBytes = thresholdBytes
  }
}

/// The zlib of one loop, for everybody without a context of their own: made when it is first
/// needed and reset for every message, so that an idle connection holds nothing.
struct Compressor: ~Copyable {
  let options: CompressionOptions
  private var inflater: Inflater?
  private var deflater: Deflater?
  /// For what is longer than the window that a peer has asked for; made anew for another one.
  private var narrow: Deflater?
  private var narrowBits = 0
  /// Where messages are inflated to, and deflated to before their length is known.
  private var inflated: [UInt8] = []
  private var scratch: [UInt8] = []

  /// More than this is not kept from one message to the next: only the echo's are longer.
  static let keptBytes = 2 * Limits.messageBytes

  init(options: CompressionOptions) { self.options = options }

  /// The buffer for one inflated message, empty; give it back.
  mutating func takeBuffer() -> [UInt8] {
    var taken: [UInt8] = []
    swap(&taken, &inflated)
    return taken
  }

  mutating func giveBack(_ buffer: consuming [UInt8]) {
    guard buffer.capacity <= Compressor.keptBytes else { return }
    inflated = buffer
    inflated.removeAll(keepingCapacity: true)
  }

  mutating func inflate(
    _ payload: RawSpan, limit: Int, to output: inout [UInt8]
  ) throws(InflateFault) {
    if inflater == nil { inflater = Inflater(windowBits: 15) }
    try inflater?.inflate(payload, keepsContext: false, limit: limit, to: &output)
  }

  /// Appends a message deflated without context. A message refers only to itself, so that the one
  /// deflater with the largest window serves every peer whose window is as long as the message.
  mutating func deflate(_ message: RawSpan, windowBits: Int, to output: inout [UInt8]) {
    if message.byteCount <= 1 << windowBits {
      if deflater == nil {
        deflater = Deflater(
          level: options.level, windowBits: 15, memoryLevel: options.memoryLevel)
      }
      deflater?.deflate(message, keepsContext: false, to: &output)
    } else {
      if narrowBits != windowBits {
        narrow = Deflater(
          level: options.level, windowBits: windowBits, memoryLevel: options.memoryLevel)
        narrowBits = windowBits
      }
      narrow?.deflate(message, keepsContext: false, to: &output)
    }
  }

  /// Appends a deflated frame, from the peer's own context where there is one. Without one, and
  /// unless `isForced`, it is false and nothing is appended where deflating gains nothing; what a
  /// context has taken in must be sent, or the two sides would differ.
  mutating func appendFrame(
    _ opcode: Opcode, _ message: RawSpan, for peer: DeflatePeer, isForced: Bool = false,
    to output: inout [UInt8]
  ) -> Bool {
    var payload: [UInt8] = []
    swap(&payload, &scratch)
    if let contexts = peer.contexts {
      contexts.deflate(message, windowBits: peer.windowBits, options, to: &payload)
    } else {
      deflate(message, windowBits: peer.windowBits, to: &payload)
    }
    let isSent = isForced || peer.contexts != nil || payload.count < message.byteCount
    if isSent {
      payload.withRawSpan { FrameEncoder.appendDeflatedFrame(opcode, payload: $0, to: &output) }
    }
    payload.removeAll(keepingCapacity: payload.capacity <= Compressor.keptBytes)
    scratch = payload
    return isSent
  }
}

extension Compressor {
  /// The deflated form of a frame of text that is encoded already.
  mutating func append(frame: RawSpan, for peer: DeflatePeer, to output: inout [UInt8]) -> Bool {
    let text = frame.extracting(FrameEncoder.payloadRange(ofFrame: frame))
    return appendFrame(.text, text, for: peer, to: &output)
  }
}

/// To whom something is deflated: the window it keeps, and its context where it has its own.
struct DeflatePeer {
  var windowBits: Int
  var contexts: DeflateContexts?
}

/// What a connection with context takeover holds: the earlier messages of either direction, made
/// when the first one is deflated.
///
/// SAFETY: it belongs to one connection, whose loop alone uses it. It moves to
/// another loop inside the `Departure` that takes the connection out of the first one, by a mailbox
/// whose lock orders the two.
final class DeflateContexts: @unchecked Sendable {
  private var inflater: Inflater?
  private var deflater: Deflater?

  func inflate(
    _ payload: RawSpan, windowBits: Int, limit: Int, to output: inout [UInt8]
  ) throws(InflateFault) {
    if inflater == nil { inflater = Inflater(windowBits: windowBits) }
    try inflater?.inflate(payload, keepsContext: true, limit: limit, to: &output)
  }

  func deflate(
    _ message: RawSpan, windowBits: Int, _ options: CompressionOptions, to output: inout [UInt8]
  ) {
    if deflater == nil {
      deflater = Deflater(
        level: options.level, windowBits: windowBits, memoryLevel: options.memoryLevel)
    }
    deflater?.deflate(message, keepsContext: true, to: &output)
  }
}
