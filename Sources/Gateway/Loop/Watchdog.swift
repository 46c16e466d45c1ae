import Kernel
import Logging
import Primitives
import Synchronization

/// What the watchdog knows of one loop.
///
/// Only time in which the watchdog itself runs counts, at most `creditMilliseconds` a look: where
/// the whole process is stopped, or starved, no loop is blamed.
struct LoopWatch {
  enum Transition: Equatable {
    case stalled(milliseconds: Int64)
    case resumed(milliseconds: Int64)
  }

  private let heldMilliseconds: Int64
  private let creditMilliseconds: Int64
  private var turn: Int64?
  private var lookedAt = Instant.zero
  private var held: Int64 = 0
  private var isNamed = false

  /// - Parameters:
  ///   - heldMilliseconds: without a new turn, after which a loop is named.
  ///   - lookMilliseconds: between two looks.
  init(heldMilliseconds: Int64, lookMilliseconds: Int64) {
    self.heldMilliseconds = heldMilliseconds
    creditMilliseconds = 2 * lookMilliseconds
  }

  /// Once when a loop has been held for too long, and once when it turns again.
  mutating func look(turn new: Int64, now: Instant) -> Transition? {
    defer { lookedAt = now }
    guard new == turn else {
      defer { (turn, held, isNamed) = (new, 0, false) }
      return isNamed ? .resumed(milliseconds: held) : nil
    }
    held += min(max(0, now.milliseconds(since: lookedAt)), creditMilliseconds)
    guard held >= heldMilliseconds, !isNamed else { return nil }
    isNamed = true
    return .stalled(milliseconds: held)
  }
}

/// A thread that names a loop which does not turn, and ends a process that does not end by itself.
///
/// It shares nothing with the loops but what they do (`LoopPulse`), takes no lock of theirs, and
/// asks nobody.
final class Watchdog: Sendable {
  struct Limits: Sendable {
    /// A loop turns twice a second, whatever happens or not.
    var heldMilliseconds: Int64 = 10_000
    var lookMilliseconds: Int64 = 2_000
  }

  /// From the end of a drain until the process goes without its loops.
  static let loopMarginMilliseconds: Int64 = 500
  /// From the end of a drain until the process is ended without anything else: what the private
  /// PostgreSQL may take to stop when a loop is held.
  static let exitMarginMilliseconds: Int64 = 5_000
  /// EX_SOFTWARE of sysexits(3).
  static let exitStatus: Int32 = 70

  private let pulses: [LoopPulse]
  private let limits: Limits
  private let logger: Logger
  private let exit: @Sendable () -> Void
  private let wakeup: EventCounter
  private let deadline = Atomic<Int64>(Instant.never.nanoseconds)
  private let isStopping = Atomic(false)

  /// - Parameter exit: what ends the process.
  init(
    _ pulses: [LoopPulse], _ logger: Logger, limits: Limits = Limits(),
    exit: @escaping @Sendable () -> Void = { ProcessEnd.now(status: Watchdog.exitStatus) }
  ) throws(Errno) {
    self.pulses = pulses
    self.logger = logger
    self.limits = limits
    self.exit = exit
    wakeup = try EventCounter()
  }

  /// The process ends then, unless the watchdog is stopped before.
  func arm(at instant: Instant) {
    deadline.store(instant.nanoseconds, ordering: .releasing)
    wakeup.signal()
  }

  func stop() {
    isStopping.store(true, ordering: .releasing)
    wakeup.signal()
  }

  /// On a thread of its own, until `stop`.
  func run() throws(Errno) {
    let epoll = try Epoll()
    try epoll.add(rawValue: wakeup.rawValue, .read, datum: 0)
    var events = Events(capacity: 1)
    let watch = LoopWatch(
      heldMilliseconds: limits.heldMilliseconds, lookMilliseconds: limits.lookMilliseconds)
    var watches = Array(repeating: watch, count: pulses.count)
    while !isStopping.load(ordering: .acquiring) {
      let now = SystemClock.now()
      for index in pulses.indices { look(index, &watches[index], now) }
      let end = Instant(nanoseconds: deadline.load(ordering: .acquiring))
      guard now < end else {
        logger.error(
          "the process did not end in its drain time and is ended", metadata: metadata())
        exit()
        return
      }
      // A millisecond more, so that it is not asked for in vain at its beginning.
      let left = min(limits.lookMilliseconds, end.milliseconds(since: now) + 1)
      try epoll.wait(into: &events, timeoutMilliseconds: Int32(left))
      if events.count > 0 { wakeup.drain() }
    }
  }

  private func look(_ index: Int, _ watch: inout LoopWatch, _ now: Instant) {
    let (turn, activity) = pulses[index].read()
    guard activity != .ended else { return }
    let message: Logger.Message
    switch watch.look(turn: turn, now: now) {
    case .stalled(let milliseconds):
      message = "a loop has not turned for \(milliseconds / 1_000) s"
    case .resumed(let milliseconds):
      message = "a loop turns again after \(milliseconds / 1_000) s"
    case nil: return
    }
    logger.error(message, metadata: ["loop": "\(index)", "doing": "\(activity)"])
  }

  /// The loops that have not ended, and what they do.
  func metadata() -> Logger.Metadata {
    var metadata: Logger.Metadata = [:]
    for (index, pulse) in pulses.enumerated() {
      let activity = pulse.read().activity
      if activity != .ended { metadata["loop-\(index)"] = "\(activity)" }
    }
    return metadata
  }
}

/// Loops that did not end with the drain. They still run: the process is to be ended at once.
public struct LoopsHeld: Error {
  public let exitStatus = Watchdog.exitStatus
}
