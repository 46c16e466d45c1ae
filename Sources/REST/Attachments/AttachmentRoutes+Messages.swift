/// Messages with attachments, and links to attachments.
import Attachments
import Chat
import Conversations
import Directory
import JSON
import Kernel
import Primitives

extension AttachmentRoutes {
  /// Sends a message with stored attachments. They are given to the message first, so that no other
  /// one gets them; a message that a crash prevents is found by the sweep.
  func postMessage(_ place: AttachmentPlace) async throws(Problem) -> APIResponse {
    let uploader = place.uploader
    let object = try place.request.jsonObject()
    let message = try object.identifier("id") ?? .random(at: place.request.now)
    let caption = try object.string("body", bytesMax: Limits.bodyBytes) ?? ""
    let ids = try identifiers("attachments", of: object, countMax: AttachmentLimits.perMessage)
    _ = try await settings(place)
    let bound = try await api.database.run(Attachment.bind(ids, to: message, by: uploader))
    guard bound.found.count == ids.count else { throw .attachmentsNotReady }
    let isCaption = !caption.trimmingBlanks.isEmpty
    let body = isCaption ? caption : Attachment.body(of: bound.found)
    let payload = Attachment.payload(of: bound.found, isCaption: isCaption)
    guard payload.count <= Limits.payloadBytes else {
      try await release(bound.new, message, uploader)
      throw .tooLong("attachments", in: object, bytesMax: Limits.payloadBytes)
    }
    let outcome = await api.sessions.append(
      session: uploader.session, workspace: uploader.workspace, id: message, role: place.role,
      kind: .file, sender: uploader.id, senderName: Array(place.name.utf8),
      body: Array(body.utf8), payload: payload)
    if let problem = outcome.verdict.problem {
      // After `unavailable` the message may be committed: a repeated request shows whether it is.
      if outcome.verdict != .unavailable { try await release(bound.new, message, uploader) }
      throw problem
    }
    return outcome.response(to: message)
  }

  private func release(
    _ ids: [Identifier], _ message: Identifier, _ uploader: Uploader
  ) async throws(Problem) {
    guard !ids.isEmpty else { return }
    try await api.database.run(Attachment.release(ids, of: message, in: uploader.workspace))
  }

  /// Different ids, at least one.
  private func identifiers(
    _ name: String, of object: JSONObject, countMax: Int
  ) throws(Problem) -> [Identifier] {
    var found: [Identifier] = []
    for element in try object.elements(name, countMax: countMax) ?? [] {
      guard let id = try element.identifier(name) else {
        throw .invalidMember(name, in: object, "an array of UUIDs")
      }
      if !found.contains(id) { found.append(id) }
    }
    guard !found.isEmpty else { throw .missing(name, in: object) }
    return found
  }

  // MARK: Links

  /// Links to attachments of a conversation, for a short time. A visitor gets those of messages,
  /// and their own.
  func link(_ place: AttachmentPlace) async throws(Problem) -> APIResponse {
    let uploader = place.uploader
    let ids = try identifiers(
      "ids", of: try place.request.jsonObject(), countMax: AttachmentLimits.links)
    let found = try await api.database.run(
      Attachment.shown(ids, in: uploader.workspace, session: uploader.session))
    let shown = found.filter { !uploader.isVisitor || $0.state == .bound || uploader.owns($0) }
    let end = place.request.now.advanced(bySeconds: AttachmentLimits.linkSeconds)
    let secrets = api.options.secrets
    return .json(
      [UInt8].object { json in
        json.appendArray("links", shown) { item, json in
          json += [UInt8].object {
            $0.appendMember("id", item.id)
            $0.appendMember("url", AttachmentLink(item.key, until: end).url(signedBy: secrets))
            if item.hasThumbnail {
              let link = AttachmentLink(item.thumbnailKey, until: end)
              $0.appendMember("thumbnail_url", link.url(signedBy: secrets))
            }
            $0.appendMember("expires_at", end)
          }
        }
      })
  }
}

extension AttachmentLink {
  /// The link of a request; nil: the signature is not ours.
  init?(id: Identifier, _ query: QueryString, signedBy secrets: SecretBox) {
    guard let workspace = query["workspace"].flatMap({ Identifier($0) }),
      let end = query["expires"].flatMap({ Int64($0) }),
      let signature = query["signature"].flatMap({ Base64.url.decode($0.utf8) })
    else { return nil }
    let link = AttachmentLink(
      AttachmentKey(workspace: workspace, id: id, isThumbnail: query["thumbnail"] == "1"), end: end)
    guard link.isSignature(signature, by: secrets) else { return nil }
    self = link
  }
}
