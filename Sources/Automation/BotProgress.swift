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
    /// It was sent with the offline form.
    public var isOffline: Bool
    /// It is the visitor's first message in this conversation.
    public var isFirst: Bool
  }

  /// The messages to answer in one turn of the bot, in order.
  public struct Turn: Sendable {
    public var messages: [Message]
  }

  /// The unanswered messages, at most `limit`; nil if the bot must not answer: the conversation is
  /// assigned, closed or handed over.
  public static func turn(
    _ session: Identifier, workspace: Identifier, limit: Int
  ) -> Statement<Turn?> {
    Statement(
      Query(
        turnSQL, [.uuid(session), .uuid(workspace), .int(Int64(limit))])
    ) { rows in
      guard !rows.isEmpty else { return nil }
      return Turn(messages: (0..<rows.count).compactMap { Message(rows, $0) })
    }
  }

  private static let turnSQL: SQL = """
    SELECT c.seq, c.id, c.content, c.payload::text, NOT EXISTS (
        SELECT FROM chats e WHERE e.workspace_id = $2::uuid AND e.session_id = s.id
          AND e.seq < c.seq AND e.role IN ('visitor', 'user'))
    FROM chat_sessions s
    LEFT JOIN bot_progress p ON p.workspace_id = $2::uuid AND p.session_id = s.id
    JOIN LATERAL (
      SELECT m.seq, m.id, m.content, m.payload FROM chats m
      WHERE m.workspace_id = $2::uuid AND m.session_id = s.id AND m.role = 'visitor'
        AND m.seq > coalesce(p.answered_seq, 0)
      ORDER BY m.seq LIMIT $3::bigint) AS c ON true
    WHERE s.id = $1::uuid AND s.workspace_id = $2::uuid
      AND \(ConversationQueue.isUnclaimed("s"))
      AND p.handed_over_at IS NULL
    ORDER BY c.seq
    """

  /// Records that all messages up to `seq` are answered.
  public static func note(
    _ session: Identifier, workspace: Identifier, answered seq: Int64
  ) -> Statement<Void> {
    Statement(
      Query(
        """
        INSERT INTO bot_progress AS p (workspace_id, session_id, answered_seq)
        SELECT s.workspace_id, s.id, $3::bigint FROM chat_sessions s
        WHERE s.workspace_id = $2::uuid AND s.id = $1::uuid
        ON CONFLICT (workspace_id, session_id) DO UPDATE
          SET answered_seq = greatest(p.answered_seq, excluded.answered_seq)
        """, [.uuid(session), .uuid(workspace), .int(seq)]))
  }

  /// Hands the conversation over to people: puts it into the queue and adds an event to its log,
  /// with the id `line`. False if it was handed over before.
  public static func handOver(
    _ session: Identifier, workspace: Identifier, line: Identifier
  ) -> Statement<Bool> {
    Statement(
      Query(
        handOverSQL,
        [
          .uuid(session), .uuid(workspace), .uuid(line),
          .text("Visitor asked for an operator"), .json(Array(#"{"event":"handover"}"#.utf8)),
        ])
    ) { $0.bool(0, 0) ?? false }
  }

  private static let handOverSQL: SQL = """
    WITH target AS (
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
        \(ConversationQueue.enter("s", at: "h.at"))
      FROM target t, handed h WHERE s.id = t.id AND s.workspace_id = $2::uuid
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
  /// Columns: seq, id, content, payload, whether it is the first.
  fileprivate init?(_ rows: Rows, _ row: Int) {
    guard let seq = rows.int(row, 0), let id = rows.uuid(row, 1) else { return nil }
    let payload = rows.bytes(row, 3).flatMap { JSONValue($0) }
    self.init(
      seq: seq, id: id, body: rows.text(row, 2) ?? "",
      choice: payload?["reply"]?["value"]?.string,
      asksForPerson: payload?["handover"]?.bool ?? false,
      isOffline: payload?["offline"]?.bool ?? false, isFirst: rows.bool(row, 4) ?? false)
  }
}
