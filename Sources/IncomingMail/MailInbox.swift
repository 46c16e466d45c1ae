/// Brings replies by e-mail into the log: a reply becomes messages of the visitor, by the same
/// pipeline as those of the widget. Their ids are derived from that of the e-mail, so each is
/// stored once, however often the reply is processed.
import Attachments
import Channels
import Chat
public import Conversations
public import Directory
import JSON
import Mail
import Postgres
public import Primitives

public final class MailInbox: Sendable {
  private enum Appended {
    /// Nil: in a conversation that was deleted since.
    case stored(in: Identifier?)
    case refused(MailRefusal)
  }

  /// How often the conversation is looked for again, after it was closed meanwhile.
  static let attemptsMax = 4

  private let database: any Database
  private let sessions: any Sessions
  private let secrets: SecretBox
  private let log: @Sendable (String) -> Void

  public init(
    database: any Database, sessions: any Sessions, secrets: SecretBox,
    log: @escaping @Sendable (String) -> Void
  ) {
    self.database = database
    self.sessions = sessions
    self.secrets = secrets
    self.log = log
  }

  /// Workspaces with replies that are not processed. Empty after a failure.
  public func workspaces() async -> [Identifier] {
    do throws(InboxDelay) {
      return try await database.bring(MailReceived.workspaces())
    } catch {
      report(error)
      return []
    }
  }

  /// Processes the replies of a workspace, the oldest first. One that cannot be processed now
  /// keeps back the later ones of its conversation, so that they stay in order.
  public func process(in workspace: Identifier) async {
    do throws(InboxDelay) {
      var delayed: Set<Identifier> = []
      for reply in try await database.bring(MailReceived.pending(in: workspace))
      where !delayed.contains(reply.session) {
        do throws(InboxDelay) {
          try await store(reply, in: workspace)
        } catch {
          report(error)
          guard error.refusal != nil else {
            delayed.insert(reply.session)
            continue
          }
          // It would be refused again, and others would wait behind it.
          try await settle(reply, .rejected, in: nil)
        }
      }
    } catch {
      report(error)
    }
  }

  private func settle(
    _ reply: MailReceived.Pending, _ refusal: MailRefusal?, in session: Identifier?
  ) async throws(InboxDelay) {
    _ = try await database.bring(
      Statement(MailReceived.settle(reply.key, refusal, in: session)) { $0.count })
  }

  private func store(
    _ reply: MailReceived.Pending, in workspace: Identifier
  ) async throws(InboxDelay) {
    // Another gateway may have the key.
    guard let content = IncomingReply(reply.content, key: reply.key, by: secrets) else {
      throw .later
    }
    var session: Identifier?
    for part in 0..<content.messageCount {
      switch try await append(part, of: reply, content, workspace) {
      case .refused(let refusal): return try await settle(reply, refusal, in: session)
      case .stored(let place): if part == 0 { session = place }
      }
    }
    try await settle(reply, nil, in: session)
  }

  private func append(
    _ part: Int, of reply: MailReceived.Pending, _ content: IncomingReply, _ workspace: Identifier
  ) async throws(InboxDelay) -> Appended {
    let id = MailKey.message(part, of: reply.key, in: workspace)
    for attempt in 0..<MailInbox.attemptsMax {
      let arrival = try await database.bring(
        ConversationReturn.arrive(
          reply.session, in: workspace, message: id,
          fresh: MailKey.session(attempt, of: reply.key, in: workspace)))
      guard let arrival else { return .refused(.deleted) }
      if let place = arrival.known { return .stored(in: place) }
      if arrival.isBanned { return .refused(.blocked) }
      guard let session = arrival.session else { continue }
      let message = try await message(part, id, of: content, by: arrival, in: session, workspace)
      guard let message else { return .refused(.empty) }
      let outcome = await sessions.append(
        session: session, workspace: workspace, id: id, role: .visitor, kind: message.kind,
        sender: arrival.visitor, senderName: Array(arrival.name.utf8),
        body: Array(message.body.utf8), payload: message.payload)
      switch outcome.verdict {
      case .stored:
        if arrival.isNew { sessions.changed(session: session, of: workspace) }
        return .stored(in: session)
      case .duplicate: return .stored(in: session)
      // An earlier run stored it, in a conversation that was deleted since.
      case .conflict: return .stored(in: nil)
      // The sweep finds that no message has its files.
      case .rejected: return .refused(.rejected)
      case .unavailable: throw .later
      case .closed, .noSuchSession: continue
      }
    }
    throw .later
  }

  /// A message of a reply. The last one gets the files. Nil: nothing is left of it.
  private func message(
    _ part: Int, _ id: Identifier, of content: IncomingReply,
    by arrival: ConversationReturn.Arrival, in session: Identifier, _ workspace: Identifier
  ) async throws(InboxDelay) -> (kind: EntryKind, body: String, payload: [UInt8])? {
    let body = content.bodies.indices.contains(part) ? content.bodies[part] : nil
    var files: [Attachment] = []
    if part == content.messageCount - 1, !content.files.isEmpty {
      let uploader = Uploader(
        workspace: workspace, session: session, id: arrival.visitor, isVisitor: true)
      do throws(QueryFailure) {
        files = try await IncomingFiles.bind(content.files, to: id, by: uploader, database)
      } catch {
        throw .query(error)
      }
    }
    guard !files.isEmpty else {
      return body.map { (.text, $0, JSONValue.object(content.members).text) }
    }
    let payload = JSONValue(Attachment.payload(of: files, isCaption: body != nil))?.object ?? [:]
    return (
      .file, body ?? Attachment.body(of: files),
      JSONValue.object(payload.merging(content.members) { own, _ in own }).text
    )
  }

  private func report(_ delay: InboxDelay) {
    if let refusal = delay.refusal { log("a reply by e-mail cannot be processed: \(refusal)") }
  }
}
