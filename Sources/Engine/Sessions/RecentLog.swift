import Chat
import Primitives
import Wire

/// The newest entries of one session as encoded WebSocket frames, one behind the other: encoded
/// once, sent to every subscriber from here.
///
/// Bounded by `Limits.recentBytes` and `Limits.recentEntries`; what is older is read from the
/// database. Invariant: the entries kept are `first ... last` without a hole, and `last` is the
/// session's head.
struct RecentLog: ~Copyable {
  /// Nothing while there is no entry: most sessions are quiet.
  private var entries = HeapBox<Entries>()
  private(set) var first: Int64
  var last: Int64 { first + Int64(count) - 1 }

  private struct Entries {
    var bytes: [UInt8] = []
    var places: [Place] = []
    var notes = 0
    /// Deflated frames, in the order in which they were first wanted, and where the one of each
    /// entry lies. Nothing is deflated while nobody with compression follows the session.
    var deflated: [UInt8] = []
    var deflatedRanges: [DeflatedRange] = []
    /// What `recount` has reported.
    var countedByteCount = 0
    /// Something came since `takeFreshness`.
    var isFresh = true
  }

  /// Where an entry ends in `bytes`. Notes are shown to operators only; visitors get a place holder
  /// of the same seq.
  private struct Place {
    private var bits: UInt32

    init(end: Int, isNote: Bool) { bits = UInt32(end) << 1 | (isNote ? 1 : 0) }

    @inline(__always) var end: Int { Int(bits >> 1) }
    @inline(__always) var isNote: Bool { bits & 1 == 1 }
  }

  /// An empty log behind `head`.
  init(head: Int64) { first = head + 1 }

  var isEmpty: Bool { entries.isEmpty }

  private var count: Int { entries.isEmpty ? 0 : entries.value.places.count }

  mutating func append(isNote note: Bool, encode: (inout [UInt8]) -> Void) {
    makeRoom()
    FrameEncoder.appendFrame(.text, to: &entries.value.bytes, body: encode)
    noteEntry(isNote: note)
  }

  /// Appends entries that another loop has encoded.
  mutating func append(_ part: LogPart) {
    var start = 0
    for (index, end) in part.ends.enumerated() {
      makeRoom()
      entries.value.bytes.append(contentsOf: part.bytes[start..<end])
      noteEntry(isNote: part.isNote[index])
      start = end
    }
  }

  private mutating func makeRoom() {
    if entries.isEmpty { begin() }
    if entries.value.places.count == Limits.recentEntries
      || entries.value.bytes.count > 2 * Limits.recentBytes
    {
      trim()
    }
  }

  /// Apart from the path of messages: once for a session that had none for a while.
  @inline(never)
  private mutating func begin() { entries.put(Entries()) }

  private mutating func noteEntry(isNote: Bool) {
    entries.value.places.append(Place(end: entries.value.bytes.count, isNote: isNote))
    if isNote { entries.value.notes += 1 }
    entries.value.isFresh = true
  }

  /// Where the frame of an entry lies.
  @inline(__always)
  private func frame(_ index: Int) -> Range<Int> {
    (index == 0 ? 0 : entries.value.places[index - 1].end)..<entries.value.places[index].end
  }

  /// A copy of the entries from `seq` on, for the mail to other loops.
  func part(from seq: Int64) -> LogPart {
    let index = Int(seq - first)
    let start = frame(index).lowerBound
    let places = entries.value.places[index...]
    return LogPart(
      first: seq, bytes: Array(entries.value.bytes[start...]), ends: places.map { $0.end - start },
      isNote: places.map(\.isNote))
  }

  /// Forgets the older half, so that the cost of moving bytes is spread over many entries.
  private mutating func trim() {
    guard count > 1 else { return }
    var dropped = count / 2
    while dropped < count - 1,
      entries.value.bytes.count - frame(dropped).lowerBound > Limits.recentBytes
    {
      dropped += 1
    }
    let cut = frame(dropped).lowerBound
    entries.value.bytes.removeFirst(cut)
    entries.value.notes -= entries.value.places[..<dropped].count { $0.isNote }
    entries.value.places.removeFirst(dropped)
    for index in entries.value.places.indices {
      let place = entries.value.places[index]
      entries.value.places[index] = Place(end: place.end - cut, isNote: place.isNote)
    }
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
    let start = frame(index).lowerBound
    if entries.value.bytes.count - start <= budget - output.count,
      isOperator || entries.value.notes == 0
    {
      entries.value.bytes.withRawSpan { output.append($0.extracting(start..<$0.byteCount)) }
      return last + 1
    }
    repeat {
      if entries.value.places[index].isNote && !isOperator {
        FrameEncoder.appendFrame(.text, to: &output) {
          EventEncoder.hidden(session: session, seq: first + Int64(index), to: &$0)
        }
      } else {
        let frame = frame(index)
        entries.value.bytes.withRawSpan { output.append($0.extracting(frame)) }
      }
      index += 1
    } while index < entries.value.places.count && output.count < budget
    return first + Int64(index)
  }
}

/// What it costs, for `SessionTable`.
extension RecentLog {
  /// Bytes on the heap, as `recount` has reported them.
  var countedByteCount: Int { entries.isEmpty ? 0 : entries.value.countedByteCount }

  /// The difference to the last time.
  mutating func recount() -> Int {
    guard !entries.isEmpty else { return 0 }
    let now =
      entries.value.bytes.capacity + entries.value.deflated.capacity
      + entries.value.places.capacity * MemoryLayout<Place>.stride
      + entries.value.deflatedRanges.capacity * MemoryLayout<DeflatedRange>.stride
      + MemoryLayout<Entries>.size
    defer { entries.value.countedByteCount = now }
    return now - entries.value.countedByteCount
  }

  /// Whether something came since the last time.
  mutating func takeFreshness() -> Bool {
    guard !entries.isEmpty else { return false }
    defer { entries.value.isFresh = false }
    return entries.value.isFresh
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

  func isNote(_ seq: Int64) -> Bool { entries.value.places[Int(seq - first)].isNote }

  /// Appends one entry for a peer with compression; returns how often something was deflated for
  /// it, 0 or 1. `seq` must lie in `first ... last`.
  mutating func appendDeflated(
    _ seq: Int64, _ peer: DeflatePeer, _ compressor: inout Compressor, to output: inout [UInt8]
  ) -> UInt64 {
    let index = Int(seq - first)
    let frame = frame(index)
    // Nothing but a header can be before the text, so a frame below the threshold is known at once.
    guard frame.count >= compressor.options.thresholdBytes else {
      output.append(contentsOf: entries.value.bytes[frame])
      return 0
    }
    guard peer.contexts == nil, frame.count <= 1 << peer.windowBits else {
      let isDeflated = entries.value.bytes.withRawSpan { bytes in
        compressor.append(frame: bytes.extracting(frame), for: peer, to: &output)
      }
      if !isDeflated { output.append(contentsOf: entries.value.bytes[frame]) }
      return 1
    }
    while entries.value.deflatedRanges.count <= index {
      entries.value.deflatedRanges.append(.unknown)
    }
    switch entries.value.deflatedRanges[index] {
    case .useless:
      output.append(contentsOf: entries.value.bytes[frame])
      return 0
    case .at(let start, let count):
      output.append(contentsOf: entries.value.deflated[start..<start + count])
      return 0
    case .unknown:
      let start = entries.value.deflated.count
      // Moved out, since the entries are lent to the closure.
      var target: [UInt8] = []
      swap(&target, &entries.value.deflated)
      let isSmaller = entries.value.bytes.withRawSpan { bytes in
        compressor.append(frame: bytes.extracting(frame), for: peer, to: &target)
      }
      swap(&target, &entries.value.deflated)
      entries.value.deflatedRanges[index] =
        isSmaller ? .at(start, count: entries.value.deflated.count - start) : .useless
      output.append(
        contentsOf: isSmaller ? entries.value.deflated[start...] : entries.value.bytes[frame])
      return 1
    }
  }

  /// Forgets the deflated forms of the oldest entries.
  private mutating func trimDeflated(_ dropped: Int) {
    var ranges = entries.value.deflatedRanges
    ranges.removeFirst(min(dropped, ranges.count))
    var kept: [UInt8] = []
    for index in ranges.indices {
      guard case .at(let start, let count) = ranges[index] else { continue }
      ranges[index] = .at(kept.count, count: count)
      kept.append(contentsOf: entries.value.deflated[start..<start + count])
    }
    entries.value.deflated = kept
    entries.value.deflatedRanges = ranges
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
