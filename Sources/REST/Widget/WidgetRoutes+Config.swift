/// The widget's configuration: its appearance, and whether an operator is available. The page
/// requests it before the chat is opened.
import Conversations
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
    let prechat = try await withTeams(settings.prechat, of: workspace.id)
    return .json(
      [UInt8].object { json in
        append(settings.widget, workspace, to: &json)
        json.appendObject("hours") {
          $0.appendMember("is_open", loaded.businessHours.isOpen(at: request.now))
          $0.appendMember("opens_at", loaded.businessHours.opensAt(from: request.now))
        }
        json.appendMember("operators_available", presence.isSomebodyAvailable)
        json.appendMember("prechat", json: prechat.value.text)
        json.appendMember("offline", json: settings.offline.value.text)
        if let menu = presence.menu {
          json.appendObject("menu") {
            $0.appendMember("id", menu.id)
            $0.appendMember("actions", json: menu.actions)
          }
        } else {
          json.appendMember("menu", json: "null")
        }
        json.appendObject("attachments") {
          let attachments = settings.attachments
          $0.appendMember("enabled", attachments.isEnabled && api.options.attachments != nil)
          $0.appendMember("bytes_max", Int64(attachments.bytesMax))
          $0.appendMember("types", texts: attachments.types)
        }
        json.appendMember("rating", json: settings.rating.value.text)
        json.appendObject("queue") {
          $0.appendMember("show_position", settings.queue.showsPosition)
          $0.appendMember("close_after_minutes", Int64(settings.queue.closeAfterMinutes))
        }
      })
  }

  /// A field of the type `team` becomes a select with the names of the teams; without a team it is
  /// left out.
  private func withTeams(
    _ prechat: WorkspaceSettings.Prechat, of workspace: Identifier
  ) async throws(Problem) -> WorkspaceSettings.Prechat {
    let type = WorkspaceSettings.Prechat.Field.teamType
    guard prechat.fields.contains(where: { $0.type == type }) else { return prechat }
    var prechat = prechat
    let names = try await api.database.run(Teams.names(in: workspace))
    if names.isEmpty { prechat.fields.removeAll { $0.type == type } }
    for index in prechat.fields.indices where prechat.fields[index].type == type {
      prechat.fields[index].key = WidgetRoutes.teamField
      prechat.fields[index].type = "select"
      prechat.fields[index].options = names
    }
    return prechat
  }

  /// The key of that field, which no attribute has: the widget sends its value as the team.
  private static let teamField = "chirrup:team"

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
