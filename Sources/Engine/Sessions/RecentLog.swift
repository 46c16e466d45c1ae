import Chat
import Primitives
import Wire

/// The newest entries of one session as consecutive WebSocket frames, encoded once for all
/// subscribers.
///
/// Bounded by `Limits.recentBytes` and `Limits.recentEntries`; older entries are read from the
/// database. Invariant: it holds the entries `first ... last` without a gap, and `last` is the
/// session's head.
struct RecentLog: ~Copyable {
  /// Empty while there is no entry, as in most sessions.
  private var entries = HeapBox<Entries>()
  private(set) var first: Int64
  var last: Int64 { first + Int64(count) - 1 }

  private struct Entries {
    var bytes: [UInt8] = []
    var extents: [Extent] = []
    var notes = 0
    /// Deflated frames in the order of their first use, and the range of each entry's. An entry is
    /// deflated only when a subscriber with compression needs it.
    var deflated: [UInt8] = []
    var deflatedRanges: [DeflatedRange] = []
    /// The size at the last `recount`.
    var countedByteCount = 0
    /// An entry was added since `takeFreshness`.
    var isFresh = true
  }

  /// The end of an entry in `bytes`, and whether it is a note. Visitors receive a placeholder with
  /// the seq of a note.
  private struct Extent {
    private var bits: UInt32

    init(end: Int, isNote: Bool) { bits = UInt32(end) << 1 | (isNote ? 1 : 0) }

    @inline(__always) var end: Int { Int(bits >> 1) }
    @inline(__always) var isNote: Bool { bits & 1 == 1 }
  }

  /// An empty log that continues after `head`.
  init(head: Int64) { first = head + 1 }

  var isEmpty: Bool { entries.isEmpty }

  private var count: Int { entries.isEmpty ? 0 : entries.value.extents.count }

  mutating func append(isNote note: Bool, encode: (inout [UInt8]) -> Void) {
    makeRoom()
    FrameEncoder.appendFrame(.text, to: &entries.value.bytes, body: encode)
    noteEntry(isNote: note)
  }

  /// Appends entries that the owner has encoded.
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
    if entries.value.extents.count == Limits.recentEntries
      || entries.value.bytes.count > 2 * Limits.recentBytes
    {
      trim()
    }
  }

  /// Not inlined, to keep the allocation out of the path of messages.
  @inline(never)
  private mutating func begin() { entries.put(Entries()) }

  private mutating func noteEntry(isNote: Bool) {
    entries.value.extents.append(Extent(end: entries.value.bytes.count, isNote: isNote))
    if isNote { entries.value.notes += 1 }
    entries.value.isFresh = true
  }

  /// The range of an entry's frame in `bytes`.
  @inline(__always)
  private func frame(_ index: Int) -> Range<Int> {
    (index == 0 ? 0 : entries.value.extents[index - 1].end)..<entries.value.extents[index].end
  }

  /// A copy of the entries from `seq` on, for mail to other loops.
  func part(from seq: Int64) -> LogPart {
    let index = Int(seq - first)
    let start = frame(index).lowerBound
    let extents = entries.value.extents[index...]
    return LogPart(
      first: seq, bytes: Array(entries.value.bytes[start...]), ends: extents.map { $0.end - start },
      isNote: extents.map(\.isNote))
  }

  /// Drops the older half at once, to spread the cost of moving bytes over many entries.
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
    entries.value.notes -= entries.value.extents[..<dropped].count { $0.isNote }
    entries.value.extents.removeFirst(dropped)
    for index in entries.value.extents.indices {
      let extent = entries.value.extents[index]
      entries.value.extents[index] = Extent(end: extent.end - cut, isNote: extent.isNote)
    }
    first += Int64(dropped)
    trimDeflated(dropped)
  }

  /// Appends frames from `next` on, at least one, until `output` holds `budget` bytes. Returns the
  /// seq after the last one. `next` must be in `first ... last`.
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
      if entries.value.extents[index].isNote && !isOperator {
        FrameEncoder.appendFrame(.text, to: &output) {
          EventEncoder.hidden(session: session, seq: first + Int64(index), to: &$0)
        }
      } else {
        let frame = frame(index)
        entries.value.bytes.withRawSpan { output.append($0.extracting(frame)) }
      }
      index += 1
    } while index < entries.value.extents.count && output.count < budget
    return first + Int64(index)
  }
}

/// Memory accounting for `SessionTable`.
extension RecentLog {
  /// Bytes on the heap at the last `recount`.
  var countedByteCount: Int { entries.isEmpty ? 0 : entries.value.countedByteCount }

  /// Counts the bytes on the heap and returns the difference to the last count.
  mutating func recount() -> Int {
    guard !entries.isEmpty else { return 0 }
    let now =
      entries.value.bytes.capacity + entries.value.deflated.capacity
      + entries.value.extents.capacity * MemoryLayout<Extent>.stride
      + entries.value.deflatedRanges.capacity * MemoryLayout<DeflatedRange>.stride
      + MemoryLayout<Entries>.size
    defer { entries.value.countedByteCount = now }
    return now - entries.value.countedByteCount
  }

  /// Whether an entry was added since the last call.
  mutating func takeFreshness() -> Bool {
    guard !entries.isEmpty else { return false }
    defer { entries.value.isFresh = false }
    return entries.value.isFresh
  }
}

/// The deflated forms of the entries, each made once for all who may read it.
extension RecentLog {
  /// The range of an entry's deflated frame in `deflated`.
  enum DeflatedRange {
    /// Not deflated yet.
    case unknown
    /// The deflated frame is not shorter.
    case useless
    case at(Int, count: Int)
  }

  func isNote(_ seq: Int64) -> Bool { entries.value.extents[Int(seq - first)].isNote }

  /// Appends one entry for a peer with compression. Returns how many texts were deflated for it, 0
  /// or 1. `seq` must be in `first ... last`.
  mutating func appendDeflated(
    _ seq: Int64, _ peer: DeflatePeer, _ compressor: inout Compressor, to output: inout [UInt8]
  ) -> UInt64 {
    let index = Int(seq - first)
    let frame = frame(index)
    // A text is shorter than its frame, so a frame below the threshold needs no closer look.
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
      // Moved out, since the closure borrows the entries.
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

  /// Drops the deflated forms of the oldest entries.
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

/// Consecutive encoded entries for a following loop.
public struct LogPart: Sendable {
  var first: Int64
  var bytes: [UInt8]
  var ends: [Int]
  var isNote: [Bool]

  var last: Int64 { first + Int64(ends.count) - 1 }
}
