/// Notes and read marks, which the visitor does not see.
import Chat
import Conversations
import Directory
import JSON
import Primitives

extension ConversationRoutes {
  /// Adds a note: an entry of the log that only operators see.
  func postNote(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    let id = try object.identifier("id") ?? call.newID()
    let body = try object.requiredString("body", bytesMax: Limits.bodyBytes)
    return try await append(NewMessage(id: id, kind: .note, body: body), to: call.id, call)
  }

  /// Moves the caller's read mark forward, at most to the last entry.
  func markRead(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try call.request.jsonObject()
    guard let seq = try object.int("seq", in: 0...CommandDecoder.integerMax) else {
      throw .missing("seq")
    }
    let member = try call.member
    let mark = try await api.database.run(
      ReadMark.advance(
        to: seq, of: member.id, name: member.name, in: call.id, workspace: call.workspace))
    guard let mark else { throw .noSuchSession }
    api.sessions.changed(session: call.id)
    return .json([UInt8].object { $0.appendMember("read_seq", mark) })
  }
}
