import Chat
import Conversations
import Directory
import Engine
import Kernel
import Postgres
import Primitives
import REST

/// The services of the loops for the REST API: the database connection of the handler's loop, and
/// the loops that own the sessions.
final class LoopServices: Database, Sessions {
  private let mailboxes: [Mailbox]
  private let pulses: [LoopPulse]
  private let readers: ExpensiveReaders

  init(mailboxes: [Mailbox], pulses: [LoopPulse], readers: ExpensiveReaders) {
    self.mailboxes = mailboxes
    self.pulses = pulses
    self.readers = readers
  }

  /// The connections of `ExpensiveReaders`, for handlers.
  private struct Expensive: Database {
    let services: LoopServices

    func run(_ query: Query) async throws(QueryFailure) -> Rows {
      let result = await services.readers.run(query)
      services.resumed()
      return try result.get()
    }
  }

  var forExpensiveStatements: any Database { Expensive(services: self) }

  /// Called after each suspension of a REST handler or a background job, which is now the activity
  /// of its loop.
  func resumed() {
    pulses[CurrentLoop.index].note(API.currentRoute.map { Activity.route($0) } ?? .job)
  }

  private var mailbox: Mailbox { mailboxes[CurrentLoop.index] }

  func run(_ query: Query) async throws(QueryFailure) -> Rows {
    let result = await withCheckedContinuation { continuation in
      mailbox.post(.query(query, continuation))
    }
    resumed()
    return try result.get()
  }

  func append(
    session: Identifier, workspace: Identifier, id: Identifier, role: Role, kind: EntryKind,
    sender: Identifier?, senderName: [UInt8], body: [UInt8], payload: [UInt8]
  ) async -> Outcome {
    // The loop fills in the origin.
    let origin = Origin(loop: 0, index: 0, generation: 0, isRequest: true, ref: .none)
    let record = Record(
      workspace: workspace, session: session, id: id, role: role, kind: kind, sender: sender,
      origin: origin)
    let item = AppendMail(record: record, senderName: senderName, body: body, payload: payload)
    let outcome = await withCheckedContinuation { continuation in
      mailbox.post(.append(item, continuation))
    }.outcome
    resumed()
    return outcome
  }

  func changed(session: Identifier) {
    // Any loop forwards it to the session's owner.
    mailbox.post(.changed(session: session, workspace: nil))
  }

  func changed(session: Identifier, of workspace: Identifier) {
    mailbox.post(.changed(session: session, workspace: workspace))
  }

  func happened(_ news: WorkspaceNews) { mailbox.post(.happened(news)) }

  /// Waits in this order: for REST calls, which may still write by `append`; for connections to be
  /// closed, which may have sent before; for what they sent to be stored.
  func shutOut(_ ids: Set<Identifier>, after calls: Countdown) async -> Bool {
    guard await isConfirmed(calls) else { return false }
    let rechecked = Countdown(mailboxes.count)
    for mailbox in mailboxes { mailbox.post(.revocation(.recheck(ids, rechecked))) }
    guard await isConfirmed(rechecked) else { return false }
    let stored = Countdown(mailboxes.count)
    for mailbox in mailboxes { mailbox.post(.revocation(.settle(stored))) }
    return await isConfirmed(stored)
  }

  private func isConfirmed(_ countdown: Countdown) async -> Bool {
    mailbox.post(.revocation(.limit(countdown)))
    return await countdown.isConfirmed
  }

  /// Waits until it has ended, at most this long.
  func wait(for countdown: Countdown, milliseconds: Int64) async {
    mailbox.post(.revocation(.limit(countdown, milliseconds: milliseconds)))
    _ = await countdown.isConfirmed
    resumed()
  }

  /// Sends a request about connections to all loops. Nil: not all have answered in time.
  func ask(
    _ request: (ConnectionAnswers) -> ConnectionsMail
  ) async -> [ConnectionRecord]? {
    let answers = ConnectionAnswers(loops: mailboxes.count)
    let item = request(answers)
    for mailbox in mailboxes { mailbox.post(.connections(item)) }
    guard await isConfirmed(answers.countdown) else { return nil }
    return answers.all
  }

  func queueMoved(in workspace: Identifier) { mailbox.post(.queueMoved(workspace: workspace)) }
}
