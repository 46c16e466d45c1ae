/// Reads one account of a Chatwoot database: one snapshot, read only, page by page. The columns are
/// those of Chatwoot since version 2; columns of later versions are read where they exist.
import JSON
public import Postgres
public import Primitives

/// Why a Chatwoot database is not imported.
public enum ChatwootRefusal: Error, Equatable, CustomStringConvertible {
  case noAccount(Int64)
  case missingColumns(String)

  public var description: String {
    switch self {
    case .noAccount(let id): "the Chatwoot database has no account \(id)"
    case .missingColumns(let names):
      "the source is not a Chatwoot database of version 2 or later: it has no \(names)"
    }
  }
}

extension ConversationImport {
  /// Begins to read a snapshot of an account of a Chatwoot database, which is not changed.
  ///
  /// - Parameters:
  ///   - since: leaves out conversations without an activity since then; nil: none.
  ///   - isRun: false only counts, and changes nothing.
  public init(
    _ storedData: StoredData, workspace: Identifier, from chatwoot: BlockingConnection,
    account: Int64, since: WallTime? = nil, batch: Int = 200, isRun: Bool
  ) throws {
    let source = try ChatwootSource(
      chatwoot, account: account, since: since, workspace: workspace)
    try self.init(
      storedData, workspace: workspace, from: source, batch: batch, isRun: isRun)
  }
}

struct ChatwootSource: ImportSource {
  /// Rows of `messages` that are read, and written in one transaction.
  static let messagesPerPage = 1_000
  /// Rows of `contacts` that are read, and written in one transaction.
  static let contactsPerPage = 1_000
  /// Members, labels and canned responses of an account: those of one page, and no others are read.
  static let configurationMax = 10_000
  /// Bytes of a message, or of the attributes of one, that are read.
  static let textBytes = 1_048_576

  let connection: BlockingConnection
  let account: Int64
  /// Only conversations with an activity since then.
  let since: WallTime?
  let system: ImportedSystem
  let messageCount: Int64

  /// Begins the transaction of the snapshot. It ends with the connection.
  init(
    _ connection: BlockingConnection, account: Int64, since: WallTime?, workspace: Identifier
  ) throws {
    self.connection = connection
    self.account = account
    self.since = since
    try connection.execute(
      script: """
        BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
        SET LOCAL TimeZone = 'UTC';
        SET LOCAL idle_in_transaction_session_timeout = 0;
        SET LOCAL statement_timeout = 0;
        """)
    let missing = try connection.run(Query(ChatwootSource.missingColumns)).text(0, 0)
    if let missing { throw ChatwootRefusal.missingColumns(missing) }
    let counts = try connection.run(Query(Self.counts, [.int(account), .time(since)]))
    guard !counts.isEmpty else { throw ChatwootRefusal.noAccount(account) }
    messageCount = counts.int(0, 1) ?? 0
    system = ImportedSystem(
      name: "Chatwoot", word: "chatwoot",
      // The time of its creation tells the accounts of two installations apart.
      space: "chatwoot:\(workspace):\(account):\(counts.int(0, 0) ?? 0)",
      details: [("account", account)], member: "users", team: "teams", tag: "labels",
      reply: "canned_responses", contact: "contacts", conversation: "conversations",
      message: "messages", rating: "csat_survey_responses")
  }

  private static let missingColumns: SQL = """
    SELECT string_agg(name, ', ' ORDER BY name) FROM (
      SELECT t.name || '.' || c AS name
      FROM (VALUES ('accounts', 'id name created_at'), ('account_users', 'account_id user_id role'),
        ('users', 'id name display_name email created_at'), ('inboxes', 'id name channel_type'),
        ('contacts', 'id account_id name email phone_number identifier additional_attributes '
          || 'custom_attributes created_at'),
        ('conversations', 'id account_id inbox_id status assignee_id contact_id display_id '
          || 'additional_attributes created_at last_activity_at'),
        ('messages', 'id account_id conversation_id content message_type private content_type '
          || 'content_attributes sender_type sender_id created_at'),
        ('attachments', 'id message_id file_type external_url fallback_title coordinates_lat '
          || 'coordinates_long'),
        ('active_storage_attachments', 'name record_type record_id blob_id'),
        ('active_storage_blobs', 'id filename byte_size'),
        ('labels', 'id account_id title color'), ('tags', 'id name'),
        ('taggings', 'tag_id taggable_type taggable_id context'),
        ('canned_responses', 'id account_id short_code content'),
        ('csat_survey_responses', 'id conversation_id rating feedback_message assigned_agent_id '
          || 'created_at'))
        AS t (name, columns), unnest(string_to_array(t.columns, ' ')) AS c
      WHERE NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass(t.name)
        AND attname = c AND attnum > 0 AND NOT attisdropped)) AS missing
    """

  /// Columns: the account's time of creation in microseconds, and the number of its messages. No
  /// row if there is no such account.
  private static let counts: SQL = """
    SELECT (extract(epoch FROM a.created_at) * 1000000)::bigint,
      (SELECT count(*) FROM messages m JOIN conversations v ON v.id = m.conversation_id
        WHERE v.account_id = a.id AND \(isRecent))
    FROM accounts a WHERE a.id = $1
    """

  /// Condition on a conversation `v`. `$2` is the earliest activity.
  private static let isRecent: SQL =
    "($2::timestamptz IS NULL OR v.last_activity_at::timestamptz >= $2::timestamptz)"

  /// Condition on a contact: has a conversation that is imported, or all are imported.
  private static func isChosen(_ c: SQL) -> SQL {
    """
    ($2::timestamptz IS NULL OR EXISTS (SELECT FROM conversations v
      WHERE v.account_id = $1 AND v.contact_id = \(c).id AND \(isRecent)))
    """
  }

  /// The first conversations of a contact, by which an erased visitor is known.
  private static func conversations(of contact: SQL) -> SQL {
    """
    (SELECT string_agg(o.id::text, ' ') FROM (SELECT id FROM conversations
      WHERE account_id = $1 AND contact_id = \(contact) ORDER BY id LIMIT 20) AS o)
    """
  }

  func members() throws -> [ImportedMember] {
    // Columns: user, e-mail address, name, role (0: agent, 1: administrator), time of creation.
    let rows = try connection.run(
      Query(
        """
        SELECT u.id, u.email, coalesce(nullif(btrim(u.display_name), ''), u.name), a.role,
          u.created_at::timestamptz
        FROM account_users a JOIN users u ON u.id = a.user_id WHERE a.account_id = $1
        ORDER BY u.id LIMIT $2
        """, [.int(account), .int(Int64(Self.configurationMax))]))
    return (0..<rows.count).map {
      ImportedMember(
        key: rows.key($0, 0), email: rows.text($0, 1), name: rows.text($0, 2) ?? "",
        isAdmin: rows.int($0, 3) == 1, createdAt: rows.time($0, 4))
    }
  }

  func teams() -> [ImportedTeam] { [] }

  func tags() throws -> [ImportedTag] {
    // Columns: id, title, colour.
    let rows = try connection.run(
      Query(
        "SELECT id, title, color FROM labels WHERE account_id = $1 ORDER BY id LIMIT $2",
        [.int(account), .int(Int64(Self.configurationMax))]))
    return (0..<rows.count).map {
      ImportedTag(key: rows.key($0, 0), name: rows.text($0, 1) ?? "", colour: rows.text($0, 2))
    }
  }

  func replies() throws -> [ImportedReply] {
    // Columns: id, short code, text.
    let rows = try connection.run(
      Query(
        """
        SELECT id, short_code, content FROM canned_responses WHERE account_id = $1
        ORDER BY id LIMIT $2
        """, [.int(account), .int(Int64(Self.configurationMax))]))
    return (0..<rows.count).map {
      ImportedReply(
        key: rows.key($0, 0), shortcut: rows.text($0, 1) ?? "", text: rows.text($0, 2) ?? "")
    }
  }

  func contacts(after last: Int64) throws -> [ImportedContact] {
    // Columns: id, name, e-mail address, telephone number, identifier, additional attributes,
    // custom attributes, whether they are blocked, time of creation, last activity, first
    // conversations.
    let rows = try connection.run(
      Query(
        """
        SELECT c.id, concat_ws(' ', nullif(btrim(c.name), ''), nullif(btrim(j ->> 'middle_name'),
            ''), nullif(btrim(j ->> 'last_name'), '')), nullif(btrim(c.email), ''), c.phone_number,
          nullif(btrim(c.identifier), ''), c.additional_attributes::text,
          c.custom_attributes::text, (j ->> 'blocked')::boolean, c.created_at::timestamptz,
          coalesce((j ->> 'last_activity_at')::timestamptz, c.created_at::timestamptz),
          \(Self.conversations(of: "c.id"))
        FROM contacts c CROSS JOIN LATERAL to_jsonb(c) AS j
        WHERE c.account_id = $1 AND c.id > $3 AND \(Self.isChosen("c")) ORDER BY c.id LIMIT $4
        """,
        [.int(account), .time(since), .int(last), .int(Int64(Self.contactsPerPage))]))
    return (0..<rows.count).map { contact(rows, $0) }
  }

  func conversations(after last: Int64, limit: Int) throws -> [ImportedConversation] {
    // Columns: id, number, status, contact, identifier of the contact, first conversations of the
    // contact, assignee, name of the assignee, time of creation, last activity, additional
    // attributes, labels with line feeds between, type of the inbox, name of the inbox, when the
    // contact and the agents last saw it; rating, comment, time and agent of the survey.
    let rows = try connection.run(
      Query(
        """
        SELECT v.id, v.display_id, v.status, c.id, nullif(btrim(c.identifier), ''),
          \(Self.conversations(of: "c.id")), v.assignee_id,
          coalesce(nullif(btrim(u.display_name), ''), u.name), v.created_at::timestamptz,
          v.last_activity_at::timestamptz, v.additional_attributes::text,
          (SELECT string_agg(t.name, E'\\n' ORDER BY t.name) FROM taggings g
            JOIN tags t ON t.id = g.tag_id WHERE g.taggable_type = 'Conversation'
            AND g.taggable_id = v.id AND g.context = 'labels'),
          i.channel_type, i.name, (j ->> 'contact_last_seen_at')::timestamptz,
          (j ->> 'agent_last_seen_at')::timestamptz, r.rating, r.feedback_message,
          r.created_at::timestamptz, r.assigned_agent_id
        FROM conversations v CROSS JOIN LATERAL to_jsonb(v) AS j
        LEFT JOIN contacts c ON c.id = v.contact_id AND c.account_id = v.account_id
        LEFT JOIN users u ON u.id = v.assignee_id LEFT JOIN inboxes i ON i.id = v.inbox_id
        LEFT JOIN LATERAL (SELECT * FROM csat_survey_responses s WHERE s.conversation_id = v.id
          ORDER BY s.created_at DESC, s.id DESC LIMIT 1) AS r ON true
        WHERE v.account_id = $1 AND v.id > $3 AND \(Self.isRecent) ORDER BY v.id LIMIT $4
        """, [.int(account), .time(since), .int(last), .int(Int64(limit))]))
    return (0..<rows.count).map { conversation(rows, $0) }
  }

  /// Columns: id, conversation, text, type (0: incoming, 1: outgoing, 2: activity, 3: template),
  /// whether it is a private note, type of the content, attributes, type of the sender, sender,
  /// name of the sender, time, attachments.
  func messages(
    after first: Int64, upTo last: Int64, _ body: ([ImportedMessage]) throws -> Void
  ) throws {
    try connection.run(
      Query(
        """
        DECLARE chatwoot_messages CURSOR FOR
        SELECT m.id, m.conversation_id, left(m.content, $5::integer), m.message_type, m.private,
          m.content_type,
          CASE WHEN octet_length(m.content_attributes::text) <= $5::integer
            THEN m.content_attributes::text END,
          m.sender_type, m.sender_id, coalesce(nullif(btrim(u.display_name), ''), u.name),
          m.created_at::timestamptz, (
            SELECT json_agg(json_build_object('type', a.file_type, 'url', a.external_url,
              'title', a.fallback_title, 'file', b.filename, 'bytes', b.byte_size,
              'latitude', a.coordinates_lat, 'longitude', a.coordinates_long) ORDER BY a.id)
            FROM attachments a LEFT JOIN active_storage_attachments s
              ON s.record_type = 'Attachment' AND s.record_id = a.id AND s.name = 'file'
            LEFT JOIN active_storage_blobs b ON b.id = s.blob_id WHERE a.message_id = m.id)::text
        FROM messages m JOIN conversations v ON v.id = m.conversation_id
        LEFT JOIN users u ON m.sender_type = 'User' AND u.id = m.sender_id
        WHERE v.account_id = $1 AND v.id > $3 AND v.id <= $4 AND \(Self.isRecent)
        ORDER BY m.conversation_id, m.created_at, m.id
        """,
        [
          .int(account), .time(since), .int(first), .int(last), .int(Int64(Self.textBytes)),
        ]))
    while true {
      let page = try connection.run(Query("FETCH 1000 FROM chatwoot_messages"))
      if page.isEmpty { break }
      try body((0..<page.count).map { ChatwootMessage.message(page, $0) })
    }
    try connection.run(Query("CLOSE chatwoot_messages"))
  }
}
