public import Chat
public import Primitives

/// What one loop tells another. Every case is about a session or a workspace; the loop that owns a
/// session is `Engine.owner(of:)`.
public enum Mail: Sendable {
  // To the owner of a session.
  /// `loop` has subscribers: answer with `snapshot`, then with everything that happens.
  case follow(session: Identifier, workspace: Identifier?, loop: Int)
  case unfollow(session: Identifier, loop: Int)
  /// A record to commit; the outcome goes back as `outcome`.
  case append(AppendMail)
  /// Somebody changed the session in the database: read its state and its new entries.
  case changed(session: Identifier, workspace: Identifier?)
  case markRequest(session: Identifier, workspace: Identifier, Mark)
  case typingRequest(TypingMail)
  case presenceRequest(PresenceMail)
  /// A connection of another loop has begun to follow: who else is there?
  case presenceQuery(session: Identifier, loop: Int, connection: ConnectionID)

  // From the owner of a session.
  /// With the name of the database that the owner knows it from.
  case snapshot(session: Identifier, Result<SessionSnapshot, LoadFault>, store: String)
  case log(session: Identifier, LogPart)
  case state(SessionSnapshot)
  case mark(session: Identifier, Mark)
  case typing(TypingMail)
  case presence(PresenceMail)
  case outcome(OutcomeMail)

  /// The owner's database is another one: nothing that it said before counts.
  case storeReplaced(loop: Int)

  // About a workspace.
  case watch(workspace: Identifier, loop: Int, isOn: Bool)
  case inbox(workspace: Identifier, frame: [UInt8])
  case queue(QueueUpdate)
}

extension Mail {
  /// Whether nothing durable depends on this mail: what it says is told again, or is read from the
  /// database.
  public var isRecoverable: Bool {
    switch self {
    case .log, .mark, .markRequest, .typing, .typingRequest, .inbox, .presence, .presenceRequest,
      .presenceQuery, .queue:
      true
    default: false
    }
  }
}

public enum LoadFault: Error, Sendable, Equatable {
  case noSuchSession, unavailable
}

public struct AppendMail: Sendable {
  public var record: Record
  public var senderName: [UInt8]
  public var body: [UInt8]
  public var payload: [UInt8]

  public init(record: Record, senderName: [UInt8], body: [UInt8], payload: [UInt8]) {
    self.record = record
    self.senderName = senderName
    self.body = body
    self.payload = payload
  }
}

public struct OutcomeMail: Sendable {
  public var origin: Origin
  public var session: Identifier
  public var id: Identifier
  public var outcome: Outcome
  public var retryAfterMilliseconds: Int64

  /// What a request hears that was still waiting when its loop ended.
  public static var unavailable: OutcomeMail {
    OutcomeMail(
      origin: Origin(loop: 0, slot: 0, generation: 0, isRequest: true, ref: .none),
      session: .zero, id: .zero, outcome: Outcome(verdict: .unavailable),
      retryAfterMilliseconds: 0)
  }
}
