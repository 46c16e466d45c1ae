public import Directory
import Postgres
public import Primitives

/// Transfers a conversation to another operator, or back to its position in the queue. One
/// statement with its event, as in `StateChange`. A person decides, so the capacity does not apply.
public struct Transfer: Sendable {
  var session: Identifier
  var member: Operator
  /// Nil: back to the queue.
  var to: Identifier?
  var reason: String?
  var lines: StateChange.Lines

  public init(
    session: Identifier, member: Operator, to: Identifier?, reason: String?,
    lines: StateChange.Lines
  ) {
    self.session = session
    self.member = member
    self.to = to
    self.reason = reason
    self.lines = lines
  }

  public enum Verdict: String, Sendable {
    case applied
    /// The receiver has it already, or it is in the queue already.
    case held
    case closed
    /// The receiver is disabled or not a member of this workspace.
    case nobody
  }

  /// The answer is nil if there is no such conversation.
  public var statement: Statement<Verdict?> {
    Statement(
      Query(
        Transfer.sql,
        [
          .uuid(session), .uuid(member.workspace), .uuid(member.id), .text(member.name), .uuid(to),
          .text(reason), .uuid(lines.event), .uuid(lines.note),
        ])
    ) { rows in
      guard !rows.isEmpty else { return nil }
      return rows.text(0, 0).flatMap { Verdict(rawValue: $0) }
    }
  }

  /// The previous operator may be known by name only, after the account was removed.
  private static let sql: StaticString = """
    WITH receiver AS (
      SELECT o.id, o.name FROM memberships m JOIN operators o ON o.id = m.operator_id
      WHERE m.workspace_id = $2::uuid AND m.operator_id = $5::uuid AND o.disabled_at IS NULL
    ), target AS (
      SELECT id, status, assigned_operator_id, operator_name
      FROM chat_sessions
      WHERE id = $1::uuid AND workspace_id = $2::uuid AND deleted_at IS NULL
      FOR UPDATE
    ), decided AS MATERIALIZED (
      SELECT t.*, r.id AS receiver, r.name AS receiver_name, CASE
        WHEN t.status = 'closed' THEN 'closed'
        WHEN $5::uuid IS NOT NULL AND r.id IS NULL THEN 'nobody'
        WHEN $5::uuid IS NULL AND t.status = 'waiting' THEN 'held'
        WHEN $5::uuid = t.assigned_operator_id THEN 'held'
        ELSE 'applied' END AS verdict
      FROM target t LEFT JOIN receiver r ON true
    )
    SELECT d.verdict, CASE WHEN d.verdict = 'applied' THEN chirrup_change(
      $2::uuid, d.id, 'transferred', d.receiver, d.receiver_name, $3::uuid, $4::text, $7::uuid,
      CASE WHEN $5::uuid IS NULL THEN $4::text || ' returned the conversation to the queue'
        ELSE $4::text || ' transferred the conversation to ' || d.receiver_name END,
      jsonb_build_object('event', 'transferred',
        'from', CASE WHEN d.assigned_operator_id IS NOT NULL THEN jsonb_build_object(
          'id', d.assigned_operator_id, 'name', coalesce(d.operator_name, (
            SELECT name FROM operators o WHERE o.id = d.assigned_operator_id), '')) END,
        'to', CASE WHEN d.receiver IS NOT NULL THEN
          jsonb_build_object('id', d.receiver, 'name', d.receiver_name) END,
        'by', jsonb_build_object('id', $3::uuid, 'name', $4::text)),
      $8::uuid, $6::text) END
    FROM decided d
    """
}
