/// `chirrup restore`: fills an empty data directory from a backup, verifies it, and changes the
/// epoch, so that clients drop messages that the backup does not contain.
import ArgumentParser
import Attachments
import DataRetention
import EmbeddedPostgres
import Glibc
import Kernel
import Migrator
import Postgres
import Primitives
import Settings

struct RestoreCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Restore a backup of the private PostgreSQL into an empty --data-dir.",
    discussion: """
      Copies the backup, compares every file with its checksum, and lets a server recover it. The \
      epoch changes: clients receive resync, drop their copies and load the conversations again. \
      Messages, erasures, and changes of passwords and keys since the backup are lost: repeat \
      the erasures. The files of messages are copied from the folder beside the backup, \
      chirrup-<time>.attachments, to that of the settings; files that are there stay. Starts no \
      gateway, and does not change the backup.
      """)

  @OptionGroup var options: AdministrationOptions
  @Argument(
    help: ArgumentHelp("A backup: a folder chirrup-<time> of chirrup backup.", valueName: "backup"))
  var backup: String

  func run() async throws {
    try await options.perform { settings, output in
      guard settings.isPrivateDatabase else { throw BackupCommand.foreignDatabase }
      PrivateCluster.forgetClientSettings()
      let start = SystemClock.now()
      output.note("  restoring \(backup)", [("restoring", .text(backup))])
      let progress = RestoreProgress(output)
      let cluster = PrivateCluster(dataDirectory: settings.dataDirectory)
      let restored = try cluster.restore(
        backup, besides: settings.attachmentEntry, report: { progress.report($0) }
      ) { url in
        try complete(BlockingConnection(url), settings, output)
      }
      let milliseconds = SystemClock.now().milliseconds(since: start)
      for note in cluster.notes { output.note(note) }
      report(restored, milliseconds, settings, output)
    }
  }

  private struct Restored {
    var contents: BackupContents
    var epoch: String
    var pendingMigrations: Int
    /// Nil: they are in a bucket.
    var files: AttachmentCopy.Counts?
  }

  /// The files come before the cluster gets its name: until then no gateway starts on it.
  private func complete(
    _ connection: BlockingConnection, _ settings: Settings, _ output: CommandOutput
  ) throws -> Restored {
    var pending = 0
    if case .pending(let migrations) = try Migrator(connection).status().standing() {
      pending = migrations.count
    }
    let stored = StoredData(connection)
    try stored.renewEpoch()
    let files = try settings.storedAttachments.map { target in
      let copy = AttachmentCopy(
        from: BackupFolder.attachments(ofBackup: backup), to: target,
        ownerFolder: geteuid() == 0 ? settings.attachmentOwner : nil)
      let attachments = AttachmentBackup(connection, output)
      return try attachments.run(copy, expected: attachments.bytesToCopy(copy))
    }
    return Restored(
      contents: try BackupContents(connection, settings), epoch: try stored.epoch().epoch,
      pendingMigrations: pending, files: files)
  }

  private func report(
    _ restored: Restored, _ milliseconds: Int64, _ settings: Settings, _ output: CommandOutput
  ) {
    let (contents, pending) = (restored.contents, restored.pendingMigrations)
    output.result(
      "restored \(contents)" + (restored.files.map { " and \($0.text)" } ?? "")
        + " to \(settings.dataDirectory) in \(seconds(milliseconds)) s; the epoch is "
        + restored.epoch,
      [
        ("data_dir", .text(settings.dataDirectory)), ("milliseconds", .number(milliseconds)),
        ("epoch", .text(restored.epoch)), ("pending_migrations", .number(Int64(pending))),
      ] + contents.members + (restored.files?.members ?? []))
    if pending > 0 { output.note("The gateway will apply \(pending) migrations when it starts.") }
    if let files = restored.files, files.missing > 0 {
      output.note(
        "\(files.missing) files of messages are missing in "
          + "\(BackupFolder.attachments(ofBackup: backup)): they were removed during the backup, "
          + "or this folder is missing. Put it beside the backup and copy its contents to "
          + "\(settings.attachmentFolder)/stored.")
    }
    if let advice = settings.bucketAdvice { output.note(advice) }
    output.note(contents.secrets.advice)
    output.note("Start the gateway with --data-dir \(settings.dataDirectory).")
  }
}

extension Settings {
  /// The name of the attachments' folder in the data directory, if it is there.
  fileprivate var attachmentEntry: String? {
    guard attachments.bucket == nil, attachmentFolder.hasPrefix(dataDirectory + "/") else {
      return nil
    }
    return attachmentFolder.dropFirst(dataDirectory.count + 1).split(separator: "/").first
      .map(String.init)
  }

  /// The attachments' folder, or the nearest one above it that exists: what is restored gets its
  /// owner.
  fileprivate var attachmentOwner: String {
    var folder = attachmentFolder
    while (try? BlockingFile.byteCount(of: folder)) == nil, folder != "/", folder != "." {
      folder = BlockingFile.parent(of: folder)
    }
    return folder
  }
}
