/// A conversation as plain text for its visitor: messages and events, without the operators' notes.
import Chat
import Conversations
import Directory
import Primitives

extension WidgetRoutes {
  func transcript(_ call: VisitorCall) async throws(Problem) -> APIResponse {
    let session = try ownSession(call)
    return APIResponse(
      status: 200,
      headers: [
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Content-Disposition", "attachment; filename=\"conversation-\(session).txt\""),
      ], body: try await transcriptText(call, session))
  }

  func transcriptText(
    _ call: VisitorCall, _ session: Identifier
  ) async throws(Problem) -> [UInt8] {
    guard
      try await api.expensiveDatabase.run(
        VisitorSession.find(session, visitor: call.visitor, workspace: call.workspace)) != nil
    else { throw .noSuchSession }
    var text: [UInt8] = []
    var seq: Int64 = 0
    var hasMore = true
    while hasMore, text.count < APILimits.transcriptBytes {
      let page = try await api.expensiveDatabase.run(
        MessageRange.after(seq).page(
          of: session, workspace: call.workspace, limit: Limits.pageEntries
        ).scoped(to: call.workspace, user: call.visitor))
      guard let page, let last = page.entries.last else { break }
      seq = last.seq
      hasMore = page.hasMore
      for entry in page.entries where Transcript.shows(entry) {
        guard text.count < APILimits.transcriptBytes else {
          hasMore = true
          break
        }
        Transcript.append(entry, to: &text)
      }
    }
    if hasMore && !text.isEmpty { text.append("\n[…]\n") }
    return text
  }
}
