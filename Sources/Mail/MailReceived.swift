/// What the mailbox has received (`mail_received`), until it is in the log.
///
/// A message that comes twice is stored once, and processing one twice changes nothing, so gateways
/// need no agreement about who does it.
public import Directory
public import Postgres
public import Primitives

/// Why a message does not become one of a conversation. The raw value is the label of the metric.
public enum MailRefusal: String, CaseIterable, Sendable {
  /// GMime has ended with it.
  case unreadable
  case tooLarge = "too_large"
  /// An automatic answer, a list's or a bounce (RFC 3834 §2): to answer it may begin a loop.
  case automatic
  /// It is from the gateway itself.
  case own
  /// No token, or one that no key of ours has made; no conversation of that name.
  case unknown
  /// The conversation is deleted, or its visitor is erased.
  case deleted
  /// The workspace has blocked the visitor.
  case blocked
  /// The conversation had its share of an hour.
  case tooMany = "too_many"
  case empty
  /// The log does not take it.
  case rejected
}

public enum MailReceived {
  /// Replies to one conversation in an hour; further ones are refused.
  public static let perHour: Int64 = 30
  /// Messages that one run reads.
  static let processedMax: Int64 = 100
  static let sweptMax: Int64 = 200
  /// Days for which refused ones are kept: as long as a mailbox may come back from a backup. The
  /// others are deleted with their conversations.
  static let keptDays: Int64 = 30

  // MARK: The conversation

  /// The conversation to which a message may reply.
  public struct Origin: Sendable, Equatable {
    public var workspace: Identifier
    public var session: Identifier
    public var visitor: Identifier
    /// The visitor's; empty: it has none.
    public var address: String
    public var isDeleted: Bool
    public var isBanned: Bool
    /// It had its share of the hour.
    public var isFull: Bool
  }

  /// The conversation of this id, or the one to which this message of the outbox belongs.
  public static func origin(_ reference: MIMEMessage.Reference) -> Query {
    switch reference {
    case .conversation(let session): Query(originSQL, [.uuid(session), .null, .int(perHour)])
    case .message(let id): Query(originSQL, [.null, .uuid(id), .int(perHour)])
    }
  }

  private static let originSQL: SQL = """
    SELECT s.workspace_id, s.id, coalesce(v.email, ''), s.deleted_at IS NOT NULL OR v.id IS NULL,
      v.banned_at IS NOT NULL, coalesce(v.id, s.id), \(isFull("s.workspace_id", "s.id", "$3"))
    FROM chat_sessions s
    LEFT JOIN visitors k ON k.workspace_id = s.workspace_id AND k.id = s.user_id
    LEFT JOIN visitors v
      ON v.workspace_id = s.workspace_id AND v.id = coalesce(k.merged_into, k.id)
    WHERE s.id = coalesce($1::uuid,
      (SELECT o.session_id FROM mail_outbox o WHERE o.id = $2::uuid))
    """

  public static func origin(_ rows: Rows) -> Origin? {
    guard !rows.isEmpty, let workspace = rows.uuid(0, 0), let session = rows.uuid(0, 1),
      let visitor = rows.uuid(0, 5)
    else { return nil }
    return Origin(
      workspace: workspace, session: session, visitor: visitor, address: rows.text(0, 2) ?? "",
      isDeleted: rows.bool(0, 3) ?? true, isBanned: rows.bool(0, 4) ?? false,
      isFull: rows.bool(0, 6) ?? true)
  }

  // MARK: Storing

  /// A message of the mailbox, as it is stored.
  public struct Entry: Sendable, Equatable {
    /// SHA-256 of its Message-ID, or of its place in the mailbox.
    public var key: [UInt8]
    /// Nil: it belongs to no conversation.
    public var origin: Origin?
    /// Of a reply.
    public var content: SecretBox.Sealed?
    /// The first message that it becomes.
    public var message: Identifier?
    /// In short; nil: there is no reply.
    public var author: String?
    public var isVerified = false
    /// Such as `spf=pass dkim=pass dmarc=pass`.
    public var verdict = ""
    /// Nil: it is a reply.
    public var refusal: MailRefusal?

    public init(key: [UInt8], refusal: MailRefusal? = nil) {
      self.key = key
      self.refusal = refusal
    }
  }

  /// Whether a conversation had its share of the last hour.
  private static func isFull(_ workspace: SQL, _ session: SQL, _ count: SQL) -> SQL {
    """
    (SELECT count(*) FROM (SELECT FROM mail_received r
      WHERE r.workspace_id = \(workspace) AND r.session_id = \(session) AND r.state <> 'refused'
        AND r.received_at > now() - interval '1 hour' LIMIT \(count)::bigint) AS recent)
      >= \(count)::bigint
    """
  }

  /// Stores a reply, or that one was refused. The answer has the reason; no row: it was stored
  /// before. With a commit that waits for the disk, which the connection sees to.
  public static func add(_ entry: Entry) -> Query {
    Query(
      addSQL,
      [
        .bytes(entry.key), .uuid(entry.origin?.workspace), .uuid(entry.origin?.session),
        .text(entry.content?.keyID), entry.content.map { .bytes($0.bytes) } ?? .null,
        .text(entry.refusal?.rawValue), .int(perHour), .text(MailRefusal.tooMany.rawValue),
        .uuid(entry.message), .text(entry.author), .bool(entry.isVerified), .text(entry.verdict),
      ])
  }

  private static let addSQL: SQL = """
    WITH judged AS (
      SELECT coalesce($6::text,
        CASE WHEN \(isFull("$2::uuid", "$3::uuid", "$7")) THEN $8::text END) AS reason
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
  public static func lease(_ mailbox: [UInt8], by lease: Identifier, milliseconds: Int64) -> Query {
    Query(
      """
      INSERT INTO mail_readers AS r (mailbox, lease, ends_at)
      VALUES ($1::bytea, $2::uuid, now() + $3::bigint * interval '1 millisecond')
      ON CONFLICT (mailbox) DO UPDATE SET lease = excluded.lease, ends_at = excluded.ends_at
      WHERE r.lease = excluded.lease OR r.ends_at < now() RETURNING lease
      """, [.bytes(mailbox), .uuid(lease), .int(milliseconds)])
  }

  public static func release(_ lease: Identifier) -> Query {
    Query("DELETE FROM mail_readers WHERE lease = $1::uuid", [.uuid(lease)])
  }

  public static let sweep: [Query] = [
    Query(
      """
      DELETE FROM mail_received WHERE key = ANY (ARRAY(SELECT key FROM mail_received
        WHERE state = 'refused' AND received_at < now() - $1::bigint * interval '1 day'
        LIMIT 5000))
      """, [.int(keptDays)]),
    Query("DELETE FROM mail_readers WHERE ends_at < now() - interval '1 day'"),
  ]

  // MARK: Processing

  public struct Pending: Sendable, Equatable {
    public var key: [UInt8]
    public var session: Identifier
    public var content: SecretBox.Sealed
  }

  /// The oldest replies of a workspace that are not processed.
  public static func pending(in workspace: Identifier) -> Statement<[Pending]> {
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

  public static func workspaces() -> Statement<[Identifier]> {
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
  public static func settle(
    _ key: [UInt8], _ refusal: MailRefusal?, in session: Identifier?
  ) -> Query {
    Query(
      """
      UPDATE mail_received r
      SET state = CASE WHEN $2::text IS NULL THEN 'stored' ELSE 'refused' END,
        reason = coalesce($2::text, ''), ended_at = now(), key_id = NULL, ciphertext = NULL,
        stored_in = (SELECT s.id FROM chat_sessions s
          WHERE s.workspace_id = r.workspace_id AND s.id = $3::uuid)
      WHERE key = $1::bytea AND state = 'pending'
      """, [.bytes(key), .text(refusal?.rawValue), .uuid(session)])
  }
}
