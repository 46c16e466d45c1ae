/// The result of a run with many clients: lines for the terminal, and the record.
import Foundation
import Histogram

struct CrowdRecord {
  var record: RunRecord
  /// Lines for the terminal.
  var lines: [String] = []

  init(command: String, title: String) { record = RunRecord(command: command, title: title) }

  var passed: Bool { record.verdict == .passed }

  private var verdict: String {
    switch record.verdict {
    case .passed: "PASS"
    case .failed: "FAIL"
    case .missed: "MISSED"
    }
  }

  mutating func fail(_ problem: String) {
    record.verdict = .failed
    record.problems.append(problem)
  }

  /// Fails the run for broken promises, refusals and messages without an answer.
  mutating func judge(_ result: LoopResult, hasDatabase: Bool) {
    let counters = result.counters
    var kept = Report(counters: counters, latencies: result.latencies, seconds: 0)
    kept.unacknowledged = result.unsettled
    kept.add(result.violations)
    kept.problems += result.problems
    if let problem = result.problem { kept.problems.append(problem) }
    kept.judge()
    if !kept.passed { record.verdict = .failed }
    record.problems += kept.problems
    record.add(result.violations.byName)
    for (name, count) in [
      ("sent", kept.sent), ("acked", kept.acked), ("delivered", kept.delivered),
      ("resent", kept.resent), ("duplicate_acks", kept.duplicateAcks),
      ("reconnects", kept.reconnects), ("resumes", counters.resumes), ("resyncs", kept.resyncs),
      ("unacknowledged", kept.unacknowledged), ("refused", kept.refusals.values.reduce(0, +)),
    ] {
      record.set(name, count)
    }
    for (name, outcomes) in [
      ("retries", counters.retries), ("refusals", counters.refusals), ("closes", counters.closes),
    ] where !outcomes.isEmpty {
      record.outcomes[name] = outcomes
    }
    record.proof = [
      RunRecord.Proof(label: "Acknowledged", count: kept.acked, note: "of \(kept.sent) sent")
    ]
    if let audit = result.audit {
      record.set("rows_compared", audit.rows)
      record.proof.append(
        RunRecord.Proof(
          label: "Committed", count: audit.ownRows, note: "rows counted in PostgreSQL"))
    }
    record.proof.append(
      RunRecord.Proof(
        label: "Delivered", count: result.shownToAll, note: "to every subscriber, each id checked"))
    lines += incidents(kept, counters)
    if let audit = result.audit {
      lines.append("database     \(audit.rows) rows in \(audit.sessions) sessions compared")
    } else if !hasDatabase {
      lines.append("database     not compared: neither --database-url nor --data-dir is given")
    }
  }

  private func incidents(_ kept: Report, _ counters: Counters) -> [String] {
    var lines = [
      "messages     \(kept.sent) sent, \(kept.acked) acked, \(kept.delivered) delivered; "
        + "lost \(kept.lost), duplicated \(kept.duplicated), reordered \(kept.reordered), "
        + "holes \(kept.holes), mismatched \(kept.mismatched)"
    ]
    let incidents =
      [
        ("reconnects", counters.reconnects), ("resumes", counters.resumes),
        ("resent", counters.resent), ("duplicate acks", counters.duplicateAcks),
      ].filter { $0.1 > 0 }.map { "\($0.1) \($0.0)" }
      + counters.retries.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
      + counters.closes.sorted { $0.key < $1.key }.map { "\($0.value) closed: \($0.key)" }
    if !incidents.isEmpty { lines.append("incidents    \(incidents.joined(separator: ", "))") }
    return lines
  }

  /// A table whose columns are right-aligned except for the first.
  mutating func table(_ header: [String], _ rows: [[String]]) {
    let all = [header] + rows
    let widths = header.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
    for row in all {
      lines.append(
        row.indices.map { column in
          let space = String(repeating: " ", count: widths[column] - row[column].count)
          return column == 0 ? row[0] + space : space + row[column]
        }.joined(separator: "  "))
    }
  }

  /// Prints the lines; those of the thresholds follow.
  func show() -> RunRecord {
    let end = ["machine      \(Machine.description)", "command      \(record.meta.commandLine)"]
    let problems = record.problems.map { "problem      \($0)" }
    let all = [record.title] + lines + end + problems + [verdict]
    print(all.joined(separator: "\n"))
    return record
  }
}

/// A percentile in milliseconds.
func at(_ percentile: Double, _ histogram: Histogram<UInt64>) -> Double {
  histogram.totalCount == 0 ? 0 : Double(histogram.valueAtPercentile(percentile)) / 1000
}
