/// How a visitor found a conversation: one rating for each, the last one counts.
import Directory
import JSON
import Postgres
import Primitives

extension API {
  func rate(_ call: VisitorCall) async throws(Problem) -> APIResponse {
    let session = try ownSession(call)
    let object = try declaredObject(call.request)
    guard let rating = try object.int("rating", in: 1...5) else { throw .missing("rating") }
    let comment = try object.string("comment", bytesMax: APILimits.commentBytes)
      .map { trimmed(withoutControls($0)[...]) }
      .flatMap { $0.isEmpty ? nil : $0 }
    guard (comment?.unicodeScalars.count ?? 0) <= APILimits.commentCharacters else {
      throw .invalid("“comment” may have \(APILimits.commentCharacters) characters.")
    }
    guard try await settings(of: call.workspace, now: call.request.now).settings.rating.isEnabled
    else { throw .ratingDisabled }
    let isNew = try await run(
      Rating(
        session: session, workspace: call.workspace, visitor: call.visitor, rating: rating,
        comment: comment, line: identifier(call.request.now)
      ).statement)
    guard let isNew else { throw .noSuchSession }
    if isNew { sessions.changed(session: session) }
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

struct Rating: Sendable {
  var session: Identifier
  var workspace: Identifier
  var visitor: Identifier
  var rating: Int64
  var comment: String?
  /// The id of the line in the log.
  var line: Identifier

  /// One transaction under the lock of the session's row, like every line of a log. The same rating
  /// once more changes nothing. The line has the comment as it was then, so that operators read it
  /// at its place. Answers whether it was news; nil when the visitor has no such conversation.
  var statement: Statement<Bool?> {
    let payload = [UInt8].object { json in
      json.appendMember("event", "rated")
      json.appendMember("rating", rating)
      if let comment { json.appendMember("comment", comment) }
    }
    return Statement(
      Query(
        """
        WITH target AS (
          SELECT id, assigned_operator_id, last_seq FROM chat_sessions
          WHERE id = $1::uuid AND workspace_id = $2::uuid AND user_id = $3::uuid
            AND deleted_at IS NULL
          FOR UPDATE
        ), rated AS (
          INSERT INTO csat_responses AS r
            (workspace_id, session_id, visitor_id, operator_id, rating, comment, created_at)
          SELECT $2::uuid, t.id, $3::uuid, t.assigned_operator_id, $4::bigint, $5::text,
            clock_timestamp()
          FROM target t
          ON CONFLICT (workspace_id, session_id) DO UPDATE SET rating = excluded.rating,
            comment = excluded.comment, operator_id = excluded.operator_id,
            visitor_id = excluded.visitor_id, created_at = excluded.created_at
          WHERE (r.rating, r.comment) IS DISTINCT FROM (excluded.rating, excluded.comment)
          RETURNING r.created_at
        ), line AS (
          INSERT INTO chats
            (id, workspace_id, session_id, seq, role, kind, content, payload, content_hash,
             created_at)
          SELECT $6::uuid, $2::uuid, t.id, t.last_seq + 1, 'system', 'event', $7::text, $8::jsonb,
            sha256(convert_to('event' || E'\\n' || $8::jsonb::text || E'\\n' || $7::text,
              'UTF8')), r.created_at
          FROM target t, rated r
        ), changed AS (
          UPDATE chat_sessions s SET last_seq = t.last_seq + 1
          FROM target t, rated r WHERE s.id = t.id AND s.workspace_id = $2::uuid
        )
        SELECT EXISTS (SELECT FROM rated) FROM target
        """,
        [
          .uuid(session), .uuid(workspace), .uuid(visitor), .int(rating), .text(comment),
          .uuid(line), .text("The visitor rated the conversation \(rating) of 5"), .json(payload),
        ])
    ) { rows in rows.isEmpty ? nil : rows.bool(0, 0) }
  }
}

extension Problem {
  static let ratingDisabled = Problem.forbidden(
    "rating_disabled", "This workspace does not ask for ratings.")
}
