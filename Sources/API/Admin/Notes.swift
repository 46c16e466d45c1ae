/// What operators do to a conversation without the visitor seeing it: notes, and how far they have
/// read.
import Chat
import Directory
import JSON
import Postgres
import Primitives

extension API {
  /// A note is an entry of the log that only operators see.
  func postNote(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try declaredObject(call.request)
    let id = try object.identifier("id") ?? identifier(call.request.now)
    let body = try object.requiredString("body", bytesMax: Limits.bodyBytes)
    return try await append(.note, id: id, body: body, payload: [], to: call)
  }

  /// Moves the caller's mark forward, never back, and never beyond what there is.
  func markRead(_ call: Call) async throws(Problem) -> APIResponse {
    let object = try declaredObject(call.request)
    guard let seq = try object.int("seq", in: 0...CommandDecoder.integerMax) else {
      throw .missing("seq")
    }
    let member = try call.member
    let mark = try await run(
      Statement(
        Query(
          """
          INSERT INTO read_marks AS m
            (workspace_id, session_id, person_id, role, name, read_seq, delivered_seq)
          SELECT s.workspace_id, s.id, $3::uuid, 'operator', $4::text,
            least($5::bigint, s.last_seq), least($5::bigint, s.last_seq)
          FROM chat_sessions s
          WHERE s.id = $2::uuid AND s.workspace_id = $1::uuid AND s.deleted_at IS NULL
          ON CONFLICT (workspace_id, session_id, person_id) DO UPDATE SET
            read_seq = greatest(m.read_seq, excluded.read_seq),
            delivered_seq = greatest(m.delivered_seq, excluded.delivered_seq), updated_at = now()
          RETURNING read_seq
          """,
          [
            .uuid(call.workspace), .uuid(call.session), .uuid(member.id), .text(member.name),
            .int(seq),
          ])
      ) { $0.isEmpty ? nil : $0.int(0, 0) })
    guard let mark else { throw .noSuchSession }
    sessions.changed(session: call.session)
    return .json([UInt8].object { $0.appendMember("read_seq", mark) })
  }
}
