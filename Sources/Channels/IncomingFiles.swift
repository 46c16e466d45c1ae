/// Files that come with messages from outside, by e-mail or on a channel, as attachments of the
/// visitor: the workspace's rules for visitors, the rows, and the way into the message. What the
/// rules refuse is left out, and the message says so.
public import Attachments
public import Directory
public import Postgres
public import Primitives
public import Webhooks

public struct IncomingFiles: Sendable {
  public enum Fault: Error, Equatable, Sendable {
    case database
    /// The storage or the scanner cannot be used.
    case storage(reason: String)
  }

  public enum Beginning: Sendable, Equatable {
    /// Its row: just made, or that of an earlier attempt.
    case begun(Attachment)
    case refused
    /// The visitor or the workspace has too many unfinished files, or the conversation is gone.
    case busy
  }

  public let rules: WorkspaceSettings.Attachments

  /// Blocks, like all functions with a connection.
  public init(
    rulesOf workspace: Identifier, _ database: inout OutboxConnection
  ) throws(Fault) {
    let statement = WorkspaceSettings.load(workspace)
    guard let rows = database.run(statement.query) else { throw .database }
    rules = statement.answer(rows).attachments
  }

  public var allowed: Set<AttachmentGroup> {
    Set(rules.types.compactMap { AttachmentGroup(rawValue: $0) })
  }

  /// What is known before the content is judged.
  ///
  /// - Parameter byteCount: nil: it is not known yet.
  public func isAllowed(_ name: String, byteCount: Int64?) -> Bool {
    guard rules.isEnabled, (byteCount ?? 0) <= rules.bytesMax else { return false }
    guard let group = ContentType.group(ofName: name) else { return !ContentType.isForeign(name) }
    return rules.types.contains(group.rawValue)
  }

  public func begin(
    _ id: Identifier, _ name: String, byteCount: Int64, by uploader: Uploader,
    _ database: inout OutboxConnection
  ) throws(Fault) -> Beginning {
    let statement = Attachment.begin(
      id, name: name, bytes: byteCount, alt: nil, by: uploader, totalMax: Int64(rules.totalBytes))
    guard let rows = database.run(statement.query), let beginning = statement.answer(rows) else {
      throw .database
    }
    switch beginning {
    case .begun(let item): return .begun(item)
    case .known(let item):
      let isWhole = item.state != .uploading || item.byteCount == byteCount
      return IncomingFiles.owns(uploader, item) && isWhole ? .begun(item) : .refused
    case .noSuchSession, .callerIsFull, .workspaceIsBusy: return .busy
    case .workspaceIsFull: return .refused
    }
  }

  /// Whether the visitor has it. The conversation for which it was begun may be closed since.
  public static func owns(_ uploader: Uploader, _ item: Attachment) -> Bool {
    item.state != .removed && item.isOfVisitor
      && (item.session == uploader.session || item.uploader == uploader.id)
  }

  /// Records the last step; false: the file is left out.
  public func record(
    _ completion: AttachmentFiles.Completion, of item: Attachment, in files: AttachmentFiles,
    _ database: inout OutboxConnection
  ) throws(Fault) -> Bool {
    switch completion {
    case .busy: throw .storage(reason: "a file of a message is in use")
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

  public static func fault(_ failure: AttachmentFiles.Failure) -> Fault {
    switch failure {
    case .busy: .storage(reason: "a file of a message is in use")
    case .storage(let reason, _):
      .storage(reason: "a file of a message cannot be stored: \(reason)")
    }
  }

  /// Gives the message those of the files that are still there.
  public static func bind(
    _ ids: [Identifier], to message: Identifier, by uploader: Uploader, _ database: any Database
  ) async throws(QueryFailure) -> [Attachment] {
    try await database.run(
      Attachment.move(ids, of: message, to: uploader.session, in: uploader.workspace))
    let bound = try await database.run(Attachment.bind(ids, to: message, by: uploader))
    guard bound.found.count < ids.count, !bound.found.isEmpty else { return bound.found }
    // All or none are bound; some were removed, such as after a day in which nothing was processed.
    return try await database.run(
      Attachment.bind(bound.found.map(\.id), to: message, by: uploader)
    ).found
  }

  /// What a message says of the files that it came with, and has not.
  ///
  /// - Parameter names: of the first ones.
  public static func leftOut(_ count: Int, _ names: [String]) -> String {
    let shown = names + (count > names.count ? ["…"] : [])
    let files = count == 1 ? "1 file was" : "\(count) files were"
    return "[\(files) left out: \(shown.joined(separator: ", "))]"
  }
}
