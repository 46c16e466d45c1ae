/// Saved views: filters of the list of open conversations by name.
///
/// The filters are parameters of the list. The code that reads the parameters checks them, so that
/// each view is a list that exists.
import Conversations
import Directory
import JSON
import Postgres
import Primitives

struct ViewRoutes: RouteGroup {
  let api: API

  static let view = SharedItemRoutes.shape("filters", .viewFilters, figure: "count")

  /// The filters that are texts.
  static let textNames = ["assignee", "team", "tag", "language", "attribute", "channel"]

  private var items: SharedItemRoutes {
    SharedItemRoutes(
      api: api, items: .views, one: "view", list: "views", shape: ViewRoutes.view, noun: "views",
      readsMuch: true)
  }

  func listViews(_ call: Call) async throws(Problem) -> APIResponse { try await items.page(call) }

  func addView(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    guard let filters = try filters(in: object, call) else { throw .missing("filters") }
    return try await items.add(object, content: filters, call)
  }

  /// Members that the body does not have remain unchanged; the filters are replaced as a whole.
  func changeView(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    return try await items.change(object, content: try filters(in: object, call), call)
  }

  func deleteView(_ call: Call) async throws(Problem) -> APIResponse {
    try await items.delete(call)
  }

  /// The filters as they are stored; nil if the body has none.
  private func filters(in object: JSONObject, _ call: Call) throws(Problem) -> [UInt8]? {
    guard let given = try object.nested("filters") else { return nil }
    let status = try given.word("status", of: OpenFilters.statuses) ?? "open"
    var texts = ["status": status]
    for name in ViewRoutes.textNames {
      texts[name] = try given.nonEmptyString(name, bytesMax: APILimits.filterBytes)
    }
    let waiting = try given.int("waiting_minutes", in: 1...OpenFilters.minutesMax)
    let due = try given.int("due_minutes", in: 0...OpenFilters.minutesMax)
    do throws(Problem) {
      _ = try ConversationList(
        QueryString(values: texts), me: call.caller.id, workspace: call.workspace)
    } catch {
      throw error.at(object.pointer(to: "filters"))
    }
    var stored = texts.mapValues { JSONValue.string($0) }
    if let waiting { stored["waiting_minutes"] = .int(Int(waiting)) }
    if let due { stored["due_minutes"] = .int(Int(due)) }
    return JSONValue.object(stored).text
  }
}

extension APILimits {
  /// A filter of a view; an attribute with its name is the longest.
  static let filterBytes = attributeNameBytes + 1 + attributeTextBytes
}
