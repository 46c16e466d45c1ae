/// The command line: `chirrup serve`, and the tools around it.
import ArgumentParser
import Kernel
import Synchronization

struct Chirrup: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "chirrup",
    abstract: "A WebSocket gateway for live chat on PostgreSQL.",
    version: Version.text,
    subcommands: [
      ServeCommand.self, MigrateCommand.self, TokenCommand.self, WorkspaceCommand.self,
      OperatorCommand.self, VisitorCommand.self, ImportCommand.self, RetentionCommand.self,
      QuarantineCommand.self, EpochCommand.self, AnalyticsCommand.self, DemoDataCommand.self,
      VersionCommand.self,
    ])
}

/// An async `main` would give the first thread to the concurrency runtime, which lets every signal
/// through to it again, so that a SIGTERM would kill instead of drain.
@main
enum Main {
  static func main() {
    if CommandLine.arguments.dropFirst().first == "serve" { StopSignals.block() }
    FirstThread.run { await Chirrup.main(nil) }
  }
}

/// Runs the command line's async functions on the first thread. Nothing of this program runs on the
/// concurrency runtime's own threads, which end the process when descriptors run out: see
/// `WorkerThreads`.
private final class FirstThread: TaskExecutor {
  private struct Jobs {
    var waiting: [UnownedJob] = []
    var isOver = false
  }

  private let jobs = Mutex(Jobs())
  private let bell = Semaphore()

  static func run(_ body: @escaping @Sendable () async -> Void) {
    let thread = FirstThread()
    Task(executorPreference: thread) {
      await body()
      thread.jobs.withLock { $0.isOver = true }
    }
    while let job = thread.next() {
      // SAFETY: a job is enqueued once and run here once, on an executor that lives until the end.
      unsafe job.runSynchronously(on: thread.asUnownedTaskExecutor())
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.waiting.append(job) }
    bell.signal()
  }

  /// Nil once the body has ended.
  private func next() -> UnownedJob? {
    if jobs.withLock(\.isOver) { return nil }
    bell.wait()
    return jobs.withLock { $0.waiting.removeFirst() }
  }
}

enum Version {
  static let text = "0.1.0"
}

struct VersionCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "version", abstract: "Print the version.")

  func run() {
    print("chirrup \(Version.text)")
  }
}
