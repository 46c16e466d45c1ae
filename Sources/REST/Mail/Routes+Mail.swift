import Mail

/// E-mail: what was sent, a test, the link that ends it, and links for passwords.
extension API {
  private static let mailPath = "\(admin)/mail"
  static let passwordLinkPath = "/api/v1/auth/password-link/"

  static let mailRoutes: [Route] = [
    Route(
      "GET", mailPath, .member(.admin, .settingsRead, MailRoutes.show),
      "Get whether the gateway sends e-mail, and its sender", response: .mailState),
    Route(
      "GET", "\(mailPath)/messages", .member(.admin, .settingsRead, MailRoutes.listMessages),
      "List the e-mails of the last days, newest first", query: .page, response: .mailMessages),
    Route(
      "POST", "\(mailPath)/test", .member(.admin, nil, MailRoutes.sendTest),
      "Send a test message to the caller's own address", body: .nothing, status: 202,
      response: .queuedMail, problems: [409]),
    Route(
      "GET", "\(conversations)/{id}/mail",
      .member(.agent, .conversationsRead, MailRoutes.showConversation),
      "Get what of a conversation was sent by e-mail, and what will be",
      response: .conversationMail),
    Route(
      "POST", "\(conversations)/{id}/mail/send-again",
      .member(.agent, .conversationsWrite, MailRoutes.sendAgain),
      "Send the answers again whose last e-mail has failed", body: .nothing, status: 202,
      response: .nothing, problems: [409]),
    Route(
      "POST", "/api/v1/widget/sessions/{id}/transcript/mail",
      .visitor(WidgetRoutes.mailTranscript),
      "Send the conversation to the visitor's own address", body: .nothing, status: 202,
      response: .queuedMail, problems: [409], isExpensive: true),
    Route(
      "GET", "\(UnsubscribeToken.path){token:text}", .open(UnsubscribeRoutes.show),
      "Show the page that ends a visitor's e-mail", type: "text/html", problems: [404]),
    Route(
      "POST", "\(UnsubscribeToken.path){token:text}", .open(UnsubscribeRoutes.end),
      "End a visitor's e-mail with one click (RFC 8058)", type: "text/html", problems: [404]),
    Route(
      "POST", "/api/v1/auth/password-reset", .open(PasswordLinkRoutes.request),
      "Send a link for a new password, if there is such an account", body: .passwordReset,
      status: 202, response: .nothing, problems: [403, 409, 429]),
    Route(
      "GET", "\(passwordLinkPath){token:text}", .open(PasswordLinkRoutes.show),
      "Show the page for a new password", type: "text/html", problems: [404, 429]),
    Route(
      "POST", "\(passwordLinkPath){token:text}", .open(PasswordLinkRoutes.set),
      "Set a password with a link, which then has ended", type: "text/html",
      problems: [403, 404, 422, 429]),
  ]
}
