import Directory
import Postgres
import Primitives

/// What an operator does to the state of a conversation. Each is one statement and so one
/// transaction: it locks the session's row, as a batch of messages does, decides, changes the row,
/// and writes the line of the log that everybody reads. Raced by several operators it happens once,
/// and everybody learns who it was.
enum StateChange: String {
  case claimed, closed, reopened

  struct Result: Sendable {
    /// False: it was so already, or it is not allowed; the rest says how it stands.
    var isApplied: Bool
    var status: String
    var assignee: Identifier?
    var assigneeName: String
  }

  func statement(
    session: Identifier, by member: Operator, line: Identifier
  ) -> Statement<Result?> {
    Statement(
      Query(
        StateChange.sql,
        [
          .uuid(session), .uuid(member.workspace), .text(rawValue), .uuid(line),
          .text(sentence(member)), .json(payload(member)), .uuid(member.id), .text(member.name),
        ])
    ) { rows in
      guard !rows.isEmpty, let isApplied = rows.bool(0, 0), let status = rows.text(0, 1)
      else { return nil }
      return Result(
        isApplied: isApplied, status: status, assignee: rows.uuid(0, 2),
        assigneeName: rows.text(0, 3) ?? "")
    }
  }

  private func sentence(_ member: Operator) -> String {
    switch self {
    case .claimed: "\(member.name) joined"
    case .closed: "\(member.name) closed the conversation"
    case .reopened: "\(member.name) reopened the conversation"
    }
  }

  private func payload(_ member: Operator) -> [UInt8] {
    .object { json in
      json.appendMember("event", rawValue)
      json.appendObject(self == .claimed ? "operator" : "by") {
        $0.appendMember("id", member.id)
        $0.appendMember("name", member.name)
      }
    }
  }

  /// A reopened conversation goes back to its operator, or to the queue if it had none. The row
  /// that the lock returns is the newest one, also when this statement had to wait for it.
  private static let sql: StaticString = """
    WITH target AS (
      SELECT id, status, assigned_operator_id, operator_name, last_seq
      FROM chat_sessions
      WHERE id = $1::uuid AND workspace_id = $2::uuid AND deleted_at IS NULL
      FOR UPDATE
    ), decided AS (
      SELECT t.*, clock_timestamp() AS at, CASE $3::text
        WHEN 'claimed' THEN t.status <> 'closed' AND t.assigned_operator_id IS NULL
        WHEN 'closed' THEN t.status <> 'closed'
        WHEN 'reopened' THEN t.status = 'closed' END AS applies
      FROM target t
    ), line AS (
      INSERT INTO chats
        (id, workspace_id, session_id, seq, role, kind, content, payload, content_hash, created_at)
      SELECT $4::uuid, $2::uuid, d.id, d.last_seq + 1, 'system', 'event', $5::text, $6::jsonb,
        sha256(convert_to('event' || E'\\n' || $6::jsonb::text || E'\\n' || $5::text, 'UTF8')), d.at
      FROM decided d WHERE d.applies
    ), changed AS (
      UPDATE chat_sessions s SET
        last_seq = d.last_seq + 1,
        status = CASE $3::text
          WHEN 'claimed' THEN 'active'
          WHEN 'closed' THEN 'closed'
          ELSE CASE WHEN d.assigned_operator_id IS NULL THEN 'waiting' ELSE 'active' END END,
        assigned_operator_id = CASE $3::text
          WHEN 'claimed' THEN $7::uuid ELSE d.assigned_operator_id END,
        operator_name = CASE $3::text WHEN 'claimed' THEN $8::text ELSE d.operator_name END,
        claimed_at = CASE $3::text WHEN 'claimed' THEN d.at ELSE s.claimed_at END,
        waiting_since = CASE
          WHEN $3::text = 'reopened' AND d.assigned_operator_id IS NULL THEN d.at END,
        closed_at = CASE $3::text WHEN 'closed' THEN d.at END,
        closed_by = CASE $3::text WHEN 'closed' THEN $7::uuid END
      FROM decided d WHERE s.id = d.id AND s.workspace_id = $2::uuid AND d.applies
    )
    SELECT d.applies, d.status, d.assigned_operator_id,
      coalesce(d.operator_name, (SELECT name FROM operators o WHERE o.id = d.assigned_operator_id))
    FROM decided d
    """
}
