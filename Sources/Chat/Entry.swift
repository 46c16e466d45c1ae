public import Primitives

/// The role of an entry's author, as stored in `chats.role`. The gateway writes the first four;
/// `user` and `assistant` occur in rows imported from older systems.
public enum Role: UInt8, Sendable, Named {
  case visitor, operator_, bot, system, user, assistant

  public var text: StaticString {
    switch self {
    case .visitor: "visitor"
    case .operator_: "operator"
    case .bot: "bot"
    case .system: "system"
    case .user: "user"
    case .assistant: "assistant"
    }
  }
}

/// The type of an entry, as stored in `chats.kind`. Only operators see a note. An event is a line
/// of the log without an author (“Mika joined”). A file is a message with attachments, which only
/// the gateway makes.
public enum EntryKind: UInt8, Sendable, Named {
  case text, note, card, event, buttons, carousel, file

  /// Only the gateway makes entries of this kind.
  public var isOfGateway: Bool { self == .event || self == .file }

  public var text: StaticString {
    switch self {
    case .text: "text"
    case .note: "note"
    case .card: "card"
    case .event: "event"
    case .buttons: "buttons"
    case .carousel: "carousel"
    case .file: "file"
    }
  }
}

/// One committed entry of a session's log, as read back from PostgreSQL.
public struct Entry: Sendable, Equatable {
  public var seq: Int64
  public var id: Identifier
  public var role: Role
  public var kind: EntryKind
  /// The visitor or operator who wrote it; nil for system entries and rows of unknown origin.
  public var sender: Identifier?
  public var senderName: [UInt8]
  /// Valid UTF-8 without U+0000.
  public var body: [UInt8]
  /// A JSON object as text, empty when there is none.
  public var payload: [UInt8]
  public var at: WallTime

  public init(
    seq: Int64, id: Identifier, role: Role, kind: EntryKind, sender: Identifier?,
    senderName: [UInt8], body: [UInt8], payload: [UInt8], at: WallTime
  ) {
    self.seq = seq
    self.id = id
    self.role = role
    self.kind = kind
    self.sender = sender
    self.senderName = senderName
    self.body = body
    self.payload = payload
    self.at = at
  }
}

/// A part of a session's log, in ascending order.
public struct LogPage: Sendable, Equatable {
  public var entries: [Entry]
  /// The page reached one of its limits, so more entries may follow in its direction.
  public var isFull: Bool

  public init(entries: [Entry], isFull: Bool) {
    self.entries = entries
    self.isFull = isFull
  }
}

/// A closed set of names, as in the protocol and in the database.
public protocol Named: CaseIterable {
  var text: StaticString { get }
}

extension Named {
  public init?(text: RawSpan) {
    for name in Self.allCases where text.equals(name.text) {
      self = name
      return
    }
    return nil
  }
}
