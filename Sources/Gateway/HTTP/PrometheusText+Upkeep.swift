import Primitives

/// The runs of `Upkeep`. A gateway that is not the oldest of its database has none, and its
/// counters stay.
extension PrometheusText {
  mutating func upkeep() {
    let ended = snapshot.upkeep.compactMap { item in
      item.record.lastRunAt.map { (labels(item.task), at: $0, item.record.lastRunMilliseconds) }
    }
    family(
      "upkeep_last_run_timestamp_seconds", "gauge",
      "When the last run of a task ended, in seconds since 1970.",
      seconds: ended.map { ($0.0, $0.at.microseconds * 1_000) })
    family(
      "upkeep_last_run_duration_seconds", "gauge",
      "The time from the begin to the end of the last run of a task.",
      seconds: ended.map { ($0.0, $0.2 * 1_000_000) })
    family(
      "upkeep_last_success_timestamp_seconds", "gauge",
      "When a run of a task last ended with nothing left to do, in seconds since 1970.",
      seconds: snapshot.upkeep.compactMap { item in
        item.record.lastSuccessAt.map { (labels(item.task), $0.microseconds * 1_000) }
      })
    family(
      "upkeep_rows_total", "counter",
      "Conversations, visitors and entries that a task has removed, and changes it has counted.",
      snapshot.upkeep.map { (labels($0.task), $0.record.rows) })
    family(
      "upkeep_failures_total", "counter", "Runs of a task that have failed.",
      snapshot.upkeep.map { (labels($0.task), $0.record.failures) })
  }

  private func labels(_ task: UpkeepTask) -> String { #"{task="\#(task.rawValue)"}"# }
}
