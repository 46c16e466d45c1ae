public import Directory
import Postgres
public import Primitives

/// A conversation changes hands: to another operator, or back to the line, where it gets the place
/// it had before. One statement with its line in the log, as in `StateChange`. What the workspace
/// allows an operator to have is no limit here: a person has decided.
public struct Transfer: Sendable {
  var session: Identifier
  var member: Operator
  /// Nil: whoever is next takes it.
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
    /// It is so already.
    case held
    case closed
    /// No member of this workspace, or shut out.
    case nobody
  }

  /// Nil inside: there is no such conversation.
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

  /// The one who had it may be known by name only, when the account is gone.
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
