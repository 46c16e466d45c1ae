import Primitives

/// What `Upkeep` does. The raw value is the label `task` of the metrics.
enum UpkeepTask: String, CaseIterable, Sendable {
  /// Erases deleted conversations after the deadline of their workspace.
  case deleted
  /// Counts conversations for analytics.
  case analytics
  /// Removes closed conversations after `maintenance.conversation_days`.
  case retention
  /// Removes entries of the audit log after `maintenance.audit_days`.
  case audit

  /// From the end of a run to the next one.
  var pauseMilliseconds: Int64 {
    switch self {
    case .deleted, .analytics: 60_000
    case .retention, .audit: 3_600_000
    }
  }

  /// Whether the task waits for the window. Analytics do not: the console shows them, and counts
  /// what is left before it does. Outside of the window they take one step in a round, which keeps
  /// up with operators; a backlog, as after an import, is for the window.
  var keepsToWindow: Bool { self != .analytics }
}

/// The runs of one task. A run begins when the task is due, takes steps in as many rounds as it
/// needs, and ends when nothing is left, after a failure, or when the window closes. Pure.
struct UpkeepRecord: Sendable {
  enum End: Sendable { case done, failed, interrupted }

  /// Before a task that has failed is tried again.
  static let retryMilliseconds: Int64 = 60_000

  private(set) var dueAt = Instant.zero
  /// When the run under way has begun.
  private(set) var begunAt: Instant?
  /// Rows of the run under way.
  private(set) var rowsOfRun: Int64 = 0
  private(set) var rows: UInt64 = 0
  private(set) var failures: UInt64 = 0
  private(set) var lastRunAt: WallTime?
  private(set) var lastRunMilliseconds: Int64 = 0
  /// When a run has last ended with nothing left to do.
  private(set) var lastSuccessAt: WallTime?

  var isUnderWay: Bool { begunAt != nil }

  func isDue(_ now: Instant) -> Bool { isUnderWay || now >= dueAt }

  mutating func makeDue() { dueAt = .zero }

  mutating func beginUnlessUnderWay(_ now: Instant) {
    guard begunAt == nil else { return }
    begunAt = now
    rowsOfRun = 0
  }

  mutating func add(_ count: Int64) {
    rowsOfRun += count
    rows += UInt64(max(0, count))
  }

  mutating func end(_ end: End, pause: Int64, now: Instant, wall: WallTime) {
    lastRunMilliseconds = now.milliseconds(since: begunAt ?? now)
    lastRunAt = wall
    begunAt = nil
    switch end {
    case .done:
      lastSuccessAt = wall
      dueAt = now.advanced(byMilliseconds: pause)
    case .failed:
      failures += 1
      dueAt = now.advanced(byMilliseconds: UpkeepRecord.retryMilliseconds)
    case .interrupted:
      // The next window continues at once.
      dueAt = .zero
    }
  }
}
