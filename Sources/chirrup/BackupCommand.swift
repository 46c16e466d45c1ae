/// `chirrup backup`: a verified base backup of the private PostgreSQL, while the gateway runs.
import ArgumentParser
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
      chirrup restore. The files of an interrupted backup are removed by the next one.
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

  private func back(
    up connection: BlockingConnection, _ settings: Settings, _ output: CommandOutput
  ) throws {
    let directory = settings.dataDirectory
    let backups = try BackupFolder(folder, of: directory)
    let backup = BaseBackup(in: backups, at: SystemClock.wallTime())
    let databases = try connection.run(
      Query("SELECT coalesce(sum(pg_database_size(oid)), 0)::bigint FROM pg_database"))
    try backup.checkSpace(bytes: databases.int(0, 0) ?? 0, isVerified: !noVerify)

    let start = SystemClock.now()
    var progress = BackupProgress(backup.applicationName)
    var verifyStart = start
    var contents: BackupContents?
    var bytes: Int64 = 0
    do {
      bytes = try backup.copy(of: directory, rate: maxRate) { progress.report(connection, output) }
      verifyStart = SystemClock.now()
      if !noVerify {
        output.note("  verifying \(mebibytes(bytes)) by a restore", [("verifying", .number(bytes))])
        let restoring = RestoreProgress(output)
        contents = try backup.verify(report: { restoring.report($0) }) {
          try BackupContents(BlockingConnection($0), settings)
        }
      }
      try backup.complete()
    } catch {
      // The next backup removes the rest; the failure itself is printed.
      try? backup.abandon()
      throw error
    }
    let end = SystemClock.now()
    let removed = try keep.map { try backups.keep($0) } ?? []
    report(
      backup.path, attachments: settings.attachmentFolder, bytes: bytes,
      copying: verifyStart.milliseconds(since: start),
      verifying: end.milliseconds(since: verifyStart), progress.containsBefore, contents, removed,
      output)
  }

  private func report(
    _ path: String, attachments: String, bytes: Int64,
    copying: Int64, verifying: Int64, _ containsBefore: WallTime,
    _ contents: BackupContents?, _ removed: [String], _ output: CommandOutput
  ) {
    let verdict =
      contents.map { "verified in \(seconds(verifying)) s: \($0)" } ?? "not verified"
    var members: CommandOutput.Members = [
      ("backup", .text(path)), ("bytes", .number(bytes)), ("copy_milliseconds", .number(copying)),
      ("contains_before", .text(containsBefore.description)), ("verified", .bool(contents != nil)),
      ("removed", .list(removed)),
    ]
    if let contents {
      members.append(("verify_milliseconds", .number(verifying)))
      members += contents.members
    }
    output.result(
      "\(path): \(mebibytes(bytes)) in \(seconds(copying)) s, \(verdict); contains every message "
        + "that was acknowledged before \(containsBefore)", members)
    for name in removed { output.note("removed \(name)") }
    output.note((contents?.secrets ?? .unknown).advice)
    output.note(
      "Keep with it, because no backup contains them: the file of settings, and certificates and "
        + "keys of TLS. Copy now too, for the files of its messages: \(attachments)/stored.")
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
