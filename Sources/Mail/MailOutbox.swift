/// The outbox (`mail_outbox`), shared by all nodes. A row is one message to one recipient; a node
/// leases it for one attempt.
///
/// A message is sent at least once: the row is settled right after the server's 250, and a node
/// that dies in between has sent what another one sends again, with the same Message-ID and the
/// same bytes. Before the server has answered the end of the data nobody can know more (RFC 1047).
public import Directory
import OpenSSL
public import Postgres
public import Primitives

public enum MailKind: String, Sendable, CaseIterable {
  /// Answers that a visitor has not read.
  case answers
  /// A message of the offline form, to the workspace.
  case offline
  case transcript, invitation
  case passwordReset = "password_reset"
  /// A visitor waits for an operator.
  case alert
  case test

  /// Messages of this kind that one address gets in an hour; further ones are refused.
  public var perHour: Int64 {
    switch self {
    case .answers, .alert: 60
    case .offline: 600
    case .transcript, .passwordReset: 3
    case .invitation: 5
    case .test: 10
    }
  }

  /// Seconds after which the message is not worth being sent.
  public var seconds: Int64 {
    switch self {
    case .answers, .offline, .transcript, .alert: 2 * 86_400
    case .invitation: MailOutbox.invitationSeconds
    case .passwordReset: MailOutbox.resetSeconds
    case .test: 600
    }
  }
}

/// A message that a node has leased.
struct LeasedMail: Sendable, Equatable {
  var id: Identifier
  var kind: MailKind
  var createdAt: WallTime
  /// The number of the attempt; the first is 1.
  var attempt: Int
  var content: SecretBox.Sealed
}

public enum MailOutbox {
  public static let resetSeconds: Int64 = 30 * 60
  public static let invitationSeconds: Int64 = 7 * 86_400
  /// Messages of one workspace that wait; further ones are refused.
  public static let pendingMax: Int64 = 10_000
  /// Days for which settled rows are kept. Longer than `MailDigest.windowDays`: they are marks.
  static let keptDays: Int64 = 14

  /// The addresses are compared as `mail_stops` has them. Of ASCII alone, capitals are equal to
  /// small letters: what is a small letter beyond differs between Swift and the locales of
  /// PostgreSQL.
  public static func hash(of address: String) -> [UInt8] {
    SHA256.digest(address.utf8.map(\.lowercasedASCII))
  }

  /// The same of a visitor's address, `v.email`, in SQL.
  static let hashSQL: SQL = "sha256(convert_to(lower(v.email COLLATE \"C\"), 'UTF8'))"

  /// Adds a message; false if the workspace has `pendingMax`, or the address its share of an hour,
  /// or a conversation's answers from the first one on are in the outbox already.
  public static func add(
    _ content: MailContent, id: Identifier, kind: MailKind, workspace: Identifier,
    answers: (first: Int64, last: Int64)? = nil, sealedBy secrets: SecretBox
  ) -> Statement<Bool> {
    let sealed = content.seal(by: secrets, for: id)
    return Statement(
      Query(
        addSQL,
        [
          .uuid(id), .uuid(workspace), .text(kind.rawValue), .uuid(content.session),
          answers.map { .int($0.first) } ?? .null, answers.map { .int($0.last) } ?? .null,
          .bytes(hash(of: content.to.address)), .text(content.to.masked), .text(sealed.keyID),
          .bytes(sealed.bytes), .int(kind.seconds), .int(pendingMax), .int(kind.perHour),
        ])
    ) { !$0.isEmpty }
  }

  private static let addSQL: StaticString = """
    INSERT INTO mail_outbox (id, workspace_id, kind, session_id, first_seq, last_seq, address_hash,
      recipient, key_id, ciphertext, expires_at)
    SELECT $1::uuid, $2::uuid, $3::text, $4::uuid, $5::bigint, $6::bigint, $7::bytea, $8::text,
      $9::text, $10::bytea, now() + $11::bigint * interval '1 second'
    WHERE (SELECT count(*) FROM (SELECT FROM mail_outbox WHERE workspace_id = $2::uuid
        AND state = 'pending' LIMIT $12::bigint) AS p) < $12::bigint
      AND (SELECT count(*) FROM mail_outbox h WHERE h.address_hash = $7::bytea
        AND h.kind = $3::text AND h.created_at > now() - interval '1 hour') < $13::bigint
      AND NOT EXISTS (SELECT FROM mail_outbox o WHERE o.session_id = $4::uuid
        AND o.workspace_id = $2::uuid AND $3::text = 'answers' AND o.kind = 'answers'
        AND o.last_seq >= $5::bigint)
    ON CONFLICT DO NOTHING RETURNING id
    """

  /// Notes answers to an address to which mail cannot be sent, so that they are not found again.
  static func unsendable(_ digest: MailDigest, id: Identifier) -> Query {
    Query(
      """
      INSERT INTO mail_outbox (id, workspace_id, kind, session_id, first_seq, last_seq,
        address_hash, recipient, state, reason, expires_at, ended_at)
      VALUES ($1::uuid, $2::uuid, 'answers', $3::uuid, $4::bigint, $5::bigint, $6::bytea, '',
        'failed', 'the address is not accepted', now(), now()) ON CONFLICT DO NOTHING
      """,
      [
        .uuid(id), .uuid(digest.workspace), .uuid(digest.session), .int(digest.first),
        .int(digest.last), .bytes(hash(of: digest.address)),
      ])
  }

  // MARK: Attempts

  static let peek: StaticString = """
    SELECT EXISTS (SELECT FROM mail_outbox WHERE state = 'pending' AND next_attempt_at <= now())
    """

  /// Takes the oldest message that is due. Rows of messages that have become needless are settled
  /// instead: they are too old, or the visitor has read the answers, or wants no e-mail, or waits
  /// no longer.
  static func take(lease: Identifier, leaseMilliseconds: Int64) -> Query {
    Query(takeSQL, [.uuid(lease), .int(leaseMilliseconds)])
  }

  private static let takeSQL: SQL = """
    WITH due AS MATERIALIZED (
      SELECT o.id FROM mail_outbox o
      WHERE o.state = 'pending' AND o.next_attempt_at <= now()
      ORDER BY o.created_at, o.id LIMIT 1 FOR UPDATE SKIP LOCKED
    ), judged AS (
      SELECT o.id, CASE
        WHEN o.expires_at <= now() THEN 'failed'
        WHEN o.kind = 'answers' AND (
          EXISTS (SELECT FROM mail_stops x WHERE x.workspace_id = o.workspace_id
            AND x.address_hash = o.address_hash)
          OR EXISTS (SELECT FROM read_marks r WHERE r.workspace_id = o.workspace_id
            AND r.session_id = o.session_id AND r.role IN ('visitor', 'user')
            AND r.read_seq >= o.last_seq)
          OR EXISTS (SELECT FROM chat_sessions s WHERE s.workspace_id = o.workspace_id
            AND s.id = o.session_id AND s.deleted_at IS NOT NULL)) THEN 'stopped'
        WHEN o.kind = 'alert' AND \(MailAlert.isNeedless) THEN 'stopped'
        ELSE 'pending' END AS state
      FROM due JOIN mail_outbox o ON o.id = due.id
    )
    UPDATE mail_outbox o SET state = j.state,
      reason = CASE WHEN j.state = 'stopped' THEN 'needless'
        WHEN j.state = 'failed' AND o.reason = '' THEN 'expired' ELSE o.reason END,
      lease = CASE WHEN j.state = 'pending' THEN $1::uuid END,
      attempts = o.attempts + CASE WHEN j.state = 'pending' THEN 1 ELSE 0 END,
      next_attempt_at = now() + $2::bigint * interval '1 millisecond',
      ended_at = CASE WHEN j.state <> 'pending' THEN now() END,
      key_id = CASE WHEN j.state = 'pending' THEN o.key_id END,
      ciphertext = CASE WHEN j.state = 'pending' THEN o.ciphertext END
    FROM judged j WHERE o.id = j.id
    RETURNING o.id, o.kind, o.created_at, o.attempts, o.key_id, o.ciphertext, o.state
    """

  /// The message that was taken. Nil: none was due, or it was settled.
  static func leased(_ rows: Rows) -> LeasedMail? {
    guard !rows.isEmpty, rows.text(0, 6) == "pending", let id = rows.uuid(0, 0),
      let kind = rows.text(0, 1).flatMap({ MailKind(rawValue: $0) }),
      let createdAt = rows.time(0, 2), let keyID = rows.text(0, 4), let bytes = rows.bytes(0, 5)
    else { return nil }
    return LeasedMail(
      id: id, kind: kind, createdAt: createdAt, attempt: Int(rows.int(0, 3) ?? 1),
      content: SecretBox.Sealed(keyID: keyID, bytes: bytes))
  }

  /// The mail server has the message, or has refused it for good. Counts even if the lease has
  /// passed to another node: what was sent was sent.
  static func settle(_ id: Identifier, isSent: Bool, reason: String) -> Query {
    Query(
      """
      UPDATE mail_outbox SET state = CASE WHEN $2::boolean THEN 'sent' ELSE 'failed' END,
        reason = $3::text, ended_at = now(), lease = NULL, key_id = NULL, ciphertext = NULL
      WHERE id = $1::uuid AND state = 'pending'
      """, [.uuid(id), .bool(isSent), .text(reason)])
  }

  /// Another attempt after a pause. `counts`: whether this one was the message's own fault.
  static func repeatLater(
    _ id: Identifier, lease: Identifier, pause: Int64, counts: Bool, reason: String
  ) -> Query {
    Query(
      """
      UPDATE mail_outbox SET lease = NULL, reason = $4::text,
        next_attempt_at = now() + $3::bigint * interval '1 millisecond',
        attempts = attempts - CASE WHEN $5::boolean THEN 0 ELSE 1 END
      WHERE id = $1::uuid AND lease = $2::uuid AND state = 'pending'
      """, [.uuid(id), .uuid(lease), .int(pause), .text(reason), .bool(counts)])
  }

  /// Deletes rows that are settled and old; links that have ended.
  static let sweep: [Query] = [
    Query(
      """
      DELETE FROM mail_outbox WHERE id = ANY (ARRAY(SELECT id FROM mail_outbox
        WHERE state <> 'pending' AND created_at < now() - $1::bigint * interval '1 day'
        LIMIT 5000))
      """, [.int(keptDays)]),
    Query("DELETE FROM password_links WHERE expires_at < now()"),
  ]

  // MARK: For the console

  /// One page of the messages of a workspace, newest first. Columns: id, kind, recipient, state,
  /// reason, attempts, creation time, end; then creation time (µs) and id as text.
  public static func page(
    of workspace: Identifier, after last: ListPosition?, limit: Int
  ) -> Query {
    Query(
      """
      SELECT o.id, o.kind, o.recipient, o.state, o.reason, o.attempts, o.created_at, o.ended_at,
        (extract(epoch FROM o.created_at) * 1000000)::bigint::text, o.id::text
      FROM mail_outbox o
      WHERE o.workspace_id = $1::uuid
        AND ($2::timestamptz IS NULL OR (o.created_at, o.id) < ($2::timestamptz, $3::uuid))
      ORDER BY o.created_at DESC, o.id DESC LIMIT $4::bigint
      """, [.uuid(workspace), .time(last?.at), .uuid(last?.id), .int(Int64(limit))])
  }

  /// What was sent of a conversation to its visitor, and when the next answers are: the visitor's
  /// address in short, the seconds, whether the visitor has ended it; then each message.
  public static func ofConversation(
    _ session: Identifier, workspace: Identifier
  ) -> Query {
    Query(
      """
      SELECT first_seq, last_seq, state, reason, recipient, coalesce(ended_at, created_at)
      FROM mail_outbox
      WHERE workspace_id = $1::uuid AND session_id = $2::uuid AND kind = 'answers'
      ORDER BY last_seq DESC LIMIT 100
      """, [.uuid(workspace), .uuid(session)])
  }
}

extension MailOutbox {
  /// Deletes the row of a conversation's last answers, which is the mark that they were sent, if
  /// they have failed. The next search finds them again, and the visitor's present address.
  public static func forgetFailure(
    of session: Identifier, workspace: Identifier
  ) -> Statement<Bool> {
    Statement(
      Query(
        """
        DELETE FROM mail_outbox WHERE state = 'failed' AND id = (
          SELECT id FROM mail_outbox WHERE workspace_id = $1::uuid AND session_id = $2::uuid
            AND kind = 'answers' ORDER BY last_seq DESC LIMIT 1)
        RETURNING id
        """, [.uuid(workspace), .uuid(session)])
    ) { !$0.isEmpty }
  }
}

/// The addresses that get no more answers.
public enum MailStops {
  public static func add(_ hash: [UInt8], workspace: Identifier) -> Statement<Void> {
    Statement(
      Query(
        """
        INSERT INTO mail_stops (workspace_id, address_hash)
        SELECT id, $2::bytea FROM workspaces WHERE id = $1::uuid ON CONFLICT DO NOTHING
        """, [.uuid(workspace), .bytes(hash)]))
  }
}
