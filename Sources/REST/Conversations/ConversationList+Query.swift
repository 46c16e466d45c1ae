/// A list of conversations as a request asks for it, and its cursors.
import Conversations
import OpenSSL
import Primitives

extension ConversationList {
  init(
    _ query: QueryString, me: Identifier, workspace: Identifier
  ) throws(Problem) {
    self.init(limit: APILimits.conversationsDefault)
    if let text = query.formed("status") {
      guard ["waiting", "active", "closed", "open", "all"].contains(text) else {
        throw .invalid("The parameter “status” must be waiting, active, closed, open or all.")
      }
      status = text == "all" ? nil : text
    }
    switch query.formed("assignee") {
    case nil: break
    case "me"?: assignee = me
    case "none"?: isUnassigned = true
    case let text?:
      guard let id = Identifier(text) else {
        throw .invalid("The parameter “assignee” must be me, none or an operator's id.")
      }
      assignee = id
    }
    tag = query["tag"]
    if let text = query.formed("visitor") {
      guard let id = Identifier(text) else {
        throw .invalid("The parameter “visitor” must be a visitor's id.")
      }
      visitor = id
    }
    search = query["q"]
    guard (search?.utf8.count ?? 0) <= APILimits.searchBytes else {
      throw .invalid("The parameter “q” may have at most \(APILimits.searchBytes) bytes.")
    }
    if let limit = try query.int("limit", in: 1...Int64(APILimits.conversations)) {
      self.limit = Int(limit)
    }
    if let cursor = query["cursor"] {
      guard let position = decodeCursor(cursor, workspace: workspace) else {
        throw .invalid(
          "The cursor is not one of this list; start again without it, with the same filters.")
      }
      self.position = position
    }
  }
}

/// Cursors: 8 bytes of a check, 8 of the time, 16 of the id, in base64url. The check covers the
/// filters and the workspace too, so a cursor of another list is refused like a damaged one. It is
/// no secret: a position reveals nothing, and every page is bound to the workspace by its
/// statement.
extension ConversationList {
  func encodeCursor(_ position: Position, workspace: Identifier) -> String {
    var bytes: [UInt8] = []
    bytes.append(bigEndian: UInt64(bitPattern: position.at.microseconds))
    position.id.appendBytes(to: &bytes)
    return Base64.url.encode(check(bytes, workspace) + bytes)
  }

  func decodeCursor(_ text: String, workspace: Identifier) -> Position? {
    guard text.utf8.count <= 64, let bytes = Base64.url.decode(text.utf8), bytes.count == 32
    else { return nil }
    let content = Array(bytes[8...])
    guard check(content, workspace) == Array(bytes[..<8]) else { return nil }
    return content.withRawSpan { span in
      let microseconds = Int64(bitPattern: span.uint64(at: 0))
      // The check is no signature: whoever computes one must still not bring a time beyond all
      // calendars.
      guard (0...253_402_300_799_999_999).contains(microseconds) else { return nil }
      return Position(
        at: WallTime(microseconds: microseconds),
        id: Identifier(high: span.uint64(at: 8), low: span.uint64(at: 16)))
    }
  }

  private func check(_ content: [UInt8], _ workspace: Identifier) -> [UInt8] {
    var bytes = content
    workspace.appendBytes(to: &bytes)
    let filters = [
      status, assignee?.description, isUnassigned ? "none" : nil, search, tag, visitor?.description,
    ]
    for part in filters {
      bytes.append(part ?? "")
      bytes.append(0)
    }
    return Array(SHA256.digest(bytes)[..<8])
  }
}
