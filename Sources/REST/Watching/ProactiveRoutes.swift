/// Messages that the widget shows by itself: what administrators change, and how a conversation
/// begins with one.
import Chat
import Conversations
import Directory
import JSON
import OpenSSL
import Primitives

struct ProactiveRoutes: RouteGroup {
  let api: API

  static let nameBytes = 100
  /// A teaser has room for about so many.
  static let bodyBytes = 500
  static let senderBytes = 80
  static let pathBytes = 200
  static let attributesMax = 5
  static let secondsMax: Int64 = 3_600
  static let audiences = ["anybody", "new", "returning"]

  static let message = RowShape([
    ("id", .id), ("name", .text), ("body", .text), ("sender_name", .optional(.text)),
    ("conditions", .json(.proactiveConditions)), ("is_enabled", .bool), ("shown", .int),
    ("answered", .int), ("created_at", .time), ("updated_at", .time),
  ])

  func listMessages(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("proactive_messages", keys: 2)
    return try await api.list(
      page, ProactiveRoutes.message,
      ProactiveMessages.page(of: call.workspace, after: try page.position, limit: page.rowsWanted))
  }

  func addMessage(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    let content = try content(in: object)
    guard content.name != nil else { throw .missing("name") }
    guard content.body != nil else { throw .missing("body") }
    return try await api.row(
      "proactive_message", ProactiveRoutes.message, status: 201,
      ProactiveMessages.add(call.newID(), content, by: call.actor),
      orElse: .tooMany("proactive messages", ProactiveMessages.countMax))
  }

  func changeMessage(_ call: Call) async throws(Problem) -> APIResponse {
    try await api.row(
      "proactive_message", ProactiveRoutes.message,
      ProactiveMessages.change(
        call.id, try content(in: call.request.jsonObject()), by: call.actor))
  }

  func deleteMessage(_ call: Call) async throws(Problem) -> APIResponse {
    try await api.delete(ProactiveMessages.delete(call.id, by: call.actor))
  }

  private func content(in object: JSONObject) throws(Problem) -> ProactiveMessages.Content {
    ProactiveMessages.Content(
      name: try object.nonEmptyString("name", bytesMax: ProactiveRoutes.nameBytes),
      body: try object.nonEmptyString("body", bytesMax: ProactiveRoutes.bodyBytes),
      senderName: try object.string("sender_name", bytesMax: ProactiveRoutes.senderBytes),
      conditions: try object.nested("conditions").map { (conditions) throws(Problem) in
        try normalized(conditions)
      }, isEnabled: try object.bool("is_enabled"))
  }

  /// The conditions with known members only. They are replaced as a whole.
  private func normalized(_ object: JSONObject) throws(Problem) -> [UInt8] {
    let path = try object.string("path", bytesMax: ProactiveRoutes.pathBytes) ?? ""
    guard path.isEmpty || path.hasPrefix("/") || path.hasPrefix("*") else {
      throw .invalidMember(
        "path", in: object, "a path that begins with / or *, such as /pricing or /shop/*")
    }
    let seconds = try object.int("seconds", in: 0...ProactiveRoutes.secondsMax) ?? 0
    let scroll = try object.int("scroll_percent", in: 0...100) ?? 0
    let audience = try object.word("audience", of: ProactiveRoutes.audiences) ?? "anybody"
    let isOpen = try object.bool("when_open") ?? false
    let isAvailable = try object.bool("when_available") ?? false
    let once = try object.bool("once") ?? true
    let attributes = try object.visitorAttributes() ?? Array("{}".utf8)
    guard (JSONValue(attributes)?.object?.count ?? 0) <= ProactiveRoutes.attributesMax else {
      throw .invalidMember(
        "attributes", in: object,
        "an object of at most \(ProactiveRoutes.attributesMax) members")
    }
    return .object {
      $0.appendMember("path", path)
      $0.appendMember("seconds", seconds)
      $0.appendMember("scroll_percent", scroll)
      $0.appendMember("audience", audience)
      $0.appendMember("when_open", isOpen)
      $0.appendMember("when_available", isAvailable)
      $0.appendMember("once", once)
      $0.appendMember("attributes", json: attributes)
    }
  }

  /// Writes the message to which a visitor replies into the conversation, before the reply. A
  /// repeated request writes it once.
  func append(
    _ id: Identifier, to session: Identifier, of workspace: Identifier
  ) async throws(Problem) {
    // Deleted or disabled since the page was loaded: the conversation begins without it.
    let content = try await api.database.run(ProactiveMessages.content(of: id, in: workspace))
    guard let content else { return }
    let outcome = await api.sessions.append(
      session: session, workspace: workspace, id: entry(of: id, in: session), role: .bot,
      kind: .text, sender: nil, senderName: Array(content.senderName.utf8),
      body: Array(content.body.utf8), payload: Array(#"{"proactive":true}"#.utf8))
    switch outcome.verdict {
    case .stored: api.watched.count(id, of: workspace, isAnswer: true)
    case .duplicate: break
    default: throw .unavailable
    }
  }

  /// Version 8 (RFC 9562 §5.8), of the message and the conversation.
  private func entry(of id: Identifier, in session: Identifier) -> Identifier {
    Identifier(watcherWithHash: SHA256.digest(Array("proactive \(id) of \(session)".utf8)))
  }
}
