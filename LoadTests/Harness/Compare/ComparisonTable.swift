/// A comparison as Markdown tables that are also readable on a terminal.
import Foundation

struct ComparisonTable: CustomStringConvertible {
  let record: ComparisonRecord

  private var peers: [String] { record.columns.filter { $0 != record.subject } }

  var description: String {
    var parts = [heading, figures]
    parts += ComparedFigure.allCases.compactMap(ratios)
    parts += [goals, notes]
    return parts.filter { !$0.isEmpty }.joined(separator: "\n\n")
  }

  private var heading: String {
    let version =
      (record.version.map { ", \($0)" } ?? "") + (record.commit.map { ", commit \($0)" } ?? "")
    return """
      \(record.subject)\(version), \(record.startedAt)
      \(record.machine)
      \(record.placement)
      """
  }

  // MARK: Tables

  private var figures: String {
    let rows = record.work.map { row in
      [row.name, String(row.turns.map(\.round).max() ?? 0)]
        + record.columns.map { cell(row, $0) }
    }
    return """
      The server's processor time in µs per message, delivery, handshake or connection, and their
      rate per second; bytes of memory; for chats PostgreSQL's processor time in µs per message, and
      the p50 and p99 of acks; for the gateway its share of the direct rate of the database, the
      share of a core when idle, and growth. Medians of the rounds.

      \(table(["work", "rounds"] + record.columns, rows))
      """
  }

  private func cell(_ row: ComparisonRecord.Row, _ column: String) -> String {
    guard row.has(column) else { return record.missing[column] == nil ? "–" : "missing" }
    var parts = ComparedFigure.allCases.compactMap { figure in
      record.spread(row, figure, column).map { cell(figure, $0.median) }
    }
    if row.turns.contains(where: { $0.column == column && $0.failure != nil }) {
      parts.append("failed")
    }
    return parts.joined(separator: " ")
  }

  private func cell(_ figure: ComparedFigure, _ value: Double) -> String {
    switch figure {
    case .cpu: number(value)
    case .throughput: "(\(short(value)))"
    case .memory: "\(number(value)) B"
    case .databaseCPU: "PostgreSQL \(number(value))"
    case .ackP50: "p50 \(number(value)) ms"
    case .ackP99: "p99 \(number(value)) ms"
    case .ceiling: "\(number(value)) × direct"
    case .idle: String(format: "idle %.2f %%", value * 100)
    case .costGrowth: "cost \(number(value)) ×"
    case .memoryGrowth: "memory \(number(value)) ×"
    }
  }

  private func ratios(_ figure: ComparedFigure) -> String? {
    guard figure.isDivided else { return nil }
    let rows = record.work.compactMap { row -> [String]? in
      let cells = peers.map { peer in
        record.ratio(row, figure, to: peer).map(spread) ?? "–"
      }
      return cells.allSatisfy { $0 == "–" } ? nil : [row.name] + cells
    }
    guard !rows.isEmpty else { return nil }
    let better = figure.isLessBetter ? "less" : "more"
    let title = "\(record.subject) / peer, \(figure.name) (\(better) is better)"
    return """
      \(title): median (smallest to largest round)

      \(table(["work"] + peers, rows))
      """
  }

  /// A line for every goal, and for work without a goal.
  private var goals: String {
    let verdicts = Dictionary(grouping: record.verdicts, by: \.work)
    let rows = record.work.flatMap { row in
      verdicts[row.name].map { $0.map(line) } ?? [[row.name, "none", "–", "for comparison"]]
    }
    return table(["work", "goal", "measured (smallest to largest)", "verdict"], rows)
  }

  private func line(_ verdict: ComparisonRecord.Verdict) -> [String] {
    let outcome = verdict.outcome.rawValue + (verdict.reason.map { ": \($0)" } ?? "")
    return [
      verdict.work, text(verdict.goal), verdict.measured.map(spread) ?? "–",
      outcome.replacing("|", with: "/"),
    ]
  }

  private func text(_ goal: Goal) -> String {
    let unit = goal.against.map { " × \($0)" } ?? goal.figure.unit
    return switch goal.bound {
    case .atMost(let most):
      "\(goal.figure.name) ≤ \(most.formatted(.number.grouping(.never)))\(unit)"
    case .atLeast(let least):
      "\(goal.figure.name) ≥ \(least.formatted(.number.grouping(.never)))\(unit)"
    }
  }

  // MARK: Notes

  private var notes: String {
    var lines = record.missing.sorted { $0.key < $1.key }.map { "missing: \($0.key): \($0.value)" }
    lines += record.failures.map { "failed: \($0)" }
    let disturbed = record.disturbed
    if disturbed.count > 0 {
      lines.append(
        "disturbed: during \(disturbed.count) of \(disturbed.of) turns other processes used more "
          + "than \(ComparisonRecord.neighboursMax) cores")
    }
    let busy = record.work.flatMap(\.turns)
      .count { ($0.figures?.clientLoad ?? 0) > ComparisonTable.clientLoadMax }
    if busy > 0 {
      lines.append(
        "client: in \(busy) turns it was more than \(Int(ComparisonTable.clientLoadMax * 100)) % "
          + "busy, and their throughput may be its own")
    }
    if record.wasInterrupted { lines.append("stopped early by a signal") }
    return lines.joined(separator: "\n")
  }

  private static let clientLoadMax = 0.95

  private func spread(_ spread: Spread) -> String {
    "\(ratio(spread.median)) (\(ratio(spread.min)) to \(ratio(spread.max)))"
  }

  private func ratio(_ value: Double) -> String {
    value >= 10 ? number(value) : String(format: value < 0.1 ? "%.4f" : "%.2f", value)
  }

  /// Three significant digits.
  private func number(_ value: Double) -> String {
    let places = value >= 100 ? 0 : value >= 10 ? 1 : 2
    return String(format: "%.\(places)f", value)
  }

  private func short(_ value: Double) -> String {
    if value >= 999_500 { return number(value / 1e6) + " M" }
    return value >= 1_000 ? number(value / 1e3) + " k" : number(value)
  }

  private func table(_ head: [String], _ rows: [[String]]) -> String {
    let widths = head.indices.map { column in
      ([head] + rows).map { $0[column].count }.max() ?? 0
    }
    func line(_ cells: [String]) -> String {
      let padded = zip(cells, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
      return "| " + padded.joined(separator: " | ") + " |"
    }
    let rule =
      "|" + widths.map { String(repeating: "-", count: $0 + 2) }.joined(separator: "|") + "|"
    return ([line(head), rule] + rows.map(line)).joined(separator: "\n")
  }
}

extension ComparisonRecord.Turn: CustomStringConvertible {
  var description: String {
    guard let figures else { return "\(column): failed: \(failure ?? "")" }
    var parts: [String] = []
    if let bytes = figures.bytesPerConnection { parts.append(String(format: "%.0f B", bytes)) }
    if let time = figures.cpuMicroseconds { parts.append(String(format: "%.2f µs", time)) }
    if let rate = figures.perSecond { parts.append(String(format: "%.0f/s", rate)) }
    return "\(column): " + parts.joined(separator: ", ")
  }
}
