/// The people of a channel as visitors (`channel_people`), and their conversations
/// (`channel_conversations`).
///
/// A person's visitor has the platform's id as `external_id`, after the channel's prefix. LINE has
/// none, as the import of a LINE back end makes visitors, so an imported friend goes on as the same
/// visitor, in the imported conversation.
public import Directory
import JSON
import OpenSSL
public import Postgres
public import Primitives
import SharedSQL

public enum ChannelPeople {
  /// Somebody on a channel.
  public struct Person: Sendable, Equatable {
    public var workspace: Identifier
    public var channel: String
    public var address: String

    public init(workspace: Identifier, channel: String, address: String) {
      self.workspace = workspace
      self.channel = channel
      self.address = address
    }

    /// The visitor's.
    var externalID: String { (Channels.named(channel)?.visitorPrefix ?? "") + address }

    /// An id that is the same whenever it is made. Ids of messages are unique in the database, so
    /// they depend on the workspace.
    ///
    /// - Parameter key: the kind of thing, and the platform's id.
    public func identifier(_ key: String) -> Identifier {
      var bytes: [UInt8] = Array("chirrup channel ".utf8)
      workspace.appendBytes(to: &bytes)
      bytes += Array("\(channel) \(key)".utf8)
      return SHA256.digest(bytes).withRawSpan { span in
        Identifier(
          high: span.uint64(at: 0).bigEndian & ~0xF000 | 0x8000,
          low: span.uint64(at: 8).bigEndian & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000)
      }
    }

    /// The id of the conversation that a message begins.
    func session(for message: Identifier, attempt: Int) -> Identifier {
      identifier("session:\(attempt):\(message)")
    }
  }

  /// What is known before a message is appended.
  public struct Arrival: Sendable, Equatable {
    /// The message is in the log already.
    public var isKnown: Bool
    public var isBanned: Bool
    public var visitor: Identifier?
    public var name: String
    /// The person's open conversation; nil: it was closed or deleted meanwhile, or is just being
    /// made, and the statement is to be repeated.
    public var session: Identifier?
    public var isNew: Bool
    /// It is the imported conversation, which is closed.
    public var isToReopen: Bool
  }

  /// Finds or makes the visitor and the conversation of a message. A closed conversation is
  /// followed by a new one, except that an imported one goes on.
  ///
  /// - Parameters:
  ///   - message: the id of the message, from which that of a new conversation is made.
  ///   - visitor: the id of a visitor who must be created.
  ///   - at: the time of the event.
  public static func arrive(
    _ person: Person, message: Identifier, session: Identifier, visitor: Identifier,
    replyToken: String?, at: WallTime
  ) -> Statement<Arrival?> {
    Statement(
      Query(
        arriveSQL,
        [
          .uuid(person.workspace), .text(person.channel), .text(person.address), .uuid(message),
          .uuid(session), .uuid(visitor), .text(replyToken), .time(at), .text(person.externalID),
        ])
    ) { rows in
      guard !rows.isEmpty else { return nil }
      return Arrival(
        isKnown: rows.bool(0, 0) ?? false, isBanned: rows.bool(0, 1) ?? false,
        visitor: rows.uuid(0, 2), name: rows.text(0, 3) ?? "", session: rows.uuid(0, 4),
        isNew: rows.bool(0, 5) ?? false, isToReopen: rows.bool(0, 6) ?? false)
    }
  }

  /// CTEs: the person as a visitor, who is created if unknown: `visitor`, with `own`, the id before
  /// a merge.
  private static let visitor: SQL = """
    known AS (
      -- A merge waits for the lock.
      SELECT v.id AS own, coalesce(v.merged_into, v.id) AS id FROM visitors v
      WHERE v.workspace_id = $1::uuid AND v.external_id = $9::text FOR KEY SHARE OF v
    ), created AS (
      -- ON CONFLICT makes a concurrent event wait for the first one and find its visitor.
      INSERT INTO visitors AS v (id, workspace_id, external_id, name, attributes, last_seen_at)
      SELECT $6::uuid, $1::uuid, $9::text, '', jsonb_build_object('channel', $2::text), now()
      WHERE NOT EXISTS (SELECT FROM known)
      ON CONFLICT (workspace_id, external_id) DO UPDATE SET external_id = excluded.external_id
      RETURNING v.id, v.name, v.banned_at
    ), visitor AS (
      SELECT k.own, v.id, v.name, v.banned_at FROM known k JOIN visitors v ON v.id = k.id
      UNION ALL SELECT id, id, name, banned_at FROM created
    )
    """

  /// A token is as old as its event, however late that came: one that the platform takes no more
  /// looks like one that was used.
  private static func tokenTime(_ event: SQL) -> SQL { "least(now(), \(event)::timestamptz)" }

  private static let arriveSQL: SQL = """
    WITH before AS (
      SELECT EXISTS (SELECT FROM chats WHERE workspace_id = $1::uuid AND id = $4::uuid) AS is_known
    ), \(visitor), found AS (
      SELECT s.id, s.status = 'closed' AS is_closed
      FROM channel_conversations c JOIN chat_sessions s
        ON s.workspace_id = c.workspace_id AND s.id = c.session_id
      WHERE c.workspace_id = $1::uuid AND c.channel = $2::text AND c.address = $3::text
        AND s.deleted_at IS NULL AND (s.status <> 'closed' OR c.is_imported)
      ORDER BY s.status = 'closed', s.created_at DESC, s.id DESC LIMIT 1
    ), welcome AS (
      SELECT v.own, v.id FROM visitor v, before b WHERE v.banned_at IS NULL AND NOT b.is_known
    ), person AS (
      INSERT INTO channel_people AS p
        (workspace_id, channel, address, visitor_id, reply_token, reply_token_at, profile_due_at)
      SELECT $1::uuid, $2::text, $3::text, own, $7::text,
        CASE WHEN $7::text IS NOT NULL THEN \(tokenTime("$8")) END, now() FROM welcome
      ON CONFLICT (workspace_id, channel, address) DO UPDATE SET left_at = NULL,
        reply_token = coalesce(excluded.reply_token, p.reply_token),
        reply_token_at = coalesce(excluded.reply_token_at, p.reply_token_at)
    ), seen AS (
      UPDATE visitors v SET last_seen_at = greatest(v.last_seen_at, now())
      FROM welcome w, known k WHERE v.id = k.own
    ), opened AS (
      INSERT INTO chat_sessions
        (id, workspace_id, user_id, merged_from, channel, \(ConversationQueue.entryTime))
      SELECT $5::uuid, $1::uuid, w.id, CASE WHEN w.own <> w.id THEN w.own END, $2::text,
        \(ConversationQueue.outside)
      FROM welcome w WHERE NOT EXISTS (SELECT FROM found)
      ON CONFLICT DO NOTHING RETURNING id
    ), kept AS (
      INSERT INTO channel_conversations
        (workspace_id, session_id, channel, address, noted_seq, done_seq)
      SELECT $1::uuid, id, $2::text, $3::text, 0, 0 FROM opened
    ), live AS (
      UPDATE channel_conversations c SET is_watched = true, is_imported = false
      FROM found f, welcome w
      WHERE c.workspace_id = $1::uuid AND c.session_id = f.id
        AND (NOT c.is_watched OR c.is_imported) AND NOT f.is_closed
    )
    SELECT b.is_known, v.banned_at IS NOT NULL, v.id, v.name,
      coalesce((SELECT id FROM found), (SELECT id FROM opened)), EXISTS (SELECT FROM opened),
      coalesce((SELECT is_closed FROM found), false)
    FROM before b, visitor v
    """

  /// Opens an imported conversation again, with an event in the log, as an operator would. One
  /// statement of several that run at once does so.
  ///
  /// - Parameter line: the id of the event.
  public static func reopen(
    _ session: Identifier, line: Identifier, in workspace: Identifier
  ) -> Query {
    Query(
      """
      WITH target AS (
        SELECT s.id, s.status FROM chat_sessions s
        WHERE s.workspace_id = $1::uuid AND s.id = $2::uuid AND s.deleted_at IS NULL FOR UPDATE
      ), live AS (
        UPDATE channel_conversations c SET is_watched = true, is_imported = false FROM target t
        WHERE c.workspace_id = $1::uuid AND c.session_id = t.id
      )
      SELECT CASE WHEN t.status = 'closed' THEN chirrup_change($1::uuid, t.id, 'reopened', NULL,
        NULL, NULL, NULL, $3::uuid, 'The conversation goes on',
        '{"event": "reopened", "by": null, "rule": "returned"}'::jsonb) END
      FROM target t
      """, [.uuid(workspace), .uuid(session), .uuid(line)])
  }

  /// Notes that a person follows the account, or has left it, with an event of the contact.
  ///
  /// - Parameters:
  ///   - event: the id of the event of the contact.
  ///   - kind: of `FriendEvents.kinds`.
  public static func note(
    _ kind: String, of person: Person, event: Identifier, at: WallTime, visitor: Identifier,
    replyToken: String?
  ) -> Query {
    Query(
      """
      WITH \(Self.visitor), person AS (
        INSERT INTO channel_people AS p (workspace_id, channel, address, visitor_id, left_at,
          reply_token, reply_token_at, profile_due_at)
        SELECT $1::uuid, $2::text, $3::text, own, CASE WHEN $5::text = 'unfollow' THEN now() END,
          $8::text, CASE WHEN $8::text IS NOT NULL THEN \(tokenTime("$7")) END,
          CASE WHEN $5::text <> 'unfollow' THEN now() END
        FROM visitor
        ON CONFLICT (workspace_id, channel, address) DO UPDATE SET
          -- An event that comes late does not undo a later one.
          left_at = CASE WHEN EXISTS (SELECT FROM friend_events e JOIN visitor v
              ON e.visitor_id = v.own AND e.workspace_id = $1::uuid AND e.channel = $2::text
                AND e.created_at > $7::timestamptz)
            THEN p.left_at ELSE excluded.left_at END,
          reply_token = excluded.reply_token, reply_token_at = excluded.reply_token_at,
          profile_due_at = coalesce(excluded.profile_due_at, p.profile_due_at),
          profile_attempts = 0
      )
      INSERT INTO friend_events (workspace_id, id, visitor_id, channel, event, created_at)
      SELECT $1::uuid, $4::uuid, own, $2::text, $5::text, $7::timestamptz FROM visitor
      ON CONFLICT DO NOTHING
      """,
      [
        .uuid(person.workspace), .text(person.channel), .text(person.address), .uuid(event),
        .text(kind), .uuid(visitor), .time(at), .text(replyToken), .text(person.externalID),
      ])
  }
}
