import Chat
import Compression
import Primitives
import Wire

/// Compression settings of a loop. `DeflateAgreement` holds the parameters negotiated with a peer.
public struct CompressionOptions: Sendable, Equatable {
  /// zlib's 1 (fast) to 9 (small).
  public var level: Int
  /// zlib's `memLevel`, 1 to 9: with more memory, deflating is faster and better.
  public var memoryLevel: Int
  /// Shorter texts are sent uncompressed.
  public var thresholdBytes: Int

  public init(level: Int = 1, memoryLevel: Int = 5, thresholdBytes: Int = 512) {
    self.level = level
    self.memoryLevel = memoryLevel
    self.thresholdBytes = thresholdBytes
  }
}

/// The zlib streams of one loop, shared by all connections without a context of their own. Created
/// on first use and reset for every message, so that an idle connection holds none.
struct Compressor: ~Copyable {
  let options: CompressionOptions
  private var inflater: Inflater?
  private var deflater: Deflater?
  /// For messages longer than a peer's window; created again when another window is needed.
  private var narrow: Deflater?
  private var narrowBits = 0
  /// Buffers for an inflated message, and for a deflated one until its length is known.
  private var inflated: [UInt8] = []
  private var scratch: [UInt8] = []

  /// A larger buffer is not kept for the next message. Only messages of the echo need one.
  static let keptBytes = 2 * Limits.messageBytes

  init(options: CompressionOptions) { self.options = options }

  /// An empty buffer for one inflated message. Return it with `giveBack`.
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

  /// Appends a message deflated without context. It refers only to itself, so the deflater with the
  /// largest window serves every peer whose window is at least as long as the message.
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

  /// Appends a deflated frame, using the peer's own context if it has one. Returns false and
  /// appends nothing when the deflated text is not shorter, except if `isForced` or with a context:
  /// after a skipped message, the contexts of both sides would differ.
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
  /// Appends the deflated form of an encoded text frame, under the conditions of `appendFrame`.
  mutating func append(frame: RawSpan, for peer: DeflatePeer, to output: inout [UInt8]) -> Bool {
    let text = frame.extracting(FrameEncoder.payloadRange(ofFrame: frame))
    return appendFrame(.text, text, for: peer, to: &output)
  }
}

/// The parameters for deflating a text for one connection: its window, and its own context if any.
struct DeflatePeer {
  var windowBits: Int
  var contexts: DeflateContexts?
}

/// The zlib streams of a connection with context takeover, one for each direction, created on first
/// use.
///
/// SAFETY: it belongs to one connection, and only that connection's loop uses it. It moves to
/// another loop inside a `Departure`, which removes the connection from the first one; the lock of
/// the mailbox orders the two.
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
