/// One connection through the fault proxy: two sockets with a small buffer for each direction.
///
/// A held pipe neither reads nor writes, so the sender sees a peer that does not read. Invariant:
/// bytes are forwarded unchanged and in order, or not at all.
import Kernel
import Primitives

/// One direction.
struct ProxyPipe {
  static let capacity = 65_536

  private var bytes: [UInt8] = []
  private var start = 0
  /// The source has sent its end of stream; the sink has received it.
  var isSourceOver = false
  var isSinkOver = false
  var heldUntil = Instant.zero
  /// Until these times it is throttled to `bytesPerSecond`, or delays by up to `delayMilliseconds`.
  var pacedUntil = Instant.zero
  var bytesPerSecond = 0
  var delayedUntil = Instant.zero
  var delayMilliseconds: Int64 = 0
  /// Bytes that may still pass before the connection is cut.
  var allowance = Int.max
  private var notBefore = Instant.zero

  enum Outcome { case moved, idle, dead }

  var isEmpty: Bool { start == bytes.count }
  var hasRoom: Bool { bytes.count - start < ProxyPipe.capacity }

  func wantsRead(_ now: Instant) -> Bool { !isSourceOver && hasRoom && now >= heldUntil }

  /// Whether bytes or an end of stream are pending.
  private var hasSomething: Bool { !isEmpty || isSourceOver && !isSinkOver }

  /// Whether pending data may be written when the sink has room.
  func wantsWrite(_ now: Instant) -> Bool {
    hasSomething && now >= heldUntil && now >= notBefore && allowance > 0
  }

  /// The time at which a blocked transfer may continue, if it waits for a time.
  func wake(_ now: Instant) -> Instant {
    if heldUntil > now { return heldUntil }
    return hasSomething && notBefore > now ? notBefore : .never
  }

  /// Reads once. `see` inspects the bytes and may reject them.
  mutating func fill(
    from source: borrowing FileDescriptor, _ scratch: inout [UInt8], _ now: Instant,
    _ random: inout RandomStream, _ see: (ArraySlice<UInt8>) -> Bool
  ) -> Outcome {
    guard wantsRead(now) else { return .idle }
    switch scratch.withMutableRawSpan({ source.receive(into: &$0) }) {
    case .bytes(let count):
      guard see(scratch[..<count]) else { return .dead }
      if isEmpty, delayedUntil > now {
        notBefore = now.advanced(
          byMilliseconds: Int64.random(in: 0...delayMilliseconds, using: &random))
      }
      bytes.append(contentsOf: scratch[..<count])
      return .moved
    case .wouldBlock: return .idle
    case .endOfStream:
      isSourceOver = true
      return .moved
    case .reset, .failed: return .dead
    }
  }

  /// Writes once, and forwards the end of stream.
  mutating func drain(to sink: borrowing FileDescriptor, _ now: Instant) -> Outcome {
    guard wantsWrite(now) else { return .idle }
    if isEmpty {
      isSinkOver = true
      return (try? sink.shutdownWrite()) == nil ? .dead : .moved
    }
    var end = min(bytes.count, start + min(allowance, ProxyPipe.capacity))
    if pacedUntil > now { end = min(end, start + max(1, bytesPerSecond / 50)) }
    switch bytes.withRawSpan({ sink.send($0.extracting(0..<end), from: start) }) {
    case .bytes(let count):
      start += count
      if allowance != .max { allowance -= count }
      if pacedUntil > now {
        notBefore = Instant(
          nanoseconds: now.nanoseconds + Int64(count) * 1_000_000_000 / Int64(bytesPerSecond))
      }
      if isEmpty {
        bytes.removeAll(keepingCapacity: true)
        start = 0
      } else if start > ProxyPipe.capacity {
        bytes.removeFirst(start)
        start = 0
      }
      return .moved
    case .wouldBlock: return .idle
    case .reset, .failed: return .dead
    }
  }
}

final class ProxyLink {
  /// The side that connected to the proxy, and the side that the proxy connected to.
  let near: FileDescriptor
  let far: FileDescriptor
  var isConnecting = true
  var up = ProxyPipe()
  var down = ProxyPipe()
  /// For a slow peer: the start of the next interruption.
  var nextNap = Instant.never
  /// Until this time, the link is cut when the answer to a COMMIT passes.
  var losesCommitUntil = Instant.zero
  /// The time of the cut.
  var doomedAt = Instant.never
  var wake = Instant.never
  /// The registered interest of each socket; nil while it is not registered.
  var nearInterest: Interest?
  var farInterest: Interest?
  /// The last bytes from the server, because a segment may end inside the word.
  private var tail: [UInt8] = []

  init(near: consuming FileDescriptor, far: consuming FileDescriptor) {
    self.near = near
    self.far = far
  }

  /// The end of PostgreSQL's CommandComplete message for a COMMIT (manual, “Message Formats”), and
  /// the name of the first column of a fenced statement's answer. PostgreSQL sends that answer when
  /// it has committed the statement.
  private static let words = [Array("COMMIT\0".utf8), Array("place\0".utf8)]

  /// Whether these bytes from the server answer a committed transaction of the writer.
  func completesCommit(_ bytes: ArraySlice<UInt8>) -> Bool {
    let seen = tail + bytes
    tail = Array(seen.suffix((ProxyLink.words.map(\.count).max() ?? 1) - 1))
    return ProxyLink.words.contains { seen.firstRange(of: $0) != nil }
  }
}
