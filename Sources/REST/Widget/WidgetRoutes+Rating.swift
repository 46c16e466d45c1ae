/// A visitor's rating of a conversation; a later one replaces it.
import Conversations
import Directory
import JSON
import Kernel
import Primitives

extension WidgetRoutes {
  func rate(_ call: VisitorCall) async throws(Problem) -> APIResponse {
    let session = try ownSession(call)
    let object = try call.request.jsonObject()
    guard let rating = try object.int("rating", in: 1...5) else { throw .missing("rating") }
    let comment = try object.string("comment", bytesMax: APILimits.commentBytes)
      .map { String(withoutControls($0).trimmingBlanks) }
      .flatMap { $0.isEmpty ? nil : $0 }
    guard (comment?.unicodeScalars.count ?? 0) <= APILimits.commentCharacters else {
      throw .invalidMember("comment", "at most \(APILimits.commentCharacters) characters long")
    }
    guard
      try await api.settings(of: call.workspace, now: call.request.now).settings.rating.isEnabled
    else { throw .ratingDisabled }
    let isChanged = try await api.database.run(
      Rating(
        session: session, workspace: call.workspace, visitor: call.visitor, rating: rating,
        comment: comment, line: .random(at: call.request.now)
      ).statement)
    guard let isChanged else { throw .noSuchSession }
    if isChanged { api.sessions.changed(session: session) }
    return APIResponse(status: 204)
  }

  /// JSON escapes a control character with six bytes, so that a comment would exceed the payload of
  /// its log entry. Tabs and line feeds remain.
  private func withoutControls(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.filter {
          $0.properties.generalCategory != .control || $0 == "\n" || $0 == "\t"
        }))
  }

  /// The conversation that the path names, if the visitor's token gives access to it.
  func ownSession(_ call: VisitorCall) throws(Problem) -> Identifier {
    let session = call.parameters.id("id")
    guard call.sessions.contains(session) else { throw .noSuchSession }
    return session
  }
}

extension Problem {
  static let ratingDisabled = Problem.forbidden(
    "rating_disabled", "The workspace has disabled ratings.")
}
