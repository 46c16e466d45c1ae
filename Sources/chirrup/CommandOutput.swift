/// The output of an administration command. As text, results go to standard output and notes to
/// standard error; with `--json` both go to standard output, one JSON object per line. Those of a
/// starting gateway may go to its log.
import ArgumentParser
import Kernel
import Logging
import Migrator
import Postgres
import Primitives

final class CommandOutput {
  enum Value {
    case text(String)
    case number(Int64)
    case bool(Bool)
    case list([String])
    /// JSON that is already encoded.
    case json(String)
    case null

    /// For a line of the log.
    var metadata: Logger.MetadataValue {
      switch self {
      case .text(let text), .json(let text): .string(text)
      case .number(let number): .stringConvertible(number)
      case .bool(let value): .stringConvertible(value)
      case .list(let texts): .array(texts.map { .string($0) })
      case .null: .string("")
      }
    }

    var json: String {
      switch self {
      case .text(let text): jsonText(text)
      case .number(let number): "\(number)"
      case .bool(let value): value ? "true" : "false"
      case .list(let texts): "[" + texts.map(jsonText).joined(separator: ",") + "]"
      case .json(let text): text
      case .null: "null"
      }
    }
  }
  typealias Members = [(String, Value)]

  /// The minimum interval between two progress lines.
  private static let progressMilliseconds: Int64 = 1_000

  private let isJSON: Bool
  /// Instead of standard output and standard error.
  private let log: Logger?
  private var lastProgress = Instant.zero

  init(json: Bool) {
    isJSON = json
    log = nil
  }

  init(log: Logger) {
    isJSON = false
    self.log = log
  }

  private func write(_ members: Members) {
    Terminal.result(
      "{" + members.map { "\(jsonText($0.0)):\($0.1.json)" }.joined(separator: ",") + "}")
  }

  /// Prints a result.
  func result(_ text: String, _ members: Members) {
    if isJSON { write(members) } else { Terminal.result(text) }
  }

  /// Prints a note that `--json` has too.
  func note(_ text: String, _ members: Members) {
    if let log {
      let fields = members.map { ($0.0, $0.1.metadata) }
      log.notice(
        "\(text.trimmingBlanks)", metadata: Dictionary(fields, uniquingKeysWith: { $1 }))
    } else if isJSON {
      write(members)
    } else {
      Terminal.note(text)
    }
  }

  /// Prints a note that `--json` leaves out.
  func note(_ text: String) {
    if let log { return log.notice("\(text.trimmingBlanks)") }
    if !isJSON { Terminal.note(text) }
  }

  /// Prints the last line of a command: a summary, and with `--json` a list of names.
  func finish(_ text: String, _ key: String, _ values: [String]) {
    note(text, [(key, .list(values))])
  }

  /// Prints an error, with `--json` as an object with `error`, `exit_code` and `mend` (the remedy).
  func report(_ failure: any Error, code: ExitCode) {
    guard isJSON else { return Terminal.note("Error: \(failure)") }
    var members: Members = [
      ("error", .text("\(failure)")), ("exit_code", .number(Int64(code.rawValue))),
    ]
    if let failure = failure as? MigrationFailure {
      if case .statement(let file, let line, let statement, let refusal) = failure {
        members += [
          ("file", .text(file)), ("line", .number(Int64(line))), ("statement", .text(statement)),
          ("sqlstate", .text(refusal.state.code)),
        ]
      }
      switch failure {
      case .notAdoptable(let findings), .isNeeded(let findings):
        members.append(("findings", .list(findings.map(\.description))))
      default: break
      }
      members.append(("mend", failure.remedy.map { .text($0) } ?? .null))
    }
    write(members)
  }

  /// Prints the progress of a data move: at most one line per second, and one at the expected end.
  func report(_ progress: MoveProgress) {
    let now = SystemClock.now()
    let isLast = progress.rowsDone == progress.rowsTotal
    guard isLast || now.milliseconds(since: lastProgress) >= CommandOutput.progressMilliseconds
    else {
      return
    }
    lastProgress = now
    note(
      "  \(progress)",
      [
        ("progress", .text(progress.title)), ("rows", .number(progress.rowsDone)),
        ("of", progress.expectedRows.map { .number($0) } ?? .null),
        ("rows_per_second", .number(progress.rowsPerSecond)),
        ("seconds_left", progress.secondsLeft.map { .number($0) } ?? .null),
      ])
  }

  func report(_ event: Migrator.Event) {
    switch event {
    case .waiting:
      note("another process is migrating this database; waiting until it has finished")
    case .began(let revision, let number, let count):
      note(
        "migration \(number) of \(count): \(revision)",
        [
          ("began", .text(revision)), ("number", .number(Int64(number))),
          ("of", .number(Int64(count))),
        ])
    case .blocked(let attempt, let attempts):
      note(
        "  another transaction holds a lock on a table; attempt \(attempt) of \(attempts) timed "
          + "out and released its own locks; trying again")
    case .progress(let progress): report(progress)
    case .notice(let text): note("  \(text)", [("notice", .text(text))])
    case .finished(let revision, let milliseconds):
      note(
        "  \(revision) done in \(milliseconds) ms",
        [("finished", .text(revision)), ("milliseconds", .number(milliseconds))])
    case .locked(let step, let locks): report(locks, of: step)
    case .undone(let revisions):
      note(
        "  everything was reverted (\(revisions.count)); the database is as it was",
        [("undone", .list(revisions))])
    }
  }

  /// Locks shorter than this are printed with `--json` only.
  private static let longLockMilliseconds: Int64 = 100

  private func report(_ locks: [HeldLock], of step: String) {
    for lock in locks {
      let members: Members = [
        ("step", .text(step)), ("locked", .text(lock.table)), ("mode", .text(lock.mode)),
        ("milliseconds", .number(lock.milliseconds)),
      ]
      if isJSON {
        write(members)
      } else if lock.milliseconds >= CommandOutput.longLockMilliseconds {
        note("  \(lock) (\(step))")
      }
    }
  }
}
