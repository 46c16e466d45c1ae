/// Finds the visitors who wait for an operator for longer than the workspace wants, and writes the
/// message that says so, to the address that the workspace's settings name.
///
/// The row of the outbox is the mark: its id follows from the conversation and the time since which
/// it waits. So there is one alert each time that a conversation waits, whichever gateway finds it.
import Directory
import Postgres
import Primitives
import SharedSQL

struct MailAlert: Sendable, Equatable {
  /// How far back entries into the queue are looked for. Mail may have been out of order for as
  /// long.
  static let windowHours: Int64 = 24
  /// Conversations that one search finds; the next one continues.
  static let foundMax: Int64 = 50
  static let bodyCharactersMax = 400

  var id: Identifier
  var workspace: Identifier
  var session: Identifier
  var visitor: String
  var workspaceName: String
  var waitSeconds: Int64
  /// What the visitor has said last; nil: nothing.
  var text: String?
  var at: WallTime?

  static var find: Query { Query(findSQL, [.int(windowHours), .int(foundMax)]) }

  /// Outside business hours nobody is expected to answer, so nobody is alerted.
  private static let findSQL: SQL = """
    SELECT s.alert, w.id, s.id, v.name, w.name,
      extract(epoch FROM now() - s.\(ConversationQueue.entryTime))::bigint, m.content, m.created_at
    FROM (SELECT id, name, chirrup_mail_alert(id) AS after FROM workspaces) AS w
    CROSS JOIN LATERAL (
      SELECT s.id, s.user_id, s.team_id, s.\(ConversationQueue.entryTime), encode(substr(sha256(
          convert_to('alert ' || s.id || extract(epoch FROM s.\(ConversationQueue.entryTime)),
          'UTF8')), 1, 16), 'hex')::uuid AS alert
      FROM chat_sessions s WHERE s.workspace_id = w.id AND \(ConversationQueue.contains("s"))
        AND s.assigned_operator_id IS NULL
        AND s.\(ConversationQueue.entryTime) <= now() - w.after * interval '1 second'
        AND s.\(ConversationQueue.entryTime) > now() - $1::bigint * interval '1 hour') AS s
    LEFT JOIN visitors v ON v.workspace_id = w.id AND v.id = s.user_id
    LEFT JOIN LATERAL (
      SELECT c.content, c.created_at FROM chats c
      WHERE c.workspace_id = w.id AND c.session_id = s.id AND c.role IN ('visitor', 'user')
        AND c.kind NOT IN ('note', 'event') ORDER BY c.seq DESC LIMIT 1) AS m ON true
    WHERE w.after IS NOT NULL AND NOT EXISTS (SELECT FROM mail_outbox o WHERE o.id = s.alert)
      AND chirrup_is_open_line(w.id, s.team_id)
    ORDER BY s.\(ConversationQueue.entryTime) LIMIT $2::bigint
    """

  static func found(_ rows: Rows) -> [MailAlert] {
    (0..<rows.count).compactMap { row in
      guard let id = rows.uuid(row, 0), let workspace = rows.uuid(row, 1),
        let session = rows.uuid(row, 2)
      else { return nil }
      return MailAlert(
        id: id, workspace: workspace, session: session, visitor: rows.text(row, 3) ?? "",
        workspaceName: rows.text(row, 4) ?? "", waitSeconds: rows.int(row, 5) ?? 0,
        text: rows.text(row, 6), at: rows.time(row, 7))
    }
  }

  /// Condition: the conversation of the message `o` waits no longer.
  static let isNeedless: SQL = """
    NOT EXISTS (SELECT FROM chat_sessions s WHERE s.workspace_id = o.workspace_id
      AND s.id = o.session_id AND \(ConversationQueue.contains("s"))
      AND s.assigned_operator_id IS NULL)
    """

  /// The message; nil if the settings name no address any longer.
  ///
  /// - Parameter publicURL: the gateway's, for a link to the conversation.
  func content(_ settings: WorkspaceSettings, publicURL: String?) -> MailContent? {
    guard let to = MailAddress(settings.mail.alertTo) else { return nil }
    let sender = MailSender(settings)
    let brand = sender.name(orOf: workspaceName)
    let trimmed = visitor.trimmingControls
    let name = trimmed.isEmpty ? "A visitor" : trimmed
    var parts: [Letter.Part] = [
      .strong("\(name) has been waiting for \(wait), and nobody has taken the conversation.")
    ]
    if let text, let at {
      parts.append(
        .message(
          author: name, at: at.shortText, text: text.cut(to: MailAlert.bodyCharactersMax)))
    }
    if let publicURL {
      parts.append(.button("Open the conversation", url: "\(publicURL)/console#\(session)"))
    }
    var content = MailContent(
      to: to, subject: "\(name) is waiting",
      letter: Letter(
        brand: brand, parts: parts, reason: "You get this because the settings name your address."))
    content.session = session
    sender.sign(&content, as: brand)
    return content
  }

  private var wait: String {
    let minutes = waitSeconds / 60
    if minutes < 1 { return "\(waitSeconds) seconds" }
    return minutes == 1 ? "a minute" : "\(minutes) minutes"
  }
}
