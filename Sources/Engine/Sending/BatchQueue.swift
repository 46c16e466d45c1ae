import Chat
import Primitives

/// The records that wait for the store: the open batch takes what comes while the one before it is
/// in flight (natural batching: the slower the disk, the larger the batch, and no timer).
///
/// Bounded by `Limits.queuedRecords`; each batch by `Limits.batchRecords` and `Limits.batchBytes`.
struct BatchQueue {
  /// A batch and the time of its first record.
  final class Box {
    var batch = Batch()
    var openedAt = Instant.zero
  }

  private var waiting = Fifo<Box>()
  private var open: Box?
  private var spare: [Box] = []
  private(set) var recordCount = 0

  var isEmpty: Bool { recordCount == 0 }
  var isFull: Bool { recordCount >= Limits.queuedRecords }

  mutating func append(
    _ record: Record, senderName: RawSpan, body: RawSpan, payload: RawSpan, now: Instant
  ) {
    precondition(!isFull, "the engine refuses a record before the queue overflows")
    let bytes = senderName.byteCount + body.byteCount + payload.byteCount
    if let box = open,
      box.batch.count == Limits.batchRecords || box.batch.byteCount + bytes > Limits.batchBytes
    {
      waiting.append(box)
      open = nil
    }
    let box = open ?? spare.popLast() ?? Box()
    if box.batch.isEmpty { box.openedAt = now }
    box.batch.append(record, senderName: senderName, body: body, payload: payload)
    open = box
    recordCount += 1
  }

  /// The oldest batch, for the journal; give it back with `recycle`.
  mutating func take() -> Box? {
    guard let box = waiting.popFirst() ?? open else { return nil }
    if box === open { open = nil }
    recordCount -= box.batch.count
    return box
  }

  mutating func recycle(_ box: Box) {
    box.batch.removeAll()
    if spare.count < 4 { spare.append(box) }
  }

  /// When the oldest record came.
  var oldest: Instant? {
    guard !isEmpty else { return nil }
    return waiting.first?.openedAt ?? open?.openedAt
  }
}

/// Whether a send may wait for the store, or is told at once to come again later: opened when
/// records had to be given up, closed by the next commit.
///
/// The wait it names is as long as nothing has been committed already, so that a client comes half
/// as often each time, and nobody has to count.
struct Breaker {
  /// Bounds of the wait, which is spread over its second half.
  static let waitMilliseconds: ClosedRange<Int64> = 1_000...8_000

  private var openedAt: Instant?

  var isOpen: Bool { openedAt != nil }

  mutating func open(now: Instant) {
    if openedAt == nil { openedAt = now }
  }

  mutating func close() { openedAt = nil }

  /// Milliseconds; `salt` spreads the clients, so that they do not come back together.
  func wait(salt: UInt64, now: Instant) -> Int64 {
    let bounds = Self.waitMilliseconds
    let passed = openedAt.map { now.milliseconds(since: $0) } ?? 0
    let wait = min(bounds.upperBound, max(bounds.lowerBound, passed))
    return wait / 2 + Int64(salt % UInt64(wait / 2))
  }
}
