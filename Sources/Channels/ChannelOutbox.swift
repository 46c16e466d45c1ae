/// What is to be sent to people on channels. The log is the outbox: a conversation has the number
/// of the last entry that is done, and what follows is to be sent, in order and one at a time.
///
/// So nothing is lost: a message is due as soon as it is in the log. Nothing is doubled either: a
/// gateway holds a lease on the conversation while it sends, and whoever repeats an attempt uses
/// the same retry key or the same reply token, which the platform takes once. On a platform that
/// has neither, an attempt without a recorded outcome is the last one, and the message `unknown`.
///
/// A message that has failed, or is `unknown`, can be sent again (`again_at` of its delivery). It
/// comes before those that follow in the log, but not before one that is begun.
import Chat
import Directory
import JSON
import Postgres
import Primitives

enum ChannelOutbox {
  /// Conversations whose log one search reads.
  static let notedMax: Int64 = 1_000
  /// How long after its end a conversation is still looked at every second.
  static let watchedSeconds: Int64 = 600

  /// Entries that are sent: those that the widget shows a visitor as a message of the other side.
  static let isSent: SQL = """
    m.role IN ('operator', 'bot', 'system', 'assistant')
      AND m.kind IN ('text', 'file', 'card', 'buttons', 'carousel')
    """

  /// Whether there are conversations that are watched, whether any is due, and
  /// whether a profile and a menu are.
  static let peek: StaticString = """
    SELECT EXISTS (SELECT FROM channel_conversations WHERE is_watched),
      EXISTS (SELECT FROM channel_conversations WHERE due_at <= now()),
      EXISTS (SELECT FROM channel_people WHERE profile_due_at <= now()),
      EXISTS (SELECT FROM channel_menus WHERE due_at <= now())
    """

  /// Notes what has been written since the last time. Conversations that have ended long enough ago
  /// are watched no longer. Rows that another gateway notes are left to it.
  static var note: Query {
    Query(
      """
      WITH news AS (
        SELECT c.workspace_id, c.session_id, s.last_seq, s.status = 'closed' AS is_closed,
          s.status <> 'closed' OR s.closed_at > now() - $2::bigint * interval '1 second'
            AS is_watched
        FROM channel_conversations c JOIN chat_sessions s
          ON s.workspace_id = c.workspace_id AND s.id = c.session_id
        WHERE c.is_watched AND (s.last_seq > c.noted_seq OR s.status = 'closed'
          AND s.closed_at <= now() - $2::bigint * interval '1 second')
        LIMIT $1::bigint FOR UPDATE OF c SKIP LOCKED
      )
      UPDATE channel_conversations c SET noted_seq = greatest(c.noted_seq, n.last_seq),
        due_at = CASE WHEN n.last_seq > c.noted_seq THEN coalesce(c.due_at, now())
          ELSE c.due_at END,
        is_watched = n.is_watched, is_imported = c.is_imported AND n.is_closed
      FROM news n WHERE c.workspace_id = n.workspace_id AND c.session_id = n.session_id
      """, [.int(notedMax), .int(watchedSeconds)])
  }

  /// The same for conversations that are not watched, which takes longer: operators may write in
  /// closed ones, and open them again. And those with a message that is to be sent again, which a
  /// gateway of an older version has passed over.
  static var noteRest: Query {
    Query(
      """
      WITH news AS (
        SELECT c.workspace_id, c.session_id FROM channel_conversations c JOIN chat_sessions s
          ON s.workspace_id = c.workspace_id AND s.id = c.session_id
        WHERE NOT c.is_watched AND s.deleted_at IS NULL AND s.last_seq > c.noted_seq
        LIMIT $1::bigint FOR UPDATE OF c SKIP LOCKED
      ), again AS (
        SELECT c.workspace_id, c.session_id FROM channel_deliveries d JOIN channel_conversations c
          ON c.workspace_id = d.workspace_id AND c.session_id = d.session_id
        WHERE d.again_at IS NOT NULL AND c.due_at IS NULL
        LIMIT $1::bigint FOR UPDATE OF c SKIP LOCKED
      ), due AS (
        UPDATE channel_conversations c SET due_at = now() FROM again a
        WHERE c.workspace_id = a.workspace_id AND c.session_id = a.session_id
      )
      UPDATE channel_conversations c SET is_watched = true
      FROM news n WHERE c.workspace_id = n.workspace_id AND c.session_id = n.session_id
      """, [.int(notedMax)])
  }

  /// Locks conversations that are due. `take` follows as a statement of its own, so that it sees
  /// all of the log that the locked rows mention.
  static func lock(room: Int) -> Query {
    Query(
      """
      SELECT workspace_id, session_id FROM channel_conversations WHERE due_at <= now()
      ORDER BY due_at LIMIT $1::bigint FOR UPDATE SKIP LOCKED
      """, [.int(Int64(room))])
  }

  /// Takes the next message of each locked conversation. A conversation without one is done.
  ///
  /// The attempt is stored before it begins, with the reply token that it uses up.
  static func take(
    _ locked: [(workspace: Identifier, session: Identifier)], lease: Identifier,
    leaseMilliseconds: Int64
  ) -> Query {
    Query(
      takeSQL,
      [
        .uuids(locked.map(\.workspace)), .uuids(locked.map(\.session)), .uuid(lease),
        .int(leaseMilliseconds), .json(replySeconds),
      ])
  }

  /// For how long a reply token may be used for a first attempt, by channel.
  private static let replySeconds = JSONValue.object(
    Dictionary(
      uniqueKeysWithValues: Channels.all.map {
        ($0.name, .number("\($0.capabilities.replySeconds)"))
      })
  ).text

  private static let takeSQL: SQL = """
    WITH head AS MATERIALIZED (
      SELECT c.*, c.lease IS NOT NULL AS is_unknown, m.id AS message, m.seq, m.kind, m.content,
        m.payload, p.left_at IS NOT NULL AS is_left, greatest(c.parts_done, m.parts_done) AS part,
        -- Only a retry key shows whether an earlier attempt has reached the platform.
        CASE WHEN c.attempts = 0 AND NOT m.is_again AND p.left_at IS NULL
            AND p.reply_token_at > now()
            - ($5::jsonb ->> c.channel)::bigint * interval '1 second'
          THEN p.reply_token END AS fresh, p.reply_token_at AS fresh_at
      FROM unnest($1::uuid[], $2::uuid[]) AS t (workspace_id, session_id)
      JOIN channel_conversations c ON c.workspace_id = t.workspace_id
        AND c.session_id = t.session_id
      LEFT JOIN channel_people p ON p.workspace_id = c.workspace_id AND p.channel = c.channel
        AND p.address = c.address
      LEFT JOIN LATERAL (
        (SELECT m.id, m.seq, m.kind, m.content, m.payload, true AS is_again, d.parts_done
        FROM channel_deliveries d
        JOIN chats m ON m.workspace_id = d.workspace_id AND m.session_id = d.session_id
          AND m.seq = d.seq
        WHERE d.workspace_id = c.workspace_id AND d.session_id = c.session_id
          AND d.again_at IS NOT NULL AND (c.tried_at IS NULL OR d.again_at <= c.tried_at)
        ORDER BY d.seq LIMIT 1)
        UNION ALL
        (SELECT m.id, m.seq, m.kind, m.content, m.payload, false, 0 FROM chats m
        WHERE m.workspace_id = c.workspace_id AND m.session_id = c.session_id
          AND m.seq > c.done_seq AND m.seq <= c.noted_seq AND \(isSent)
        ORDER BY m.seq LIMIT 1)
        ORDER BY seq LIMIT 1) AS m ON true
    ), settled AS (
      UPDATE channel_conversations c SET done_seq = c.noted_seq, due_at = NULL, lease = NULL,
        attempts = 0, tried_at = NULL
      FROM head h WHERE h.message IS NULL AND c.workspace_id = h.workspace_id
        AND c.session_id = h.session_id
    ), spent AS (
      UPDATE channel_people p SET reply_token = NULL, reply_token_at = NULL FROM head h
      WHERE h.message IS NOT NULL AND h.fresh IS NOT NULL AND p.workspace_id = h.workspace_id
        AND p.channel = h.channel AND p.address = h.address
    ), taken AS (
      UPDATE channel_conversations c SET lease = $3::uuid, attempts = c.attempts + 1,
        due_at = now() + $4::bigint * interval '1 millisecond',
        -- Later than whatever this statement sees of `again_at`.
        tried_at = coalesce(c.tried_at, clock_timestamp()),
        reply_token = coalesce(c.reply_token, h.fresh),
        reply_token_at = CASE WHEN c.reply_token IS NULL THEN h.fresh_at ELSE c.reply_token_at END
      FROM head h WHERE h.message IS NOT NULL AND c.workspace_id = h.workspace_id
        AND c.session_id = h.session_id
      RETURNING c.workspace_id, c.session_id, c.attempts, c.reply_token,
        extract(epoch FROM now() - c.reply_token_at)::bigint AS token_seconds,
        extract(epoch FROM now() - c.tried_at)::bigint AS tried_seconds
    )
    SELECT h.workspace_id, h.session_id, h.channel, h.address, h.message, h.seq, h.kind, h.content,
      h.payload::text, h.is_left, t.attempts, t.reply_token, t.token_seconds, t.tried_seconds,
      h.part, h.is_unknown
    FROM head h JOIN taken t ON t.workspace_id = h.workspace_id AND t.session_id = h.session_id
    """

  /// A message that this node sends now.
  struct Sending: Sendable, Equatable {
    var workspace: Identifier
    var session: Identifier
    var channel: String
    var seq: Int64
    var message: OutboundMessage
    /// The person has blocked the account.
    var isLeft: Bool
    /// The number of the attempt; the first is 1.
    var attempt: Int
    var replyToken: String?
    var replyTokenSeconds: Int64
    /// The time since the first attempt.
    var seconds: Int64
    /// The requests of the message that are done.
    var part: Int
    /// An earlier attempt has no recorded outcome.
    var isUnknown: Bool
  }

  static func sendings(_ rows: Rows) -> [Sending] {
    (0..<rows.count).compactMap { row in
      guard let workspace = rows.uuid(row, 0), let session = rows.uuid(row, 1),
        let channel = rows.text(row, 2), let address = rows.text(row, 3),
        let id = rows.uuid(row, 4), let seq = rows.int(row, 5), let kind = rows.text(row, 6)
      else { return nil }
      let message = OutboundMessage(
        id: id, address: address,
        kind: Array(kind.utf8).withRawSpan { EntryKind(text: $0) } ?? .text,
        body: rows.text(row, 7) ?? "", payload: rows.bytes(row, 8) ?? [])
      return Sending(
        workspace: workspace, session: session, channel: channel, seq: seq, message: message,
        isLeft: rows.bool(row, 9) ?? false, attempt: Int(rows.int(row, 10) ?? 1),
        replyToken: rows.text(row, 11), replyTokenSeconds: rows.int(row, 12) ?? 0,
        seconds: rows.int(row, 13) ?? 0, part: Int(rows.int(row, 14) ?? 0),
        isUnknown: rows.bool(row, 15) ?? false)
    }
  }

  /// Records that a message is sent, or has failed for good; the next one is due. Nothing if the
  /// lease has passed to another node.
  ///
  /// - Parameters:
  ///   - reason: why it has failed; nil: it is sent.
  ///   - isUnknown: it may have been sent nevertheless.
  static func finish(
    _ sending: Sending, lease: Identifier, reason: String?, isUnknown: Bool = false
  ) -> Query {
    Query(
      """
      WITH done AS (
        UPDATE channel_conversations SET done_seq = greatest(done_seq, $4::bigint),
          due_at = now(), lease = NULL, attempts = 0, tried_at = NULL, reply_token = NULL,
          reply_token_at = NULL, last_error = NULL, parts_done = 0
        WHERE workspace_id = $1::uuid AND session_id = $2::uuid AND lease = $3::uuid
          AND (done_seq < $4::bigint OR EXISTS (SELECT FROM channel_deliveries
            WHERE workspace_id = $1::uuid AND session_id = $2::uuid AND seq = $4::bigint
              AND again_at IS NOT NULL))
        RETURNING workspace_id, session_id
      )
      INSERT INTO channel_deliveries (workspace_id, session_id, seq, message_id, status, reason,
        parts_done)
      SELECT workspace_id, session_id, $4::bigint, $5::uuid,
        CASE WHEN $6::text IS NULL THEN 'sent' WHEN $7::boolean THEN 'unknown' ELSE 'failed' END,
        $6::text, $8::integer FROM done
      ON CONFLICT (workspace_id, session_id, seq) DO UPDATE SET status = excluded.status,
        reason = excluded.reason, parts_done = excluded.parts_done, at = now(), again_at = NULL
      """,
      [
        .uuid(sending.workspace), .uuid(sending.session), .uuid(lease), .int(sending.seq),
        .uuid(sending.message.id), .text(reason), .bool(isUnknown), .int(Int64(sending.part)),
      ])
  }

  /// Records that a part of a message is sent; the next one is due. The message stays begun.
  static func finishPart(_ sending: Sending, lease: Identifier) -> Query {
    Query(
      """
      UPDATE channel_conversations SET parts_done = $4::integer, due_at = now(), lease = NULL,
        attempts = 0, last_error = NULL
      WHERE workspace_id = $1::uuid AND session_id = $2::uuid AND lease = $3::uuid
      """,
      [
        .uuid(sending.workspace), .uuid(sending.session), .uuid(lease),
        .int(Int64(sending.part + 1)),
      ])
  }

  /// Records an attempt that is repeated after a pause.
  ///
  /// - Parameter dropsToken: the next one is without the reply token.
  static func postpone(
    _ sending: Sending, lease: Identifier, reason: String?, milliseconds: Int64, dropsToken: Bool
  ) -> Query {
    Query(
      """
      UPDATE channel_conversations SET lease = NULL,
        due_at = now() + $4::bigint * interval '1 millisecond',
        last_error = coalesce($5::text, last_error),
        reply_token = CASE WHEN NOT $6::boolean THEN reply_token END
      WHERE workspace_id = $1::uuid AND session_id = $2::uuid AND lease = $3::uuid
      """,
      [
        .uuid(sending.workspace), .uuid(sending.session), .uuid(lease), .int(milliseconds),
        .text(reason), .bool(dropsToken),
      ])
  }

  /// Gives back what this node has not ended. The lease stays, since the outcome is unknown.
  static func release(lease: Identifier) -> Query {
    Query(
      """
      UPDATE channel_conversations SET due_at = now() WHERE lease = $1::uuid
      """, [.uuid(lease)])
  }

  /// The number of conversations in which something waits, and the time since the oldest of their
  /// first attempts, in seconds.
  static var countWaiting: Query {
    Query(
      """
      SELECT count(*), coalesce(ceil(extract(epoch FROM now() - min(tried_at))), 0)::bigint
      FROM (SELECT tried_at FROM channel_conversations WHERE due_at IS NOT NULL
        LIMIT $1::bigint) AS waiting
      """, [.int(countedMax)])
  }

  static let countedMax: Int64 = 100_000

  /// All credentials of these workspaces: workspace, service, name, key, ciphertext.
  static func credentials(of workspaces: [Identifier]) -> Query {
    Query(
      """
      SELECT workspace_id, provider, name, key_id, ciphertext FROM credentials
      WHERE workspace_id = ANY ($1::uuid[])
      """, [.uuids(workspaces)])
  }
}

/// Events and deliveries that nobody needs any more. Every node runs it, once a minute.
enum ChannelSweep {
  static let intervalMilliseconds: Int64 = 60_000
  /// For how long an event that comes again is recognised by its id. Later its message still is.
  static let keptDays: Int64 = 14
  static let rows: Int64 = 5_000
  static let rounds = 20

  static var forgetEvents: Query {
    Query(
      """
      DELETE FROM channel_events WHERE ctid = ANY (ARRAY(SELECT ctid FROM channel_events
        WHERE received_at < now() - $1::bigint * interval '1 day' AND processed_at IS NOT NULL
        LIMIT $2::bigint))
      """, [.int(keptDays), .int(rows)])
  }
}
