/// The progress of a base backup, as PostgreSQL reports it in `pg_stat_progress_basebackup`.
import EmbeddedPostgres
import Kernel
import Postgres
import Primitives

struct BackupProgress {
  /// Every message that was acknowledged before this time is in the backup.
  private(set) var containsBefore: WallTime

  /// Milliseconds between two lines.
  private static let pauseMilliseconds: Int64 = 1_000
  /// After these phases the backup has ended: the server writes the last record that it contains.
  private static let lastPhases: Set = [
    "waiting for wal archiving to finish", "transferring wal files",
  ]

  private let applicationName: String
  private var nextLine = Instant.zero
  private var copyingSince: Instant?

  init(_ applicationName: String) {
    self.applicationName = applicationName
    containsBefore = SystemClock.wallTime()
  }

  /// Prints a line each second, as far as PostgreSQL answers: if it ends, so does the backup, with
  /// an error of its own.
  mutating func report(_ connection: BlockingConnection, _ output: CommandOutput) {
    let before = SystemClock.wallTime()
    guard
      let rows = try? connection.run(
        Query(
          """
          SELECT p.phase, p.backup_streamed, p.backup_total
          FROM pg_stat_progress_basebackup p JOIN pg_stat_activity a ON a.pid = p.pid
          WHERE a.application_name = $1
          """, [.text(applicationName)])),
      !rows.isEmpty, let phase = rows.text(0, 0)
    else { return }
    // A commit that was acknowledged before `before` precedes the backup's last record in the WAL.
    if !BackupProgress.lastPhases.contains(phase) { containsBefore = before }
    printLine(phase, done: rows.int(0, 1) ?? 0, total: rows.int(0, 2), output)
  }

  private mutating func printLine(
    _ phase: String, done: Int64, total: Int64?, _ output: CommandOutput
  ) {
    let now = SystemClock.now()
    if done > 0, copyingSince == nil { copyingSince = now }
    guard now >= nextLine else { return }
    nextLine = now.advanced(byMilliseconds: BackupProgress.pauseMilliseconds)
    guard let since = copyingSince, let total else {
      return output.note("  \(phase)", [("phase", .text(phase))])
    }
    let left = RemainingTime.seconds(
      done: done, total: total, milliseconds: now.milliseconds(since: since))
    output.note(
      "  \(phase): \(mebibytes(done)) of \(mebibytes(max(done, total)))"
        + (left.map { ", about \($0) s left" } ?? ""),
      [
        ("phase", .text(phase)), ("bytes", .number(done)), ("of", .number(max(done, total))),
        ("seconds_left", left.map { .number($0) } ?? .null),
      ])
  }
}

/// The progress of a restore, and of the one that verifies a backup. Only the copy has a known end.
struct RestoreProgress {
  private let output: CommandOutput
  private let start = SystemClock.now()

  init(_ output: CommandOutput) { self.output = output }

  func report(_ event: RestoreEvent) {
    switch event {
    case .copying(let done, let total):
      let left = RemainingTime.seconds(
        done: done, total: total, milliseconds: SystemClock.now().milliseconds(since: start))
      output.note(
        "  copying: \(mebibytes(done)) of \(mebibytes(max(done, total)))"
          + (left.map { ", about \($0) s left for the copy" } ?? ""),
        [
          ("phase", .text("copying")), ("bytes", .number(done)), ("of", .number(max(done, total))),
          ("seconds_left", left.map { .number($0) } ?? .null),
        ])
    case .verifying(let bytes):
      output.note(
        "  comparing \(mebibytes(bytes)) with the checksums", [("phase", .text("comparing"))])
    case .recovering:
      output.note("  the server recovers the copy", [("phase", .text("recovering"))])
    }
  }
}
