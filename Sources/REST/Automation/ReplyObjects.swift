/// Reusable replies: what intents and bots send, and the canned replies of operators (a text with a
/// shortcut).
import Directory
import JSON
import Postgres
import Primitives

struct ReplyObjectRoutes: RouteGroup {
  let rest: API

  static let replyObject = RowShape([
    ("object_id", .text), ("object_type", .word(ReplyPayload.types)), ("payload", .json(.object)),
    ("alt_text", .optional(.text)), ("shortcut", .optional(.text)), ("updated_at", .time),
  ])

  func listReplyObjects(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("reply_objects")
    return try await rest.list(
      page, ReplyObjectRoutes.replyObject,
      Query(
        """
        SELECT object_id, object_type, payload::text, alt_text, shortcut, updated_at, object_id
        FROM reply_objects
        WHERE workspace_id = $1::uuid AND ($2::text IS NULL OR object_id > $2::text)
        ORDER BY object_id LIMIT $3::bigint
        """, [.uuid(call.workspace), page.key(0), page.rowsWanted]))
  }

  func putReplyObject(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try rest.declaredObject(call.request)
    let id = call.parameters.text("object_id")
    guard id.unicodeScalars.count <= 50, isPathName(id) else {
      throw .invalid("The name of a reply object has 1 to 50 characters.")
    }
    let type = try object.word("object_type", of: ReplyPayload.types) ?? "text"
    let payload = try ReplyPayload.checked(object, type: type)
    let shortcut = try object.string("shortcut", bytesMax: APILimits.shortcutBytes)
    if let shortcut, !isShortcut(shortcut) {
      throw .wrongType("shortcut", "1 to 32 characters without blanks and slashes")
    }
    let altText = try object.string("alt_text", bytesMax: APILimits.altTextBytes)
    let isConditionalCreate = try call.isConditionalCreate
    let rows: Rows
    do throws(QueryFailure) {
      rows = try await rest.database.run(
        Query(
          ReplyObjectRoutes.putReplyObjectSQL,
          call.actor + [
            .text(id), .text(type), .json(payload), .text(altText), .text(shortcut),
            .int(APILimits.replyObjects), .bool(isConditionalCreate),
          ]))
    } catch {
      if case .refused(let state, _) = error, state.code == "23505" {
        throw .conflict("Another reply has this shortcut; choose another one.")
      }
      throw rest.problem(for: error)
    }
    guard !rows.isEmpty else {
      throw try await rest.unwritten(
        Query(
          """
          SELECT object_id FROM reply_objects
          WHERE workspace_id = $1::uuid AND object_id = $2::text
          """, [.uuid(call.workspace), .text(id)]),
        isConditionalCreate: isConditionalCreate,
        orElse: .tooMany("reply objects", APILimits.replyObjects))
    }
    return .json(
      [UInt8].object { json in
        json.appendKey("reply_object")
        ReplyObjectRoutes.replyObject.append(rows, 0, to: &json)
      })
  }

  private static let putReplyObjectSQL: StaticString = """
    WITH made AS (
      INSERT INTO reply_objects (workspace_id, object_id, object_type, payload, alt_text, shortcut)
      SELECT $1::uuid, $4::text, $5::text, $6::jsonb, $7::text, $8::text
      WHERE EXISTS (
          SELECT FROM reply_objects WHERE workspace_id = $1::uuid AND object_id = $4::text)
        OR (SELECT count(*) FROM reply_objects WHERE workspace_id = $1::uuid) < $9::bigint
      ON CONFLICT (workspace_id, object_id) DO UPDATE SET object_type = excluded.object_type,
        payload = excluded.payload, alt_text = excluded.alt_text, shortcut = excluded.shortcut
        WHERE NOT $10::boolean
      RETURNING object_id, object_type, payload::text, alt_text, shortcut, updated_at
    ), noted AS (
      INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
      SELECT $1::uuid, $2::uuid, $3::text, 'reply_object.changed',
        jsonb_build_object('object_id', object_id)
      FROM made
    )
    SELECT * FROM made
    """

  func deleteReplyObject(_ call: Call) async throws(Problem) -> APIResponse {
    try await rest.remove(
      Query(
        """
        WITH gone AS (
          DELETE FROM reply_objects WHERE workspace_id = $1::uuid AND object_id = $4::text
          RETURNING object_id
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
        SELECT $1::uuid, $2::uuid, $3::text, 'reply_object.deleted',
          jsonb_build_object('object_id', object_id)
        FROM gone RETURNING id
        """, call.actor + [.text(call.parameters.text("object_id"))]))
  }

  /// As the table wants it.
  private func isShortcut(_ text: String) -> Bool {
    (1...32).contains(text.unicodeScalars.count)
      && text.unicodeScalars.allSatisfy {
        $0.value > 0x20 && $0 != "/" && $0.value != 0x7F && !$0.properties.isWhitespace
      }
  }
}
