import Directory
import Primitives

/// What `Upkeep` does. The raw value is the label `task` of the metrics.
enum UpkeepTask: String, CaseIterable, Sendable {
  /// Closes conversations that rest, after the time of their workspace.
  case resting
  /// Erases deleted conversations after the deadline of their workspace.
  case deleted
  /// Counts conversations for analytics.
  case analytics
  /// Removes closed conversations after `maintenance.conversation_days`.
  case retention
  /// Removes entries of the audit log after `maintenance.audit_days`.
  case audit
  /// Removes attachments that are in no message after a day, and those of removed conversations.
  case attachments

  /// From the end of a run to the next one.
  var pauseMilliseconds: Int64 {
    switch self {
    case .resting: 10_000
    case .deleted, .analytics: 60_000
    case .attachments: 600_000
    case .retention, .audit: 3_600_000
    }
  }

  /// Whether the task waits for the window. Closing does not, since visitors are promised a time.
  /// Analytics do not: the console shows them, and counts what is left before it does. Outside of
  /// the window they take one step in a round, which keeps up with operators; a backlog, as after
  /// an import, is for the window. Attachments do not, since people are promised that they are
  /// gone.
  var keepsToWindow: Bool {
    switch self {
    case .resting, .analytics, .attachments: false
    case .deleted, .retention, .audit: true
    }
  }
}

/// The runs of one task. A run begins when the task is due, takes steps in as many rounds as it
/// needs, and ends when nothing is left, after a failure, or when the window closes. Pure.
struct UpkeepRecord: Sendable {
  /// Before a task that has failed is tried again.
  static let retryMilliseconds: Int64 = 60_000
  /// Between two ends with the same outcome that are stored: analytics have a run every two
  /// seconds.
  static let storeMilliseconds: Int64 = 60_000

  private(set) var dueAt = Instant.zero
  /// When the run under way has begun.
  private(set) var begunAt: Instant?
  /// Rows of the run under way.
  private(set) var rowsOfRun: Int64 = 0
  private(set) var rows: UInt64 = 0
  private(set) var failures: UInt64 = 0
  /// Since when the settings include the task; nil until the database was read.
  private(set) var since: WallTime?
  /// Of this process or, if that is later, of another one.
  private(set) var lastRun: UpkeepRun.End?
  /// When a run has last ended with nothing left to do.
  private(set) var lastSuccessAt: WallTime?
  /// The end that was stored last.
  private var stored: (end: UpkeepRun.End, at: Instant)?
  private var isUnstored = false

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

  mutating func end(
    _ outcome: UpkeepRun.Outcome, pause: Int64, now: Instant, wall: WallTime
  ) {
    lastRun = UpkeepRun.End(
      at: wall, milliseconds: now.milliseconds(since: begunAt ?? now), rows: rowsOfRun,
      outcome: outcome)
    isUnstored = true
    begunAt = nil
    switch outcome {
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

  // MARK: The database

  /// Takes over what the database has, as far as it is newer.
  mutating func take(_ run: UpkeepRun) {
    since = run.since
    // The task was turned off in the meantime.
    if let time = lastSuccessAt, time < run.since { lastSuccessAt = nil }
    if let end = run.end, lastRun.map({ $0.at < end.at }) ?? true {
      lastRun = end
      isUnstored = false
    }
    if let time = run.succeededAt, lastSuccessAt.map({ $0 < time }) ?? true {
      lastSuccessAt = time
    }
  }

  /// The last end, if it is to be stored now.
  func unstored(_ now: Instant) -> UpkeepRun.End? {
    guard isUnstored, let lastRun else { return nil }
    guard let stored, stored.end.outcome == lastRun.outcome else { return lastRun }
    let next = stored.at.advanced(byMilliseconds: UpkeepRecord.storeMilliseconds)
    return now >= next ? lastRun : nil
  }

  mutating func noteStored(_ end: UpkeepRun.End, _ now: Instant) {
    stored = (end, now)
    if lastRun == end { isUnstored = false }
  }
}
