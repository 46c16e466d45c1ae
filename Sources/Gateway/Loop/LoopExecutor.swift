import Synchronization

/// Runs async functions on a loop (SE-0417): each step is a mail to it, so a REST handler reads
/// like straight code and still touches nothing that another thread touches. The path of a chat
/// message never comes here.
final class LoopExecutor: TaskExecutor {
  private let mailbox: Mailbox

  init(mailbox: Mailbox) { self.mailbox = mailbox }

  func enqueue(_ job: consuming ExecutorJob) {
    mailbox.post(.step(UnownedJob(job)))
  }
}

/// Which loop an async function runs on: its queries go to that loop's connection.
enum CurrentLoop {
  @TaskLocal static var index = 0
}
