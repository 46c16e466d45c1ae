/// How a visitor found a conversation: one rating for each, the last one counts.
import Conversations
import Directory
import JSON
import Postgres
import Primitives

extension WidgetRoutes {
  func rate(_ call: VisitorCall) async throws(Problem) -> APIResponse {
    let session = try ownSession(call)
    let object = try rest.declaredObject(call.request)
    guard let rating = try object.int("rating", in: 1...5) else { throw .missing("rating") }
    let comment = try object.string("comment", bytesMax: APILimits.commentBytes)
      .map { String(withoutControls($0).trimmingBlanks) }
      .flatMap { $0.isEmpty ? nil : $0 }
    guard (comment?.unicodeScalars.count ?? 0) <= APILimits.commentCharacters else {
      throw .invalid("“comment” may have \(APILimits.commentCharacters) characters.")
    }
    guard
      try await rest.settings(of: call.workspace, now: call.request.now).settings.rating.isEnabled
    else { throw .ratingDisabled }
    let isNew = try await rest.run(
      Rating(
        session: session, workspace: call.workspace, visitor: call.visitor, rating: rating,
        comment: comment, line: rest.identifier(call.request.now)
      ).statement)
    guard let isNew else { throw .noSuchSession }
    if isNew { rest.sessions.changed(session: session) }
    return APIResponse(status: 204)
  }

  /// JSON writes a control character in six bytes, with which a comment would not fit into the
  /// payload of its line. Tabs and line breaks stay.
  private func withoutControls(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.filter {
          $0.properties.generalCategory != .control || $0 == "\n" || $0 == "\t"
        }))
  }

  /// The conversation that the path names, if the visitor's token opens it.
  func ownSession(_ call: VisitorCall) throws(Problem) -> Identifier {
    let session = call.parameters.id("id")
    guard call.sessions.contains(session) else { throw .noSuchSession }
    return session
  }
}

extension Problem {
  static let ratingDisabled = Problem.forbidden(
    "rating_disabled", "This workspace does not ask for ratings.")
}
