import Kernel
import Logging
import Primitives
import Synchronization

/// Detects that one loop is stalled: it begins no new turn.
///
/// Each check counts at most `creditMilliseconds`, so time in which the watchdog did not run either
/// does not count: if the whole process was stopped, no loop is reported.
struct LoopWatch {
  enum Transition: Equatable {
    case stalled(milliseconds: Int64)
    case resumed(milliseconds: Int64)
  }

  private let stallMilliseconds: Int64
  private let creditMilliseconds: Int64
  private var turn: Int64?
  private var checkedAt = Instant.zero
  private var stalled: Int64 = 0
  private var isReported = false

  /// - Parameters:
  ///   - stallMilliseconds: time without a new turn after which a loop is reported.
  ///   - checkMilliseconds: time between two checks.
  init(stallMilliseconds: Int64, checkMilliseconds: Int64) {
    self.stallMilliseconds = stallMilliseconds
    creditMilliseconds = 2 * checkMilliseconds
  }

  var isStalled: Bool { stalled >= stallMilliseconds }

  /// - Returns: a value once when a loop has stalled, and once when it begins a turn again.
  mutating func check(turn new: Int64, now: Instant) -> Transition? {
    defer { checkedAt = now }
    guard new == turn else {
      defer { (turn, stalled, isReported) = (new, 0, false) }
      return isReported ? .resumed(milliseconds: stalled) : nil
    }
    stalled += min(max(0, now.milliseconds(since: checkedAt)), creditMilliseconds)
    guard isStalled, !isReported else { return nil }
    isReported = true
    return .stalled(milliseconds: stalled)
  }
}

/// A thread that logs stalled loops, and ends the process if a drain does not. A service manager
/// gets its sign of life from here while no loop is stalled, and else restarts the gateway.
///
/// It shares only `LoopPulse` with the loops and takes no lock, so a stalled loop cannot stall it.
final class Watchdog: Sendable {
  struct Limits: Sendable {
    /// A loop without events begins two turns a second.
    var stallMilliseconds: Int64 = 10_000
    var checkMilliseconds: Int64 = 2_000
  }

  /// From the end of a drain until the process ends without waiting for stalled loops.
  static let loopMarginMilliseconds: Int64 = 500
  /// From the end of a drain until the watchdog ends the process. A private PostgreSQL has this
  /// time to stop after a stalled loop was left behind.
  static let exitMarginMilliseconds: Int64 = 5_000
  /// EX_SOFTWARE of sysexits(3).
  static let exitStatus: Int32 = 70

  private let pulses: [LoopPulse]
  private let limits: Limits
  private let logger: Logger
  private let service: ServiceManager?
  private let exit: @Sendable () -> Void
  private let wakeup: EventCounter
  private let epoll: Epoll
  private let deadline = Atomic<Int64>(Instant.never.nanoseconds)
  private let isStopping = Atomic(false)

  /// - Parameter exit: ends the process.
  init(
    _ pulses: [LoopPulse], _ logger: Logger, service: ServiceManager? = nil,
    limits: Limits = Limits(),
    exit: @escaping @Sendable () -> Void = { ProcessEnd.now(status: Watchdog.exitStatus) }
  ) throws(Errno) {
    self.pulses = pulses
    self.logger = logger
    self.service = service
    var limits = limits
    // A sign of life in each third of the interval.
    if let interval = service?.watchdogMilliseconds {
      limits.checkMilliseconds = min(limits.checkMilliseconds, max(1, interval / 3))
    }
    self.limits = limits
    self.exit = exit
    wakeup = try EventCounter()
    epoll = try Epoll()
    try epoll.add(rawValue: wakeup.rawValue, .read, datum: 0)
  }

  /// The process is ended at this instant, unless the watchdog is stopped before.
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
    var events = Events(capacity: 1)
    let watch = LoopWatch(
      stallMilliseconds: limits.stallMilliseconds, checkMilliseconds: limits.checkMilliseconds)
    var watches = Array(repeating: watch, count: pulses.count)
    while !isStopping.load(ordering: .acquiring) {
      let now = SystemClock.now()
      for index in pulses.indices { check(index, &watches[index], now) }
      if service?.watchdogMilliseconds != nil, !watches.contains(where: \.isStalled) {
        service?.send(.watchdog)
      }
      let end = Instant(nanoseconds: deadline.load(ordering: .acquiring))
      guard now < end else {
        logger.error(
          "the process did not end in its drain time; ending it now", metadata: metadata())
        exit()
        return
      }
      // The next millisecond, since epoll_wait would return too early by a fraction of one.
      let left = min(limits.checkMilliseconds, end.milliseconds(since: now) + 1)
      try epoll.wait(into: &events, timeoutMilliseconds: Int32(left))
      if events.count > 0 { wakeup.drain() }
    }
  }

  private func check(_ index: Int, _ watch: inout LoopWatch, _ now: Instant) {
    let (turn, activity) = pulses[index].read()
    guard activity != .ended else { return }
    let message: Logger.Message
    switch watch.check(turn: turn, now: now) {
    case .stalled(let milliseconds):
      message = "a loop has been stalled for \(milliseconds / 1_000) s"
    case .resumed(let milliseconds):
      message = "a loop resumed after \(milliseconds / 1_000) s"
    case nil: return
    }
    logger.error(message, metadata: ["loop": .stringConvertible(index), "doing": "\(activity)"])
  }

  /// The loops that have not ended, with their activity.
  func metadata() -> Logger.Metadata {
    var metadata: Logger.Metadata = [:]
    for (index, pulse) in pulses.enumerated() {
      let activity = pulse.read().activity
      if activity != .ended { metadata["loop-\(index)"] = "\(activity)" }
    }
    return metadata
  }
}

/// Some loops did not end with the drain. Their threads still run, so the caller must end the
/// process at once, with `exitStatus`.
public struct LoopsStalled: Error {
  public let exitStatus = Watchdog.exitStatus
}
