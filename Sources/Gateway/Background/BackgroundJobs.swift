import Chat
import Kernel
import Primitives
import Synchronization

/// One kind of work that follows from what happens in a workspace.
protocol BackgroundJob: Sendable {
  /// Time between the beginnings of two runs for one workspace, so that much news costs one run.
  var pauseMilliseconds: Int64 { get }

  /// Whether this is of interest. Asked on the loop that brings the news, so it must be quick and
  /// must not wait.
  func wants(_ news: WorkspaceNews, loop: Int) -> Bool

  /// Does what follows from the news, the oldest first. Never runs twice at once for one workspace;
  /// what fails is made up for by the next run, at the latest by the sweep.
  func run(_ workspace: Identifier, _ news: [WorkspaceNews]) async

  /// Time between two sweeps; 0: none.
  var sweepMilliseconds: Int64 { get }

  /// Looks for what was missed, and for what changes behind this gateway's back: the workspaces
  /// that are run with the news `sweep`.
  func sweep() async -> [Identifier]
}

extension BackgroundJob {
  var sweepMilliseconds: Int64 { 0 }
  func sweep() async -> [Identifier] { [] }
}

/// The one place for work that nobody waits for: giving conversations to operators, telling the
/// line how it moves, bots. Fed by the loops, carried out as tasks on them, with their connections
/// to PostgreSQL for everything that is not a message. Nothing of it is on the path of a message.
///
/// Bounded: one run at a time for each workspace and job, and for each as much news as
/// `newsMax`.
final class BackgroundJobs: Sendable {
  /// News that waits for one workspace and job. What is beyond is dropped, and made up for by the
  /// sweep: a job looks at the database, and takes the news as a hint where to look.
  static let newsMax = 1_024

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

  private let jobs: [any BackgroundJob]
  private let executors: [LoopExecutor]
  private let work = Mutex<[Key: Work]>([:])
  private let sweeps: Mutex<[Sweep]>

  init(_ jobs: [any BackgroundJob], executors: [LoopExecutor]) {
    self.jobs = jobs
    sweeps = Mutex(Array(repeating: Sweep(), count: jobs.count))
    self.executors = executors
  }

  /// What happened, as the loop `loop` heard of it; call it on that loop.
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

  /// Begins what has waited for its pause to end. One loop calls it with each sweep.
  func advance(loop: Int, now: Instant) {
    let due = work.withLock { work in
      work = work.filter {
        !$0.value.news.isEmpty || $0.value.isRunning || $0.value.notBefore > now
      }
      return work.filter { !$0.value.isRunning && !$0.value.news.isEmpty }.map(\.key)
    }
    for key in due { start(key, loop: loop, now: now) }
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
      guard var item = work[key], !item.isRunning, !item.news.isEmpty, item.notBefore <= now else {
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
