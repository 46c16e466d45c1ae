public import Directory
import JSON
import Postgres
public import Primitives
import SharedSQL

/// An operator claims a conversation: a chosen one, or the next one of the queue.
///
/// One transaction of two steps. First it takes the locks: on the operator's membership, so that no
/// operator exceeds the capacity, and, for the next conversation, on the workspace's queue, so that
/// concurrent claims are served in order. Then one statement, which sees everything committed until
/// then, locks the conversation's row as a batch of messages does, decides, and calls
/// `chirrup_change` for the row and the event.
public struct Claim: Sendable {
  /// Nil: the next one of the queue, then those behind the queue (`ConversationQueue.order`).
  public var session: Identifier?
  public var member: Operator
  /// The id of the event in the log.
  public var line: Identifier

  public init(session: Identifier?, member: Operator, line: Identifier) {
    self.session = session
    self.member = member
    self.line = line
  }

  public enum Verdict: String, Sendable {
    case applied
    /// The operator has it already.
    case held
    /// Another operator has it.
    case claimed
    case closed
    /// The operator is at the capacity.
    case full
  }

  public struct Result: Sendable {
    public var verdict: Verdict
    public var session: Identifier
    public var assignee: Identifier?
    public var assigneeName: String
    public var capacity: Int64
  }

  /// The answer is nil if there is no such conversation, or if none waits.
  public var statement: Statement<Result?> {
    let payload = [UInt8].object { json in
      json.appendMember("event", "claimed")
      json.appendObject("operator") {
        $0.appendMember("id", member.id)
        $0.appendMember("name", member.name)
      }
    }
    var query = Query(
      session == nil ? Claim.next : Claim.chosen,
      [
        .uuid(member.workspace), .uuid(member.id), .text(member.name), .uuid(line),
        .text("\(member.name) joined"), .json(payload),
      ])
    if let session {
      query.parameters.append(.uuid(session))
      query.locks = [.membership(of: member.id, in: member.workspace)]
    } else {
      query.locks = [
        .queue(of: member.workspace), .membership(of: member.id, in: member.workspace),
      ]
    }
    return Statement(query) { rows in
      guard !rows.isEmpty, let verdict = rows.text(0, 0).flatMap({ Verdict(rawValue: $0) }),
        let session = rows.uuid(0, 1)
      else { return nil }
      return Result(
        verdict: verdict, session: session, assignee: rows.uuid(0, 2),
        assigneeName: rows.text(0, 3) ?? "", capacity: rows.int(0, 4) ?? 0)
    }
  }

  private static let chosen: SQL = """
    WITH target AS (
      SELECT id, status, assigned_operator_id, operator_name
      FROM chat_sessions
      WHERE id = $7::uuid AND workspace_id = $1::uuid AND deleted_at IS NULL
      FOR UPDATE
    ), decided AS MATERIALIZED (
      SELECT t.*, q.capacity, CASE
        WHEN t.status = 'closed' THEN 'closed'
        WHEN t.assigned_operator_id = $2::uuid THEN 'held'
        WHEN t.assigned_operator_id IS NOT NULL THEN 'claimed'
        WHEN (SELECT count(*) FROM chat_sessions a
          WHERE a.workspace_id = $1::uuid AND a.assigned_operator_id = $2::uuid
            AND a.status = 'active' AND a.deleted_at IS NULL) >= q.capacity THEN 'full'
        ELSE 'applied' END AS verdict
      FROM target t CROSS JOIN chirrup_queue($1::uuid) AS q
    )
    SELECT d.verdict, d.id, d.assigned_operator_id,
      coalesce(d.operator_name, (SELECT name FROM operators o WHERE o.id = d.assigned_operator_id)),
      d.capacity::bigint, CASE WHEN d.verdict = 'applied' THEN chirrup_change(
        $1::uuid, d.id, 'claimed', $2::uuid, $3::text, $2::uuid, $3::text, $4::uuid, $5::text,
        $6::jsonb) END
    FROM decided d
    """

  /// While this waits for the row's lock, a claim by id may take the conversation. PostgreSQL then
  /// checks the condition against the newest version of the row and continues with the next one.
  ///
  /// The operator gets conversations of the workspace's own line and of their teams. They also get
  /// those of another team that overflow: no member of that team is available, and the
  /// conversation has waited as long as its `overflow_after_minutes`.
  private static let next: SQL = """
    WITH lines AS MATERIALIZED (
      SELECT $1::uuid AS id, NULL::timestamptz AS overflow
      UNION ALL
      SELECT t.id, CASE WHEN m.operator_id IS NULL
        THEN now() - make_interval(mins => t.overflow_after_minutes) END
      FROM chat_teams t LEFT JOIN chat_team_members m
        ON m.workspace_id = t.workspace_id AND m.team_id = t.id AND m.operator_id = $2::uuid
      WHERE t.workspace_id = $1::uuid AND (m.operator_id IS NOT NULL
        OR t.overflow_after_minutes IS NOT NULL AND NOT chirrup_is_team_available($1::uuid, t.id))
    ), target AS (
      SELECT s.id
      FROM lines l JOIN chat_sessions s ON \(ConversationQueue.line("s")) = l.id
      WHERE s.workspace_id = $1::uuid
        AND \(ConversationQueue.isUnclaimed("s"))
        AND (l.overflow IS NULL OR \(ConversationQueue.waitsForTeamSince("s")) <= l.overflow)
      ORDER BY \(ConversationQueue.order("s")) LIMIT 1
      FOR UPDATE OF s
    ), decided AS MATERIALIZED (
      SELECT t.*, q.capacity, CASE
        WHEN (SELECT count(*) FROM chat_sessions a
          WHERE a.workspace_id = $1::uuid AND a.assigned_operator_id = $2::uuid
            AND a.status = 'active' AND a.deleted_at IS NULL) >= q.capacity THEN 'full'
        ELSE 'applied' END AS verdict
      FROM target t CROSS JOIN chirrup_queue($1::uuid) AS q
    )
    SELECT d.verdict, d.id, NULL::uuid, NULL::text, d.capacity::bigint,
      CASE WHEN d.verdict = 'applied' THEN chirrup_change(
        $1::uuid, d.id, 'claimed', $2::uuid, $3::text, $2::uuid, $3::text, $4::uuid, $5::text,
        $6::jsonb) END
    FROM decided d
    """
}
