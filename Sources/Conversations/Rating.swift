public import Directory
import JSON
import Postgres
public import Primitives
import SharedSQL

/// A visitor's rating of a conversation. A later rating replaces an earlier one.
public struct Rating: Sendable {
  var session: Identifier
  var workspace: Identifier
  var visitor: Identifier
  var rating: Int64
  var comment: String?
  /// The id of the event in the log.
  var line: Identifier

  public init(
    session: Identifier, workspace: Identifier, visitor: Identifier, rating: Int64,
    comment: String?, line: Identifier
  ) {
    self.session = session
    self.workspace = workspace
    self.visitor = visitor
    self.rating = rating
    self.comment = comment
    self.line = line
  }

  /// Stores the rating and adds an event with rating and comment to the log, under the lock of the
  /// session's row. Returns false if the same rating was stored before, which changes nothing; nil
  /// if the visitor has no such conversation.
  public var statement: Statement<Bool?> {
    let payload = [UInt8].object { json in
      json.appendMember("event", "rated")
      json.appendMember("rating", rating)
      if let comment { json.appendMember("comment", comment) }
    }
    return Statement(
      Query(
        Rating.storeSQL,
        [
          .uuid(session), .uuid(workspace), .uuid(visitor), .int(rating), .text(comment),
          .uuid(line), .text("Rated \(rating) of 5"), .json(payload),
        ])
    ) { rows in rows.isEmpty ? nil : rows.bool(0, 0) }
  }

  private static let storeSQL: SQL = """
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
      \(EventLine.insert(
        id: "$6::uuid", workspace: "$2::uuid", session: "t", text: "$7::text", payload: "$8::jsonb",
        at: "r.created_at", from: "target t, rated r"))
    ), changed AS (
      UPDATE chat_sessions s SET last_seq = t.last_seq + 1
      FROM target t, rated r WHERE s.id = t.id AND s.workspace_id = $2::uuid
    )
    SELECT EXISTS (SELECT FROM rated) FROM target
    """
}
