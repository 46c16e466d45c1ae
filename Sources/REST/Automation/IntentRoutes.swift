/// Intents: rules of the bot, which replies as long as no operator is assigned.
import Automation
import Directory
import JSON
import Primitives

struct IntentRoutes: RouteGroup {
  let api: API

  static let intent = RowShape([
    ("name", .text), ("keyword", .text), ("match_kind", .word(matchKinds)),
    ("replies", .json(.array(of: .object))), ("position", .int), ("is_enabled", .bool),
  ])

  static let matchKinds = Intent.MatchKind.allCases.map(\.rawValue)

  func listIntents(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("intents", keys: 2)
    let last = try page.number(0).map { ($0, page.text(1) ?? "") }
    return try await api.list(
      page, IntentRoutes.intent,
      Intents.page(of: call.workspace, after: last, limit: page.rowsWanted))
  }

  func addIntent(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    let name = try object.requiredString("name", bytesMax: APILimits.nameBytes)
    let content = try await content(object, name: name, stored: nil, in: call.workspace)
    return try await api.row(
      "intent", IntentRoutes.intent, status: 201, Intents.add(name, content, by: call.actor),
      orElse: .conflict(
        "The workspace already has an intent with this name, or has \(Intents.countMax) intents, "
          + "the most it may have. Choose another name, or delete an intent first."))
  }

  /// Members that the body does not have remain unchanged.
  func putIntent(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    let name = call.parameters.text("name")
    let stored = try await api.database.run(Intents.find(name, in: call.workspace))
    guard let stored else { throw .noSuchResource }
    let content = try await content(object, name: name, stored: stored, in: call.workspace)
    return try await api.row(
      "intent", IntentRoutes.intent, Intents.change(name, content, by: call.actor))
  }

  func deleteIntent(_ call: Call) async throws(Problem) -> APIResponse {
    try await api.delete(Intents.delete(call.parameters.text("name"), by: call.actor))
  }

  /// The checked members of the body.
  ///
  /// - Parameter stored: keyword and kind of the intent to change; nil: it is new.
  private func content(
    _ object: JSONObject, name: String, stored: (keyword: String, matchKind: String)?,
    in workspace: Identifier
  ) async throws(Problem) -> Intents.Content {
    guard (1...100).contains(name.unicodeScalars.count), isPathName(name) else {
      throw .invalidMember("name", "1 to 100 characters without slashes and control characters")
    }
    let keyword = try object.string("keyword", bytesMax: APILimits.keywordBytes)
    if keyword?.isEmpty ?? (stored == nil) { throw .missing("keyword") }
    let kind = try object.word("match_kind", of: IntentRoutes.matchKinds)
    // A change of the kind alone is checked too: the stored text may be no valid pattern.
    if keyword != nil || kind != nil {
      try await checkPattern(
        keyword ?? stored?.keyword ?? "", isRegex: (kind ?? stored?.matchKind) == "regex",
        of: name, in: workspace)
    }
    return Intents.Content(
      keyword: keyword, matchKind: kind, replies: try replies(in: object),
      position: try object.int("position", in: 0...1_000_000),
      isEnabled: try object.bool("is_enabled"))
  }

  /// The array of replies as the received text.
  private func replies(in object: JSONObject) throws(Problem) -> [UInt8]? {
    guard let array = try object.array("replies") else { return nil }
    for reply in try object.objects("replies", countMax: APILimits.replies) {
      let text = try reply.string("text", bytesMax: ReplyPayload.textBytes)
      let name = try reply.string("object", bytesMax: APILimits.tagBytes)
      let isHandover = try reply.bool("handover") ?? false
      if try reply.string("team", bytesMax: APILimits.tagBytes) != nil, !isHandover {
        throw .member("team", in: reply, "belongs to a handover. Send it with {\"handover\":true}.")
      }
      let kinds = [text?.isEmpty == false, name?.isEmpty == false, isHandover]
      guard kinds.count(where: { $0 }) == 1 else {
        throw .invalidMember(
          "replies", "an array of {\"text\":…}, {\"object\":…} and {\"handover\":true}")
      }
    }
    return array
  }

  /// Compiles the pattern as the bot will, within the budget that the workspace's patterns share,
  /// on another thread.
  private func checkPattern(
    _ keyword: String, isRegex: Bool, of name: String, in workspace: Identifier
  ) async throws(Problem) {
    let others =
      isRegex ? try await api.database.run(BotScript.patterns(of: workspace, but: name)) : []
    let fault = try await api.runOnPatternThread(for: workspace) { () -> PatternFault? in
      var budget = PatternBudget.workspace
      // A stored pattern that is invalid spends its share of the budget too.
      for other in others { _ = try? Pattern(other, within: &budget) }
      do throws(PatternFault) {
        _ = try Intent(
          name: name, keyword: keyword, kind: isRegex ? .regex : .contains, replies: [],
          within: &budget)
        return nil
      } catch {
        return error
      }
    }
    if let fault { throw .pattern(fault) }
  }
}
