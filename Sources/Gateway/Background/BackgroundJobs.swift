import Chat
import Kernel
import Primitives
import Synchronization

/// Work that follows from events in a workspace.
protocol BackgroundJob: Sendable {
  /// Least time between the beginnings of two runs for one workspace; news of the meantime is
  /// handled by one run.
  var pauseMilliseconds: Int64 { get }

  /// Whether the job handles this news. Called on the loop of the news; must not block.
  func wants(_ news: WorkspaceNews, loop: Int) -> Bool

  /// Handles news, the oldest first. One run at a time for each workspace; the next run, or the
  /// sweep, repeats what failed.
  func run(_ workspace: Identifier, _ news: [WorkspaceNews]) async

  /// Time between two sweeps; 0: no sweeps.
  var sweepMilliseconds: Int64 { get }

  /// Finds missed work, and changes without news.
  ///
  /// - Returns: the workspaces to be run with the news `sweep`.
  func sweep() async -> [Identifier]
}

extension BackgroundJob {
  var sweepMilliseconds: Int64 { 0 }
  func sweep() async -> [Identifier] { [] }
}

/// Runs work for which no client waits: assignment of conversations, queue positions, bots. The
/// loops deliver news, and runs are tasks on them, with their connections to PostgreSQL. Messages
/// do not wait for it.
///
/// Bounds: one run at a time for each workspace and job, and `newsMax` waiting news for each.
final class BackgroundJobs: Sendable {
  /// Waiting news of one workspace and job. Further news is dropped: jobs read the database, and
  /// the sweep finds what news did not mention.
  static let newsMax = 1_024
  /// Ends of pauses are rounded up to a multiple of this, so that many workspaces start together.
  static let stepNanoseconds: Int64 = 10_000_000

  private struct Key: Hashable {
    var job: Int
    var workspace: Identifier
  }

  private struct Work {
    var news: [WorkspaceNews] = []
    var isRunning = false
    var notBefore = Instant.zero
  }

  private struct Sweep {
    var isRunning = false
    var next = Instant.zero
  }

  /// Set and read by one loop.
  private final class Due: Sendable {
    let nanoseconds = Atomic(Instant.never.nanoseconds)
  }

  private let jobs: [any BackgroundJob]
  private let executors: [LoopExecutor]
  /// For each loop, the end of the first pause for which one of its runs waits.
  private let due: [Due]
  private let work = Mutex<[Key: Work]>([:])
  private let sweeps: Mutex<[Sweep]>

  init(_ jobs: [any BackgroundJob], executors: [LoopExecutor]) {
    self.jobs = jobs
    sweeps = Mutex(Array(repeating: Sweep(), count: jobs.count))
    self.executors = executors
    due = executors.map { _ in Due() }
  }

  /// Delivers news of a loop; call it on that loop.
  func workspaceNews(_ news: WorkspaceNews, loop: Int, now: Instant) {
    for (index, job) in jobs.enumerated() where job.wants(news, loop: loop) {
      take(news, for: Key(job: index, workspace: news.workspace), loop: loop, now: now)
    }
  }

  private func take(_ news: WorkspaceNews, for key: Key, loop: Int, now: Instant) {
    work.withLock { work in
      var item = work[key] ?? Work()
      if item.news.count < BackgroundJobs.newsMax, item.news.last != news { item.news.append(news) }
      work[key] = item
    }
    start(key, loop: loop, now: now)
  }

  /// When this loop has to call `startDue`.
  func nextDeadline(loop: Int) -> Instant {
    Instant(nanoseconds: due[loop].nanoseconds.load(ordering: .relaxed))
  }

  /// Starts the runs that wait and whose pause is over.
  func startDue(loop: Int, now: Instant) {
    due[loop].nanoseconds.store(Instant.never.nanoseconds, ordering: .relaxed)
    let waiting = work.withLock { work in
      work.filter { !$0.value.isRunning && !$0.value.news.isEmpty }.map(\.key)
    }
    for key in waiting { start(key, loop: loop, now: now) }
  }

  /// The first loop calls it with each sweep.
  func advance(loop: Int, now: Instant) {
    work.withLock { work in
      work = work.filter {
        !$0.value.news.isEmpty || $0.value.isRunning || $0.value.notBefore > now
      }
    }
    startDue(loop: loop, now: now)
    for index in jobs.indices where jobs[index].sweepMilliseconds > 0 {
      sweep(index, loop: loop, now: now)
    }
  }

  private func sweep(_ index: Int, loop: Int, now: Instant) {
    let job = jobs[index]
    let isDue = sweeps.withLock { sweeps in
      guard !sweeps[index].isRunning, sweeps[index].next <= now else { return false }
      sweeps[index].isRunning = true
      sweeps[index].next = now.advanced(byMilliseconds: job.sweepMilliseconds)
      return true
    }
    guard isDue else { return }
    Task(executorPreference: executors[loop]) {
      let workspaces = await CurrentLoop.$index.withValue(loop) { await job.sweep() }
      for workspace in workspaces {
        self.take(
          WorkspaceNews(workspace: workspace, kind: .sweep),
          for: Key(job: index, workspace: workspace), loop: loop, now: SystemClock.now())
      }
      self.sweeps.withLock { $0[index].isRunning = false }
    }
  }

  private func start(_ key: Key, loop: Int, now: Instant) {
    let job = jobs[key.job]
    let news = work.withLock { work -> [WorkspaceNews] in
      guard var item = work[key], !item.isRunning, !item.news.isEmpty else { return [] }
      guard item.notBefore <= now else {
        let step = BackgroundJobs.stepNanoseconds
        let end = (item.notBefore.nanoseconds / step + 1) * step
        let next = min(due[loop].nanoseconds.load(ordering: .relaxed), end)
        due[loop].nanoseconds.store(next, ordering: .relaxed)
        return []
      }
      let news = item.news
      item.news = []
      item.isRunning = true
      item.notBefore = now.advanced(byMilliseconds: job.pauseMilliseconds)
      work[key] = item
      return news
    }
    guard !news.isEmpty else { return }
    Task(executorPreference: executors[loop]) {
      await CurrentLoop.$index.withValue(loop) {
        await job.run(key.workspace, news)
      }
      self.work.withLock { $0[key]?.isRunning = false }
      self.start(key, loop: loop, now: SystemClock.now())
    }
  }
}
