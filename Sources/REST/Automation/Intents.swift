/// What a visitor may ask for, and the replies that answer it when nobody has the conversation.
import Automation
import Directory
import JSON
import Postgres
import Primitives

struct IntentRoutes: RouteGroup {
  let rest: API

  static let intent = RowShape([
    ("name", .text), ("keyword", .text), ("match_kind", .word(matchKinds)),
    ("replies", .json(.array(of: .object))), ("position", .int), ("is_enabled", .bool),
  ])

  static let matchKinds = ["exact", "contains", "starts_with", "regex"]

  /// In the order in which they are tried.
  func listIntents(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("intents", keys: 2)
    return try await rest.list(
      page, IntentRoutes.intent,
      Query(
        """
        SELECT i.name, i.keyword, i.match_kind, i.replies::text, i.position, i.is_enabled,
          i.position::text, i.name
        FROM intents i
        WHERE i.workspace_id = $1::uuid
          AND ($2::bigint IS NULL OR (i.position, i.name) > ($2::bigint, $3::text))
        ORDER BY i.position, i.name LIMIT $4::bigint
        """, [.uuid(call.workspace), try page.number(0), page.key(1), page.rowsWanted]))
  }

  func addIntent(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try rest.declaredObject(call.request)
    let name = try object.requiredString("name", bytesMax: APILimits.nameBytes)
    return try await rest.answer(
      "intent", IntentRoutes.intent, status: 201,
      Query(
        """
        WITH made AS (
          INSERT INTO intents
            (workspace_id, name, keyword, match_kind, replies, position, is_enabled)
          SELECT $1::uuid, $4::text, $5::text, coalesce($6::text, 'contains'),
            coalesce($7::jsonb, '[]'), coalesce($8::bigint, 0), coalesce($9::boolean, true)
          WHERE (SELECT count(*) FROM intents WHERE workspace_id = $1::uuid) < $10::bigint
          ON CONFLICT (workspace_id, name) DO NOTHING
          RETURNING name, keyword, match_kind, replies::text, position, is_enabled
        ), noted AS (
          INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
          SELECT $1::uuid, $2::uuid, $3::text, 'intent.added', jsonb_build_object('name', name)
          FROM made
        )
        SELECT * FROM made
        """, try await parameters(call, object, name: name, before: nil)),
      orElse: .conflict(
        "There is an intent of this name, or there are \(APILimits.intents) already."))
  }

  /// What the body does not mention stays.
  func putIntent(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try rest.declaredObject(call.request)
    let name = call.parameters.text("name")
    let before = try await rest.run(
      Statement(
        Query(
          """
          SELECT keyword, match_kind FROM intents
          WHERE workspace_id = $1::uuid AND name = $2::text
          """, [.uuid(call.workspace), .text(name)])
      ) { $0.isEmpty ? nil : ($0.text(0, 0) ?? "", $0.text(0, 1) ?? "") })
    guard let before else { throw .noSuchThing }
    return try await rest.answer(
      "intent", IntentRoutes.intent,
      Query(
        """
        WITH made AS (
          UPDATE intents SET keyword = coalesce($5::text, keyword),
            match_kind = coalesce($6::text, match_kind), replies = coalesce($7::jsonb, replies),
            position = coalesce($8::bigint, position),
            is_enabled = coalesce($9::boolean, is_enabled)
          WHERE workspace_id = $1::uuid AND name = $4::text AND $10::bigint > 0
          RETURNING name, keyword, match_kind, replies::text, position, is_enabled
        ), noted AS (
          INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
          SELECT $1::uuid, $2::uuid, $3::text, 'intent.changed', jsonb_build_object('name', name)
          FROM made
        )
        SELECT * FROM made
        """, try await parameters(call, object, name: name, before: before)))
  }

  func deleteIntent(_ call: Call) async throws(Problem) -> APIResponse {
    try await rest.remove(
      Query(
        """
        WITH gone AS (
          DELETE FROM intents WHERE workspace_id = $1::uuid AND name = $4::text RETURNING name
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
        SELECT $1::uuid, $2::uuid, $3::text, 'intent.deleted', jsonb_build_object('name', name)
        FROM gone RETURNING id
        """, call.actor + [.text(call.parameters.text("name"))]))
  }

  /// - Parameter before: keyword and kind of the intent that is changed; nil: it is new.
  private func parameters(
    _ call: Call, _ object: JSONObject, name: String, before: (keyword: String, kind: String)?
  ) async throws(Problem) -> [Parameter] {
    guard (1...100).contains(name.unicodeScalars.count), isPathName(name) else {
      throw .wrongType("name", "1 to 100 characters without slashes and line breaks")
    }
    let keyword = try object.string("keyword", bytesMax: APILimits.keywordBytes)
    if keyword?.isEmpty ?? (before == nil) { throw .missing("keyword") }
    let kind = try object.word("match_kind", of: IntentRoutes.matchKinds)
    // Also what stays: a text need be no pattern.
    if keyword != nil || kind != nil {
      try await checkPattern(
        keyword ?? before?.keyword ?? "", isRegex: (kind ?? before?.kind) == "regex",
        of: name, in: call.workspace)
    }
    let replies = try checkedReplies(object)
    let position = try object.int("position", in: 0...1_000_000)
    let isEnabled = try object.bool("is_enabled")
    return call.actor + [
      .text(name), .text(keyword), .text(kind), replies.map { .json($0) } ?? .null,
      position.map { .int($0) } ?? .null, isEnabled.map { .bool($0) } ?? .null,
      .int(APILimits.intents),
    ]
  }

  /// Texts, or names of reply objects, as the text that came.
  private func checkedReplies(_ object: JSONObject) throws(Problem) -> [UInt8]? {
    guard let text = try object.array("replies") else { return nil }
    for reply in try ReplyPayload.items(object, "replies", countMax: APILimits.replies) {
      let said = try reply.string("text", bytesMax: ReplyPayload.textBytes)
      let name = try reply.string("object", bytesMax: APILimits.tagBytes)
      let isHandover = try reply.bool("handover") ?? false
      let kinds = [said?.isEmpty == false, name?.isEmpty == false, isHandover]
      guard kinds.count(where: { $0 }) == 1 else {
        throw .wrongType(
          "replies", "a list of {\"text\":…}, {\"object\":…} and {\"handover\":true}")
      }
    }
    return text
  }

  /// As the bots will compile it, with the workspace's other patterns; and not on the loop.
  private func checkPattern(
    _ keyword: String, isRegex: Bool, of name: String, in workspace: Identifier
  ) async throws(Problem) {
    let others = isRegex ? try await rest.run(BotScript.patterns(of: workspace, but: name)) : []
    let fault = try await rest.aside(for: workspace) { () -> PatternFault? in
      var budget = PatternBudget.workspace
      // One that is skipped already costs its share all the same.
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
