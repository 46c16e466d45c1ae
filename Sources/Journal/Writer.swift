public import Chat
public import Primitives

/// Appends batches to the log in PostgreSQL, one pipelined transaction each, over a connection that
/// the event loop drives (as `QueryConnection`: `descriptor`, `wantsWrite`, `registration`,
/// `nextDeadline`, `advance`). Never waits.
///
/// It keeps the promise of Sources/PROTOCOL.md, “The log”: a row is `.stored` or `.duplicate` only
/// after COMMIT was received. A batch whose outcome is unknown is sent again after reconnecting and
/// its ids make that exact: rows that the first attempt had committed then come back as
/// `.duplicate`. So a duplicate above the session's known head is news for its subscribers, like a
/// stored row.
///
/// A batch older than `Limits.sendWaitMilliseconds` is not tried any more: its rows come back
/// `.unavailable`, and those of them that were under way may yet turn out to be stored; whoever
/// keeps a session in memory reads its head again before trusting it.
public struct Writer: ~Copyable {
  public typealias Health = WriterHealth

  private var log: LogWriter<PipelinedConnection>

  /// Connects at the first `advance`. `seed` spreads the retries of several writers.
  public init(url: String, seed: UInt64) {
    log = LogWriter(seed: seed) { PipelinedConnection(url: url) }
  }

  /// -1 when there is none.
  public var descriptor: Int32 { log.descriptor }
  public var wantsWrite: Bool { log.wantsWrite }
  /// Changes whenever `descriptor` may be another socket, even one of the same number: the loop
  /// registers it anew.
  public var registration: UInt32 { log.registration }
  public var health: Health { log.health }
  /// Names the database that was reached, empty before the first time: another name after a
  /// reconnection means that the log may have gone back, and the engine is told before any answer.
  public var store: String { log.store }
  /// Whether `submit` may be called and would be tried at once.
  public var isReady: Bool { log.isReady }
  /// Whether records are worth taking: the store works, or it is time to try it with one batch.
  public var isWorthTrying: Bool { log.isWorthTrying }
  /// When `advance` has to be called even if nothing happens.
  public var nextDeadline: Instant { log.nextDeadline }

  /// Takes the records and leaves an empty batch with storage. There must be no batch under way.
  public mutating func submit(_ records: inout Batch, now: Instant) {
    log.submit(&records, now: now)
  }

  /// Lends the batch and its outcomes once, after the last of its rows has one.
  public mutating func takeCompletion(_ body: (borrowing Batch, [Outcome]) -> Void) -> Bool {
    log.takeCompletion(body)
  }

  /// The rows of the last completion that came back `.rejected`, once: see `Quarantine`.
  public mutating func takeQuarantined() -> QuarantinedRows { log.takeQuarantined() }

  public mutating func advance(now: Instant) { log.advance(now: now) }
}

/// How the writer and its PostgreSQL are doing.
public enum WriterHealth: Sendable, Equatable {
  case connecting
  case ready
  case down(reason: String)
}
