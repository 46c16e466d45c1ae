/// E-mail of a workspace: what was sent, and a test.
import Chat
import Conversations
import Directory
import JSON
import Kernel
import Mail
import Postgres
import Primitives

struct MailRoutes: RouteGroup {
  let api: API

  static let message = RowShape([
    ("id", .id), ("kind", .word(MailKind.allCases.map(\.rawValue))), ("recipient", .text),
    ("state", .word(["pending", "sent", "failed", "stopped"])), ("reason", .text),
    ("attempts", .int), ("created_at", .time), ("ended_at", .optional(.time)),
  ])

  func show(_ call: Call) async throws(Problem) -> APIResponse {
    .json(
      [UInt8].object { json in
        json.appendMember("configured", api.options.mailFrom != nil)
        json.appendMember("from", orNull: api.options.mailFrom?.address)
      })
  }

  func listMessages(_ call: Call) async throws(Problem) -> APIResponse {
    let page = try call.page("messages", keys: 2)
    return try await api.list(
      page, MailRoutes.message,
      MailOutbox.page(of: call.workspace, after: try page.position, limit: page.rowsWanted))
  }

  func sendTest(_ call: Call) async throws(Problem) -> APIResponse {
    let member = try call.member
    guard api.options.mailFrom != nil else { throw .noMail }
    guard let to = MailAddress(member.email, name: member.name) else { throw .noMailAddress }
    let sender = try await api.mailSender(of: call.workspace, now: call.request.now)
    let brand = sender.brand
    var content = MailContent(
      to: to, subject: "A test message from \(brand)",
      letter: Letter(
        brand: brand,
        parts: [
          .words("Hello \(member.name),"),
          .words("This message shows that e-mail of \(brand) arrives."),
        ], reason: "You get this because you have requested it in the settings."))
    sender.sender.sign(&content, as: brand)
    return try await api.queue(content, .test, call.workspace, now: call.request.now)
  }

  func showConversation(_ call: Call) async throws(Problem) -> APIResponse {
    let state = try await api.database.run(
      MailConversation.state(of: call.id, workspace: call.workspace))
    guard let state else { throw .noSuchResource }
    let rows = try await api.database.rows(
      MailOutbox.ofConversation(call.id, workspace: call.workspace))
    let replies = try await api.database.rows(
      MailReplies.ofConversation(call.id, workspace: call.workspace))
    let isSent = api.options.mailFrom != nil && state.afterSeconds != nil && !state.isStopped
    return .json(
      [UInt8].object { json in
        json.appendMember("recipient", orNull: isSent ? state.recipient : nil)
        json.appendMember("after_seconds", orNull: isSent ? state.afterSeconds : nil)
        json.appendMember("stopped", state.isStopped)
        json.appendArray("messages", 0..<rows.count) { row, json in
          json += [UInt8].object {
            $0.appendMember("first_seq", rows.int(row, 0) ?? 0)
            $0.appendMember("last_seq", rows.int(row, 1) ?? 0)
            $0.appendMember("state", rows.text(row, 2) ?? "")
            $0.appendMember("reason", rows.text(row, 3) ?? "")
            $0.appendMember("recipient", rows.text(row, 4) ?? "")
            $0.appendMember("at", rows.time(row, 5))
          }
        }
        json.appendArray("replies", 0..<replies.count) { row, json in
          json += MailRoutes.reply(replies, row)
        }
      })
  }
}

extension MailRoutes {
  /// The next search finds the answers again, unless they are read or too old.
  func sendAgain(_ call: Call) async throws(Problem) -> APIResponse {
    _ = try call.request.jsonObject()
    let state = try await api.database.run(
      MailConversation.state(of: call.id, workspace: call.workspace))
    guard state != nil else { throw .noSuchResource }
    guard api.options.mailFrom != nil else { throw .noMail }
    let isForgotten = try await api.database.run(
      MailOutbox.forgetFailure(of: call.id, workspace: call.workspace))
    guard isForgotten else { throw .noFailedMail }
    return .json(Array("{}".utf8), status: 202)
  }

  fileprivate static func reply(_ rows: Rows, _ row: Int) -> [UInt8] {
    [UInt8].object {
      $0.appendMember("message_id", orNull: rows.uuid(row, 0))
      $0.appendMember("author", rows.text(row, 1) ?? "")
      $0.appendMember("is_verified", rows.bool(row, 2) == true)
      $0.appendMember("verdict", rows.text(row, 3) ?? "")
      $0.appendMember("at", rows.time(row, 4))
    }
  }
}

/// The sender of a workspace's mail, and its name at the head of messages.
struct WorkspaceMail {
  var sender: MailSender
  var brand: String
  var settings: WorkspaceSettings.Mail
}

extension API {
  func mailSender(of workspace: Identifier, now: WallTime) async throws(Problem) -> WorkspaceMail {
    let settings = try await settings(of: workspace, now: now).settings
    let sender = MailSender(settings)
    let name = try await database.run(Workspace.withID(workspace))?.name ?? ""
    return WorkspaceMail(sender: sender, brand: sender.name(orOf: name), settings: settings.mail)
  }

  /// Adds a message to the outbox. Throws 429 if the address has its share of an hour.
  func queue(
    _ content: MailContent, _ kind: MailKind, _ workspace: Identifier, now: WallTime
  ) async throws(Problem) -> APIResponse {
    let id = Identifier.random(at: now)
    let isAdded = try await database.run(
      MailOutbox.add(content, id: id, kind: kind, workspace: workspace, sealedBy: options.secrets))
    guard isAdded else { throw .rateLimited(afterSeconds: 3_600, limit: "account") }
    return .json(
      [UInt8].object { json in
        json.appendMember("id", id)
        json.appendMember("recipient", content.to.masked)
      }, status: 202)
  }
}

extension Problem {
  static let noFailedMail = Problem(
    status: 409, type: "no_failed_mail", title: "No failed e-mail",
    detail: "The last e-mail with answers of the conversation has not failed.")

  static let noMail = Problem(
    status: 409, type: "no_mail", title: "No e-mail",
    detail: "This gateway has no mail server. Its administrator sets mail.smtp_url.")

  static let noMailAddress = Problem(
    status: 409, type: "no_mail_address", title: "No e-mail address",
    detail: "There is no e-mail address, or one to which mail cannot be sent.")
}
