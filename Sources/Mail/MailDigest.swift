/// Finds the answers that a visitor has not read, and writes the message with them.
///
/// Found are the answers of operators, behind the visitor's last own message and the mark of what
/// they have read, after which nothing was written for a while (the workspace's setting). The row
/// of the outbox is the mark of what was sent: the same answers are not found twice.
public import Directory
import Postgres
public import Primitives

/// Answers of one conversation that are due.
public struct MailDigest: Sendable, Equatable {
  /// How far back answers are looked for. Mail may have been out of order for as long.
  static let windowDays: Int64 = 3
  /// Conversations that one search finds; the next one continues.
  static let foundMax: Int64 = 50
  /// The most answers in one message; the page has the others.
  static let messagesMax: Int64 = 40
  /// Messages before the answers.
  static let earlierMax: Int64 = 4
  /// Characters of one message, and of an earlier one.
  static let bodyCharactersMax = 8_000
  static let earlierCharactersMax = 400

  /// In the language of the message. `QuotedText` cuts a reply there.
  public static let marker = "--- Reply above this line ---"

  var workspace: Identifier
  var session: Identifier
  var first: Int64
  var last: Int64
  var address: String
  var visitor: String
  var workspaceName: String
  /// Of the conversation; empty: unknown.
  var page: String

  static var find: Query { Query(findSQL, [.int(windowDays), .int(foundMax)]) }

  private static let findSQL: SQL = """
    SELECT w.id, s.id, u.first_seq, u.last_seq, v.email, v.name, w.name, s.context ->> 'page'
    FROM (SELECT id, name, chirrup_mail_quiet(id) AS quiet FROM workspaces) AS w
    CROSS JOIN LATERAL (
      SELECT a.id, a.user_id, a.context FROM chat_sessions a
      WHERE a.workspace_id = w.id AND a.status = 'active' AND a.deleted_at IS NULL
        AND a.last_message_role NOT IN ('visitor', 'user')
        AND a.last_message_at > now() - $1::bigint * interval '1 day'
      UNION ALL
      SELECT c.id, c.user_id, c.context FROM chat_sessions c
      WHERE c.workspace_id = w.id AND c.status = 'closed' AND c.deleted_at IS NULL
        AND c.last_message_role NOT IN ('visitor', 'user')
        AND coalesce(c.closed_at, c.created_at) > now() - $1::bigint * interval '1 day'
        AND c.last_message_at > now() - $1::bigint * interval '1 day') AS s
    JOIN visitors known ON known.workspace_id = w.id AND known.id = s.user_id
    JOIN visitors v ON v.workspace_id = w.id AND v.id = coalesce(known.merged_into, known.id)
      AND v.email IS NOT NULL AND v.banned_at IS NULL
    CROSS JOIN LATERAL (
      SELECT greatest(
        coalesce((SELECT max(r.read_seq) FROM read_marks r WHERE r.workspace_id = w.id
          AND r.session_id = s.id AND r.role IN ('visitor', 'user')), 0),
        coalesce((SELECT max(o.last_seq) FROM mail_outbox o WHERE o.workspace_id = w.id
          AND o.session_id = s.id AND o.kind = 'answers'), 0),
        coalesce((SELECT c.seq FROM chats c WHERE c.workspace_id = w.id AND c.session_id = s.id
          AND c.role IN ('visitor', 'user') ORDER BY c.seq DESC LIMIT 1), 0)) AS seq) AS mark
    CROSS JOIN LATERAL (
      SELECT min(c.seq) AS first_seq, max(c.seq) AS last_seq, max(c.created_at) AS at
      FROM chats c WHERE c.workspace_id = w.id AND c.session_id = s.id AND c.seq > mark.seq
        AND c.role = 'operator' AND c.kind NOT IN ('note', 'event')
        AND c.created_at > now() - $1::bigint * interval '1 day') AS u
    WHERE w.quiet IS NOT NULL AND u.at <= now() - w.quiet * interval '1 second'
      AND NOT EXISTS (SELECT FROM mail_stops x WHERE x.workspace_id = w.id
        AND x.address_hash = \(MailOutbox.hashSQL))
    ORDER BY u.at LIMIT $2::bigint
    """

  static func found(_ rows: Rows) -> [MailDigest] {
    (0..<rows.count).compactMap { row in
      guard let workspace = rows.uuid(row, 0), let session = rows.uuid(row, 1),
        let first = rows.int(row, 2), let last = rows.int(row, 3), let address = rows.text(row, 4)
      else { return nil }
      return MailDigest(
        workspace: workspace, session: session, first: first, last: last, address: address,
        visitor: rows.text(row, 5) ?? "", workspaceName: rows.text(row, 6) ?? "",
        page: rows.text(row, 7) ?? "")
    }
  }

  /// A message of the conversation.
  struct Line: Sendable, Equatable {
    var seq: Int64
    var isAnswer: Bool
    var author: String
    var text: String
    var at: WallTime
  }

  /// The answers, and a few messages before them.
  var read: Query {
    Query(
      """
      (SELECT seq, role = 'operator', coalesce(operator_name, ''), content, created_at FROM chats
      WHERE workspace_id = $1::uuid AND session_id = $2::uuid
        AND seq BETWEEN $3::bigint AND $4::bigint AND role = 'operator'
        AND kind NOT IN ('note', 'event') ORDER BY seq LIMIT $5::bigint)
      UNION ALL
      (SELECT seq, role = 'operator', CASE WHEN role IN ('visitor', 'user') THEN ''
        ELSE coalesce(operator_name, '') END, content, created_at FROM chats
      WHERE workspace_id = $1::uuid AND session_id = $2::uuid AND seq < $3::bigint
        AND role IN ('visitor', 'user', 'operator') AND kind NOT IN ('note', 'event')
      ORDER BY seq DESC LIMIT $6::bigint)
      ORDER BY 1
      """,
      [
        .uuid(workspace), .uuid(session), .int(first), .int(last), .int(MailDigest.messagesMax),
        .int(MailDigest.earlierMax),
      ])
  }

  static func lines(_ rows: Rows) -> [Line] {
    (0..<rows.count).compactMap { row in
      guard let seq = rows.int(row, 0), let text = rows.text(row, 3), let at = rows.time(row, 4)
      else { return nil }
      return Line(
        seq: seq, isAnswer: rows.bool(row, 1) == true, author: rows.text(row, 2) ?? "", text: text,
        at: at)
    }
  }

  /// The message to the visitor; nil if mail cannot be sent to the address.
  ///
  /// - Parameters:
  ///   - sender: the workspace's settings.
  ///   - unsubscribe: the address that ends such mail.
  ///   - reply: where replies come back into the conversation, unless the workspace has an address
  ///     for them.
  func content(
    _ lines: [Line], sender: MailSender, unsubscribe: String?, reply: MailAddress? = nil
  ) -> MailContent? {
    guard let to = MailAddress(address, name: visitor) else { return nil }
    let answers = lines.filter { $0.seq >= first && $0.isAnswer }
    guard let author = answers.last?.author else { return nil }
    let brand = sender.name(orOf: workspaceName)
    let name = visitor.trimmingControls
    var parts: [Letter.Part] = [
      .words(name.isEmpty ? "Hello," : "Hello \(name),"),
      .words(
        answers.count == 1
          ? "You left before we were done, so here is our answer."
          : "You left before we were done, so here are our answers."),
    ]
    for line in answers {
      parts.append(
        .message(
          author: line.author.isEmpty ? brand : line.author, at: line.at.shortText,
          text: line.text.cut(to: MailDigest.bodyCharactersMax)))
    }
    if isWebPage { parts.append(.link("Go back to the chat", url: page)) }
    let earlier = lines.filter { $0.seq < first }
    if !earlier.isEmpty {
      parts.append(
        .before(
          "Before that",
          earlier.map {
            (
              $0.isAnswer ? ($0.author.isEmpty ? brand : $0.author) : "You", $0.at.shortText,
              $0.text.cut(to: MailDigest.earlierCharactersMax)
            )
          }))
    }
    var letter = Letter(
      brand: brand, parts: parts, reason: "You get this because you wrote to us in the chat.")
    if let unsubscribe { letter.ending = ("Stop e-mails from us", unsubscribe) }
    let comesBack = reply != nil && sender.replyTo == nil
    if comesBack { letter.marker = MailDigest.marker }
    var content = MailContent(to: to, subject: "Your question to \(brand)", letter: letter)
    content.session = session
    content.unsubscribe = unsubscribe
    sender.sign(&content, as: author.isEmpty ? brand : "\(author) at \(brand)")
    if comesBack { content.replyTo = reply }
    return content
  }

  private var isWebPage: Bool {
    (page.hasPrefix("https://") || page.hasPrefix("http://")) && page.utf8.count <= 1_000
      && page.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
  }
}

/// How the mail of a workspace is signed.
public struct MailSender: Sendable, Equatable {
  var name: String
  var address: MailAddress?
  var replyTo: MailAddress?

  public init(_ settings: WorkspaceSettings) {
    name = settings.mail.senderName.trimmingControls
    if name.isEmpty { name = (settings.widget.name ?? "").trimmingControls }
    address = MailAddress(settings.mail.senderAddress)
    replyTo = MailAddress(settings.mail.replyTo)
  }

  public func name(orOf workspace: String) -> String {
    name.isEmpty ? workspace.trimmingControls : name
  }

  public func sign(_ content: inout MailContent, as name: String) {
    content.fromName = name
    content.from = address
    content.replyTo = replyTo
  }
}

extension String {
  /// The beginning, with an ellipsis if something is missing.
  public func cut(to characters: Int) -> String {
    let beginning = prefix(characters)
    return beginning.endIndex == endIndex ? self : "\(beginning)…"
  }
}

extension WallTime {
  /// `26 Nov, 14:03 UTC`.
  public var shortText: String {
    var date: [UInt8] = []
    appendHTTPDate(to: &date)
    let text = String(decoding: date, as: UTF8.self)
    // `Thu, 26 Nov 2026 14:03:07 GMT`
    return "\(text.dropFirst(5).prefix(6)), \(text.dropFirst(17).prefix(5)) UTC"
  }
}
