/// The command line: `chirrup serve` and the administration commands.
import ArgumentParser
import ImageCleaning
import Kernel
import MailParsing
import Synchronization

struct Chirrup: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "chirrup",
    abstract: "A WebSocket gateway for live chat on PostgreSQL.",
    version: Version.text,
    subcommands: [
      ServeCommand.self, SetupCommand.self, DoctorCommand.self, MigrateCommand.self,
      TokenCommand.self, WorkspaceCommand.self,
      OperatorCommand.self, KeysCommand.self, IdentityCommand.self, ConversationsCommand.self,
      ConnectionsCommand.self, ReloadCommand.self, VisitorCommand.self,
      ImportCommand.self, RetentionCommand.self,
      QuarantineCommand.self, BackupCommand.self, RestoreCommand.self, ClusterCommand.self,
      EpochCommand.self, AuditCommand.self, AnalyticsCommand.self, DemoDataCommand.self,
      VersionCommand.self,
    ])
}

/// `main` is synchronous: the concurrency runtime unblocks every signal on the thread of an async
/// `main`, so that SIGTERM would kill the process instead of draining it.
@main
enum Main {
  static func main() {
    CleaningProcess.runIfWanted(CommandLine.arguments)
    MailReadingProcess.runIfWanted(CommandLine.arguments)
    if CommandLine.arguments.dropFirst().first == "serve" { StopSignals.block() }
    FirstThread.run { await Chirrup.main(nil) }
  }
}

/// Executes the command line's async functions on the first thread. This program uses none of the
/// concurrency runtime's own threads, because they end the process when descriptors run out: see
/// `WorkerThreads`.
private final class FirstThread: TaskExecutor {
  private struct Jobs {
    var waiting: [UnownedJob] = []
    var isOver = false
  }

  private let jobs = Mutex(Jobs())
  private let jobCount = Semaphore()

  static func run(_ body: @escaping @Sendable () async -> Void) {
    let thread = FirstThread()
    Task(executorPreference: thread) {
      await body()
      thread.jobs.withLock { $0.isOver = true }
    }
    while let job = thread.next() {
      // SAFETY: each job is enqueued once and run once; the executor outlives all of its jobs.
      unsafe job.runSynchronously(on: thread.asUnownedTaskExecutor())
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.waiting.append(job) }
    jobCount.signal()
  }

  /// Waits for the next job. Nil once the body has returned.
  private func next() -> UnownedJob? {
    if jobs.withLock(\.isOver) { return nil }
    jobCount.wait()
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
