import Chat
/// Stores a quarantined message with the gateway's own writer, in a batch of one, so that the
/// handling of failures and the numbering are the gateway's.
import DataRetention
import Journal
import Kernel
import Postgres
import Primitives

struct ReleaseWriter: ~Copyable {
  struct Report {
    /// The message's number in its session; nil if it was not stored.
    var seq: Int64?
    var text: String
  }

  /// The writer fails a batch after 5 s; the rest is for connecting.
  private static let waitMilliseconds: Int64 = 20_000

  private var writer: Writer

  init(url: String) { writer = Writer(url: url, seed: 0) }

  mutating func append(_ message: StoredData.Refused) throws -> Report {
    let role = Array(message.role.utf8).withRawSpan { Role(text: $0) }
    let kind = Array(message.kind.utf8).withRawSpan { EntryKind(text: $0) }
    guard let role, let kind else {
      return Report(text: "its role or kind is unknown to this version of chirrup")
    }
    let record = Record(
      workspace: message.workspace, session: message.session, id: message.id, role: role,
      kind: kind, sender: message.sender,
      origin: Origin(loop: 0, index: 0, generation: 0, isRequest: true, ref: .none))
    var batch = Batch()
    message.senderName.withRawSpan { name in
      message.body.withRawSpan { body in
        message.payload.withRawSpan { payload in
          batch.append(
            record, senderName: name, body: body, payload: payload, cameAt: SystemClock.now())
        }
      }
    }
    try drive { $0.status.isReady ? true : nil }
    writer.submit(&batch, now: SystemClock.now())
    let outcome = try drive { writer in
      var outcome: Outcome?
      _ = writer.takeCompletion { outcome = $1.first }
      return outcome
    }
    return ReleaseWriter.describe(outcome, writer.takeQuarantined().rows.first)
  }

  private static func describe(_ outcome: Outcome, _ refused: QuarantinedRow?) -> Report {
    switch outcome.verdict {
    case .stored: Report(seq: outcome.seq, text: "stored as \(outcome.seq)")
    case .duplicate: Report(seq: outcome.seq, text: "already stored as \(outcome.seq)")
    case .conflict: Report(text: "another message has its id")
    case .noSuchSession: Report(text: "its session does not exist any more")
    case .closed: Report(text: "its session is closed")
    case .rejected:
      Report(
        text: "refused again: \(refused.map { "\($0.refusal)" } ?? "PostgreSQL gave no reason")")
    case .unavailable: Report(text: "PostgreSQL cannot store it now; try again later")
    }
  }

  /// Drives the writer as the event loop does, until `isDone` returns a value.
  @discardableResult
  private mutating func drive<Value>(_ isDone: (inout Writer) -> Value?) throws -> Value {
    let end = SystemClock.now().advanced(byMilliseconds: ReleaseWriter.waitMilliseconds)
    while SystemClock.now() < end {
      writer.advance(now: SystemClock.now())
      if let value = isDone(&writer) { return value }
      try wait()
    }
    guard case .down(let reason) = writer.status.health else {
      throw QueryFailure.unavailable(reason: "no answer")
    }
    throw QueryFailure.unavailable(reason: reason)
  }

  /// Waits for the socket, at most 20 ms, which is shorter than the writer's deadlines.
  private func wait() throws {
    let epoll = try Epoll()
    if writer.status.descriptor >= 0 {
      let interest: Interest = writer.status.wantsWrite ? [.read, .write] : .read
      try epoll.add(rawValue: writer.status.descriptor, interest, datum: 0)
    }
    var events = Events(capacity: 1)
    try epoll.wait(into: &events, timeoutMilliseconds: 20)
  }
}
