import Directory
import Postgres
import Primitives

/// A conversation changes hands: to another operator, or back to the line, where it gets the place
/// it had before. One statement with its line in the log, as in `StateChange`. What the workspace
/// allows an operator to have is no limit here: a person has decided.
struct Transfer {
  var session: Identifier
  var member: Operator
  /// Nil: whoever is next takes it.
  var to: Identifier?
  var reason: String?
  var lines: StateChange.Lines

  enum Verdict: String, Sendable {
    case applied
    /// It is so already.
    case held
    case closed
    /// No member of this workspace, or shut out.
    case nobody
  }

  /// Nil inside: there is no such conversation.
  var statement: Statement<Verdict?> {
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
      SELECT id, status, assigned_operator_id, operator_name, last_seq
      FROM chat_sessions
      WHERE id = $1::uuid AND workspace_id = $2::uuid AND deleted_at IS NULL
      FOR UPDATE
    ), decided AS (
      SELECT t.*, r.id AS receiver, r.name AS receiver_name, clock_timestamp() AS at, CASE
        WHEN t.status = 'closed' THEN 'closed'
        WHEN $5::uuid IS NOT NULL AND r.id IS NULL THEN 'nobody'
        WHEN $5::uuid IS NULL AND t.status = 'waiting' THEN 'held'
        WHEN $5::uuid = t.assigned_operator_id THEN 'held'
        ELSE 'applied' END AS verdict
      FROM target t LEFT JOIN receiver r ON true
    ), lines AS (
      SELECT d.id, d.at, d.last_seq + 1 AS seq, $7::uuid AS line, 'system' AS role,
        'event' AS kind,
        CASE WHEN $5::uuid IS NULL THEN $4::text || ' returned the conversation to the queue'
          ELSE $4::text || ' transferred the conversation to ' || d.receiver_name END AS content,
        jsonb_build_object('event', 'transferred',
          'from', CASE WHEN d.assigned_operator_id IS NOT NULL THEN jsonb_build_object(
            'id', d.assigned_operator_id, 'name', coalesce(d.operator_name, (
              SELECT name FROM operators o WHERE o.id = d.assigned_operator_id), '')) END,
          'to', CASE WHEN d.receiver IS NOT NULL THEN
            jsonb_build_object('id', d.receiver, 'name', d.receiver_name) END,
          'by', jsonb_build_object('id', $3::uuid, 'name', $4::text)) AS payload,
        NULL::uuid AS author, NULL::text AS author_name
      FROM decided d WHERE d.verdict = 'applied'
      UNION ALL
      SELECT d.id, d.at, d.last_seq + 2, $8::uuid, 'operator', 'note', $6::text, NULL, $3::uuid,
        $4::text
      FROM decided d WHERE d.verdict = 'applied' AND $6::text IS NOT NULL
    ), written AS (
      INSERT INTO chats (id, workspace_id, session_id, seq, role, kind, content, payload,
        operator_id, operator_name, content_hash, created_at)
      SELECT l.line, $2::uuid, l.id, l.seq, l.role, l.kind, l.content, l.payload, l.author,
        l.author_name, sha256(convert_to(l.kind || E'\\n' || coalesce(l.payload::text, '')
          || E'\\n' || l.content, 'UTF8')), l.at
      FROM lines l
    ), changed AS (
      UPDATE chat_sessions s SET
        last_seq = (SELECT max(seq) FROM lines),
        status = CASE WHEN d.receiver IS NULL THEN 'waiting' ELSE 'active' END,
        assigned_operator_id = d.receiver, operator_name = d.receiver_name,
        claimed_at = CASE WHEN d.receiver IS NOT NULL THEN coalesce(s.claimed_at, d.at) END,
        queued_at = coalesce(s.waiting_since, s.queued_at),
        waiting_since = CASE WHEN d.receiver IS NULL
          THEN coalesce(s.queued_at, s.created_at) END,
        returned_by = CASE WHEN d.receiver IS NULL THEN $3::uuid END,
        transfer_count = s.transfer_count + 1
      FROM decided d
      WHERE s.id = d.id AND s.workspace_id = $2::uuid AND d.verdict = 'applied'
    )
    SELECT d.verdict FROM decided d
    """
}
