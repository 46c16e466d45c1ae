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

/// Consecutive encoded entries on their way to another loop.
public struct LogPart: Sendable {
  var first: Int64
  var bytes: [UInt8]
  var ends: [Int]
  var isNote: [Bool]

  var last: Int64 { first + Int64(ends.count) - 1 }
}
