/// Uploads of visitors, operators and API keys, in parts that are ordinary requests. A part costs
/// no write to the database; its file work runs on threads of its own.
import Attachments
import Chat
import Directory
import JSON
import Primitives

struct AttachmentRoutes: RouteGroup {
  let api: API

  private func place(_ call: VisitorCall) throws(Problem) -> AttachmentPlace {
    AttachmentPlace(call, session: try WidgetRoutes(api).ownSession(call))
  }

  func begin(_ call: Call) async throws(Problem) -> APIResponse {
    try await begin(AttachmentPlace(call))
  }

  func beginOwn(_ call: VisitorCall) async throws(Problem) -> APIResponse {
    let place = try place(call)
    if !call.request.isExempt {
      try api.widgetLimits.uploads.take(call.request.peer, call.request.now)
    }
    return try await begin(place)
  }

  func putPart(_ call: Call) async throws(Problem) -> APIResponse {
    try await putPart(AttachmentPlace(call))
  }

  func putOwnPart(_ call: VisitorCall) async throws(Problem) -> APIResponse {
    try await putPart(try place(call))
  }

  func show(_ call: Call) async throws(Problem) -> APIResponse {
    try await show(AttachmentPlace(call))
  }

  func showOwn(_ call: VisitorCall) async throws(Problem) -> APIResponse {
    try await show(try place(call))
  }

  func cancel(_ call: Call) async throws(Problem) -> APIResponse {
    try await cancel(AttachmentPlace(call))
  }

  func cancelOwn(_ call: VisitorCall) async throws(Problem) -> APIResponse {
    try await cancel(try place(call))
  }

  func postOwnMessage(_ call: VisitorCall) async throws(Problem) -> APIResponse {
    try await postMessage(try place(call))
  }

  func link(_ call: Call) async throws(Problem) -> APIResponse {
    let known = try await ConversationRoutes(api).conversations([call.id], of: call.workspace)
    guard known[call.id] != nil else { throw .noSuchSession }
    return try await link(AttachmentPlace(call))
  }

  func linkOwn(_ call: VisitorCall) async throws(Problem) -> APIResponse {
    try await link(try place(call))
  }

  /// What the workspace's attachments use, for its settings.
  func showUsage(_ call: Call) async throws(Problem) -> APIResponse {
    let usage = try await api.database.run(Attachment.usage(of: call.workspace))
    let settings = try await api.settings(of: call.workspace, now: call.request.now).settings
    return .json(
      [UInt8].object { json in
        json.appendMember("bytes", usage.bytes)
        json.appendMember("total_bytes", Int64(settings.attachments.totalBytes))
        json.appendMember("running", usage.running)
      })
  }

  // MARK: Beginning

  var files: AttachmentFiles {
    get throws(Problem) {
      guard let files = api.options.attachments else { throw .attachmentsOff }
      return files
    }
  }

  func settings(
    _ place: AttachmentPlace
  ) async throws(Problem) -> WorkspaceSettings.Attachments {
    let loaded = try await api.settings(of: place.uploader.workspace, now: place.request.now)
    guard loaded.settings.attachments.isEnabled else { throw .attachmentsOff }
    return loaded.settings.attachments
  }

  private func begin(_ place: AttachmentPlace) async throws(Problem) -> APIResponse {
    let files = try files
    let object = try place.request.jsonObject()
    guard let id = try object.identifier("id") else { throw .missing("id", in: object) }
    let name = AttachmentName.clean(
      try object.requiredString("name", bytesMax: APILimits.attachmentNameBytes))
    let range = 1...Int64(SettingLimits.attachmentBytes)
    guard let bytes = try object.int("bytes", in: range) else {
      throw .missing("bytes", in: object)
    }
    // What the client declares does not count, see `ContentType`.
    _ = try object.string("type", bytesMax: APILimits.attachmentNameBytes)
    let alt = try object.string("alt", bytesMax: AttachmentLimits.altBytes)
      .flatMap { $0.trimmingBlanks.isEmpty ? nil : $0 }
    let settings = try await settings(place)
    guard bytes <= settings.bytesMax else { throw .attachmentTooLarge(settings.bytesMax) }
    if let group = ContentType.group(ofName: name) {
      guard settings.types.contains(group.rawValue) else { throw .fileTypeRefused(name) }
    } else if ContentType.isForeign(name) {
      throw .fileTypeRefused(name)
    }
    let beginning = try await api.database.run(
      Attachment.begin(
        id, name: name, bytes: bytes, alt: alt, by: place.uploader,
        totalMax: Int64(settings.totalBytes)))
    switch beginning {
    case .begun(let item): return json(item, received: 0, status: 201)
    case .known(let item):
      guard place.uploader.owns(item), item.name == name,
        item.state != .uploading || item.byteCount == bytes
      else { throw .attachmentConflict }
      return try await resumed(item, place, files)
    case .callerIsFull: throw .tooManyUnsent
    case .workspaceIsBusy: throw .tooManyUploads
    case .workspaceIsFull: throw .attachmentsFull(settings.totalBytes)
    case .noSuchSession: throw .noSuchSession
    case nil: throw .internalError
    }
  }

  // MARK: Parts

  /// The caller's attachment that the path names.
  private func own(_ place: AttachmentPlace) async throws(Problem) -> Attachment {
    let found = try await api.database.run(
      Attachment.find(place.key.id, in: place.key.workspace))
    guard let found, place.uploader.owns(found), found.state != .removed else {
      throw .noSuchAttachment
    }
    return found
  }

  private func putPart(_ place: AttachmentPlace) async throws(Problem) -> APIResponse {
    let files = try files
    let body = place.request.body
    guard let offset = Int64(place.parameters.text("offset")), offset >= 0,
      offset <= SettingLimits.attachmentBytes
    else { throw .invalid("The offset in the path must be a number of bytes.") }
    let item = try await own(place)
    let type = place.request.header("Content-Type")?.split(separator: ";").first?.trimmingBlanks
    guard (type ?? "").equalsIgnoringASCIICase("application/octet-stream") else {
      throw .partMediaType
    }
    guard !body.isEmpty || offset == item.byteCount else {
      throw .invalid("The body is empty. Send the bytes of the part.")
    }
    let end = offset + Int64(body.count)
    guard item.state == .uploading else {
      guard end <= item.byteCount else { throw .wrongOffset(item.byteCount) }
      return json(item, received: item.byteCount)
    }
    switch try await reading({ () async throws(AttachmentFiles.Failure) in
      try await files.write(body, at: offset, of: item)
    }) {
    case .busy: throw .uploadBusy
    case .elsewhere(let received): throw .wrongOffset(received)
    case .received(let received):
      guard received == item.byteCount else { return json(item, received: received) }
      return try await complete(item, place, files)
    }
  }

  /// All parts have come: the bytes are judged and stored, then the row says so.
  private func complete(
    _ item: Attachment, _ place: AttachmentPlace, _ files: AttachmentFiles
  ) async throws(Problem) -> APIResponse {
    let allowed = Set(try await settings(place).types.compactMap { AttachmentGroup(rawValue: $0) })
    switch try await reading({ () async throws(AttachmentFiles.Failure) in
      try await files.complete(item, allowed: allowed)
    }) {
    case .busy: throw .uploadBusy
    case .refused(let type, let reason):
      _ = try await api.database.run(Attachment.cancel(item.key))
      throw .fileRefused(type, reason)
    case .stored(let content):
      let stored = try await api.database.run(Attachment.complete(item.key, as: content))
      guard let stored else {
        // It was cancelled in the meantime; the sweep removes the bytes.
        throw .noSuchAttachment
      }
      files.counts.noteStored()
      return json(stored, received: stored.byteCount)
    }
  }

  // MARK: State

  private func show(_ place: AttachmentPlace) async throws(Problem) -> APIResponse {
    try await answer(try await own(place), try files)
  }

  private func answer(
    _ item: Attachment, _ files: AttachmentFiles
  ) async throws(Problem) -> APIResponse {
    guard item.state != .removed else { throw .noSuchAttachment }
    guard item.state == .uploading else { return json(item, received: item.byteCount) }
    let received = try await reading { () async throws(AttachmentFiles.Failure) in
      try await files.received(item.key)
    }
    return json(item, received: received)
  }

  /// A gateway may have ended between the last part and the last step, which is done now.
  private func resumed(
    _ item: Attachment, _ place: AttachmentPlace, _ files: AttachmentFiles
  ) async throws(Problem) -> APIResponse {
    guard item.state == .uploading else { return try await answer(item, files) }
    let received = try await reading { () async throws(AttachmentFiles.Failure) in
      try await files.received(item.key)
    }
    guard received == item.byteCount else { return json(item, received: received) }
    return try await complete(item, place, files)
  }

  private func cancel(_ place: AttachmentPlace) async throws(Problem) -> APIResponse {
    let item = try await own(place)
    guard try await api.database.run(Attachment.cancel(item.key)) else { throw .attachmentSent }
    return APIResponse(status: 204)
  }

  private func json(_ item: Attachment, received: Int64, status: Int = 200) -> APIResponse {
    .json(
      [UInt8].object { json in
        item.appendMembers(to: &json)
        json.appendMember("received", received)
        json.appendMember("part_bytes", Int64(AttachmentLimits.pieceBytes))
        json.appendMember("state", item.state.rawValue)
      }, status: status)
  }

  /// Runs work on the files; a failure of ours is reported to the log.
  func reading<Answer: Sendable>(
    _ work: () async throws(AttachmentFiles.Failure) -> Answer
  ) async throws(Problem) -> Answer {
    do throws(AttachmentFiles.Failure) {
      let answer = try await work()
      api.options.onResume()
      return answer
    } catch {
      api.options.onResume()
      switch error {
      case .busy: throw .attachmentsBusy
      case .storage(let reason, _):
        api.options.report(reason)
        throw .storageUnavailable
      }
    }
  }
}
