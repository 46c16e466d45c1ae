/// Export and erasure of a visitor's data (GDPR, articles 15 and 17), for the command line and the
/// REST API.
///
/// An erased message keeps its row and number, so that the log has no gap; its text becomes
/// `[erased]`. The sessions get a new epoch, so that clients and gateways drop their copies. The
/// order is `lockOut`, `eraseSession` for each session, `eraseRest`; an interrupted erasure can be
/// repeated from the beginning. Those merged into the visitor are exported and erased with them.
import Postgres
public import Primitives
import SharedSQL

public enum VisitorData {
  /// The first step: blocks the visitor, deletes their refresh secrets and records the author.
  /// Returns the visitor's sessions; nil if the workspace has no such visitor.
  public static func lockOut(
    _ visitor: Identifier, workspace: Identifier, by actor: Actor
  ) -> Statement<[Identifier]?> {
    Statement(
      Query(
        """
        WITH given AS (
          SELECT \(Visitor.surviving("$2::uuid", in: "$1::uuid")) AS id
        ), locked AS (
          UPDATE visitors v SET banned_at = coalesce(v.banned_at, now()) FROM given g
          WHERE v.workspace_id = $1::uuid AND \(Visitor.isOf("v", visitor: "g.id"))
          RETURNING v.id
        ), known AS (
          SELECT l.id FROM locked l JOIN given g ON g.id = l.id
        ), ended AS (
          DELETE FROM refresh_tokens r USING locked l
          WHERE r.workspace_id = $1::uuid AND r.visitor_id = l.id
        ), noted AS (
          INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id)
          SELECT $1::uuid, $4::uuid, $3::text, 'visitor.erasing', id FROM known
        )
        SELECT (SELECT string_agg(s.id::text, ' ' ORDER BY s.id) FROM chat_sessions s
          WHERE s.workspace_id = $1::uuid AND s.user_id = known.id)
        FROM known
        """, [.uuid(workspace), .uuid(visitor), .text(actor.kind), .uuid(actor.id)]
      ).after(.merges(in: workspace))
    ) { rows in
      guard !rows.isEmpty else { return nil }
      return (rows.text(0, 0) ?? "").split(separator: " ").compactMap { Identifier(String($0)) }
    }
  }

  /// Erases the messages of one session and closes it. Returns the number of messages. The content
  /// hashes are replaced too: they would confirm a guessed text.
  public static func eraseSession(
    _ session: Identifier, workspace: Identifier
  ) -> Statement<Int64> {
    Statement(
      Query(
        """
        WITH closed AS (
          UPDATE chat_sessions SET title = '', context = '{}',
            epoch = left(md5(random()::text), 8),
            last_message_preview =
              CASE WHEN last_message_preview IS NOT NULL THEN '[erased]' END,
            status = 'closed', closed_at = coalesce(closed_at, now()),
            \(ConversationQueue.entryTime) = \(ConversationQueue.outside)
          WHERE workspace_id = $1::uuid AND id = $2::uuid RETURNING id
        ), erased AS (
          UPDATE chats c SET content = '[erased]', payload = NULL, user_id = NULL,
            content_hash = \(erasedHash(kind: "c.kind"))
          FROM closed WHERE c.workspace_id = $1::uuid AND c.session_id = closed.id
            AND c.kind <> 'event' RETURNING 1
        ), commented AS (
          UPDATE chats c SET payload = c.payload - 'comment',
            content_hash = \(ContentHash.of(
              kind: "c.kind", payload: "c.payload - 'comment'", content: "c.content"))
          FROM closed WHERE c.workspace_id = $1::uuid AND c.session_id = closed.id
            AND c.kind = 'event' AND c.payload ? 'comment'
        ), files AS (
          -- Their bytes go by upkeep, within minutes.
          UPDATE chat_attachments a SET state = 'removed', removed_at = now(), name = '[erased]',
            alt = NULL
          FROM closed WHERE a.workspace_id = $1::uuid AND a.session_id = closed.id
            AND a.state <> 'removed'
        )
        SELECT count(*) FROM erased
        """, [.uuid(workspace), .uuid(session)])
    ) { $0.isEmpty ? 0 : $0.int(0, 0) ?? 0 }
  }

  private static func erasedHash(kind: SQL) -> SQL {
    ContentHash.of(kind: kind, payload: "NULL", content: "'[erased]'")
  }

  /// The author of a change, for the audit log: `command`, or an operator or API key with its id.
  public struct Actor: Sendable {
    public var kind: String
    public var id: Identifier?

    public init(kind: String, id: Identifier?) {
      self.kind = kind
      self.id = id
    }

    public static let command = Actor(kind: "command", id: nil)
  }

  /// The last step: erases everything outside the visitor's sessions, then the visitor. Messages in
  /// sessions of others exist after a move from another system. Running gateways reload their
  /// sessions. Returns the number of further messages.
  public static func eraseRest(
    _ visitor: Identifier, workspace: Identifier, by actor: Actor, sessions: Int64, messages: Int64
  ) -> Statement<Int64> {
    Statement(
      Query(
        eraseRestSQL,
        [
          .uuid(workspace), .uuid(visitor), .text(actor.kind), .uuid(actor.id), .int(sessions),
          .int(messages),
        ])
    ) { $0.isEmpty ? 0 : $0.int(0, 0) ?? 0 }
  }

  private static let eraseRestSQL: SQL = """
    WITH person AS (
      SELECT v.id FROM visitors v WHERE v.workspace_id = $1::uuid
        AND \(Visitor.isOf("v", visitor: Visitor.surviving("$2::uuid", in: "$1::uuid")))
    ), elsewhere AS (
      UPDATE chats SET content = '[erased]', payload = NULL, user_id = NULL,
        content_hash = \(erasedHash(kind: "kind"))
      WHERE workspace_id = $1::uuid AND user_id IN (SELECT id FROM person) RETURNING 1
    ), refused AS (
      DELETE FROM quarantine WHERE workspace_id = $1::uuid
        AND (sender_id IN (SELECT id FROM person) OR session_id IN (SELECT id FROM chat_sessions
          WHERE workspace_id = $1::uuid AND user_id IN (SELECT id FROM person)))
    ), marks AS (
      DELETE FROM read_marks
      WHERE workspace_id = $1::uuid AND person_id IN (SELECT id FROM person)
    ), follows AS (
      DELETE FROM friend_events
      WHERE workspace_id = $1::uuid AND visitor_id IN (SELECT id FROM person)
    ), received AS (
      DELETE FROM channel_events e USING channel_people p
      WHERE e.workspace_id = $1::uuid AND p.workspace_id = $1::uuid AND e.channel = p.channel
        AND e.address = p.address AND p.visitor_id IN (SELECT id FROM person)
    ), talks AS (
      DELETE FROM channel_conversations WHERE workspace_id = $1::uuid AND session_id IN (
        SELECT id FROM chat_sessions
        WHERE workspace_id = $1::uuid AND user_id IN (SELECT id FROM person))
    ), ratings AS (
      UPDATE csat_responses SET comment = NULL, visitor_id = NULL
      WHERE workspace_id = $1::uuid AND visitor_id IN (SELECT id FROM person)
    ), mailed AS (
      DELETE FROM mail_outbox o USING chat_sessions s WHERE o.workspace_id = $1::uuid
        AND s.workspace_id = $1::uuid AND s.id = o.session_id
        AND s.user_id IN (SELECT id FROM person)
    ), replied AS (
      DELETE FROM mail_received r USING chat_sessions s WHERE r.workspace_id = $1::uuid
        AND s.workspace_id = $1::uuid AND s.id IN (r.session_id, r.stored_in)
        AND s.user_id IN (SELECT id FROM person)
    ), told AS (
      DELETE FROM webhook_deliveries WHERE workspace_id = $1::uuid
        AND payload::text LIKE ANY (SELECT '%' || id::text || '%' FROM person)
    ), answers AS (
      -- They are encrypted: any of them may name the visitor.
      DELETE FROM idempotency_keys WHERE workspace_id = $1::uuid AND status IS NOT NULL
    ), freed AS (
      UPDATE chat_sessions SET user_id = NULL, merged_from = NULL
      WHERE workspace_id = $1::uuid AND user_id IN (SELECT id FROM person)
    ), gone AS (
      DELETE FROM visitors WHERE workspace_id = $1::uuid AND id IN (SELECT id FROM person)
    ), noted AS (
      INSERT INTO audit_log (workspace_id, actor_id, actor, action, target_id, details)
      SELECT $1::uuid, $4::uuid, $3::text, 'visitor.erased', $2::uuid, jsonb_build_object(
        'sessions', $5::bigint, 'messages', $6::bigint + (SELECT count(*) FROM elsewhere))
    ), announced AS (
      UPDATE database_epoch SET generation = generation + 1
    )
    SELECT count(*) FROM elsewhere
    """

  // MARK: Export

  /// All data of a visitor as one JSON object; nil if the workspace has no such visitor. Notes are
  /// left out: operators wrote them for each other. Deleted conversations are included until their
  /// erasure, with `deleted_at`.
  public static func export(
    _ visitor: Identifier, workspace: Identifier
  ) -> Statement<String?> {
    Statement(Query(exportSQL, [.uuid(workspace), .uuid(visitor)])) { rows in
      rows.isEmpty ? nil : rows.text(0, 0)
    }
  }

  /// A file of a visitor's conversations.
  public struct File: Sendable, Equatable {
    public var id: Identifier
    /// As its sender has named it, without folders and controls.
    public var name: String
    public var byteCount: Int64
  }

  /// Files of one page.
  private static let filesMax: Int64 = 500

  /// The files that the export names, in pages: from the one after `last` on. Empty: there are no
  /// further ones.
  public static func files(
    of visitor: Identifier, workspace: Identifier, after last: Identifier?
  ) -> Statement<[File]> {
    Statement(
      Query(
        """
        SELECT a.id, a.name, a.bytes FROM chat_attachments a JOIN chat_sessions s
          ON s.id = a.session_id AND s.workspace_id = a.workspace_id
        WHERE a.workspace_id = $1::uuid AND a.state IN ('stored', 'bound')
          AND s.user_id = \(Visitor.surviving("$2::uuid", in: "$1::uuid"))
          AND ($3::uuid IS NULL OR a.id > $3::uuid)
        ORDER BY a.id LIMIT $4::bigint
        """, [.uuid(workspace), .uuid(visitor), .uuid(last), .int(filesMax)])
    ) { rows in
      (0..<rows.count).compactMap { row in
        rows.uuid(row, 0).map {
          File(id: $0, name: rows.text(row, 1) ?? "", byteCount: rows.int(row, 2) ?? 0)
        }
      }
    }
  }

  private static let exportSQL: SQL = """
    WITH person AS (
      SELECT p.* FROM visitors p WHERE p.workspace_id = $1::uuid
        AND \(Visitor.isOf("p", visitor: Visitor.surviving("$2::uuid", in: "$1::uuid")))
    )
    SELECT jsonb_build_object(
      'visitor', to_jsonb(v) - ARRAY['workspace_id', 'merged_into', 'merged_at'],
      'merged', coalesce((
        SELECT jsonb_agg(to_jsonb(m) - ARRAY['workspace_id', 'merged_into'] ORDER BY m.merged_at)
        FROM person m WHERE m.merged_into IS NOT NULL), '[]'),
      'sessions', coalesce((
        SELECT jsonb_agg(jsonb_build_object('id', s.id, 'title', s.title, 'status', s.status,
          'channel', s.channel, 'context', s.context, 'created_at', s.created_at,
          'closed_at', s.closed_at, 'deleted_at', s.deleted_at, 'messages', coalesce((
            SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object('seq', c.seq, 'id', c.id,
              'role', c.role, 'kind', c.kind, 'by', c.operator_name, 'body', c.content,
              'payload', c.payload, 'at', c.created_at)) ORDER BY c.seq)
            FROM chats c WHERE c.workspace_id = $1::uuid AND c.session_id = s.id
              AND c.kind <> 'note'),
          '[]')) ORDER BY s.created_at, s.id)
        FROM chat_sessions s WHERE s.workspace_id = $1::uuid AND s.user_id = v.id), '[]'),
      'attachments', coalesce((
        SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object('id', a.id, 'session', a.session_id,
          'message', a.message_id, 'by_visitor', a.is_of_visitor, 'name', a.name, 'type', a.type,
          'bytes', a.bytes, 'alt', a.alt, 'at', a.created_at)) ORDER BY a.created_at, a.id)
        FROM chat_attachments a JOIN chat_sessions s
          ON s.id = a.session_id AND s.workspace_id = a.workspace_id
        WHERE a.workspace_id = $1::uuid AND s.user_id = v.id AND a.state IN ('stored', 'bound')),
        '[]'),
      'follows', coalesce((
        SELECT jsonb_agg(jsonb_build_object('channel', f.channel, 'event', f.event,
          'at', f.created_at) ORDER BY f.created_at)
        FROM friend_events f WHERE f.workspace_id = $1::uuid
          AND f.visitor_id IN (SELECT id FROM person)), '[]'),
      'channels', coalesce((
        SELECT jsonb_agg(jsonb_build_object('channel', p.channel, 'address', p.address,
          'left_at', p.left_at) ORDER BY p.channel, p.address)
        FROM channel_people p WHERE p.workspace_id = $1::uuid
          AND p.visitor_id IN (SELECT id FROM person)), '[]'),
      'ratings', coalesce((
        SELECT jsonb_agg(jsonb_build_object('session', r.session_id, 'rating', r.rating,
          'comment', r.comment, 'at', r.created_at) ORDER BY r.created_at)
        FROM csat_responses r WHERE r.workspace_id = $1::uuid
          AND r.visitor_id IN (SELECT id FROM person)), '[]'),
      'refused', coalesce((
        SELECT jsonb_agg(jsonb_build_object('session', q.session_id, 'id', q.message_id,
          'body_base64', encode(q.body, 'base64'), 'payload_base64', encode(q.payload, 'base64'),
          'reason', q.reason, 'at', q.created_at) ORDER BY q.created_at)
        FROM quarantine q WHERE q.workspace_id = $1::uuid
          AND q.sender_id IN (SELECT id FROM person)), '[]')
    )::text
    FROM person v WHERE v.merged_into IS NULL
    """
}
