public import Directory
import Postgres
public import Primitives

/// Transfers a conversation to another operator, to a team, or back to its position in the queue.
/// An operator who gets one keeps its team; a team gets it into its line. One statement with its
/// event, as in `StateChange`. A person decides, so the capacity does not apply.
public struct Transfer: Sendable {
  public enum Receiver: Sendable, Equatable {
    case member(Identifier)
    /// Nil: the workspace's own line, which every operator serves.
    case team(Identifier?)
    /// The line in which it was.
    case queue
  }

  var session: Identifier
  var member: Operator
  var to: Receiver
  var reason: String?
  var lines: StateChange.Lines

  public init(
    session: Identifier, member: Operator, to: Receiver, reason: String?,
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
    /// The workspace has no such team.
    case noTeam = "no_team"
  }

  /// The answer is nil if there is no such conversation.
  public var statement: Statement<Verdict?> {
    var receiver: Identifier?
    var team: Identifier?
    var changesTeam = false
    switch to {
    case .member(let id): receiver = id
    case .team(let id): (team, changesTeam) = (id, true)
    case .queue: break
    }
    return Statement(
      Query(
        Transfer.sql,
        [
          .uuid(session), .uuid(member.workspace), .uuid(member.id), .text(member.name),
          .uuid(receiver), .text(reason), .uuid(lines.event), .uuid(lines.note), .uuid(team),
          .bool(changesTeam),
        ])
    ) { rows in
      guard !rows.isEmpty else { return nil }
      return rows.text(0, 0).flatMap { Verdict(rawValue: $0) }
    }
  }

  /// The previous operator may be known by name only, after the account was removed. The team's row
  /// is locked, so that it is not deleted meanwhile.
  private static let sql: StaticString = """
    WITH receiver AS (
      SELECT o.id, o.name FROM memberships m JOIN operators o ON o.id = m.operator_id
      WHERE m.workspace_id = $2::uuid AND m.operator_id = $5::uuid AND o.disabled_at IS NULL
    ), team AS MATERIALIZED (
      SELECT id, name FROM chat_teams WHERE workspace_id = $2::uuid AND id = $9::uuid FOR KEY SHARE
    ), target AS (
      SELECT id, status, assigned_operator_id, operator_name, team_id
      FROM chat_sessions
      WHERE id = $1::uuid AND workspace_id = $2::uuid AND deleted_at IS NULL
      FOR UPDATE
    ), decided AS MATERIALIZED (
      SELECT t.*, r.id AS receiver, r.name AS receiver_name, g.name AS team_name, CASE
        WHEN t.status = 'closed' THEN 'closed'
        WHEN $5::uuid IS NOT NULL AND r.id IS NULL THEN 'nobody'
        WHEN $9::uuid IS NOT NULL AND g.id IS NULL THEN 'no_team'
        WHEN $5::uuid IS NULL AND t.status = 'waiting'
          AND (NOT $10::boolean OR t.team_id IS NOT DISTINCT FROM $9::uuid) THEN 'held'
        WHEN $5::uuid = t.assigned_operator_id THEN 'held'
        ELSE 'applied' END AS verdict
      FROM target t LEFT JOIN receiver r ON true LEFT JOIN team g ON true
    )
    SELECT d.verdict, CASE WHEN d.verdict = 'applied'
      AND CASE WHEN $10::boolean THEN chirrup_set_team($2::uuid, d.id, $9::uuid) ELSE true END
      THEN chirrup_change(
      $2::uuid, d.id, 'transferred', d.receiver, d.receiver_name, $3::uuid, $4::text, $7::uuid,
      CASE WHEN d.team_name IS NOT NULL
          THEN $4::text || ' transferred the conversation to the team ' || d.team_name
        WHEN $5::uuid IS NULL THEN $4::text || ' returned the conversation to the queue'
        ELSE $4::text || ' transferred the conversation to ' || d.receiver_name END,
      jsonb_build_object('event', 'transferred',
        'from', CASE WHEN d.assigned_operator_id IS NOT NULL THEN jsonb_build_object(
          'id', d.assigned_operator_id, 'name', coalesce(d.operator_name, (
            SELECT name FROM operators o WHERE o.id = d.assigned_operator_id), '')) END,
        'to', CASE WHEN d.receiver IS NOT NULL THEN
          jsonb_build_object('id', d.receiver, 'name', d.receiver_name) END,
        'team', CASE WHEN d.team_name IS NOT NULL THEN
          jsonb_build_object('id', $9::uuid, 'name', d.team_name) END,
        'by', jsonb_build_object('id', $3::uuid, 'name', $4::text)),
      $8::uuid, $6::text) END
    FROM decided d
    """
}
