/// The progress of the bot in a conversation: the last answered message, and the handover to
/// people.
public import Directory
import JSON
import Postgres
public import Primitives
import SharedSQL

public enum BotProgress {
  /// An unanswered message of a visitor.
  public struct Message: Sendable, Equatable {
    public var seq: Int64
    public var id: Identifier
    public var body: String
    /// The value of the button that the visitor chose.
    public var choice: String?
    public var asksForPerson: Bool
    /// The team of the menu's item by which the visitor wants a person: id or name.
    public var team: String?
    /// It was sent with the offline form.
    public var isOffline: Bool
    /// It is the visitor's first message in this conversation.
    public var isFirst: Bool
  }

  /// The messages of a conversation to answer in one turn of the bot, in order; at least one.
  public struct Turn: Sendable {
    public var session: Identifier
    public var messages: [Message]
  }

  /// The unanswered messages of these conversations, at most `limit` of each. Conversations that
  /// the bot must not answer have none: they are assigned, closed or handed over.
  public static func turns(
    of sessions: [Identifier], workspace: Identifier, limit: Int
  ) -> Statement<[Turn]> {
    Statement(
      Query(turnsSQL, [.uuids(sessions), .uuid(workspace), .int(Int64(limit))])
    ) { rows in
      var turns: [Turn] = []
      for row in 0..<rows.count {
        guard let session = rows.uuid(row, 0), let message = Message(rows, row) else { continue }
        if turns.last?.session != session { turns.append(Turn(session: session, messages: [])) }
        turns[turns.count - 1].messages.append(message)
      }
      return turns
    }
  }

  /// OFFSET 0 leaves the planner no path to the conversations but their key: without statistics it
  /// takes the index of the queue for nearly empty, and would read all of it.
  private static let turnsSQL: SQL = """
    SELECT s.id, c.seq, c.id, c.content, c.payload::text, NOT EXISTS (
        SELECT FROM chats e WHERE e.workspace_id = $2::uuid AND e.session_id = s.id
          AND e.seq < c.seq AND e.role IN ('visitor', 'user'))
    FROM unnest($1::uuid[]) AS t (session_id)
    JOIN LATERAL (
      SELECT id, status, deleted_at, assigned_operator_id FROM chat_sessions
      WHERE workspace_id = $2::uuid AND id = t.session_id OFFSET 0) AS s
      ON \(ConversationQueue.isUnclaimed("s"))
    LEFT JOIN LATERAL (
      SELECT answered_seq, handed_over_at FROM bot_progress
      WHERE workspace_id = $2::uuid AND session_id = s.id OFFSET 0) AS p ON true
    JOIN LATERAL (
      SELECT m.seq, m.id, m.content, m.payload FROM chats m
      WHERE m.workspace_id = $2::uuid AND m.session_id = s.id AND m.role = 'visitor'
        AND m.seq > coalesce(p.answered_seq, 0)
      ORDER BY m.seq LIMIT $3::bigint) AS c ON true
    WHERE p.handed_over_at IS NULL
    ORDER BY s.id, c.seq
    """

  /// All messages of a conversation up to `seq` are answered.
  public struct Answered: Sendable {
    public var session: Identifier
    public var seq: Int64

    public init(session: Identifier, seq: Int64) {
      self.session = session
      self.seq = seq
    }
  }

  /// Records what is answered; each conversation at most once. The order is that of the locks.
  public static func note(_ answered: [Answered], workspace: Identifier) -> Statement<Void> {
    Statement(
      Query(
        """
        INSERT INTO bot_progress AS p (workspace_id, session_id, answered_seq)
        SELECT $2::uuid, s.id, t.seq FROM unnest($1::uuid[], $3::bigint[]) AS t (session_id, seq)
        JOIN LATERAL (
          SELECT id FROM chat_sessions
          WHERE workspace_id = $2::uuid AND id = t.session_id OFFSET 0) AS s ON true
        ORDER BY s.id
        ON CONFLICT (workspace_id, session_id) DO UPDATE
          SET answered_seq = greatest(p.answered_seq, excluded.answered_seq)
        """, [.uuids(answered.map(\.session)), .uuid(workspace), .ints(answered.map(\.seq))]))
  }

  /// Hands the conversation over to people: puts it into the queue and adds an event to its log,
  /// with the id `line`. False if it was handed over before.
  ///
  /// - Parameter team: the id or name of the team that gets it; with nil or an unknown team it
  ///   stays where it is.
  public static func handOver(
    _ session: Identifier, workspace: Identifier, line: Identifier, team: String? = nil
  ) -> Statement<Bool> {
    Statement(
      Query(
        handOverSQL,
        [
          .uuid(session), .uuid(workspace), .uuid(line),
          .text("Visitor asked for an operator"), .json(Array(#"{"event":"handover"}"#.utf8)),
          .text(team),
        ])
    ) { $0.bool(0, 0) ?? false }
  }

  private static let handOverSQL: SQL = """
    WITH team AS MATERIALIZED (
      \(TeamChoice.team(named: "$6::text", in: "$2::uuid"))
    ), target AS (
      SELECT id, last_seq, status FROM chat_sessions
      WHERE id = $1::uuid AND workspace_id = $2::uuid AND deleted_at IS NULL
      FOR UPDATE
    ), handed AS (
      INSERT INTO bot_progress AS p (workspace_id, session_id, answered_seq, handed_over_at)
      SELECT $2::uuid, t.id, t.last_seq, clock_timestamp() FROM target t
      WHERE t.status = 'waiting'
      ON CONFLICT (workspace_id, session_id) DO UPDATE SET handed_over_at = clock_timestamp()
      WHERE p.handed_over_at IS NULL
      RETURNING p.handed_over_at AS at
    ), line AS (
      \(EventLine.insert(
        id: "$3::uuid", workspace: "$2::uuid", session: "t", text: "$4::text", payload: "$5::jsonb",
        at: "h.at", from: "target t, handed h"))
    ), queued AS (
      UPDATE chat_sessions s SET last_seq = t.last_seq + 1,
        team_id = coalesce(g.id, s.team_id),
        team_since = CASE WHEN g.id IS DISTINCT FROM s.team_id AND g.id IS NOT NULL
          THEN h.at ELSE s.team_since END,
        \(ConversationQueue.enter("s", at: "h.at"))
      FROM target t JOIN handed h ON true LEFT JOIN team g ON true
      WHERE s.id = t.id AND s.workspace_id = $2::uuid
    ), counted AS (
      -- The figures of a team are of the conversations that it has.
      INSERT INTO chat_analytics_pending (workspace_id, session_id)
      SELECT $2::uuid, t.id FROM target t, handed, team
    )
    SELECT EXISTS (SELECT FROM handed)
    """

  /// Finds conversations that a crashed gateway left unanswered: among the newest 1,000 of the
  /// queue, those whose last message is an unanswered one of a visitor, 3 s to 10 min old. Gateways
  /// are still working on newer ones. Returns at most 100.
  public static func unanswered(in workspace: Identifier) -> Statement<[Identifier]> {
    Statement(
      Query(
        unansweredSQL, [.uuid(workspace)])
    ) { rows in (0..<rows.count).compactMap { rows.uuid($0, 0) } }
  }

  private static let unansweredSQL: SQL = """
    SELECT s.id FROM (
      SELECT w.id, w.last_seq, w.last_message_role, w.last_message_at FROM chat_sessions w
      WHERE w.workspace_id = $1::uuid AND \(ConversationQueue.contains("w"))
      ORDER BY \(ConversationQueue.reverseOrder("w")) LIMIT 1000) AS s
    LEFT JOIN bot_progress p ON p.workspace_id = $1::uuid AND p.session_id = s.id
    WHERE s.last_message_role = 'visitor'
      AND s.last_message_at BETWEEN now() - interval '10 minutes'
        AND now() - interval '3 seconds'
      AND p.handed_over_at IS NULL AND coalesce(p.answered_seq, 0) < s.last_seq
    ORDER BY s.last_message_at LIMIT 100
    """
}

extension BotProgress.Message {
  /// Columns: session, seq, id, content, payload, whether it is the first.
  fileprivate init?(_ rows: Rows, _ row: Int) {
    guard let seq = rows.int(row, 1), let id = rows.uuid(row, 2) else { return nil }
    let payload = rows.bytes(row, 4).flatMap { JSONValue($0) }
    self.init(
      seq: seq, id: id, body: rows.text(row, 3) ?? "",
      choice: payload?["reply"]?["value"]?.string,
      asksForPerson: payload?["handover"]?.bool ?? false, team: payload?["team"]?.string,
      isOffline: payload?["offline"]?.bool ?? false, isFirst: rows.bool(row, 5) ?? false)
  }
}
