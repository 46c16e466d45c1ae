/// The words by which a workspace sorts its conversations.
import Directory
import JSON
import Postgres
import Primitives

struct TagRoutes: RouteGroup {
  let rest: API

  static let tag = RowShape([
    ("name", .text), ("colour", .optional(.text)), ("conversations", .int), ("created_at", .time),
  ])

  func listTags(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("tags")
    return try await rest.list(
      page, TagRoutes.tag,
      Query(
        """
        SELECT t.name, t.colour,
          (SELECT count(*) FROM session_tags s WHERE s.workspace_id = $1::uuid AND s.tag = t.name),
          t.created_at, t.name
        FROM tags t WHERE t.workspace_id = $1::uuid AND ($2::text IS NULL OR t.name > $2::text)
        ORDER BY t.name LIMIT $3::bigint
        """, [.uuid(call.workspace), page.key(0), page.rowsWanted]))
  }

  func putTag(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try rest.declaredObject(call.request)
    let colour = try object.string("colour", bytesMax: 7)
    if let colour, !isColour(colour) { throw .wrongType("colour", "#rrggbb in small letters") }
    let name = try tagName(call.parameters.text("name"))
    let isConditionalCreate = try call.isConditionalCreate
    return try await rest.answer(
      "tag", TagRoutes.tag,
      Query(
        """
        WITH made AS (
          INSERT INTO tags (workspace_id, name, colour)
          SELECT $1::uuid, $4::text, $5::text
          WHERE EXISTS (SELECT FROM tags WHERE workspace_id = $1::uuid AND name = $4::text)
            OR (SELECT count(*) FROM tags WHERE workspace_id = $1::uuid) < $6::bigint
          ON CONFLICT (workspace_id, name) DO UPDATE SET colour = excluded.colour
            WHERE NOT $7::boolean
          RETURNING name, colour, created_at
        ), noted AS (
          INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
          SELECT $1::uuid, $2::uuid, $3::text, 'tag.changed', jsonb_build_object('name', name)
          FROM made
        )
        SELECT m.name, m.colour,
          (SELECT count(*) FROM session_tags s WHERE s.workspace_id = $1::uuid AND s.tag = m.name),
          m.created_at
        FROM made m
        """,
        call.actor + [
          .text(name), .text(colour), .int(APILimits.tags), .bool(isConditionalCreate),
        ]),
      orElse: try await rest.unwritten(
        Query(
          "SELECT name FROM tags WHERE workspace_id = $1::uuid AND name = $2::text",
          [.uuid(call.workspace), .text(name)]),
        isConditionalCreate: isConditionalCreate, orElse: .tooMany("tags", APILimits.tags)))
  }

  /// Conversations lose it too.
  func deleteTag(_ call: Call) async throws(Problem) -> APIResponse {
    try await rest.remove(
      Query(
        """
        WITH gone AS (
          DELETE FROM tags WHERE workspace_id = $1::uuid AND name = $4::text RETURNING name
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, details)
        SELECT $1::uuid, $2::uuid, $3::text, 'tag.deleted', jsonb_build_object('name', name)
        FROM gone RETURNING id
        """, call.actor + [.text(call.parameters.text("name"))]))
  }
}

/// As the table wants it, and without what a path cannot hold.
func tagName(_ name: String) throws(Problem) -> String {
  guard (1...50).contains(name.unicodeScalars.count), name.first != " ", name.last != " ",
    isPathName(name)
  else {
    throw .invalid(
      "A tag has 1 to 50 characters, no slash, no line break and no blank at its ends.")
  }
  return name
}

/// `#rrggbb` in small letters.
private func isColour(_ text: String) -> Bool {
  text.utf8.count == 7 && text.utf8.first == UInt8(ascii: "#")
    && text.utf8.dropFirst().allSatisfy {
      (0x30...0x39).contains($0) || (0x61...0x66).contains($0)
    }
}
