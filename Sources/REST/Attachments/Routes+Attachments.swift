/// Attachments: the same routes for visitors and for operators, links, and downloads.
extension API {
  private static let ownSession = "/api/v1/widget/sessions/{id}"

  static let attachmentRoutes: [Route] =
    [
      Route(
        "POST", "\(ownSession)/messages", .visitor(AttachmentRoutes.postOwnMessage),
        "Send a message with attachments", body: .fileMessage, status: 201, response: .stored,
        problems: [409]),
      Route(
        "GET", "/api/v1/attachments/{id}", .open(AttachmentDownload.download),
        "Download an attachment", query: .attachmentLink, response: .binary,
        type: "*/*", problems: [403, 404, 416]),
      Route(
        "GET", "\(admin)/attachments/usage",
        .member(.agent, .settingsRead, AttachmentRoutes.showUsage),
        "Get what the attachments of the workspace use", response: .attachmentUsage),
    ]
    + uploads(
      below: ownSession, .visitor(AttachmentRoutes.beginOwn),
      .visitor(AttachmentRoutes.putOwnPart), .visitor(AttachmentRoutes.showOwn),
      .visitor(AttachmentRoutes.cancelOwn), .visitor(AttachmentRoutes.linkOwn))
    + uploads(
      below: "\(conversations)/{id}",
      .member(.agent, .conversationsWrite, AttachmentRoutes.begin),
      .member(.agent, .conversationsWrite, AttachmentRoutes.putPart),
      .member(.agent, .conversationsWrite, AttachmentRoutes.show),
      .member(.agent, .conversationsWrite, AttachmentRoutes.cancel),
      .member(.agent, .conversationsRead, AttachmentRoutes.link))
}

/// The routes of uploads to a conversation, which are the same for visitors and operators.
private func uploads(
  below base: String, _ begin: Route.Handler, _ part: Route.Handler, _ show: Route.Handler,
  _ cancel: Route.Handler, _ link: Route.Handler
) -> [Route] {
  [
    Route(
      "POST", "\(base)/attachments", begin, "Begin or resume an upload",
      body: .newAttachment, status: 201, response: .attachment, problems: [409]),
    Route(
      "PUT", "\(base)/attachments/{attachment}/parts/{offset:text}", part,
      "Send a part of an upload", body: .binary, response: .attachment, problems: [400, 409],
      bodyType: "application/octet-stream", texts: .offset, isPart: true),
    Route(
      "GET", "\(base)/attachments/{attachment}", show, "Get the state of an upload",
      response: .attachment),
    Route(
      "DELETE", "\(base)/attachments/{attachment}", cancel,
      "Cancel an upload that is in no message", status: 204, problems: [409]),
    Route(
      "POST", "\(base)/attachments/links", link, "Get links to attachments",
      body: .attachmentIDs, response: .attachmentLinks),
  ]
}
