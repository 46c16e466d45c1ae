/// One connection through the fault proxy: two sockets and a small buffer for each direction.
///
/// A pipe that is held neither reads nor writes, so whoever sends into it feels what a peer that
/// does not read lets it feel. Invariant: bytes are passed on unchanged and in order, or not at
/// all.
import Kernel
import Primitives

/// One direction.
struct ProxyPipe {
  static let capacity = 65_536

  private var bytes: [UInt8] = []
  private var start = 0
  /// The source has said that nothing more comes; the sink was told.
  var isSourceOver = false
  var isSinkOver = false
  var heldUntil = Instant.zero
  /// Slower than usual until then: bytes a second, or a delay of up to so many milliseconds.
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

  /// Bytes, or the end behind them.
  private var hasSomething: Bool { !isEmpty || isSourceOver && !isSinkOver }

  /// They can go on as soon as the sink has room.
  func wantsWrite(_ now: Instant) -> Bool {
    hasSomething && now >= heldUntil && now >= notBefore && allowance > 0
  }

  /// When something can move that cannot now, if it is a matter of time.
  func wake(_ now: Instant) -> Instant {
    if heldUntil > now { return heldUntil }
    return hasSomething && notBefore > now ? notBefore : .never
  }

  /// Reads once. `see` looks at what came and may refuse it.
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

  /// Writes once, and passes the end on.
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
  /// Who connected to the proxy, and whom the proxy connected to.
  let near: FileDescriptor
  let far: FileDescriptor
  var isConnecting = true
  var up = ProxyPipe()
  var down = ProxyPipe()
  /// A peer that reads in fits: when it next stops for a while.
  var nextNap = Instant.never
  /// Cut as soon as the answer to a COMMIT passes, if that is before then.
  var losesCommitUntil = Instant.zero
  /// Cut at this time.
  var doomedAt = Instant.never
  var wake = Instant.never
  /// What epoll was told of either socket; nil: it does not watch it.
  var nearInterest: Interest?
  var farInterest: Interest?
  /// The end of what came down last: a word may be cut by the end of a segment.
  private var tail: [UInt8] = []

  init(near: consuming FileDescriptor, far: consuming FileDescriptor) {
    self.near = near
    self.far = far
  }

  /// PostgreSQL's CommandComplete of a COMMIT ends with this (its manual, “Message Formats”).
  private static let word = Array("COMMIT\0".utf8)

  /// Whether these bytes from the server complete a COMMIT.
  func completesCommit(_ bytes: ArraySlice<UInt8>) -> Bool {
    let seen = tail + bytes
    tail = Array(seen.suffix(ProxyLink.word.count - 1))
    return seen.firstRange(of: ProxyLink.word) != nil
  }
}
