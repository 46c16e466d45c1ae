import Chat
import Primitives
import Wire

/// The newest entries of one session as encoded WebSocket frames, one behind the other: encoded
/// once, sent to every subscriber from here.
///
/// Bounded by `Limits.recentBytes` and `Limits.recentEntries`; what is older is read from the
/// database. Invariant: the entries kept are `first ... last` without a hole, and `last` is the
/// session's head.
struct RecentLog {
  private var bytes: [UInt8] = []
  /// Offset in `bytes` behind each entry.
  private var ends: [Int] = []
  /// Notes are shown to operators only; visitors get a place holder of the same seq.
  private var isNote: [Bool] = []
  private var notes = 0
  /// Deflated frames, in the order in which they were first wanted, and where the one of each entry
  /// lies. Nothing is deflated while nobody with compression follows the session.
  private var deflated: [UInt8] = []
  private var deflatedRanges: [DeflatedRange] = []
  private(set) var first: Int64
  var last: Int64 { first + Int64(ends.count) - 1 }

  /// An empty log behind `head`.
  init(head: Int64) { first = head + 1 }

  var isEmpty: Bool { ends.isEmpty }

  mutating func append(isNote note: Bool, encode: (inout [UInt8]) -> Void) {
    if ends.count == Limits.recentEntries || bytes.count > 2 * Limits.recentBytes { trim() }
    FrameEncoder.appendFrame(.text, to: &bytes, body: encode)
    ends.append(bytes.count)
    isNote.append(note)
    if note { notes += 1 }
  }

  /// Appends entries that another loop has encoded.
  mutating func append(_ part: LogPart) {
    var start = 0
    for (index, end) in part.ends.enumerated() {
      if ends.count == Limits.recentEntries || bytes.count > 2 * Limits.recentBytes { trim() }
      bytes.append(contentsOf: part.bytes[start..<end])
      ends.append(bytes.count)
      isNote.append(part.isNote[index])
      if part.isNote[index] { notes += 1 }
      start = end
    }
  }

  /// A copy of the entries from `seq` on, for the mail to other loops.
  func part(from seq: Int64) -> LogPart {
    let index = Int(seq - first)
    let start = index == 0 ? 0 : ends[index - 1]
    return LogPart(
      first: seq, bytes: Array(bytes[start...]), ends: ends[index...].map { $0 - start },
      isNote: Array(isNote[index...]))
  }

  /// Forgets the older half, so that the cost of moving bytes is spread over many entries.
  private mutating func trim() {
    guard ends.count > 1 else { return }
    var dropped = ends.count / 2
    while dropped < ends.count - 1, bytes.count - ends[dropped - 1] > Limits.recentBytes {
      dropped += 1
    }
    let cut = ends[dropped - 1]
    bytes.removeFirst(cut)
    ends.removeFirst(dropped)
    for index in ends.indices { ends[index] -= cut }
    notes -= isNote[..<dropped].count(where: { $0 })
    isNote.removeFirst(dropped)
    first += Int64(dropped)
    trimDeflated(dropped)
  }

  /// Copies frames from `next` on to `output` until it holds `budget` bytes, at least one; returns
  /// the seq that comes after. `next` must lie in `first ... last`.
  func copy(
    from next: Int64, session: Identifier, isOperator: Bool, budget: Int,
    to output: inout [UInt8]
  ) -> Int64 {
    var index = Int(next - first)
    let start = index == 0 ? 0 : ends[index - 1]
    if bytes.count - start <= budget - output.count, isOperator || notes == 0 {
      output.append(contentsOf: bytes[start...])
      return last + 1
    }
    repeat {
      if isNote[index] && !isOperator {
        FrameEncoder.appendFrame(.text, to: &output) {
          EventEncoder.hidden(session: session, seq: first + Int64(index), to: &$0)
        }
      } else {
        output.append(contentsOf: bytes[(index == 0 ? 0 : ends[index - 1])..<ends[index]])
      }
      index += 1
    } while index < ends.count && output.count < budget
    return first + Int64(index)
  }
}

/// The deflated form of the entries, each made once for everybody who can read it.
extension RecentLog {
  /// Where an entry's deflated frame lies.
  enum DeflatedRange {
    case unknown
    /// Deflating gains nothing.
    case useless
    case at(Int, count: Int)
  }

  func isNote(_ seq: Int64) -> Bool { isNote[Int(seq - first)] }

  /// Appends one entry for a peer with compression; returns how often something was deflated for
  /// it, 0 or 1. `seq` must lie in `first ... last`.
  mutating func appendDeflated(
    _ seq: Int64, _ peer: DeflatePeer, _ compressor: inout Compressor, to output: inout [UInt8]
  ) -> UInt64 {
    let index = Int(seq - first)
    let frame = (index == 0 ? 0 : ends[index - 1])..<ends[index]
    // Nothing but a header can be before the text, so a frame below the threshold is known at once.
    guard frame.count >= compressor.options.thresholdBytes else {
      output.append(contentsOf: bytes[frame])
      return 0
    }
    guard peer.contexts == nil, frame.count <= 1 << peer.windowBits else {
      let isDeflated = bytes.withRawSpan { bytes in
        compressor.append(frame: bytes.extracting(frame), for: peer, to: &output)
      }
      if !isDeflated { output.append(contentsOf: bytes[frame]) }
      return 1
    }
    while deflatedRanges.count <= index { deflatedRanges.append(.unknown) }
    switch deflatedRanges[index] {
    case .useless:
      output.append(contentsOf: bytes[frame])
      return 0
    case .at(let start, let count):
      output.append(contentsOf: deflated[start..<start + count])
      return 0
    case .unknown:
      let start = deflated.count
      // Moved out, since `self` is lent to the closure.
      var target: [UInt8] = []
      swap(&target, &deflated)
      let isSmaller = bytes.withRawSpan { bytes in
        compressor.append(frame: bytes.extracting(frame), for: peer, to: &target)
      }
      swap(&target, &deflated)
      deflatedRanges[index] = isSmaller ? .at(start, count: deflated.count - start) : .useless
      output.append(contentsOf: isSmaller ? deflated[start...] : bytes[frame])
      return 1
    }
  }

  /// Forgets the deflated forms of the oldest entries.
  private mutating func trimDeflated(_ dropped: Int) {
    deflatedRanges.removeFirst(min(dropped, deflatedRanges.count))
    var kept: [UInt8] = []
    for index in deflatedRanges.indices {
      guard case .at(let start, let count) = deflatedRanges[index] else { continue }
      deflatedRanges[index] = .at(kept.count, count: count)
      kept.append(contentsOf: deflated[start..<start + count])
    }
    deflated = kept
  }
}

/// Consecutive encoded entries on their way to another loop.
public struct LogPart: Sendable {
  var first: Int64
  var bytes: [UInt8]
  var ends: [Int]
  var isNote: [Bool]

  var last: Int64 { first + Int64(ends.count) - 1 }
}
