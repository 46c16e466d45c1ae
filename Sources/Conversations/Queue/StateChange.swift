public import Directory
import JSON
import Postgres
public import Primitives

/// Closes or reopens a conversation. One statement locks the session's row, as a batch of messages
/// does, decides, changes the row and adds the event. Concurrent calls of several operators apply
/// it once. See also `Claim` and `Transfer`.
public enum StateChange: String, Sendable {
  case closed, reopened

  public struct Result: Sendable {
    /// False: the conversation had this state already.
    public var isApplied: Bool
    public var status: String
    public var assignee: Identifier?
    public var assigneeName: String
    /// The operator who had closed it before; nil: nobody, or a rule.
    public var closer: Identifier?
    public var closerName: String
  }

  /// The ids of the event in the log and of the note with the reason.
  public struct Lines: Sendable {
    public var event: Identifier
    public var note: Identifier

    public init(event: Identifier, note: Identifier) {
      self.event = event
      self.note = note
    }
  }

  /// The answer is nil if there is no such conversation.
  ///
  /// - Parameter reason: becomes a note, which visitors do not see.
  public func statement(
    session: Identifier, by member: Operator, reason: String? = nil, _ lines: Lines
  ) -> Statement<Result?> {
    Statement(
      Query(
        StateChange.sql,
        [
          .uuid(session), .uuid(member.workspace), .text(rawValue), .uuid(lines.event),
          .text(sentence(member)), .json(payload(member)), .uuid(member.id), .text(member.name),
          .text(reason), .uuid(lines.note),
        ])
    ) { rows in
      guard !rows.isEmpty, let isApplied = rows.bool(0, 0), let status = rows.text(0, 1)
      else { return nil }
      return Result(
        isApplied: isApplied, status: status, assignee: rows.uuid(0, 2),
        assigneeName: rows.text(0, 3) ?? "", closer: rows.uuid(0, 4),
        closerName: rows.text(0, 5) ?? "")
    }
  }

  private func sentence(_ member: Operator) -> String {
    switch self {
    case .closed: "\(member.name) closed the conversation"
    case .reopened: "\(member.name) reopened the conversation"
    }
  }

  private func payload(_ member: Operator) -> [UInt8] {
    .object { json in
      json.appendMember("event", rawValue)
      json.appendObject("by") {
        $0.appendMember("id", member.id)
        $0.appendMember("name", member.name)
      }
    }
  }

  /// A reopened conversation returns to its operator. Without one it enters the queue at the end,
  /// or at its old position if it was closed by mistake, for seconds only (`chirrup_keep_place`).
  /// After a wait for the lock, PostgreSQL returns the newest version of the row.
  private static let sql: StaticString = """
    WITH target AS (
      SELECT id, status, assigned_operator_id, operator_name, closed_at, closed_by
      FROM chat_sessions
      WHERE id = $1::uuid AND workspace_id = $2::uuid AND deleted_at IS NULL
      FOR UPDATE
    ), decided AS MATERIALIZED (
      SELECT t.*, CASE $3::text
        WHEN 'closed' THEN t.status <> 'closed'
        WHEN 'reopened' THEN t.status = 'closed' END AS applies
      FROM target t
    )
    SELECT d.applies, d.status, d.assigned_operator_id,
      coalesce(d.operator_name, (SELECT name FROM operators o WHERE o.id = d.assigned_operator_id)),
      d.closed_by, (SELECT name FROM operators o WHERE o.id = d.closed_by),
      CASE WHEN d.applies THEN CASE WHEN chirrup_change(
        $2::uuid, d.id, $3::text, NULL, NULL, $7::uuid, $8::text, $4::uuid, $5::text, $6::jsonb,
        $10::uuid, $9::text) THEN chirrup_keep_place($2::uuid, d.id, d.closed_at) END END
    FROM decided d
    """
}
