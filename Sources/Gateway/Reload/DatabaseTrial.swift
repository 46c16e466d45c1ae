/// Examines the database of new settings on a thread of its own: connecting, and statements that
/// wait for a lock, may take as long as the server likes. The thread that handles signals waits for
/// a bounded time, and not at all once the gateway is to end. A thread that has not ended by then
/// is left alone; no further one is started before it has.
import Kernel
import Primitives
import Synchronization

final class DatabaseTrial: Sendable {
  enum Fault: Error, CustomStringConvertible {
    case tooSlow(seconds: Int64)
    case isRunning
    case stopping

    var description: String {
      switch self {
      case .tooSlow(let seconds):
        "PostgreSQL did not answer within \(seconds) s at the database_url or migrations_url of "
          + "these settings; see whether it runs there, and whether a lock holds it up "
          + "(pg_stat_activity), then reload again"
      case .isRunning:
        "an earlier reload still waits for PostgreSQL; reload again when it answers"
      case .stopping: "the gateway stops"
      }
    }
  }

  private final class Outcome: Sendable {
    let isOver = Semaphore()
    let failure = Mutex<(any Error)?>(nil)
  }

  /// Between two looks at pending signals.
  private static let lookMilliseconds: Int64 = 50

  private let milliseconds: Int64
  private let isRunning = Atomic(false)

  /// - Parameter milliseconds: a trial has this long; several hosts of a URL take 10 s each.
  init(milliseconds: Int64 = 30_000) { self.milliseconds = milliseconds }

  /// Runs the body on another thread, and throws what it throws, or a `Fault`.
  func run(unless isStopping: () -> Bool, _ body: @escaping @Sendable () throws -> Void) throws {
    guard !isRunning.exchange(true, ordering: .acquiring) else { throw Fault.isRunning }
    let outcome = Outcome()
    do throws(Errno) {
      _ = try Thread.spawn(name: "trial") { [self] in
        do { try body() } catch { outcome.failure.withLock { $0 = error } }
        isRunning.store(false, ordering: .releasing)
        outcome.isOver.signal()
      }
    } catch {
      isRunning.store(false, ordering: .releasing)
      throw error
    }
    let limit = SystemClock.now().advanced(byMilliseconds: milliseconds)
    while !outcome.isOver.wait(milliseconds: DatabaseTrial.lookMilliseconds) {
      if isStopping() { throw Fault.stopping }
      if SystemClock.now() >= limit { throw Fault.tooSlow(seconds: milliseconds / 1_000) }
    }
    if let failure = outcome.failure.withLock({ $0 }) { throw failure }
  }
}
