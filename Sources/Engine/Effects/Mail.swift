public import Chat
public import Primitives

/// A message from one loop to another. Each is about a session or a workspace; `Effects.owner(of:)`
/// is the loop that owns a session.
public enum Mail: Sendable {
  // To the owner of a session.
  /// `loop` has subscribers. The response is `snapshot`, followed by every change.
  case follow(session: Identifier, workspace: Identifier?, loop: Int)
  case unfollow(session: Identifier, loop: Int)
  /// A record to commit. The response is `outcome`.
  case append(AppendMail)
  /// The session has changed in the database: its state and new entries must be read.
  case changed(session: Identifier, workspace: Identifier?)
  case markRequest(session: Identifier, workspace: Identifier, Mark)
  case typingRequest(TypingMail)
  case presenceRequest(PresenceMail)
  /// A connection of `loop` starts to receive presence. The responses are `presence`.
  case presenceQuery(session: Identifier, loop: Int, connection: ConnectionID)

  /// From the owner of the session on another gateway.
  case peer(PeerSignal, gateway: Identifier)

  // From the owner of a session.
  /// `store` names the database from which the owner read the session.
  case snapshot(session: Identifier, Result<SessionSnapshot, LoadFault>, store: String)
  case log(session: Identifier, LogPart)
  case state(SessionSnapshot)
  case mark(session: Identifier, Mark)
  case typing(TypingMail)
  case presence(PresenceMail)
  case outcome(OutcomeMail)

  /// The writer of `loop` has reached another database: everything it sent before is void.
  case storeReplaced(loop: Int)

  // About a workspace.
  case watch(workspace: Identifier, loop: Int, isOn: Bool)
  case inbox(workspace: Identifier, frame: [UInt8])
  case queue(QueueUpdate)
}

extension Mail {
  /// Whether this mail may be lost: nothing durable depends on it, and its content is sent again or
  /// read from the database.
  public var isRecoverable: Bool {
    switch self {
    case .log, .mark, .markRequest, .typing, .typingRequest, .inbox, .presence, .presenceRequest,
      .presenceQuery, .peer, .queue:
      true
    default: false
    }
  }
}

/// Why a session could not be loaded.
public enum LoadFault: Error, Sendable, Equatable {
  case noSuchSession, unavailable
}

/// A record to commit, with its texts.
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
