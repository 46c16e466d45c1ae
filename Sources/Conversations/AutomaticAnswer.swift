/// Requests for automatic answers (`assist_answers`): of each conversation the visitor's last
/// message that neither an operator nor a rule of the bot answers.
///
/// A request is stored before the bot records its progress, and a gateway works on it under a lease
/// (`due_at`). The answer is stored in the transaction that ends the request, under the lock of the
/// conversation's row: it is never stored twice, and never after an operator's claim.
public import Directory
import Postgres
public import Primitives
import SharedSQL

public enum AutomaticAnswer {
  /// Requests of one conversation, and of one workspace in an hour of the clock.
  public static let perConversation: Int64 = 10
  public static let perHour: Int64 = 60
  /// Gateways that work on one request, of which all but the last have crashed.
  static let attemptsMax: Int64 = 2
  /// Seconds until another gateway takes over: more than an answer may take
  /// (`AssistSettingsRoutes.timeoutRange`).
  static let leaseSeconds: Int64 = 150
  /// Seconds after which an answer comes too late, unless it is on its way.
  static let secondsMax: Int64 = 600
  /// Workspaces of one sweep.
  static let sweptMax: Int64 = 200

  /// Condition: no operator has or had the conversation. Each change of hands sets `queued_at`.
  private static func isUntouched(_ s: SQL) -> SQL {
    """
    \(ConversationQueue.isUnclaimed(s)) AND \(s).claimed_at IS NULL AND \(s).queued_at IS NULL
      AND \(s).first_response_at IS NULL
    """
  }

  /// Requests an answer to a visitor's message. False if there is none: an operator has or had the
  /// conversation, a later message was requested, or a limit is reached.
  public static func request(
    to message: Identifier, seq: Int64, in session: Identifier, workspace: Identifier
  ) -> Statement<Bool> {
    Statement(
      Query(
        """
        WITH target AS (
          SELECT s.id FROM chat_sessions s
          WHERE s.workspace_id = $1::uuid AND s.id = $2::uuid AND \(isUntouched("s"))
            AND NOT EXISTS (
              SELECT FROM assist_answers a WHERE a.workspace_id = $1::uuid
                AND a.session_id = $2::uuid AND (a.seq >= $4::bigint OR a.requests >= $5::bigint))
        ), gone AS (
          DELETE FROM assist_answer_hours
          WHERE workspace_id = $1::uuid AND hour < now() - interval '1 day'
        ), counted AS (
          INSERT INTO assist_answer_hours AS h (workspace_id, hour, requests)
          SELECT $1::uuid, date_trunc('hour', now()), 1 FROM target
          ON CONFLICT (workspace_id, hour) DO UPDATE SET requests = h.requests + 1
            WHERE h.requests < $6::bigint
          RETURNING 1
        )
        INSERT INTO assist_answers AS a (workspace_id, session_id, message_id, seq, due_at)
        SELECT $1::uuid, t.id, $3::uuid, $4::bigint, now() FROM target t, counted
        ON CONFLICT (workspace_id, session_id) DO UPDATE SET message_id = excluded.message_id,
          seq = excluded.seq, requests = a.requests + 1, asked_at = now(), attempts = 0,
          due_at = now()
          WHERE a.seq < excluded.seq AND a.requests < $5::bigint
        RETURNING a.session_id
        """,
        [
          .uuid(workspace), .uuid(session), .uuid(message), .int(seq), .int(perConversation),
          .int(perHour),
        ])
    ) { !$0.isEmpty }
  }

  /// The workspaces with requests that nobody works on.
  public static let workspaces = Statement<[Identifier]>(
    Query(
      """
      SELECT DISTINCT workspace_id FROM (
        SELECT workspace_id FROM assist_answers WHERE due_at <= now() ORDER BY due_at
        LIMIT $1::bigint) AS due
      """, [.int(sweptMax)])
  ) { rows in (0..<rows.count).compactMap { rows.uuid($0, 0) } }

  /// A request on which the caller works now.
  public struct Taken: Sendable, Equatable {
    public var session: Identifier
    public var message: Identifier
  }

  /// The oldest request that nobody works on. Those that are too old, or that gateways have not
  /// survived, are given up.
  public static func take(in workspace: Identifier) -> Statement<Taken?> {
    Statement(
      Query(
        """
        WITH due AS MATERIALIZED (
          SELECT session_id,
            attempts < $2::bigint AND asked_at > now() - $4::bigint * interval '1 second' AS is_open
          FROM assist_answers WHERE workspace_id = $1::uuid AND due_at <= now()
          ORDER BY due_at, session_id LIMIT 10 FOR UPDATE SKIP LOCKED
        ), first AS (
          SELECT session_id FROM due WHERE is_open ORDER BY session_id LIMIT 1
        ), changed AS (
          UPDATE assist_answers a SET attempts = a.attempts + 1,
            due_at = CASE WHEN d.is_open THEN now() + $3::bigint * interval '1 second' END
          FROM due d WHERE a.workspace_id = $1::uuid AND a.session_id = d.session_id
            AND (NOT d.is_open OR d.session_id IN (SELECT session_id FROM first))
          RETURNING a.session_id, a.message_id, d.is_open
        )
        SELECT session_id, message_id FROM changed WHERE is_open
        """,
        [.uuid(workspace), .int(attemptsMax), .int(leaseSeconds), .int(secondsMax)])
    ) { rows in
      guard !rows.isEmpty, let session = rows.uuid(0, 0), let message = rows.uuid(0, 1)
      else { return nil }
      return Taken(session: session, message: message)
    }
  }

  /// Ends a request without an answer.
  public static func giveUp(_ taken: Taken, in workspace: Identifier) -> Statement<Void> {
    Statement(
      Query(
        """
        UPDATE assist_answers SET due_at = NULL
        WHERE workspace_id = $1::uuid AND session_id = $2::uuid AND message_id = $3::uuid
        """, [.uuid(workspace), .uuid(taken.session), .uuid(taken.message)]))
  }

  /// Stores the answer, and ends the request. False, and nothing is stored, if the request has
  /// ended, the visitor has sent a later one, or an operator has or had the conversation.
  ///
  /// - Parameter name: of the bot.
  public static func store(
    _ text: String, id: Identifier, named name: String, for taken: Taken,
    in workspace: Identifier
  ) -> Statement<Bool> {
    Statement(
      Query(
        storeSQL,
        [
          .uuid(workspace), .uuid(taken.session), .uuid(taken.message), .uuid(id), .text(text),
          .text(name), .json(Array(#"{"automatic":true}"#.utf8)),
        ])
    ) { !$0.isEmpty && $0.bool(0, 0) == true }
  }

  private static let storeSQL: SQL = """
    WITH target AS MATERIALIZED (
      SELECT s.id, s.last_seq FROM chat_sessions s
      WHERE s.workspace_id = $1::uuid AND s.id = $2::uuid AND \(isUntouched("s"))
      FOR UPDATE
    ), ended AS (
      UPDATE assist_answers a SET due_at = NULL FROM target t
      WHERE a.workspace_id = $1::uuid AND a.session_id = t.id AND a.message_id = $3::uuid
        AND a.due_at IS NOT NULL AND NOT EXISTS (
          SELECT FROM bot_progress p WHERE p.workspace_id = $1::uuid AND p.session_id = t.id
            AND p.handed_over_at IS NOT NULL)
      RETURNING a.session_id
    ), line AS (
      INSERT INTO chats (id, workspace_id, session_id, seq, role, kind, content, payload,
        operator_name, content_hash, created_at)
      SELECT $4::uuid, $1::uuid, t.id, t.last_seq + 1, 'bot', 'text', $5::text, $7::jsonb,
        $6::text, \(ContentHash.of(kind: "'text'", payload: "$7::jsonb", content: "$5::text")),
        clock_timestamp()
      FROM target t JOIN ended e ON e.session_id = t.id
      RETURNING seq, created_at
    ), changed AS (
      UPDATE chat_sessions s SET last_seq = l.seq, message_count = s.message_count + 1,
        last_message_at = l.created_at, last_message_preview = left($5::text, 120),
        last_message_role = 'bot', updated_at = l.created_at
      FROM line l WHERE s.workspace_id = $1::uuid AND s.id = $2::uuid
    )
    SELECT EXISTS (SELECT FROM line)
    """
}
