/// Stores the files of a reply as attachments, see `IncomingFiles`.
///
/// The ids are derived from that of the e-mail, so a file is stored once, however often the e-mail
/// is fetched. Blocks: for the thread of the mailbox.
import Attachments
import Channels
import Directory
import Mail
import MailParsing
import Primitives
import Webhooks

struct ReplyFiles {
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
  ) throws(IncomingFiles.Fault) -> Kept {
    var kept = Kept(omitted: mail.omitted)
    let incoming = try IncomingFiles(rulesOf: origin.workspace, &database)
    for (number, file) in mail.files.enumerated() {
      let name = AttachmentName.clean(file.name)
      let id = MailKey.file(number, of: key, in: origin.workspace)
      if let files, number < AttachmentLimits.perMessage,
        incoming.isAllowed(name, byteCount: Int64(file.bytes.count)),
        let item = try begin(id, name, file, for: origin, incoming, &database),
        try isStored(file, as: item, in: files, incoming, &database)
      {
        kept.ids.append(id)
      } else {
        kept.omitted.add(name)
      }
    }
    return kept
  }

  /// Nil: the visitor or the workspace has its share of files.
  private func begin(
    _ id: Identifier, _ name: String, _ file: ParsedMail.File, for origin: MailReceived.Origin,
    _ incoming: IncomingFiles, _ database: inout OutboxConnection
  ) throws(IncomingFiles.Fault) -> Attachment? {
    let uploader = Uploader(
      workspace: origin.workspace, session: origin.session, id: origin.visitor, isVisitor: true)
    // Another e-mail may have the same Message-ID.
    let beginning = try incoming.begin(
      id, name, byteCount: Int64(file.bytes.count), by: uploader, &database)
    guard case .begun(let item) = beginning else { return nil }
    return item
  }

  private func isStored(
    _ file: ParsedMail.File, as item: Attachment, in files: AttachmentFiles,
    _ incoming: IncomingFiles, _ database: inout OutboxConnection
  ) throws(IncomingFiles.Fault) -> Bool {
    guard item.state == .uploading else { return true }
    let completion: AttachmentFiles.Completion
    do throws(AttachmentFiles.Failure) {
      completion = try files.store(file.bytes, as: item, allowed: incoming.allowed)
    } catch {
      throw IncomingFiles.fault(error)
    }
    return try incoming.record(completion, of: item, in: files, &database)
  }
}
