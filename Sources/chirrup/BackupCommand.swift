/// `chirrup backup`: a verified base backup of the private PostgreSQL, while the gateway runs, and
/// then the files that its messages name.
import ArgumentParser
import Attachments
import EmbeddedPostgres
import Kernel
import Postgres
import Primitives
import Settings

struct BackupCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Back up the private PostgreSQL, also while the gateway runs.",
    discussion: """
      Writes a base backup with its WAL to a new folder, chirrup-<time>, in the given one. Before \
      the folder gets this name, the backup is restored into a folder beside it, every file is \
      compared with its checksum, and a server recovers it and counts the messages. The backup \
      contains every message that was acknowledged before the printed time, and is restored with \
      chirrup restore. The files of messages are copied after the database to \
      chirrup-<time>.attachments; those of the last backup there get another name (hard link), so \
      that only new ones take space. Files in a bucket are not copied. The next backup removes \
      what an interrupted one has left.
      """)

  @OptionGroup var options: AdministrationOptions
  @Argument(
    help: ArgumentHelp("The folder of all backups, created if missing.", valueName: "folder"))
  var folder: String
  @Option(
    help: ArgumentHelp(
      "Keep so many backups in the folder, 1 to 1000, and remove older ones (default: all).",
      valueName: "count"))
  var keep: Int?
  @Option(
    help: ArgumentHelp(
      "Copy at most so many MiB per second, 1 to 1024 (default: no limit).", valueName: "mebibytes")
  )
  var maxRate: Int?
  @Flag(
    help: "Do not restore the backup for a test: needs half of the space, and proves less.")
  var noVerify = false

  func validate() throws {
    guard (1...1_000).contains(keep ?? 1) else {
      throw ValidationError("--keep must be 1 to 1000")
    }
    guard (1...1_024).contains(maxRate ?? 1) else {
      throw ValidationError("--max-rate must be 1 to 1024")
    }
  }

  func run() async throws {
    try await options.perform { settings, output in
      guard settings.isPrivateDatabase else { throw Self.foreignDatabase }
      try Database.withConnection(settings, as: .owner) { connection in
        try back(up: connection, settings, output)
      }
    }
  }

  static let foreignDatabase = CommandFailure(
    """
    database_url is set, and this command copies and restores only the private PostgreSQL in \
    --data-dir. For a PostgreSQL of your own use its provider's backups, pg_basebackup as a user \
    with REPLICATION, or pg_dump --format=custom; see config/DATABASE.md, “Backup and restore”
    """)

  /// What was copied, and how long it took.
  private struct Copied {
    var bytes: Int64 = 0
    /// Nil: they are in a bucket.
    var files: AttachmentCopy.Counts?
    /// Nil: the backup was not verified.
    var contents: BackupContents?
    var containsBefore: WallTime
    var copyMilliseconds: Int64 = 0
    var verifyMilliseconds: Int64 = 0
  }

  private func back(
    up connection: BlockingConnection, _ settings: Settings, _ output: CommandOutput
  ) throws {
    let backups = try BackupFolder(folder, of: settings.dataDirectory)
    let backup = BaseBackup(in: backups, at: SystemClock.wallTime())
    let databases = try connection.run(
      Query("SELECT coalesce(sum(pg_database_size(oid)), 0)::bigint FROM pg_database"))
    let copy = try attachments(of: settings, for: backup, in: backups)
    let expected =
      try copy.map { try AttachmentBackup(connection, output).bytesToCopy($0) } ?? 0
    try backup.checkSpace(
      bytes: databases.int(0, 0) ?? 0, attachments: expected, isVerified: !noVerify)
    let copied: Copied
    do {
      copied = try take(backup, copy, expected: expected, connection, settings, output)
      try backup.complete()
    } catch {
      // The next backup removes the rest; the failure itself is printed.
      try? backup.abandon()
      throw error
    }
    let removed = try keep.map { try backups.keep($0) } ?? []
    report(backup.path, copied, removed, settings, output)
  }

  private func attachments(
    of settings: Settings, for backup: BaseBackup, in backups: BackupFolder
  ) throws -> AttachmentCopy? {
    guard let stored = settings.storedAttachments else { return nil }
    return AttachmentCopy(
      from: stored, to: backup.attachments, pool: backups.attachmentPool,
      earlier: try backups.newestAttachments().map { [$0] } ?? [],
      bytesPerSecond: maxRate.map { Int64($0) << 20 })
  }

  /// The database first, then the files that its rows name: see `AttachmentCopy`.
  private func take(
    _ backup: BaseBackup, _ copy: AttachmentCopy?, expected: Int64,
    _ connection: BlockingConnection, _ settings: Settings, _ output: CommandOutput
  ) throws -> Copied {
    let start = SystemClock.now()
    var progress = BackupProgress(backup.applicationName)
    let bytes = try backup.copy(of: settings.dataDirectory, rate: maxRate) {
      progress.report(connection, output)
    }
    var copied = Copied(bytes: bytes, containsBefore: progress.containsBefore)
    copied.files = try copy.map {
      try AttachmentBackup(connection, output).run($0, expected: expected)
    }
    let verifyStart = SystemClock.now()
    copied.copyMilliseconds = verifyStart.milliseconds(since: start)
    if noVerify { return copied }
    output.note("  verifying \(mebibytes(bytes)) by a restore", [("verifying", .number(bytes))])
    let restoring = RestoreProgress(output)
    copied.contents = try backup.verify(report: { restoring.report($0) }) {
      try BackupContents(BlockingConnection($0), settings)
    }
    copied.verifyMilliseconds = SystemClock.now().milliseconds(since: verifyStart)
    return copied
  }

  private func report(
    _ path: String, _ copied: Copied, _ removed: [String], _ settings: Settings,
    _ output: CommandOutput
  ) {
    let verdict =
      copied.contents.map { "verified in \(seconds(copied.verifyMilliseconds)) s: \($0)" }
      ?? "not verified"
    var members: CommandOutput.Members = [
      ("backup", .text(path)), ("bytes", .number(copied.bytes)),
      ("copy_milliseconds", .number(copied.copyMilliseconds)),
      ("contains_before", .text(copied.containsBefore.description)),
      ("verified", .bool(copied.contents != nil)), ("removed", .list(removed)),
    ]
    members += copied.files?.members ?? []
    if let contents = copied.contents {
      members.append(("verify_milliseconds", .number(copied.verifyMilliseconds)))
      members += contents.members
    }
    output.result(
      "\(path): \(mebibytes(copied.bytes))" + (copied.files.map { " and \($0.text)" } ?? "")
        + " in \(seconds(copied.copyMilliseconds)) s, \(verdict); contains every message that was "
        + "acknowledged before \(copied.containsBefore)", members)
    for name in removed { output.note("removed \(name)") }
    output.note((copied.contents?.secrets ?? .unknown).advice)
    if let files = copied.files, files.missing > 0 {
      output.note(
        "\(files.missing) files are not in \(settings.attachmentFolder)/stored: they were removed "
          + "during the backup, or are lost.")
    }
    if let advice = settings.bucketAdvice { output.note(advice) }
    output.note(
      "Keep with it, because no backup contains them: the file of settings, and certificates and "
        + "keys of TLS.")
  }
}

/// Milliseconds as seconds with one digit.
func seconds(_ milliseconds: Int64) -> String {
  "\(milliseconds / 1_000).\(milliseconds % 1_000 / 100)"
}

extension Settings {
  /// Whether the database is the private PostgreSQL in `dataDirectory`.
  var isPrivateDatabase: Bool { databaseURL == nil && databaseDirectURL == nil }
}
