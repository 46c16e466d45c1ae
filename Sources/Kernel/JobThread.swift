public import Primitives
import Synchronization

/// A thread for work that is too long for an event loop. Owners take turns, one job each, so that
/// one workspace with a thousand jobs delays another one's first job by one job only.
///
/// Bounded: `jobsMax` in all and `jobsOfOwnerMax` for one owner; beyond that a job is refused. Each
/// job has its own bound.
public final class JobThread: Sendable {
  /// The queue is full, or the thread could not be started.
  public struct Refused: Error, Equatable {
    public init() {}
  }

  public static let jobsMax = 4_096
  public static let jobsOfOwnerMax = 256

  private typealias Job = @Sendable () -> Void

  private struct State {
    /// The jobs of each owner, and the owners in the order of their turns.
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

  /// What the thread holds, so that the owner of the queue may go first.
  private final class Work: Sendable {
    let state = Mutex(State())
    /// Needs no descriptor: jobs go on when peers hold them all.
    let bell = Semaphore()

    /// Until it is stopped and every job is done: somebody waits for each.
    func run() {
      while true {
        while let job = state.withLock({ $0.next() }) { job() }
        if state.withLock({ $0.isStopping && $0.count == 0 }) { return }
        bell.wait()
      }
    }
  }

  private let name: String
  private let work = Work()
  private let refusedCount = Atomic<UInt64>(0)

  /// The thread starts with the first job.
  public init(name: String) { self.name = name }

  deinit {
    work.state.withLock { $0.isStopping = true }
    work.bell.signal()
  }

  /// Jobs that were refused since the start.
  public var refused: UInt64 { refusedCount.load(ordering: .relaxed) }
  /// Jobs that wait.
  public var waiting: Int { work.state.withLock { $0.count } }

  /// Runs the body on the thread, when it is the owner's turn.
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

  /// False when there is no room.
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
    if isTaken { work.bell.signal() } else { refusedCount.add(1, ordering: .relaxed) }
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
