import Chat
import Primitives

/// The records that wait for the store. Records that arrive while a batch is in flight form the
/// next one (natural batching: the slower the disk, the larger the batch, without a timer).
///
/// Bounded by `Limits.queuedRecords`; each batch by `Limits.batchRecords` and `Limits.batchBytes`.
struct BatchQueue {
  /// A batch and the time at which its first record was added.
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

  /// When the oldest record was added; nil when none waits.
  var oldest: Instant? {
    guard !isEmpty else { return nil }
    return waiting.first?.openedAt ?? open?.openedAt
  }
}

/// A circuit breaker for the store: opened when waiting records have failed, closed by the next
/// commit. While it is open and the store is unreachable, sends are refused at once.
///
/// The retry delay equals the time since it opened, within `waitMilliseconds`. So the delays of a
/// client double without a counter of its attempts.
struct Breaker {
  /// Bounds of the delay, which is spread over its second half.
  static let waitMilliseconds: ClosedRange<Int64> = 1_000...8_000

  private var openedAt: Instant?

  var isOpen: Bool { openedAt != nil }

  mutating func open(now: Instant) {
    if openedAt == nil { openedAt = now }
  }

  mutating func close() { openedAt = nil }

  /// The retry delay in milliseconds; `salt` spreads the clients, so that they do not return at
  /// once.
  func wait(salt: UInt64, now: Instant) -> Int64 {
    let bounds = Self.waitMilliseconds
    let passed = openedAt.map { now.milliseconds(since: $0) } ?? 0
    let wait = min(bounds.upperBound, max(bounds.lowerBound, passed))
    return wait / 2 + Int64(salt % UInt64(wait / 2))
  }
}
