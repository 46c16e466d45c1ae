/// The values that a channel takes and gives: capabilities, events, messages and verdicts.
public import Chat
public import Primitives

/// What a channel can show, for clients, and its limits.
public struct ChannelCapabilities: Sendable, Equatable {
  /// Whether the other side sees that somebody writes.
  public var typing: Bool
  /// Whether it is known what the person has read.
  public var readMarks: Bool
  public var buttons: Bool
  public var attachments: Bool
  /// The longest text of one message, in UTF-16 code units. A longer one is split.
  public var textUnitsMax: Int
  /// Messages of one request.
  public var messagesPerRequest: Int
  /// For how long a reply token may be used for a first attempt, and for a repeated one, including
  /// its answer.
  public var replySeconds: Int64
  public var replyAgainSeconds: Int64
  /// Whether the platform recognises a repeated request, as by a key. If not, a message that it may
  /// have is not sent again.
  public var recognisesRepeats: Bool
  /// For how long a message is tried: at most as long as the platform recognises repeated requests.
  public var retryHours: Int64
}

/// A webhook's body is not what the platform sends.
public struct ChannelFault: Error, Equatable, Sendable {
  public var reason: String

  public init(_ reason: String) { self.reason = reason }
}

/// An event as it is stored before it is read further.
public struct ReceivedEvent: Sendable, Equatable {
  /// The platform's id: an event that comes again has the same.
  public var id: String
  /// The platform's id of the person; nil: it is about nobody, or about a group.
  public var address: String?
  public var payload: [UInt8]

  public init(id: String, address: String?, payload: [UInt8]) {
    self.id = id
    self.address = address
    self.payload = payload
  }
}

/// The meaning of an event.
public struct InboundEvent: Sendable, Equatable {
  public enum Kind: Sendable, Equatable {
    /// - `key`: the platform's id of the message, from which its id is derived.
    case message(key: String, body: String, payload: [UInt8])
    case followed(isAgain: Bool)
    case left
    case unsupported
  }

  public var kind: Kind
  /// What the platform keeps of a message; then `body` is for the case that it cannot be fetched.
  public var content: InboundContent?
  /// Answers this event once, for a short time.
  public var replyToken: String?
  public var at: WallTime

  public init(
    _ kind: Kind, content: InboundContent? = nil, replyToken: String? = nil, at: WallTime
  ) {
    self.kind = kind
    self.content = content
    self.replyToken = replyToken
    self.at = at
  }
}

/// The content of a message that the platform keeps, such as a picture.
public struct InboundContent: Sendable, Equatable {
  /// The platform's id of the content.
  public var id: String
  /// The platform's word for it, such as `image`.
  public var kind: String
  /// The name of the file. Its end says which kind of file to expect.
  public var name: String
  /// The person has named it. The end of another name becomes that of the content's type.
  public var isNamed: Bool
  /// As the platform announces it; nil: it does not.
  public var byteCount: Int64?

  public init(id: String, kind: String, name: String, isNamed: Bool, byteCount: Int64? = nil) {
    self.id = id
    self.kind = kind
    self.name = name
    self.isNamed = isNamed
    self.byteCount = byteCount
  }
}

/// A message of the log that is sent to a person.
public struct OutboundMessage: Sendable, Equatable {
  public var id: Identifier
  public var address: String
  public var kind: EntryKind
  public var body: String
  public var payload: [UInt8]
  /// Of a message of the kind `file`.
  public var files: [OutboundFile] = []

  public init(
    id: Identifier, address: String, kind: EntryKind, body: String, payload: [UInt8]
  ) {
    self.id = id
    self.address = address
    self.kind = kind
    self.body = body
    self.payload = payload
  }
}

/// A file that is sent as a link.
public struct OutboundFile: Sendable, Equatable {
  public var name: String
  /// The media type, found by the content; nil: unknown.
  public var type: String?
  public var byteCount: Int64
  public var url: String

  public init(name: String, type: String?, byteCount: Int64, url: String) {
    self.name = name
    self.type = type
    self.byteCount = byteCount
    self.url = url
  }
}

/// What became of an attempt to send a message.
public enum SendVerdict: Sendable, Equatable {
  /// The platform has it, now or since an earlier attempt.
  case sent
  /// The platform will never take it.
  case failed(reason: String)
  /// The platform may have it, and would take it a second time.
  case unknown(reason: String)
  /// To be tried again, in `seconds` at the earliest. `isUnknown`: the platform may have it.
  case retry(reason: String, seconds: Int64, isUnknown: Bool)
  /// The reply token cannot be used: to be sent at once without it.
  case withoutReplyToken
}

public struct ChannelProfile: Sendable, Equatable {
  public var name: String
  public var pictureURL: String?

  public init(name: String, pictureURL: String?) {
    self.name = name
    self.pictureURL = pictureURL
  }
}

/// Messages that the account may send in a month.
public struct ChannelQuota: Sendable, Equatable {
  /// Nil: as many as it likes.
  public var limit: Int64?
  /// Used in this month.
  public var used: Int64

  public init(limit: Int64?, used: Int64) {
    self.limit = limit
    self.used = used
  }
}
