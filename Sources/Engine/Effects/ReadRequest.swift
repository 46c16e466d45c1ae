public import Chat
public import Primitives
import Wire

/// What the engine wants from the database besides its batches. The driver asks, and gives the
/// answer back with the same request, so the engine needs no table of open questions.
public enum ReadRequest: Sendable {
  /// The state of a session; answered by `Engine.sessionLoaded`.
  case session(Identifier)
  /// Entries in ascending order; answered by `Engine.entriesLoaded`.
  case entries(session: Identifier, after: Int64, limit: Int, Purpose)
  case entriesBefore(session: Identifier, before: Int64, limit: Int, Purpose)
  /// The row of the operators' list, as JSON; answered by `Engine.conversationLoaded`.
  case conversation(session: Identifier, workspace: Identifier)
  /// Answered by `Engine.markStored`; one that was not stored is told again.
  case storeMark(session: LoadedSessionID, Identifier, workspace: Identifier, Mark)

  /// What an operator has said about taking conversations; answered by
  /// `Engine.availabilityStored`.
  case storeAvailability(
    connection: ConnectionID, ref: Reference, operator: Identifier, workspace: Identifier, Bool)

  public enum Purpose: Sendable {
    /// The part of the log that a subscriber has not seen.
    case backlog(connection: ConnectionID)
    case history(connection: ConnectionID, ref: Reference)
    /// What was committed behind this loop's back.
    case catchUp

    /// Of text and payload in one page, in bytes; the entry that reaches it is the last one.
    public var bytesMax: Int {
      switch self {
      case .backlog: Limits.backlogBytes
      case .history, .catchUp: Limits.historyBytes
      }
    }
  }
}

/// A token to verify off the path of messages; answered by `Engine.verified`.
public struct Verification: Sendable {
  public var connection: ConnectionID
  public var token: [UInt8]
}

/// A visitor's connection on its way to the loop that owns its session.
public struct Departure: Sendable {
  public var member: Member
  /// The hello as it came, and the bytes that followed it.
  public var hello: [UInt8]
  public var held: [UInt8]
  /// What the socket has not taken yet: the 101 itself, when the hello came in its segment.
  var outbox: [UInt8]
  public var openedAt: Instant
  public var name: Identifier
  var deflate: DeflateAgreement?
  var contexts: DeflateContexts?
}
