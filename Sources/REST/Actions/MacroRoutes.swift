/// Macros: lists of actions by name.
import Directory
import JSON
import Postgres
import Primitives

struct MacroRoutes: RouteGroup {
  let api: API

  static let macro = SharedItemRoutes.shape("actions", .array(of: .object))

  private var items: SharedItemRoutes {
    SharedItemRoutes(
      api: api, items: .macros, one: "macro", list: "macros", shape: MacroRoutes.macro,
      noun: "macros")
  }

  func listMacros(_ call: Call) async throws(Problem) -> APIResponse { try await items.page(call) }

  func addMacro(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    guard let actions = try await actions(in: object, call) else { throw .missing("actions") }
    return try await items.add(object, content: actions, call)
  }

  /// Members that the body does not have remain unchanged.
  func changeMacro(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    return try await items.change(object, content: try await actions(in: object, call), call)
  }

  func deleteMacro(_ call: Call) async throws(Problem) -> APIResponse {
    try await items.delete(call)
  }

  func runMacro(_ call: Call) async throws(Problem) -> APIResponse {
    let bulk = BulkRoutes(api)
    let sessions = try bulk.sessions(in: try call.request.jsonObject())
    let rows = try await api.database.rows(
      SharedItems.macros.find(call.id, for: items.reader(call)))
    guard !rows.isEmpty, let stored = rows.bytes(0, 4) else { throw .noSuchResource }
    return try await bulk.run(try parsed(stored), of: call.id, on: sessions, call)
  }

  /// - Parameter stored: the array of the table, which was checked when it was stored.
  private func parsed(_ stored: [UInt8]) throws(Problem) -> [ConversationAction] {
    let object: JSONObject
    do throws(JSONObject.Fault) {
      object = try JSONObject([UInt8].object { $0.appendMember("actions", json: stored) })
    } catch {
      throw .json(error)
    }
    return try ConversationAction.list(in: object) ?? []
  }

  /// The array of actions as the received text, checked; nil if the body has none.
  private func actions(in object: JSONObject, _ call: Call) async throws(Problem) -> [UInt8]? {
    guard let actions = try ConversationAction.list(in: object) else { return nil }
    _ = try await api.resolved(actions, in: call.workspace)
    return try object.array("actions")
  }
}
