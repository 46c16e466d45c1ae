/// `chirrup restore`: fills an empty data directory from a backup, verifies it, and changes the
/// epoch, so that clients drop messages that the backup does not contain.
import ArgumentParser
import DataRetention
import EmbeddedPostgres
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
      the erasures. Starts no gateway, and does not change the backup.
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
      let (contents, epoch, pending) = try cluster.restore(
        backup, report: { progress.report($0) }
      ) { url in
        let connection = try BlockingConnection(url)
        var pending = 0
        if case .pending(let migrations) = try Migrator(connection).status().standing() {
          pending = migrations.count
        }
        let stored = StoredData(connection)
        try stored.renewEpoch()
        return (try BackupContents(connection, settings), try stored.epoch().epoch, pending)
      }
      let milliseconds = SystemClock.now().milliseconds(since: start)
      for note in cluster.notes { output.note(note) }
      output.result(
        "restored \(contents) to \(settings.dataDirectory) in \(seconds(milliseconds)) s; the "
          + "epoch is \(epoch)",
        [
          ("data_dir", .text(settings.dataDirectory)), ("milliseconds", .number(milliseconds)),
          ("epoch", .text(epoch)), ("pending_migrations", .number(Int64(pending))),
        ] + contents.members)
      if pending > 0 { output.note("The gateway will apply \(pending) migrations when it starts.") }
      output.note(contents.secrets.advice)
      output.note("Start the gateway with --data-dir \(settings.dataDirectory).")
    }
  }
}
