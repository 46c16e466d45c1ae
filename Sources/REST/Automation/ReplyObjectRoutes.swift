/// Reply objects: stored replies of the bot, and the canned replies of operators (a text with a
/// shortcut).
import Automation
import Directory
import JSON
import Postgres

struct ReplyObjectRoutes: RouteGroup {
  let api: API

  static let replyObject = RowShape([
    ("object_id", .text), ("object_type", .word(ReplyPayload.types)), ("payload", .json(.object)),
    ("alt_text", .optional(.text)), ("shortcut", .optional(.text)), ("updated_at", .time),
  ])

  func listReplyObjects(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("reply_objects")
    return try await api.list(
      page, ReplyObjectRoutes.replyObject,
      ReplyObjects.page(of: call.workspace, after: page.text(0), limit: page.rowsWanted))
  }

  func putReplyObject(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    let name = call.parameters.text("object_id")
    guard name.unicodeScalars.count <= 50, isPathName(name) else {
      throw .invalid(
        "The name of a reply object must have 1 to 50 characters, without slashes and control "
          + "characters.")
    }
    let content = try content(object)
    let isCreateOnly = try call.isCreateOnly
    let put = ReplyObjects.put(name, content, isCreateOnly: isCreateOnly, by: call.actor)
    let rows: Rows
    do throws(QueryFailure) {
      rows = try await api.database.attempt(Statement(put) { $0 })
    } catch {
      if case .refused(let state, _) = error, state.code == "23505" { throw .shortcutInUse }
      throw api.database.problem(for: error)
    }
    guard !rows.isEmpty else {
      throw try await api.notWritten(
        ReplyObjects.exists(name, in: call.workspace), isCreateOnly: isCreateOnly,
        orElse: .tooMany("reply objects", ReplyObjects.countMax))
    }
    return .json(
      [UInt8].object { json in
        json.appendKey("reply_object")
        ReplyObjectRoutes.replyObject.append(rows, 0, to: &json)
      })
  }

  private func content(_ object: JSONObject) throws(Problem) -> ReplyObjects.Content {
    let type = try object.word("object_type", of: ReplyPayload.types) ?? "text"
    let payload = try ReplyPayload.checked(object, type: type)
    let shortcut = try object.string("shortcut", bytesMax: APILimits.shortcutBytes)
    if let shortcut, !isShortcut(shortcut) {
      throw .invalidMember("shortcut", "1 to 32 characters without white space and slashes")
    }
    return ReplyObjects.Content(
      type: type, payload: payload,
      altText: try object.string("alt_text", bytesMax: APILimits.altTextBytes), shortcut: shortcut)
  }

  func deleteReplyObject(_ call: Call) async throws(Problem) -> APIResponse {
    try await api.delete(ReplyObjects.delete(call.parameters.text("object_id"), by: call.actor))
  }

  /// As the table `reply_objects` accepts it.
  private func isShortcut(_ text: String) -> Bool {
    (1...32).contains(text.unicodeScalars.count)
      && text.unicodeScalars.allSatisfy {
        $0.value > 0x20 && $0 != "/" && $0.value != 0x7F && !$0.properties.isWhitespace
      }
  }
}

extension Problem {
  static let shortcutInUse = Problem.conflict(
    "Another reply object has this shortcut. Choose another shortcut.")
}
