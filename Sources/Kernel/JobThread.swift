public import Primitives
import Synchronization

/// A thread for jobs that are too long for an event loop. Owners (workspaces) take turns, one job
/// each, so that the many jobs of one owner delay another owner's first job by one job only.
///
/// Bounded: at most `jobsMax` jobs, and `jobsOfOwnerMax` of one owner; further jobs are refused.
/// Each job has its own time limit.
public final class JobThread: Sendable {
  /// The queue is full, or the thread could not be started.
  public struct Refused: Error, Equatable {
    public init() {}
  }

  public static let jobsMax = 4_096
  public static let jobsOfOwnerMax = 256

  private typealias Job = @Sendable () -> Void

  private struct State {
    /// Jobs by owner, and the owners in the order of their turns.
    var jobs: [Identifier: [Job]] = [:]
    var turns: [Identifier] = []
    var count = 0
    var isStarted = false
    var isStopping = false

    mutating func next() -> Job? {
      guard !turns.isEmpty else { return nil }
      let owner = turns.removeFirst()
      guard var own = jobs.removeValue(forKey: owner) else { return nil }
      let job = own.removeFirst()
      count -= 1
      if !own.isEmpty {
        jobs[owner] = own
        turns.append(owner)
      }
      return job
    }
  }

  /// The thread's state, which it shares with the queue's owner; so the owner may be released
  /// first.
  private final class Work: Sendable {
    let state = Mutex(State())
    /// Needs no descriptor, so that jobs continue when the process has none left.
    let wakeup = Semaphore()

    /// Runs jobs until stopped and all jobs are done, because a caller awaits each.
    func run() {
      while true {
        while let job = state.withLock({ $0.next() }) { job() }
        if state.withLock({ $0.isStopping && $0.count == 0 }) { return }
        wakeup.wait()
      }
    }
  }

  private let name: String
  private let work = Work()
  private let refusedCount = Atomic<UInt64>(0)

  /// The thread is started with the first job.
  public init(name: String) { self.name = name }

  deinit {
    work.state.withLock { $0.isStopping = true }
    work.wakeup.signal()
  }

  /// The number of jobs refused so far.
  public var refused: UInt64 { refusedCount.load(ordering: .relaxed) }
  /// The number of waiting jobs.
  public var waiting: Int { work.state.withLock { $0.count } }

  /// Runs the body on the thread when it is the owner's turn.
  public func run<Result: Sendable>(
    for owner: Identifier, _ body: @escaping @Sendable () -> Result
  ) async throws(Refused) -> Result {
    let result: Result? = await withCheckedContinuation { continuation in
      let isTaken = add(for: owner) { continuation.resume(returning: body()) }
      if !isTaken { continuation.resume(returning: nil) }
    }
    guard let result else { throw Refused() }
    return result
  }

  /// Returns false when the queue is full.
  public func add(for owner: Identifier, _ job: @escaping @Sendable () -> Void) -> Bool {
    let isTaken = work.state.withLock { state in
      let own = state.jobs[owner]?.count ?? 0
      guard state.count < JobThread.jobsMax, own < JobThread.jobsOfOwnerMax, start(&state) else {
        return false
      }
      if own == 0 { state.turns.append(owner) }
      state.jobs[owner, default: []].append(job)
      state.count += 1
      return true
    }
    if isTaken { work.wakeup.signal() } else { refusedCount.add(1, ordering: .relaxed) }
    return isTaken
  }

  private func start(_ state: inout State) -> Bool {
    if state.isStarted { return true }
    let work = work
    do throws(Errno) {
      _ = try Thread.spawn(name: name) { work.run() }
      state.isStarted = true
    } catch {
      return false
    }
    return true
  }
}
