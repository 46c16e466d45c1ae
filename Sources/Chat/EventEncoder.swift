import JSON
public import Primitives

/// Encodes the events of chirrup.v1 as JSON. Each function appends one object. The field names are
/// part of the protocol (Sources/PROTOCOL.md).
public enum EventEncoder {
  public static func message(_ entry: Entry, session: Identifier, to json: inout [UInt8]) {
    entry.senderName.withRawSpan { name in
      entry.body.withRawSpan { body in
        entry.payload.withRawSpan { payload in
          message(
            session: session, seq: entry.seq, id: entry.id, role: entry.role, kind: entry.kind,
            sender: entry.sender, senderName: name, body: body, payload: payload, at: entry.at,
            to: &json)
        }
      }
    }
  }

  public static func message(
    session: Identifier, seq: Int64, id: Identifier, role: Role, kind: EntryKind,
    sender: Identifier?,
    senderName: RawSpan, body: RawSpan, payload: RawSpan, at: WallTime, to json: inout [UInt8]
  ) {
    var text = ShortText()
    text.append("{\"type\":\"message\",\"session\":\"")
    text.append(session)
    text.append("\",\"seq\":")
    text.append(decimal: seq)
    text.append(",\"id\":\"")
    text.append(id)
    text.append("\",\"sender\":")
    begin(role: role, id: sender, &text)
    json.append(text)
    JSONText.append(escaped: senderName, to: &json)
    text = ShortText()
    text.append("\"},\"kind\":\"")
    text.append(kind.text)
    text.append("\",\"body\":\"")
    json.append(text)
    JSONText.append(escaped: body, to: &json)
    text = ShortText()
    text.append("\"")
    if payload.byteCount > 0 {
      text.append(",\"payload\":")
      json.append(text)
      json.append(payload)
      text = ShortText()
    }
    text.append(",\"at\":\"")
    text.append(at)
    text.append("\"}")
    json.append(text)
  }

  /// Appends a person up to the opening quote of the name.
  @inline(__always)
  private static func begin(role: Role, id: Identifier?, _ text: inout ShortText) {
    text.append("{\"kind\":\"")
    text.append(role.text)
    if let id {
      text.append("\",\"id\":\"")
      text.append(id)
      text.append("\",\"name\":\"")
    } else {
      text.append("\",\"id\":null,\"name\":\"")
    }
  }

  /// The placeholder that a visitor receives for a note: its seq without its content, so that the
  /// sequence has no gap.
  public static func hidden(session: Identifier, seq: Int64, to json: inout [UInt8]) {
    json.append("{\"type\":\"message\",\"session\":\"")
    session.appendText(to: &json)
    json.append("\",\"seq\":")
    json.append(decimal: seq)
    json.append(",\"kind\":\"hidden\"}")
  }

  public static func person(
    role: Role, id: Identifier?, name: RawSpan, to json: inout [UInt8]
  ) {
    var text = ShortText()
    begin(role: role, id: id, &text)
    json.append(text)
    JSONText.append(escaped: name, to: &json)
    json.append("\"}")
  }

  public static func person(_ person: Person, to json: inout [UInt8]) {
    person.name.withRawSpan {
      EventEncoder.person(role: person.role, id: person.id, name: $0, to: &json)
    }
  }

  /// `{"id":…,"name":…}` or null.
  public static func assignee(_ person: Person?, to json: inout [UInt8]) {
    guard let person else {
      json.append("null")
      return
    }
    json.append("{\"id\":\"")
    person.id.appendText(to: &json)
    json.append("\",\"name\":")
    JSONText.append(quoted: person.name, to: &json)
    json.append(UInt8(ascii: "}"))
  }

  /// Appends `{"type":TYPE,"ref":REF`, without the ref when the client sent none.
  private static func open(_ type: StaticString, _ ref: Reference, to json: inout [UInt8]) {
    json.append("{\"type\":\"")
    json.append(type)
    json.append(UInt8(ascii: "\""))
    guard !ref.isEmpty else { return }
    json.append(",\"ref\":")
    ref.append(to: &json)
  }

  private static func field(_ prefix: StaticString, _ id: Identifier, to json: inout [UInt8]) {
    json.append(prefix)
    id.appendText(to: &json)
    json.append(UInt8(ascii: "\""))
  }

  public static func ack(
    ref: Reference, session: Identifier, id: Identifier, seq: Int64, at: WallTime,
    isDuplicate: Bool, to json: inout [UInt8]
  ) {
    var text = ShortText()
    text.append("{\"type\":\"ack\"")
    if !ref.isEmpty {
      text.append(",\"ref\":")
      ref.append(to: &text)
    }
    text.append(",\"session\":\"")
    text.append(session)
    text.append("\",\"id\":\"")
    text.append(id)
    text.append("\",\"seq\":")
    text.append(decimal: seq)
    text.append(",\"at\":\"")
    text.append(at)
    if isDuplicate { text.append("\",\"duplicate\":true}") } else { text.append("\"}") }
    json.append(text)
  }

  public static func ok(ref: Reference, to json: inout [UInt8]) {
    open("ok", ref, to: &json)
    json.append(UInt8(ascii: "}"))
  }

  public static func error(
    ref: Reference, _ refusal: Refusal, sentence: StaticString? = nil, field: StaticString? = nil,
    retryAfterMilliseconds: Int64? = nil, to json: inout [UInt8]
  ) {
    open("error", ref, to: &json)
    json.append(",\"code\":\"")
    json.append(refusal.code)
    json.append("\",\"message\":\"")
    json.append(sentence ?? refusal.sentence)
    if let field {
      json.append(" Field: ")
      json.append(field)
      json.append(UInt8(ascii: "."))
    }
    json.append(refusal.isRetriable ? "\",\"retry\":true" : "\",\"retry\":false")
    if let retryAfterMilliseconds {
      json.append(",\"retry_after_ms\":")
      json.append(decimal: retryAfterMilliseconds)
    }
    json.append(UInt8(ascii: "}"))
  }

  public static func welcome(
    ref: Reference, connection: Identifier, node: StaticString, now: WallTime,
    expiresAt: WallTime, you: Person, to json: inout [UInt8]
  ) {
    open("welcome", ref, to: &json)
    field(",\"connection\":\"", connection, to: &json)
    json.append(",\"node\":\"")
    json.append(node)
    json.append("\",\"now\":\"")
    now.appendText(to: &json)
    json.append("\",\"expires_at\":\"")
    expiresAt.appendText(to: &json)
    json.append("\",\"heartbeat\":{\"interval_ms\":")
    json.append(decimal: Limits.heartbeatIntervalMilliseconds)
    json.append(",\"timeout_ms\":")
    json.append(decimal: Limits.heartbeatTimeoutMilliseconds)
    json.append("},\"limits\":{\"body_bytes\":")
    json.append(decimal: Int64(Limits.bodyBytes))
    json.append(",\"payload_bytes\":")
    json.append(decimal: Int64(Limits.payloadBytes))
    json.append(",\"in_flight\":")
    json.append(decimal: Int64(Limits.inFlight))
    json.append(",\"message_bytes\":")
    json.append(decimal: Int64(Limits.messageBytes))
    json.append(",\"subscriptions\":")
    json.append(decimal: Int64(Limits.subscriptions))
    json.append(",\"sends_per_second\":")
    json.append(decimal: Int64(Limits.sendsPerSecond))
    json.append("},\"you\":")
    person(you, to: &json)
    json.append(UInt8(ascii: "}"))
  }

  public static func subscribed(
    ref: Reference, _ snapshot: SessionSnapshot, from: Int64, isOperator: Bool,
    to json: inout [UInt8]
  ) {
    open("subscribed", ref, to: &json)
    field(",\"session\":\"", snapshot.id, to: &json)
    json.append(",\"epoch\":")
    JSONText.append(quoted: snapshot.epoch, to: &json)
    json.append(",\"head\":")
    json.append(decimal: snapshot.head)
    json.append(",\"from\":")
    json.append(decimal: from)
    state(snapshot, to: &json)
    json.append(",\"marks\":[")
    for (index, mark) in snapshot.marks.enumerated() {
      if index > 0 { json.append(UInt8(ascii: ",")) }
      json.append("{\"who\":")
      person(mark.person, to: &json)
      marks(mark, to: &json)
      json.append(UInt8(ascii: "}"))
    }
    json.append("],\"can\":[\"read\",\"typing\"")
    if isOperator {
      json.append(",\"send\",\"note\"")
    } else if snapshot.status != .closed {
      json.append(",\"send\"")
    }
    json.append("]}")
  }

  private static func state(_ snapshot: SessionSnapshot, to json: inout [UInt8]) {
    json.append(",\"status\":\"")
    json.append(snapshot.status.text)
    json.append("\",\"assignee\":")
    assignee(snapshot.assignee, to: &json)
    json.append(",\"title\":")
    JSONText.append(quoted: snapshot.title, to: &json)
  }

  private static func marks(_ mark: Mark, to json: inout [UInt8]) {
    json.append(",\"read\":")
    json.append(decimal: mark.read)
    json.append(",\"delivered\":")
    json.append(decimal: mark.delivered)
  }

  /// The backlog was sent.
  public static func live(session: Identifier, seq: Int64, to json: inout [UInt8]) {
    open("live", .none, to: &json)
    field(",\"session\":\"", session, to: &json)
    json.append(",\"seq\":")
    json.append(decimal: seq)
    json.append(UInt8(ascii: "}"))
  }

  public static func resync(
    ref: Reference, session: Identifier, epoch: [UInt8], head: Int64, reason: StaticString,
    to json: inout [UInt8]
  ) {
    open("resync", ref, to: &json)
    field(",\"session\":\"", session, to: &json)
    json.append(",\"epoch\":")
    JSONText.append(quoted: epoch, to: &json)
    json.append(",\"head\":")
    json.append(decimal: head)
    json.append(",\"reason\":\"")
    json.append(reason)
    json.append("\"}")
  }

  public static func mark(session: Identifier, _ mark: Mark, to json: inout [UInt8]) {
    open("mark", .none, to: &json)
    field(",\"session\":\"", session, to: &json)
    json.append(",\"who\":")
    person(mark.person, to: &json)
    marks(mark, to: &json)
    json.append(UInt8(ascii: "}"))
  }

  /// - Parameter preview: empty for none.
  public static func typing(
    session: Identifier, who: Person, isActive: Bool, preview: [UInt8], to json: inout [UInt8]
  ) {
    open("typing", .none, to: &json)
    field(",\"session\":\"", session, to: &json)
    json.append(",\"who\":")
    person(who, to: &json)
    json.append(isActive ? ",\"active\":true" : ",\"active\":false")
    if isActive && !preview.isEmpty {
      json.append(",\"preview\":")
      JSONText.append(quoted: preview, to: &json)
    }
    json.append(UInt8(ascii: "}"))
  }

  /// - Parameters:
  ///   - isOnline: for a visitor, else nil.
  ///   - isViewing: for an operator, else nil.
  public static func presence(
    session: Identifier, who: Person, isOnline: Bool?, isViewing: Bool?, to json: inout [UInt8]
  ) {
    open("presence", .none, to: &json)
    field(",\"session\":\"", session, to: &json)
    json.append(",\"who\":")
    person(who, to: &json)
    if let isOnline { json.append(isOnline ? ",\"online\":true" : ",\"online\":false") }
    if let isViewing { json.append(isViewing ? ",\"viewing\":true" : ",\"viewing\":false") }
    json.append(UInt8(ascii: "}"))
  }

  /// A visitor's position in the queue: 1 is next, 0 is no longer waiting.
  public static func queue(
    session: Identifier, position: Int64, waitMilliseconds: Int64?, to json: inout [UInt8]
  ) {
    open("queue", .none, to: &json)
    field(",\"session\":\"", session, to: &json)
    json.append(",\"position\":")
    json.append(decimal: position)
    json.append(",\"wait_ms\":")
    if let waitMilliseconds {
      json.append(decimal: waitMilliseconds)
    } else {
      json.append("null")
    }
    json.append(UInt8(ascii: "}"))
  }

  /// The session's state changed.
  public static func session(_ snapshot: SessionSnapshot, to json: inout [UInt8]) {
    open("session", .none, to: &json)
    field(",\"session\":\"", snapshot.id, to: &json)
    state(snapshot, to: &json)
    json.append(UInt8(ascii: "}"))
  }

  /// A row of the inbox.
  /// - Parameter conversation: JSON in the format of the REST API; nil when the row was removed.
  public static func inbox(
    session: Identifier, conversation: [UInt8]?, to json: inout [UInt8]
  ) {
    open("inbox", .none, to: &json)
    field(",\"session\":\"", session, to: &json)
    if let conversation {
      json.append(",\"conversation\":")
      json.append(contentsOf: conversation)
      json.append(UInt8(ascii: "}"))
    } else {
      json.append(",\"removed\":true}")
    }
  }

  public static func unsubscribed(
    session: Identifier, _ refusal: Refusal, to json: inout [UInt8]
  ) {
    open("unsubscribed", .none, to: &json)
    field(",\"session\":\"", session, to: &json)
    json.append(",\"code\":\"")
    json.append(refusal.code)
    json.append(refusal.isRetriable ? "\",\"retry\":true}" : "\",\"retry\":false}")
  }

  /// The answer to `history`: entries in ascending order, notes hidden from visitors.
  public static func history(
    ref: Reference, session: Identifier, _ entries: [Entry], hasMore: Bool, isOperator: Bool,
    to json: inout [UInt8]
  ) {
    open("ok", ref, to: &json)
    json.append(",\"messages\":[")
    for (index, entry) in entries.enumerated() {
      if index > 0 { json.append(UInt8(ascii: ",")) }
      if entry.kind == .note && !isOperator {
        hidden(session: session, seq: entry.seq, to: &json)
      } else {
        message(entry, session: session, to: &json)
      }
    }
    json.append(hasMore ? "],\"more\":true}" : "],\"more\":false}")
  }

  public static func tokenExpiring(at time: WallTime, to json: inout [UInt8]) {
    json.append("{\"type\":\"token_expiring\",\"expires_at\":\"")
    time.appendText(to: &json)
    json.append("\"}")
  }

  public static func drain(
    windowFrom minimum: Int64, to maximum: Int64, to json: inout [UInt8]
  ) {
    json.append("{\"type\":\"drain\",\"min_ms\":")
    json.append(decimal: minimum)
    json.append(",\"max_ms\":")
    json.append(decimal: maximum)
    json.append(UInt8(ascii: "}"))
  }

  public static func ping(to json: inout [UInt8]) { json.append("{\"type\":\"ping\"}") }
}
