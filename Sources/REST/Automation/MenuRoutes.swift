/// Menu bars of the widget, of which at most one is published.
import Automation
import Directory
import JSON

struct MenuRoutes: RouteGroup {
  let api: API

  static let menu = RowShape([
    ("id", .id), ("name", .text), ("actions", .json(.array(of: .object))),
    ("image_url", .text),
    ("status", .word(RichMenus.statuses)), ("sync_status", .word(RichMenus.syncStatuses)),
    ("sync_error", .optional(.text)), ("created_at", .time), ("updated_at", .time),
  ])

  func listMenus(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("rich_menus", keys: 2)
    return try await api.list(
      page, MenuRoutes.menu,
      RichMenus.page(of: call.workspace, after: try page.position, limit: page.rowsWanted))
  }

  func addMenu(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    return try await api.row(
      "rich_menu", MenuRoutes.menu, status: 201,
      RichMenus.add(
        call.newID(), name: try object.requiredString("name", bytesMax: APILimits.menuNameBytes),
        actions: try actions(in: object), imageURL: try imageURL(in: object),
        status: try object.word("status", of: RichMenus.statuses), by: call.actor),
      orElse: .tooMany("menus", RichMenus.countMax))
  }

  func changeMenu(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    return try await api.row(
      "rich_menu", MenuRoutes.menu,
      RichMenus.change(
        call.id, name: try object.nonEmptyString("name", bytesMax: APILimits.menuNameBytes),
        actions: try actions(in: object), imageURL: try imageURL(in: object),
        status: try object.word("status", of: RichMenus.statuses), by: call.actor))
  }

  func deleteMenu(_ call: Call) async throws(Problem) -> APIResponse {
    try await api.delete(RichMenus.delete(call.id, by: call.actor))
  }

  /// An empty one takes the picture away.
  private func imageURL(in object: JSONObject) throws(Problem) -> String? {
    let url = try object.string("image_url", bytesMax: ReplyPayload.valueBytes)
    if let url, !url.isEmpty, !ReplyPayload.isLink(url) {
      throw ReplyPayload.notLink("image_url", in: object)
    }
    return url
  }

  /// The array of actions as the received text.
  private func actions(in object: JSONObject) throws(Problem) -> [UInt8]? {
    guard let array = try object.array("actions") else { return nil }
    for action in try object.objects("actions", countMax: APILimits.menuActions) {
      _ = try action.requiredString("label", bytesMax: ReplyPayload.labelBytes)
      guard let type = try action.word("type", of: ["message", "url", "operator"]) else {
        throw .missing("type", in: action)
      }
      let value = try action.string("value", bytesMax: ReplyPayload.valueBytes) ?? ""
      switch type {
      case "url" where !ReplyPayload.isLink(value): throw ReplyPayload.notLink("value", in: action)
      case "message" where value.isEmpty: throw .missing("value", in: action)
      default: break
      }
    }
    return array
  }
}
