/// E-mail that visitors cause: the transcript to their own address, and the offline form's message
/// to the workspace.
import Chat
import Conversations
import Directory
import JSON
import Mail
import Primitives

extension WidgetRoutes {
  /// Only to the address of the visitor's profile, and few in an hour (`MailKind.perHour`): what
  /// strangers write must not go to the addresses of others.
  func mailTranscript(_ call: VisitorCall) async throws(Problem) -> APIResponse {
    let session = try ownSession(call)
    guard api.options.mailFrom != nil else { throw .noMail }
    let mail = try await api.mailSender(of: call.workspace, now: call.request.now)
    guard mail.settings.sendsTranscripts else { throw .noMail }
    let text = try await transcriptText(call, session)
    let found = try await api.database.run(
      MailConversation.state(of: session, workspace: call.workspace))
    guard let to = found.flatMap({ MailAddress($0.address ?? "", name: $0.visitor) }) else {
      throw .noMailAddress
    }
    var content = MailContent(
      to: to, subject: "Your conversation with \(mail.brand)",
      letter: Letter(
        brand: mail.brand,
        parts: [
          .words("Here is the conversation that you wanted to have sent."),
          .verbatim(String(decoding: text, as: UTF8.self)),
        ], reason: "You get this because you have requested it in the chat."))
    content.session = session
    mail.sender.sign(&content, as: mail.brand)
    return try await api.queue(content, .transcript, call.workspace, now: call.request.now)
  }

  /// The message is stored already, so a failure here is reported and does not fail the request.
  func notifyOfOfflineMessage(
    _ body: String, from name: String, _ address: String, session: Identifier,
    _ workspace: Identifier, _ request: APIRequest
  ) async {
    guard api.options.mailFrom != nil else { return }
    do throws(Problem) {
      let mail = try await api.mailSender(of: workspace, now: request.now)
      guard let to = MailAddress(mail.settings.offlineTo) else { return }
      let author = name.isEmpty ? address : name
      var parts: [Letter.Part] = [
        .words("\(author) has left a message with the offline form."),
        .message(author: author, at: request.now.shortText, text: body),
        .words("Their address is \(address). A reply to this message goes there."),
      ]
      if let url = api.options.publicURL {
        parts.append(.button("Open the conversation", url: "\(url)/console#\(session)"))
      }
      var content = MailContent(
        to: to, subject: "Message from \(author)",
        letter: Letter(
          brand: mail.brand, parts: parts,
          reason: "You get this because the settings name your address."))
      content.session = session
      mail.sender.sign(&content, as: mail.brand)
      content.replyTo = MailAddress(address) ?? content.replyTo
      _ = try await api.queue(content, .offline, workspace, now: request.now)
    } catch {
      api.options.report("mail: a message of the offline form is not sent: \(error.type)")
    }
  }
}
