/// The page that a visitor opens while a conversation goes on.
import Conversations
import Directory
import JSON
import Primitives

extension WidgetRoutes {
  /// A token request has a page too, but a token lasts: until the next one operators would see the
  /// page on which it was issued.
  func visitPage(_ call: VisitorCall) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    let page = try object.shortText("page")
    guard !page.isEmpty else { throw .missing("page") }
    let changed = try await api.database.run(
      VisitedPage.note(
        page, title: try object.shortText("title"), for: call.sessions, of: call.visitor,
        browser: call.tokenVisitor, in: call.workspace, now: call.request.now))
    for session in changed { api.sessions.changed(session: session) }
    return APIResponse(status: 204)
  }
}
