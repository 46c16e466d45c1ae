/// One event of protocol chirrup.v1 as a flat record of the fields that the harness uses. Unknown
/// fields and types are ignored, as the protocol requires of clients.
import Primitives

struct ServerEvent: Equatable {
  enum Kind: Equatable {
    case welcome, subscribed, message, live, more, ack, ok, error, resync, unsubscribed, drain, ping
    /// Typing, presence and other events that are not verified.
    case other
  }

  var kind = Kind.other
  var ref: Int?
  var session: Identifier?
  var id: Identifier?
  var seq = 0
  /// `subscribed`: the first seq that will be sent, and the last existing one.
  var from = 0
  var head = 0
  var epoch = ""
  var duplicate = false
  /// `error`, `unsubscribed`.
  var code = ""
  var message = ""
  var retry = false
  var retryAfterMilliseconds = 0
  /// `message`: a hidden note has neither an id nor a body.
  var hidden = false
  var senderIsVisitor = false
  var body = JSONText()
  /// `welcome`.
  var inFlightMax = 0
  var silenceMilliseconds = 0
  /// `drain`.
  var windowMilliseconds = 0...0

  /// Reads the next object of a text message and advances the cursor past it.
  init(_ text: RawSpan, _ cursor: inout JSONCursor) throws(JSONFault) {
    try readObject(.top, text, &cursor)
  }

  private enum Scope { case top, sender, heartbeat, limits }

  private mutating func readObject(
    _ scope: Scope, _ text: RawSpan, _ cursor: inout JSONCursor
  ) throws(JSONFault) {
    try cursor.expect("{", text)
    if try cursor.take("}", text) { return }
    repeat {
      let key = try cursor.string(text)
      try cursor.expect(":", text)
      let name = text.extracting(key.range)
      // A null field is equivalent to a missing one.
      if try cursor.peek(text) == UInt8(ascii: "n") {
        try cursor.skipValue(text)
        continue
      }
      switch scope {
      case .top: try readField(name, text, &cursor)
      case .sender: try readSenderField(name, text, &cursor)
      case .heartbeat, .limits: try readNumber(name, text, &cursor)
      }
    } while try cursor.take(",", text)
    try cursor.expect("}", text)
  }

  private mutating func readField(
    _ name: RawSpan, _ text: RawSpan, _ cursor: inout JSONCursor
  ) throws(JSONFault) {
    if name.equals("type") {
      kind = Kind(text.extracting(try cursor.string(text).range))
    } else if name.equals("ref") {
      ref = try cursor.integer(text)
    } else if name.equals("session") {
      session = Identifier(text: text.extracting(try cursor.string(text).range))
    } else if name.equals("id") {
      id = Identifier(text: text.extracting(try cursor.string(text).range))
    } else if name.equals("seq") {
      seq = try cursor.integer(text)
    } else if name.equals("from") {
      from = try cursor.integer(text)
    } else if name.equals("head") {
      head = try cursor.integer(text)
    } else if name.equals("body") {
      body = try cursor.string(text)
    } else if name.equals("kind") {
      hidden = text.extracting(try cursor.string(text).range).equals("hidden")
    } else if name.equals("sender") {
      try readObject(.sender, text, &cursor)
    } else if name.equals("duplicate") {
      duplicate = try cursor.bool(text)
    } else if name.equals("retry") {
      retry = try cursor.bool(text)
    } else {
      try readRareField(name, text, &cursor)
    }
  }

  private mutating func readRareField(
    _ name: RawSpan, _ text: RawSpan, _ cursor: inout JSONCursor
  ) throws(JSONFault) {
    if name.equals("epoch") {
      epoch = text.extracting(try cursor.string(text).range).string
    } else if name.equals("code") {
      code = text.extracting(try cursor.string(text).range).string
    } else if name.equals("message") {
      message = text.extracting(try cursor.string(text).range).string
    } else if name.equals("heartbeat") {
      try readObject(.heartbeat, text, &cursor)
    } else if name.equals("limits") {
      try readObject(.limits, text, &cursor)
    } else {
      try readNumber(name, text, &cursor)
    }
  }

  private mutating func readNumber(
    _ name: RawSpan, _ text: RawSpan, _ cursor: inout JSONCursor
  ) throws(JSONFault) {
    if name.equals("retry_after_ms") {
      retryAfterMilliseconds = try cursor.integer(text)
    } else if name.equals("in_flight") {
      inFlightMax = try cursor.integer(text)
    } else if name.equals("interval_ms") || name.equals("timeout_ms") {
      silenceMilliseconds += try cursor.integer(text)
    } else if name.equals("min_ms") {
      let lower = try cursor.integer(text)
      windowMilliseconds = lower...max(lower, windowMilliseconds.upperBound)
    } else if name.equals("max_ms") {
      let upper = try cursor.integer(text)
      windowMilliseconds = min(upper, windowMilliseconds.lowerBound)...upper
    } else {
      try cursor.skipValue(text)
    }
  }

  private mutating func readSenderField(
    _ name: RawSpan, _ text: RawSpan, _ cursor: inout JSONCursor
  ) throws(JSONFault) {
    if name.equals("kind") {
      senderIsVisitor = text.extracting(try cursor.string(text).range).equals("visitor")
    } else {
      try cursor.skipValue(text)
    }
  }
}

extension ServerEvent.Kind {
  fileprivate init(_ name: RawSpan) {
    self =
      if name.equals("message") {
        .message
      } else if name.equals("ack") {
        .ack
      } else if name.equals("ping") {
        .ping
      } else if name.equals("live") {
        .live
      } else if name.equals("subscribed") {
        .subscribed
      } else if name.equals("welcome") {
        .welcome
      } else if name.equals("error") {
        .error
      } else if name.equals("more") {
        .more
      } else if name.equals("ok") {
        .ok
      } else if name.equals("drain") {
        .drain
      } else if name.equals("resync") {
        .resync
      } else if name.equals("unsubscribed") {
        .unsubscribed
      } else {
        .other
      }
  }
}
