/// What operators do to a conversation without the visitor seeing it: notes, and how far they have
/// read.
import Chat
import Conversations
import Directory
import JSON
import Primitives

extension ConversationRoutes {
  /// A note is an entry of the log that only operators see.
  func postNote(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try rest.declaredObject(call.request)
    let id = try object.identifier("id") ?? rest.identifier(call.request.now)
    let body = try object.requiredString("body", bytesMax: Limits.bodyBytes)
    return try await append(.note, id: id, body: body, payload: [], to: call)
  }

  /// Moves the caller's mark forward, never back, and never beyond what there is.
  func markRead(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try rest.declaredObject(call.request)
    guard let seq = try object.int("seq", in: 0...CommandDecoder.integerMax) else {
      throw .missing("seq")
    }
    let member = try call.member
    let mark = try await rest.run(
      ReadMark.advance(
        to: seq, of: member.id, name: member.name, in: call.session, workspace: call.workspace))
    guard let mark else { throw .noSuchSession }
    rest.sessions.changed(session: call.session)
    return .json([UInt8].object { $0.appendMember("read_seq", mark) })
  }
}
