/// What the mailbox has received (`mail_received`), until it is in the log.
///
/// A message that comes twice is stored once, and processing one twice changes nothing, so gateways
/// need no agreement about who does it.
import Directory
import Mail
import Postgres
import Primitives

enum MailReceived {
  /// Replies to one conversation in an hour; further ones are refused.
  static let perHour: Int64 = 30
  /// Messages that one run reads.
  static let processedMax: Int64 = 100
  static let sweptMax: Int64 = 200
  /// Days for which refused ones are kept: as long as a mailbox may come back from a backup. The
  /// others are deleted with their conversations.
  static let keptDays: Int64 = 30

  // MARK: The conversation

  /// The conversation to which a message may reply.
  struct Origin: Sendable, Equatable {
    var workspace: Identifier
    var session: Identifier
    /// The visitor's; empty: it has none.
    var address: String
    var isDeleted: Bool
    var isBanned: Bool
  }

  /// The conversation of this id, or the one to which this message of the outbox belongs.
  static func origin(_ reference: MIMEMessage.Reference) -> Query {
    switch reference {
    case .conversation(let session): Query(originSQL, [.uuid(session), .null])
    case .message(let id): Query(originSQL, [.null, .uuid(id)])
    }
  }

  private static let originSQL: StaticString = """
    SELECT s.workspace_id, s.id, coalesce(v.email, ''), s.deleted_at IS NOT NULL OR v.id IS NULL,
      v.banned_at IS NOT NULL
    FROM chat_sessions s
    LEFT JOIN visitors k ON k.workspace_id = s.workspace_id AND k.id = s.user_id
    LEFT JOIN visitors v
      ON v.workspace_id = s.workspace_id AND v.id = coalesce(k.merged_into, k.id)
    WHERE s.id = coalesce($1::uuid,
      (SELECT o.session_id FROM mail_outbox o WHERE o.id = $2::uuid))
    """

  static func origin(_ rows: Rows) -> Origin? {
    guard !rows.isEmpty, let workspace = rows.uuid(0, 0), let session = rows.uuid(0, 1) else {
      return nil
    }
    return Origin(
      workspace: workspace, session: session, address: rows.text(0, 2) ?? "",
      isDeleted: rows.bool(0, 3) ?? true, isBanned: rows.bool(0, 4) ?? false)
  }

  // MARK: Storing

  /// Stores a reply, or that one was refused. The answer has the state; no row: it was stored
  /// before. With a commit that waits for the disk, which the connection sees to.
  static func add(_ judged: ReplyJudge.Judged) -> Query {
    let (origin, content) = (judged.origin, judged.content)
    let message = origin.map { MailKey.message(0, of: judged.key, in: $0.workspace) }
    return Query(
      addSQL,
      [
        .bytes(judged.key), .uuid(origin?.workspace), .uuid(origin?.session),
        .text(content?.keyID), content.map { .bytes($0.bytes) } ?? .null,
        .text(judged.refusal?.rawValue), .int(perHour), .text(MailRefusal.tooMany.rawValue),
        .uuid(content == nil ? nil : message), .text(judged.author), .bool(judged.isVerified),
        .text(judged.verdict),
      ])
  }

  private static let addSQL: StaticString = """
    WITH judged AS (
      SELECT coalesce($6::text, CASE WHEN (SELECT count(*) FROM (SELECT FROM mail_received r
        WHERE r.workspace_id = $2::uuid AND r.session_id = $3::uuid AND r.state <> 'refused'
          AND r.received_at > now() - interval '1 hour' LIMIT $7::bigint) AS recent) >= $7::bigint
        THEN $8::text END) AS reason
    )
    INSERT INTO mail_received (key, workspace_id, session_id, state, reason, message_id, author,
      is_verified, verdict, key_id, ciphertext, ended_at)
    SELECT $1::bytea, $2::uuid, $3::uuid,
      CASE WHEN reason IS NULL THEN 'pending' ELSE 'refused' END, coalesce(reason, ''),
      CASE WHEN reason IS NULL THEN $9::uuid END, $10::text, $11::boolean, $12::text,
      CASE WHEN reason IS NULL THEN $4::text END,
      CASE WHEN reason IS NULL THEN $5::bytea END, CASE WHEN reason IS NOT NULL THEN now() END
    FROM judged
    ON CONFLICT DO NOTHING RETURNING reason
    """

  // MARK: Reading the mailbox

  /// Takes or keeps the lease of a mailbox; no row: another gateway has it.
  static func lease(_ mailbox: [UInt8], by lease: Identifier, milliseconds: Int64) -> Query {
    Query(
      """
      INSERT INTO mail_readers AS r (mailbox, lease, ends_at)
      VALUES ($1::bytea, $2::uuid, now() + $3::bigint * interval '1 millisecond')
      ON CONFLICT (mailbox) DO UPDATE SET lease = excluded.lease, ends_at = excluded.ends_at
      WHERE r.lease = excluded.lease OR r.ends_at < now() RETURNING lease
      """, [.bytes(mailbox), .uuid(lease), .int(milliseconds)])
  }

  static func release(_ lease: Identifier) -> Query {
    Query("DELETE FROM mail_readers WHERE lease = $1::uuid", [.uuid(lease)])
  }

  static let sweep: [Query] = [
    Query(
      """
      DELETE FROM mail_received WHERE key = ANY (ARRAY(SELECT key FROM mail_received
        WHERE state = 'refused' AND received_at < now() - $1::bigint * interval '1 day'
        LIMIT 5000))
      """, [.int(keptDays)]),
    Query("DELETE FROM mail_readers WHERE ends_at < now() - interval '1 day'"),
  ]

  // MARK: Processing

  struct Pending: Sendable, Equatable {
    var key: [UInt8]
    var session: Identifier
    var content: SecretBox.Sealed
  }

  /// The oldest replies of a workspace that are not processed.
  static func pending(in workspace: Identifier) -> Statement<[Pending]> {
    Statement(
      Query(
        """
        SELECT key, session_id, key_id, ciphertext FROM mail_received
        WHERE workspace_id = $1::uuid AND state = 'pending' ORDER BY seq LIMIT $2::bigint
        """, [.uuid(workspace), .int(processedMax)])
    ) { rows in
      (0..<rows.count).compactMap { row in
        guard let key = rows.bytes(row, 0), let session = rows.uuid(row, 1),
          let keyID = rows.text(row, 2), let bytes = rows.bytes(row, 3)
        else { return nil }
        return Pending(
          key: key, session: session, content: SecretBox.Sealed(keyID: keyID, bytes: bytes))
      }
    }
  }

  static func workspaces() -> Statement<[Identifier]> {
    Statement(
      Query(
        """
        SELECT DISTINCT workspace_id FROM mail_received WHERE state = 'pending' LIMIT $1::bigint
        """, [.int(sweptMax)])
    ) { rows in (0..<rows.count).compactMap { rows.uuid($0, 0) } }
  }

  /// Notes what became of a reply. Its text is in the log, or of no more use.
  ///
  /// - Parameter session: the conversation that has it.
  static func settle(
    _ key: [UInt8], _ refusal: MailRefusal?, in session: Identifier?
  ) -> Query {
    Query(
      """
      UPDATE mail_received r SET state = CASE WHEN $2::text IS NULL THEN 'stored' ELSE 'refused' END,
        reason = coalesce($2::text, ''), ended_at = now(), key_id = NULL, ciphertext = NULL,
        stored_in = (SELECT s.id FROM chat_sessions s
          WHERE s.workspace_id = r.workspace_id AND s.id = $3::uuid)
      WHERE key = $1::bytea AND state = 'pending'
      """, [.bytes(key), .text(refusal?.rawValue), .uuid(session)])
  }

  /// What is known before a reply is appended.
  struct Arrival: Sendable, Equatable {
    /// The conversation that has the message already.
    var known: Identifier?
    var isBanned: Bool
    var visitor: Identifier
    var name: String
    /// The conversation that it goes to; nil: it was closed meanwhile, and the statement is to be
    /// repeated.
    var session: Identifier?
    var isNew: Bool
  }

  /// Finds the conversation of a reply: the one that it answers, or, if that is closed, another
  /// one of the visitor on the page that is open, or else a new one. Nil: it is deleted.
  ///
  /// - Parameters:
  ///   - message: the id of the message that is to be stored.
  ///   - fresh: the id of a conversation that must be created.
  static func arrive(
    _ session: Identifier, in workspace: Identifier, message: Identifier, fresh: Identifier
  ) -> Statement<Arrival?> {
    Statement(
      Query(
        arriveSQL, [.uuid(workspace), .uuid(session), .uuid(message), .uuid(fresh)])
    ) { rows in
      guard !rows.isEmpty, let visitor = rows.uuid(0, 2) else { return nil }
      return Arrival(
        known: rows.uuid(0, 0), isBanned: rows.bool(0, 1) ?? false, visitor: visitor,
        name: rows.text(0, 3) ?? "", session: rows.uuid(0, 4), isNew: rows.bool(0, 5) ?? false)
    }
  }

  private static let arriveSQL: StaticString = """
    WITH before AS (
      SELECT (SELECT session_id FROM chats WHERE workspace_id = $1::uuid AND id = $3::uuid
        LIMIT 1) AS known
    ), origin AS (
      -- A merge waits for the lock.
      SELECT s.id, k.id AS own, v.id AS visitor, coalesce(v.name, '') AS name, v.banned_at
      FROM chat_sessions s
      JOIN visitors k ON k.workspace_id = s.workspace_id AND k.id = s.user_id
      JOIN visitors v
        ON v.workspace_id = s.workspace_id AND v.id = coalesce(k.merged_into, k.id)
      WHERE s.workspace_id = $1::uuid AND s.id = $2::uuid AND s.deleted_at IS NULL
      FOR KEY SHARE OF v
    ), found AS (
      SELECT s.id FROM chat_sessions s, origin o
      WHERE s.workspace_id = $1::uuid AND s.user_id IN (o.own, o.visitor)
        AND s.deleted_at IS NULL AND s.status <> 'closed' AND (s.id = o.id OR s.channel = 'web')
      ORDER BY s.id <> o.id, s.created_at DESC, s.id DESC LIMIT 1
    ), opened AS (
      INSERT INTO chat_sessions (id, workspace_id, user_id)
      SELECT $4::uuid, $1::uuid, o.visitor FROM origin o, before b
      WHERE o.banned_at IS NULL AND b.known IS NULL AND NOT EXISTS (SELECT FROM found)
      ON CONFLICT DO NOTHING RETURNING id
    )
    SELECT b.known, o.banned_at IS NOT NULL, o.visitor, o.name,
      coalesce((SELECT id FROM found), (SELECT id FROM opened)), EXISTS (SELECT FROM opened)
    FROM before b, origin o
    """
}
