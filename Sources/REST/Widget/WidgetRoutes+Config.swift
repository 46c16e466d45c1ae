/// The widget's configuration: its appearance, and whether an operator is available. The page
/// requests it before the chat is opened.
import Directory
import JSON
import Primitives

extension WidgetRoutes {
  func widgetConfig(_ request: APIRequest) async throws(Problem) -> APIResponse {
    if !request.isExempt { try api.widgetLimits.configs.take(request.peer, request.now) }
    guard let key = try QueryString(request.query)["workspace"] else {
      throw .invalid(
        "The parameter “workspace” is missing. Send the workspace's public key from the snippet.")
    }
    let (workspace, _) = try await self.workspace(key, request)
    let loaded = try await api.settings(of: workspace.id, now: request.now)
    let presence = try await api.database.run(WidgetPresence.of(workspace.id))
    let settings = loaded.settings
    return .json(
      [UInt8].object { json in
        append(settings.widget, workspace, to: &json)
        json.appendObject("hours") {
          $0.appendMember("is_open", loaded.businessHours.isOpen(at: request.now))
          $0.appendMember("opens_at", loaded.businessHours.opensAt(from: request.now))
        }
        json.appendMember("operators_available", presence.isSomebodyAvailable)
        json.appendMember("prechat", json: settings.prechat.value.text)
        json.appendMember("offline", json: settings.offline.value.text)
        if let menu = presence.menu {
          json.appendObject("menu") {
            $0.appendMember("id", menu.id)
            $0.appendMember("actions", json: menu.actions)
          }
        } else {
          json.appendMember("menu", json: "null")
        }
        json.appendMember("rating", json: settings.rating.value.text)
        json.appendObject("queue") {
          $0.appendMember("show_position", settings.queue.showsPosition)
          $0.appendMember("close_after_minutes", Int64(settings.queue.closeAfterMinutes))
        }
      })
  }

  private func append(
    _ widget: WorkspaceSettings.Widget, _ workspace: Workspace, to json: inout [UInt8]
  ) {
    json.appendObject("workspace") { $0.appendMember("name", widget.name ?? workspace.name) }
    json.appendMember("greeting", json: widget.greeting?.value.text ?? Array("null".utf8))
    json.appendMember("accent", orNull: widget.accent)
    json.appendMember("locale", widget.locale)
    json.appendMember("theme", widget.theme)
    json.appendMember("position", widget.position)
    json.appendMember("preview", widget.preview)
    json.appendMember("sound", widget.sound)
    json.appendMember("teaser", widget.teaser)
  }
}
