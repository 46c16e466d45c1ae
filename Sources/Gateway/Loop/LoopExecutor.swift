import Synchronization

/// Runs async functions on a loop (SE-0417). Each step is a mail to the loop, so a REST handler can
/// be written as sequential code without sharing state with other threads. Chat messages do not use
/// it.
final class LoopExecutor: TaskExecutor {
  private let mailbox: Mailbox

  init(mailbox: Mailbox) { self.mailbox = mailbox }

  func enqueue(_ job: consuming ExecutorJob) {
    mailbox.post(.step(UnownedJob(job)))
  }
}

/// The loop on which an async function runs. Its queries use that loop's connection.
enum CurrentLoop {
  @TaskLocal static var index = 0
}
