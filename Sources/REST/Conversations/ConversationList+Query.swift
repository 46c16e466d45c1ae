/// The query parameters of a list of conversations, and its cursors.
import Conversations
import Primitives

extension ConversationList {
  init(
    _ query: QueryString, me: Identifier, workspace: Identifier
  ) throws(Problem) {
    self.init(limit: APILimits.conversationsDefault)
    if let text = query.formatted("status") {
      guard ["waiting", "active", "closed", "open", "all"].contains(text) else {
        throw .invalidParameter("status", "waiting, active, closed, open or all")
      }
      status = text == "all" ? nil : text
    }
    switch query.formatted("assignee") {
    case nil: break
    case "me"?: assignee = me
    case "none"?: isUnassigned = true
    case let text?:
      guard let id = Identifier(text) else {
        throw .invalidParameter("assignee", "me, none or the id of an operator")
      }
      assignee = id
    }
    tag = query["tag"]
    switch query.formatted("team") {
    case nil: break
    case "none"?: isWithoutTeam = true
    case let text?:
      guard let id = Identifier(text) else {
        throw .invalidParameter("team", "none or the id of a team")
      }
      team = id
    }
    if let text = query.formatted("visitor") {
      guard let id = Identifier(text) else {
        throw .invalidParameter("visitor", "the id of a visitor")
      }
      visitor = id
    }
    search = try query.search("q")
    ofOpen = try OpenFilters(query)
    guard ofOpen.isEmpty || OpenFilters.statuses.contains(status ?? "") else {
      throw .invalidParameter("status", "waiting, active or open beside \(OpenFilters.names)")
    }
    if let limit = try query.int("limit", in: 1...Int64(APILimits.conversations)) {
      self.limit = Int(limit)
    }
    if let cursor = query["cursor"] {
      guard let position = decodeCursor(cursor, workspace: workspace) else { throw .foreignCursor }
      self.position = position
    }
  }
}

/// The position in a cursor: 8 bytes of the time (µs, big endian) and 16 of the id.
extension ConversationList {
  func encodeCursor(_ position: Position, workspace: Identifier) -> String {
    var bytes: [UInt8] = []
    bytes.append(bigEndian: UInt64(bitPattern: position.at.microseconds))
    position.id.appendBytes(to: &bytes)
    return Cursor.encode(bytes, list: filters, workspace: workspace)
  }

  func decodeCursor(_ text: String, workspace: Identifier) -> Position? {
    let bytes = Cursor.decode(text, bytesMax: 64, list: filters, workspace: workspace)
    guard let bytes, bytes.count == 24 else { return nil }
    return bytes.withRawSpan { span in
      guard let at = Cursor.time(microseconds: Int64(bitPattern: span.uint64(at: 0))) else {
        return nil
      }
      return Position(
        at: at, id: Identifier(high: span.uint64(at: 8), low: span.uint64(at: 16)))
    }
  }

  private var filters: [UInt8] {
    let texts = [
      status, assignee?.description, isUnassigned ? "none" : nil, search, tag, visitor?.description,
      team?.description ?? (isWithoutTeam ? "none" : nil), ofOpen.language,
      ofOpen.waitingMinutes?.description, ofOpen.attribute.map { "\($0.name)=\($0.value)" },
      ofOpen.dueMinutes?.description, ofOpen.channel,
    ]
    var bytes: [UInt8] = []
    for text in texts {
      bytes.append(text ?? "")
      bytes.append(0)
    }
    return bytes
  }
}

extension OpenFilters {
  static let statuses = ["waiting", "active", "open"]
  static let names = "language, waiting_minutes, due_minutes, attribute or channel"
  /// A week.
  static let minutesMax: Int64 = 10_080

  init(_ query: QueryString) throws(Problem) {
    self.init()
    if let text = query.formatted("language") {
      guard text.wholeMatch(of: /[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*/) != nil else {
        throw .invalidParameter("language", "a language tag, such as de or pt-BR")
      }
      language = text.lowercased()
    }
    waitingMinutes = try query.int("waiting_minutes", in: 1...OpenFilters.minutesMax)
    dueMinutes = try query.int("due_minutes", in: 0...OpenFilters.minutesMax)
    channel = try query.channel()
    if let text = query.formatted("attribute") {
      guard let sign = text.firstIndex(of: "="), sign > text.startIndex else {
        throw .invalidParameter("attribute", "name=value")
      }
      attribute = Attribute(
        name: String(text[..<sign]), value: String(text[text.index(after: sign)...]))
    }
  }
}

extension QueryString {
  /// The channel to which a list is limited; nil: all.
  func channel() throws(Problem) -> String? {
    guard let text = formatted("channel") else { return nil }
    guard text.wholeMatch(of: /[a-z][a-z0-9_-]{0,31}/) != nil else {
      throw .invalidParameter("channel", "the name of a channel, such as web or line")
    }
    return text
  }
}
