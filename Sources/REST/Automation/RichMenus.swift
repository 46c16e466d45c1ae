/// Menu bars of actions in the widget, of which one is published.
import Directory
import JSON
import Postgres
import Primitives

struct MenuRoutes: RouteGroup {
  let rest: API

  static let menu = RowShape([
    ("id", .id), ("name", .text), ("actions", .json(.array(of: .object))),
    ("status", .word(menuStates)), ("created_at", .time), ("updated_at", .time),
  ])

  func listMenus(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("rich_menus", keys: 2)
    return try await rest.list(
      page, MenuRoutes.menu,
      Query(
        """
        SELECT m.id, m.name, m.actions::text, m.status, m.created_at, m.updated_at,
          (extract(epoch FROM m.created_at) * 1000000)::bigint::text, m.id::text
        FROM rich_menus m WHERE m.workspace_id = $1::uuid
          AND ($2::timestamptz IS NULL OR (m.created_at, m.id) > ($2::timestamptz, $3::uuid))
        ORDER BY m.created_at, m.id LIMIT $4::bigint
        """, [.uuid(call.workspace), try page.time(0), try page.id(1), page.rowsWanted]))
  }

  func addMenu(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try rest.declaredObject(call.request)
    let name = try object.requiredString("name", bytesMax: APILimits.menuNameBytes)
    return try await rest.answer(
      "rich_menu", MenuRoutes.menu, status: 201,
      Query(
        """
        WITH rested AS (
          UPDATE rich_menus SET status = 'inactive'
          WHERE workspace_id = $1::uuid AND status = 'published' AND $7::text = 'published'
            AND (SELECT count(*) FROM rich_menus WHERE workspace_id = $1::uuid) < $8::bigint
        ), made AS (
          INSERT INTO rich_menus (workspace_id, id, name, actions, status)
          SELECT $1::uuid, $4::uuid, $5::text, coalesce($6::jsonb, '[]'),
            coalesce($7::text, 'draft')
          WHERE (SELECT count(*) FROM rich_menus WHERE workspace_id = $1::uuid) < $8::bigint
          RETURNING id, name, actions::text, status, created_at, updated_at
        ), noted AS (
          INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
          SELECT $1::uuid, $2::uuid, $3::text, 'rich_menu.added', id,
            jsonb_build_object('status', status)
          FROM made
        )
        SELECT * FROM made
        """,
        call.actor + [
          .uuid(rest.identifier(call.request.now)), .text(name),
          try checkedActions(object).map { .json($0) } ?? .null,
          .text(try object.word("status", of: MenuRoutes.menuStates)), .int(APILimits.menus),
        ]),
      orElse: .tooMany("menus", APILimits.menus))
  }

  /// The row of the published menu is locked before this one is changed, so that of two that are
  /// published at once one stays.
  func changeMenu(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try rest.declaredObject(call.request)
    let name = try object.string("name", bytesMax: APILimits.menuNameBytes)
    if name?.isEmpty == true { throw .wrongType("name", "a string that is not empty") }
    return try await rest.answer(
      "rich_menu", MenuRoutes.menu,
      Query(
        """
        WITH target AS (
          SELECT id FROM rich_menus WHERE workspace_id = $1::uuid
            AND (id = $4::uuid OR $7::text = 'published') ORDER BY id FOR UPDATE
        ), made AS (
          UPDATE rich_menus m SET name = coalesce($5::text, m.name),
            actions = coalesce($6::jsonb, m.actions), status = coalesce($7::text, m.status)
          FROM target t WHERE m.workspace_id = $1::uuid AND m.id = t.id AND m.id = $4::uuid
          RETURNING m.id, m.name, m.actions::text, m.status, m.created_at, m.updated_at
        ), rested AS (
          UPDATE rich_menus m SET status = 'inactive' FROM target t, made
          WHERE m.workspace_id = $1::uuid AND m.id = t.id AND m.id <> made.id
            AND m.status = 'published' AND $7::text = 'published'
        ), noted AS (
          INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
          SELECT $1::uuid, $2::uuid, $3::text, 'rich_menu.changed', id,
            jsonb_build_object('status', status)
          FROM made
        )
        SELECT * FROM made
        """,
        call.actor + [
          .uuid(call.parameters.id("id")), .text(name),
          try checkedActions(object).map { .json($0) } ?? .null,
          .text(try object.word("status", of: MenuRoutes.menuStates)),
        ]))
  }

  func deleteMenu(_ call: Call) async throws(Problem) -> APIResponse {
    try await rest.remove(
      Query(
        """
        WITH gone AS (
          DELETE FROM rich_menus WHERE workspace_id = $1::uuid AND id = $4::uuid RETURNING id
        )
        INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id)
        SELECT $1::uuid, $2::uuid, $3::text, 'rich_menu.deleted', id FROM gone RETURNING id
        """, call.actor + [.uuid(call.parameters.id("id"))]))
  }

  static let menuStates = ["draft", "published", "inactive"]

  private func checkedActions(_ object: JSONObject) throws(Problem) -> [UInt8]? {
    guard let text = try object.array("actions") else { return nil }
    for action in try ReplyPayload.items(object, "actions", countMax: APILimits.menuActions) {
      _ = try action.requiredString("label", bytesMax: ReplyPayload.labelBytes)
      guard let type = try action.word("type", of: ["message", "url", "operator"]) else {
        throw .missing("type")
      }
      let value = try action.string("value", bytesMax: ReplyPayload.valueBytes) ?? ""
      switch type {
      case "url" where !ReplyPayload.isLink(value):
        throw .wrongType("value", "a URL that begins with https:// or http://")
      case "message" where value.isEmpty: throw .missing("value")
      default: break
      }
    }
    return text
  }
}
