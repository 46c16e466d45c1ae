import Directory
import Primitives

/// The runs of `Upkeep`. The gateway that is the oldest of its database has them, and stores them:
/// the others, and those that have just started, show the last run from there. The counters are of
/// this process.
extension PrometheusText {
  mutating func upkeep() {
    let ended = snapshot.upkeep.compactMap { item in
      item.record.lastRun.map { (labels(item.task), run: $0) }
    }
    family(
      "upkeep_last_run_timestamp_seconds", "gauge",
      "When the last run of a task ended, in seconds since 1970.",
      seconds: ended.map { ($0.0, $0.run.at.microseconds * 1_000) })
    family(
      "upkeep_last_run_duration_seconds", "gauge",
      "The time from the begin to the end of the last run of a task.",
      seconds: ended.map { ($0.0, $0.run.milliseconds * 1_000_000) })
    family(
      "upkeep_last_run_rows", "gauge",
      """
      Conversations, visitors and entries that the last run of a task has closed, removed or \
      counted.
      """,
      ended.map { ($0.0, UInt64(max(0, $0.run.rows))) })
    family(
      "upkeep_last_success_timestamp_seconds", "gauge",
      "When a run of a task last ended with nothing left to do, in seconds since 1970.",
      seconds: snapshot.upkeep.compactMap { item in
        item.record.lastSuccessAt.map { (labels(item.task), $0.microseconds * 1_000) }
      })
    family(
      "upkeep_since_timestamp_seconds", "gauge",
      "Since when the settings include a task, in seconds since 1970.",
      seconds: snapshot.upkeep.compactMap { item in
        item.record.since.map { (labels(item.task), $0.microseconds * 1_000) }
      })
    family(
      "upkeep_rows_total", "counter",
      """
      Conversations, visitors and entries that a task has closed or removed, and changes it has \
      counted.
      """,
      snapshot.upkeep.map { (labels($0.task), $0.record.rows) })
    family(
      "upkeep_failures_total", "counter", "Runs of a task that have failed.",
      snapshot.upkeep.map { (labels($0.task), $0.record.failures) })
  }

  private func labels(_ task: UpkeepTask) -> String { #"{task="\#(task.rawValue)"}"# }
}
