/// Whether the gateways remove what they have promised to remove.
import Directory
import Kernel
import Postgres
import Primitives

extension DoctorCheck {
  static let upkeep = DoctorCheck(
    name: "upkeep", symptom: "old conversations, files or entries of the audit log stay",
    remedy: "see the gateway's log for “upkeep”; a task that waits for the window needs a longer "
      + "one (maintenance.window)"
  ) { examination in
    try examination.reading { connection in
      guard try connection.run(UpkeepRun.isThere) else { return .skipped("the schema is older") }
      let runs = try connection.run(UpkeepRun.all)
      guard examination.facts.gatewayAnswers else {
        return .skipped("no gateway runs here, which would do it")
      }
      let now = SystemClock.wallTime()
      let late = runs.compactMap { run in
        let last = (run.succeededAt ?? run.since).microseconds
        let hours = (now.microseconds - last) / DoctorCheck.hour
        guard hours >= DoctorCheck.lateHours else { return nil as String? }
        let end = run.end.map { "its last run ended \(DoctorCheck.text($0.outcome)) at \($0.at)" }
        return "\(run.task) has not succeeded for \(hours) h: \(end ?? "it has never run")"
      }
      guard late.isEmpty else { return .warning(late.sorted().joined(separator: "; ")) }
      return .ok(
        runs.isEmpty
          ? "no task has run yet"
          : "\(runs.count) tasks have succeeded within \(DoctorCheck.lateHours) h")
    }
  }

  /// Two nights: a task that waits for the window has been due in both.
  private static let lateHours: Int64 = 49
  private static let hour: Int64 = 3_600_000_000

  private static func text(_ outcome: UpkeepRun.Outcome) -> String {
    switch outcome {
    case .done: "with success"
    case .failed: "with a failure"
    case .interrupted: "with the window"
    }
  }
}
