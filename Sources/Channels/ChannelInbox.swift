/// Brings the events of webhooks into the log: a message of a person becomes a message of a visitor
/// in the person's conversation, by the same pipeline as those of the widget.
///
/// Its id is derived from the platform's id of the message, so it is stored once, however often its
/// event is processed. The events of a person are processed one after another, those of several
/// persons beside each other. A message with a content, such as a picture, is processed once the
/// content is fetched or given up, see `ContentLoop`; the person's later events wait for it.
import Attachments
import Chat
public import Conversations
public import Directory
import JSON
import Postgres
public import Primitives

public final class ChannelInbox: Sendable {
  private struct Message {
    var id: Identifier
    /// If it has no content, or the content is missing.
    var body: String
    var payload: [UInt8]
    var content: ChannelContents.Result?
  }

  /// Persons whose events are processed at once.
  static let lanes = 8
  /// How often the conversation is looked for again, after it was closed meanwhile.
  static let attemptsMax = 4
  /// Rounds of one run; the next sweep continues.
  static let roundsMax = 20

  private let database: any Database
  private let sessions: any Sessions
  private let random: @Sendable (WallTime) -> Identifier
  private let log: @Sendable (String) -> Void

  /// - Parameter random: makes a new id of a time.
  public init(
    database: any Database, sessions: any Sessions,
    random: @escaping @Sendable (WallTime) -> Identifier, log: @escaping @Sendable (String) -> Void
  ) {
    self.database = database
    self.sessions = sessions
    self.random = random
    self.log = log
  }

  /// Workspaces with events that are not processed. Empty after a failure.
  public func workspaces() async -> [Identifier] {
    do throws(InboxDelay) {
      return try await database.bring(ChannelEvents.workspaces())
    } catch {
      report(error)
      return []
    }
  }

  /// Processes the events of a workspace, the oldest first.
  public func process(in workspace: Identifier, now: WallTime) async {
    for _ in 0..<ChannelInbox.roundsMax {
      do throws(InboxDelay) {
        let pending = try await database.bring(ChannelEvents.pending(in: workspace))
        let isWhole = await process(pending, in: workspace, now: now)
        guard isWhole, pending.count == ChannelEvents.processedMax else { return }
      } catch {
        return report(error)
      }
    }
  }

  /// False if an event was left for later.
  private func process(
    _ pending: [ChannelEvents.Pending], in workspace: Identifier, now: WallTime
  ) async -> Bool {
    var order: [String] = []
    var byPerson: [String: [ChannelEvents.Pending]] = [:]
    for event in pending {
      let key = event.channel + " " + (event.address ?? "")
      if byPerson[key] == nil { order.append(key) }
      byPerson[key, default: []].append(event)
    }
    let queues = order.compactMap { byPerson[$0] }
    return await withTaskGroup(of: Bool.self) { group in
      for lane in 0..<min(ChannelInbox.lanes, queues.count) {
        group.addTask {
          var isWhole = true
          for place in stride(from: lane, to: queues.count, by: ChannelInbox.lanes) {
            let isDone = await self.processInOrder(queues[place], in: workspace, now: now)
            isWhole = isWhole && isDone
          }
          return isWhole
        }
      }
      return await group.reduce(true) { $0 && $1 }
    }
  }

  private func processInOrder(
    _ events: [ChannelEvents.Pending], in workspace: Identifier, now: WallTime
  ) async -> Bool {
    for event in events {
      do throws(InboxDelay) {
        try await settle(event, try await result(of: event, in: workspace, now: now), workspace)
      } catch {
        report(error)
        // It would be refused again, and others would wait behind it.
        guard error.refusal != nil else { return false }
        do throws(InboxDelay) {
          try await settle(event, .refused, workspace)
        } catch {
          report(error)
          return false
        }
      }
    }
    return true
  }

  private func settle(
    _ event: ChannelEvents.Pending, _ result: ChannelEvents.Result, _ workspace: Identifier
  ) async throws(InboxDelay) {
    _ = try await database.bring(
      Statement(ChannelEvents.settle(event, result, in: workspace)) { $0.count })
  }

  private func result(
    of event: ChannelEvents.Pending, in workspace: Identifier, now: WallTime
  ) async throws(InboxDelay) -> ChannelEvents.Result {
    guard let channel = Channels.named(event.channel), let address = event.address else {
      return .unsupported
    }
    let meaning = channel.meaning(of: event.payload)
    let person = ChannelPeople.Person(
      workspace: workspace, channel: event.channel, address: address)
    switch meaning.kind {
    case .unsupported: return .unsupported
    case .followed(let isAgain):
      try await note(isAgain ? "refollow" : "follow", of: person, event, meaning, now)
      return .followed
    case .left:
      try await note("unfollow", of: person, event, meaning, now)
      return .left
    case .message(let key, let body, let payload):
      let message = Message(
        id: person.identifier(key), body: body, payload: payload, content: event.content)
      return try await append(message, of: person, meaning, now)
    }
  }

  private func note(
    _ kind: String, of person: ChannelPeople.Person, _ event: ChannelEvents.Pending,
    _ meaning: InboundEvent, _ now: WallTime
  ) async throws(InboxDelay) {
    let query = ChannelPeople.note(
      kind, of: person, event: person.identifier("friend_event:" + event.id), at: meaning.at,
      visitor: random(now), replyToken: meaning.replyToken)
    _ = try await database.bring(Statement(query) { $0.count })
  }

  private func append(
    _ message: Message, of person: ChannelPeople.Person, _ meaning: InboundEvent, _ now: WallTime
  ) async throws(InboxDelay) -> ChannelEvents.Result {
    let id = message.id
    for attempt in 0..<ChannelInbox.attemptsMax {
      let arrival = try await database.bring(
        ChannelPeople.arrive(
          person, message: id, session: person.session(for: id, attempt: attempt),
          visitor: random(now), replyToken: meaning.replyToken, at: meaning.at))
      guard let arrival, let visitor = arrival.visitor else { throw .later }
      if arrival.isKnown { return .known }
      if arrival.isBanned { return .blocked }
      guard let session = arrival.session else { continue }
      if arrival.isToReopen {
        let line = person.identifier("reopened:\(id)")
        _ = try await database.bring(
          Statement(ChannelPeople.reopen(session, line: line, in: person.workspace)) { $0.count })
        sessions.changed(session: session, of: person.workspace)
      }
      let shown = try await shown(
        message,
        by: Uploader(
          workspace: person.workspace, session: session, id: visitor, isVisitor: true))
      let outcome = await sessions.append(
        session: session, workspace: person.workspace, id: id, role: .visitor, kind: shown.kind,
        sender: visitor, senderName: Array(arrival.name.utf8), body: Array(shown.body.utf8),
        payload: shown.payload)
      switch outcome.verdict {
      case .stored:
        if arrival.isNew { sessions.changed(session: session, of: person.workspace) }
        return .stored
      // A conflict: an earlier run stored it, in a conversation that was deleted since.
      case .duplicate, .conflict: return .known
      case .rejected: return .refused
      case .unavailable: throw .later
      case .closed, .noSuchSession: continue
      }
    }
    throw .later
  }

  /// The message as it is in the log. Its file is bound to it before.
  private func shown(
    _ message: Message, by uploader: Uploader
  ) async throws(InboxDelay) -> (kind: EntryKind, body: String, payload: [UInt8]) {
    let missing: String
    switch message.content {
    case nil: return (.text, message.body, message.payload)
    case .omitted(let name):
      return (.text, IncomingFiles.leftOut(1, [name]), message.payload)
    case .missing(let reason): missing = reason
    case .stored(let file):
      let files: [Attachment]
      do throws(QueryFailure) {
        files = try await IncomingFiles.bind([file], to: message.id, by: uploader, database)
      } catch {
        throw .query(error)
      }
      if !files.isEmpty {
        let own = Attachment.payload(of: files, isCaption: false)
        return (.file, Attachment.body(of: files), ChannelInbox.merged(own, message.payload))
      }
      missing = "It was removed before the message was stored."
    }
    let reason = JSONValue.object(["missing": .string(missing)]).text
    return (.text, message.body, ChannelInbox.merged(reason, message.payload))
  }

  /// The members of both objects; only those of the first one if they are too long together.
  private static func merged(_ own: [UInt8], _ more: [UInt8]) -> [UInt8] {
    guard let members = JSONValue(own)?.object, let further = JSONValue(more)?.object else {
      return own
    }
    let all = JSONValue.object(further.merging(members) { $1 }).text
    return all.count <= Limits.payloadBytes ? all : own
  }

  private func report(_ delay: InboxDelay) {
    if let refusal = delay.refusal { log("a channel's event cannot be processed: \(refusal)") }
  }
}
