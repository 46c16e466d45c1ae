/// The result of `chirrup migrate plan --rehearse`.
import Migrator

extension CommandOutput {
  func note(_ rehearsal: Rehearsal) {
    for step in rehearsal.steps where step.milliseconds > 0 || !step.locks.isEmpty { note(step) }
    for broken in rehearsal.broken {
      note(
        "would break: \(broken.statement)\n  \(broken.reason)",
        [("would_break", .text(broken.statement)), ("reason", .text(broken.reason))])
    }
    for check in rehearsal.checks where !check.passed {
      note(
        "would fail: \(check.name): \(check.figures)",
        [("would_fail", .text(check.name)), ("figures", .text(check.figures))])
    }
    for line in rehearsal.notRestored {
      note("down would not restore: \(line)", [("not_restored", .text(line))])
    }
    note(rehearsal.recorded)
    let longest = rehearsal.longest?.milliseconds ?? 0
    note(
      "Rehearsed in \(rehearsal.milliseconds) ms, \(rehearsal.rowsMoved) rows: expect the same of "
        + "up. The longest lock would last \(longest) ms, and down \(rehearsal.downMilliseconds) "
        + "ms. Nothing was changed.",
      [
        ("milliseconds", .number(rehearsal.milliseconds)), ("rows", .number(rehearsal.rowsMoved)),
        ("longest_lock_milliseconds", .number(longest)),
        ("down_milliseconds", .number(rehearsal.downMilliseconds)),
        ("is_success", .bool(rehearsal.isSuccess)),
      ])
  }

  private func note(_ step: Rehearsal.Step) {
    let locks = step.locks.map { "\($0.table) \($0.mode)" }
    note(
      "  \(step.milliseconds) ms  \(step.revision)  \(step.title)"
        + (locks.isEmpty ? "" : "\n    first locks: " + locks.joined(separator: ", ")),
      [
        ("rehearsed", .text(step.revision)), ("step", .text(step.title)),
        ("milliseconds", .number(step.milliseconds)), ("locks", .list(locks)),
      ])
  }

  private func note(_ recorded: Rehearsal.Recorded) {
    for statement in recorded.notRun {
      note(
        "not tried: \(statement.statement)\n  \(statement.reason)",
        [("not_tried", .text(statement.statement)), ("reason", .text(statement.reason))])
    }
    if let reason = recorded.unavailable {
      return note(
        "No recorded statement of the application was tried: \(reason).",
        [("recorded_unavailable", .text(reason))])
    }
    note(
      "Recorded statements of the application: \(recorded.run) ran, \(recorded.planned) were "
        + "planned only, \(recorded.notRun.count) could not be tried"
        + (recorded.hidden == 0
          ? "."
          : ", \(recorded.hidden) of other users are not visible (GRANT pg_read_all_stats TO this "
            + "user)."),
      [
        ("recorded_run", .number(Int64(recorded.run))),
        ("recorded_planned", .number(Int64(recorded.planned))),
        ("recorded_not_tried", .number(Int64(recorded.notRun.count))),
        ("recorded_hidden", .number(Int64(recorded.hidden))),
      ])
  }
}
