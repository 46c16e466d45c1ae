import Chat
import Kernel
import Primitives
import Synchronization
import Testing

@testable import Gateway

@Suite struct BackgroundJobTests {
  private final class Recorder: BackgroundJob {
    let pauseMilliseconds: Int64 = 50
    /// The number of news of each run.
    let runs = Mutex<[Int]>([])

    func wants(_ news: WorkspaceNews, loop: Int) -> Bool { true }

    func run(_ workspace: Identifier, _ news: [WorkspaceNews]) async {
      runs.withLock { $0.append(news.count) }
    }

    var counts: [Int] { runs.withLock { $0 } }
  }

  /// Runs the steps of tasks, as a loop does in its turn.
  private func runSteps(_ mailbox: Mailbox, _ executor: LoopExecutor) {
    var items: [LoopMail] = []
    repeat {
      mailbox.drain(into: &items)
      for case .step(let job) in items {
        // SAFETY: each job is enqueued once and run here once; the executor outlives it.
        unsafe job.runSynchronously(on: executor.asUnownedTaskExecutor())
      }
    } while !items.isEmpty
  }

  @Test func `the loop runs a job when its pause ends, once for all news of the meantime`() throws {
    let mailbox = try Mailbox()
    let executor = LoopExecutor(mailbox: mailbox)
    let job = Recorder()
    let jobs = BackgroundJobs([job], executors: [executor])
    let workspace = Identifier(high: 1, low: 1)
    // A run ends at the real time, which is before the end of this pause.
    let step = BackgroundJobs.stepNanoseconds
    let start = Instant(nanoseconds: (SystemClock.now().nanoseconds / step + 360_000) * step)
    func tell(_ seq: Int64, after milliseconds: Int64) {
      jobs.workspaceNews(
        WorkspaceNews(
          workspace: workspace, session: Identifier(high: 2, low: UInt64(seq)),
          kind: .wrote(seq: seq)),
        loop: 0, now: start.advanced(byMilliseconds: milliseconds))
    }
    let end = start.advanced(byMilliseconds: 60)

    #expect(jobs.nextDeadline(loop: 0) == .never)
    tell(1, after: 0)
    tell(2, after: 1)
    #expect(jobs.nextDeadline(loop: 0) == .never, "the run of the first one goes on")
    runSteps(mailbox, executor)
    #expect(job.counts == [1])
    #expect(jobs.nextDeadline(loop: 0) == end, "it has left the second one")
    tell(3, after: 2)
    jobs.startDue(loop: 0, now: start.advanced(byMilliseconds: 49))
    runSteps(mailbox, executor)
    #expect(job.counts == [1])
    #expect(jobs.nextDeadline(loop: 0) == end)
    jobs.startDue(loop: 0, now: end)
    runSteps(mailbox, executor)
    #expect(job.counts == [1, 2])
    #expect(jobs.nextDeadline(loop: 0) == .never)
  }
}
