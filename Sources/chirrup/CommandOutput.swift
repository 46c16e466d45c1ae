/// The output of an administration command. For people, results go to standard output and remarks
/// to standard error; with `--json` both go to standard output, one JSON object a line.
import ArgumentParser
import Kernel
import Migrator
import Postgres
import Primitives

final class CommandOutput {
  enum Value {
    case text(String)
    case number(Int64)
    case bool(Bool)
    case list([String])
    /// JSON as it stands.
    case json(String)
    case null

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

  /// The shortest time between two lines of progress.
  private static let progressMilliseconds: Int64 = 1_000

  private let isJSON: Bool
  private var lastProgress = Instant.zero

  init(json: Bool) { isJSON = json }

  private func write(_ members: Members) {
    Terminal.answer(
      "{" + members.map { "\(jsonText($0.0)):\($0.1.json)" }.joined(separator: ",") + "}")
  }

  /// A result.
  func answer(_ text: String, _ members: Members) {
    if isJSON { write(members) } else { Terminal.answer(text) }
  }

  /// A remark that scripts need too.
  func say(_ text: String, _ members: Members) {
    if isJSON { write(members) } else { Terminal.tell(text) }
  }

  /// A remark for people only.
  func tell(_ text: String) {
    if !isJSON { Terminal.tell(text) }
  }

  func finish(_ text: String, _ key: String, _ values: [String]) {
    say(text, [(key, .list(values))])
  }

  func tell(_ failure: any Error, code: ExitCode) {
    guard isJSON else { return Terminal.tell("Error: \(failure)") }
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
      members.append(("mend", failure.mend.map { .text($0) } ?? .null))
    }
    write(members)
  }

  /// The progress of a move of rows: at most one line a second, and one at the end.
  func tell(_ progress: MoveProgress) {
    let now = SystemClock.now()
    let isLast = progress.rowsDone >= progress.rowsTotal
    guard isLast || now.milliseconds(since: lastProgress) >= CommandOutput.progressMilliseconds
    else {
      return
    }
    lastProgress = now
    say(
      "  \(progress)",
      [
        ("progress", .text(progress.title)), ("rows", .number(progress.rowsDone)),
        ("of", .number(max(progress.rowsTotal, progress.rowsDone))),
        ("rows_per_second", .number(progress.rowsPerSecond)),
        ("seconds_left", .number(progress.secondsLeft)),
      ])
  }

  func tell(_ event: Migrator.Event) {
    switch event {
    case .waiting:
      tell("another process migrates this database; waiting for it")
    case .began(let revision, let number, let count):
      say(
        "migration \(number) of \(count): \(revision)",
        [
          ("began", .text(revision)), ("number", .number(Int64(number))),
          ("of", .number(Int64(count))),
        ])
    case .blocked(let attempt, let attempts):
      tell(
        "  a table is held by another transaction; attempt \(attempt) of \(attempts) failed, and "
          + "those who read it were let through")
    case .progress(let progress): tell(progress)
    case .notice(let text): say("  \(text)", [("notice", .text(text))])
    case .finished(let revision, let milliseconds):
      say(
        "  \(revision) done in \(milliseconds) ms",
        [("finished", .text(revision)), ("milliseconds", .number(milliseconds))])
    }
  }
}
