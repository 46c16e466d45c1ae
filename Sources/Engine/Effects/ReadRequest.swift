public import Chat
public import Primitives
import Wire

/// A database request other than a batch. The driver returns the response together with the
/// request, so the engine needs no table of pending requests.
public enum ReadRequest: Sendable {
  /// The state of a session. The response goes to `Engine.sessionLoaded`.
  case session(Identifier)
  /// Entries in ascending order. The response goes to `Engine.entriesLoaded`.
  case entries(session: Identifier, after: Int64, limit: Int, Purpose)
  case entriesBefore(session: Identifier, before: Int64, limit: Int, Purpose)
  /// A row of the inbox as JSON. The response goes to `Engine.conversationLoaded`.
  case conversation(session: Identifier, workspace: Identifier)
  /// The response goes to `Engine.stored`. A mark that was not stored is requested again.
  case storeMark(session: LoadedSessionID, Identifier, workspace: Identifier, Mark)

  /// Whether an operator accepts conversations. The response goes to `Engine.stored`.
  case storeAvailability(
    connection: ConnectionID, ref: Reference, operator: Identifier, workspace: Identifier, Bool)

  public enum Purpose: Sendable {
    /// The part of the log that a subscriber has not received.
    case backlog(connection: ConnectionID)
    case history(connection: ConnectionID, ref: Reference)
    /// Entries that others have committed.
    case catchUp

    /// The limit of a page, in bytes of text and payload. The entry that reaches it is the last
    /// one.
    public var bytesMax: Int {
      switch self {
      case .backlog: Limits.backlogBytes
      case .history, .catchUp: Limits.historyBytes
      }
    }
  }
}

/// A token to verify, outside the path of messages. The result goes to `Engine.verified`.
public struct Verification: Sendable {
  public var connection: ConnectionID
  public var token: [UInt8]
}
