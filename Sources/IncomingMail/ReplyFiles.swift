/// Stores the files of a reply as attachments, by the rules of the workspace for visitors: their
/// types, their bytes, those of all files, and what the scanner says. What they refuse is left out.
///
/// The ids are derived from that of the e-mail, so a file is stored once, however often the e-mail
/// is fetched. Blocks: for the thread of the mailbox.
import Attachments
import Directory
import Mail
import MailParsing
import Primitives
import Webhooks

struct ReplyFiles {
  enum Fault: Error, Equatable {
    case database
    /// The storage or the scanner cannot be used: the e-mail waits in the mailbox.
    case storage(reason: String)
  }

  /// What became of the files.
  struct Kept: Equatable {
    var ids: [Identifier] = []
    var omitted = ParsedMail.Omitted()
  }

  /// Nil: this gateway has no storage.
  let files: AttachmentFiles?

  func store(
    _ mail: ParsedMail, of key: [UInt8], for origin: MailReceived.Origin,
    _ database: inout OutboxConnection
  ) throws(Fault) -> Kept {
    var kept = Kept(omitted: mail.omitted)
    let statement = WorkspaceSettings.load(origin.workspace)
    guard let rows = database.run(statement.query) else { throw .database }
    let rules = statement.answer(rows).attachments
    for (number, file) in mail.files.enumerated() {
      let name = AttachmentName.clean(file.name)
      let id = MailKey.file(number, of: key, in: origin.workspace)
      if let files, number < AttachmentLimits.perMessage,
        ReplyFiles.isAllowed(file, name, by: rules),
        let item = try begin(id, name, file, for: origin, rules, &database),
        try isStored(file, as: item, in: files, rules, &database)
      {
        kept.ids.append(id)
      } else {
        kept.omitted.add(name)
      }
    }
    return kept
  }

  private static func isAllowed(
    _ file: ParsedMail.File, _ name: String, by rules: WorkspaceSettings.Attachments
  ) -> Bool {
    guard rules.isEnabled, file.bytes.count <= rules.bytesMax else { return false }
    guard let group = ContentType.group(ofName: name) else { return !ContentType.isForeign(name) }
    return rules.types.contains(group.rawValue)
  }

  /// Nil: the visitor or the workspace has its share of files.
  private func begin(
    _ id: Identifier, _ name: String, _ file: ParsedMail.File, for origin: MailReceived.Origin,
    _ rules: WorkspaceSettings.Attachments, _ database: inout OutboxConnection
  ) throws(Fault) -> Attachment? {
    let uploader = Uploader(
      workspace: origin.workspace, session: origin.session, id: origin.visitor, isVisitor: true)
    let statement = Attachment.begin(
      id, name: name, bytes: Int64(file.bytes.count), alt: nil, by: uploader,
      totalMax: Int64(rules.totalBytes))
    guard let rows = database.run(statement.query), let beginning = statement.answer(rows) else {
      throw .database
    }
    return switch beginning {
    case .begun(let item): item
    // Another e-mail may have the same Message-ID.
    case .known(let item):
      uploader.owns(item) && item.state != .removed
        && (item.state != .uploading || item.byteCount == file.bytes.count) ? item : nil
    case .noSuchSession, .callerIsFull, .workspaceIsBusy, .workspaceIsFull: nil
    }
  }

  private func isStored(
    _ file: ParsedMail.File, as item: Attachment, in files: AttachmentFiles,
    _ rules: WorkspaceSettings.Attachments, _ database: inout OutboxConnection
  ) throws(Fault) -> Bool {
    guard item.state == .uploading else { return true }
    let allowed = Set(rules.types.compactMap { AttachmentGroup(rawValue: $0) })
    let completion: AttachmentFiles.Completion
    do throws(AttachmentFiles.Failure) {
      completion = try files.store(file.bytes, as: item, allowed: allowed)
    } catch {
      switch error {
      case .busy: throw .storage(reason: "a file of a reply is in use")
      case .storage(let reason, _):
        throw .storage(reason: "a file of a reply cannot be stored: \(reason)")
      }
    }
    switch completion {
    case .busy: throw .storage(reason: "a file of a reply is in use")
    case .refused:
      guard database.run(Attachment.cancel(item.key).query) != nil else { throw .database }
      return false
    case .stored(let content):
      let statement = Attachment.complete(item.key, as: content)
      guard let rows = database.run(statement.query) else { throw .database }
      guard statement.answer(rows) != nil else { return false }
      files.counts.noteStored()
      return true
    }
  }
}
