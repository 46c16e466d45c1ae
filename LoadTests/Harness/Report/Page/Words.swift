/// The labels of a record's parts on a page.
import Foundation

extension RunRecord.Verdict {
  var words: String {
    switch self {
    case .passed: "Passed"
    case .failed: "Failed"
    case .missed: "Threshold missed"
    }
  }
}

extension RunRecord.ThresholdVerdict {
  /// For example "≤ 10 s" for "<= 10000" milliseconds.
  var words: String {
    let signs = [("<=", "≤"), (">=", "≥"), ("==", "="), ("!=", "≠"), ("<", "<"), (">", ">")]
    guard let sign = signs.first(where: { condition.hasPrefix($0.0) }),
      let limit = Double(condition.dropFirst(sign.0.count).trimmed)
    else { return condition }
    return "\(sign.1) \(Format.figure(figure, limit))"
  }
}

extension RunRecord {
  /// The usual order first; others follow.
  var invariantMeanings: [(name: String, meaning: String)] {
    let retries = figures["resent"].map { $0 > 0 ? "after \(Format.number($0)) sent again" : "" }
    let known = [
      ("lost", "acknowledged, but missing"),
      ("duplicated", retries.flatMap { $0.isEmpty ? nil : $0 } ?? "delivered or stored twice"),
      ("reordered", "within any session"),
      ("holes", "seq = previous + 1, always"),
      ("mismatched", "two reports that disagree"),
    ]
    return known.filter { invariants[$0.0] != nil }
      + invariants.keys.filter { name in !known.contains { $0.0 == name } }.sorted()
      .map { ($0, "") }
  }

  /// The four main figures of a run without a proof.
  var headlines: [String] {
    guard proof.isEmpty else { return [] }
    let first = [
      "bytes_per_connection", "gateway_cpu_us_per_connection", "open_seconds", "acked_per_second",
      "half_ack_p99_ms", "gateway_cpu_us_per_message", "gateway_over_direct", "connections",
    ]
    let others = Figure.all.map(\.name).filter { !first.contains($0) && invariants[$0] == nil }
    return Array((first + others).filter { figures[$0] != nil }.prefix(4))
  }

  /// Latencies with a line over time: "ack", then by name.
  var latencyNames: [String] {
    series.columns.keys.filter { $0.hasSuffix("_p50_ms") }.map { String($0.dropLast(7)) }
      .sorted { ($0 == "ack" ? "" : $0) < ($1 == "ack" ? "" : $1) }
  }
}

extension Format {
  /// A value of a column over time.
  static func column(_ name: String, _ value: Double) -> String {
    if name.hasSuffix("_ms") { return milliseconds(value) }
    if name.hasSuffix("_bytes") { return bytes(value) }
    return number(value)
  }

  static func with(_ unit: String, _ value: Double) -> String {
    switch unit {
    case "B": bytes(value)
    case "ms": milliseconds(value)
    case "/s": short(value) + "/s"
    case "": number(value)
    default: number(value) + " " + unit
    }
  }
}

extension String {
  /// A command line in lines of at most 76 columns, in shell syntax; an option stays on the line of
  /// its value.
  var wrapped: String {
    var lines = [""]
    let parts = replacing(/\ (--[a-z])/, with: { "\n\($0.1)" }).split(separator: "\n")
    for part in parts {
      let last = lines[lines.count - 1]
      if last.isEmpty {
        lines[lines.count - 1] = String(part)
      } else if last.count + part.count < 64 {
        lines[lines.count - 1] += " \(part)"
      } else {
        lines.append("  \(part)")
      }
    }
    return lines.joined(separator: " \\\n")
  }
}
