/// A comparison as Markdown tables, which can also be read as they are on a terminal.
import Foundation

struct ComparisonTable: CustomStringConvertible {
  let record: ComparisonRecord

  private var peers: [String] { record.columns.filter { $0 != record.subject } }

  var description: String {
    var parts = [heading, figures]
    parts += ComparedFigure.allCases.compactMap(ratios)
    if !record.verdicts.isEmpty { parts.append(goals) }
    parts.append(notes)
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
      Server's processor time in µs for a message, delivery, handshake or connection, and how many
      a second; bytes of memory. Medians of the rounds.

      \(table(["work", "rounds"] + record.columns, rows))
      """
  }

  private func cell(_ row: ComparisonRecord.Row, _ column: String) -> String {
    guard row.has(column) else { return record.missing[column] == nil ? "–" : "missing" }
    var parts: [String] = []
    if let memory = record.spread(row, .memory, column) {
      parts.append("\(number(memory.median)) B")
    }
    if let time = record.spread(row, .cpu, column) { parts.append(number(time.median)) }
    if let rate = record.spread(row, .throughput, column) {
      parts.append("(\(short(rate.median)))")
    }
    if row.turns.contains(where: { $0.column == column && $0.failure != nil }) {
      parts.append("failed")
    }
    return parts.joined(separator: " ")
  }

  private func ratios(_ figure: ComparedFigure) -> String? {
    let rows = record.work.compactMap { row -> [String]? in
      let cells = peers.map { peer in
        record.ratio(row, figure, to: peer).map(spread) ?? "–"
      }
      return cells.allSatisfy { $0 == "–" } ? nil : [row.name] + cells
    }
    guard !rows.isEmpty else { return nil }
    let title =
      switch figure {
      case .cpu: "\(record.subject) / peer, processor time (less is better)"
      case .throughput: "\(record.subject) / peer, throughput (more is better)"
      case .memory: "\(record.subject) / peer, memory (less is better)"
      }
    return """
      \(title): median (smallest to largest round)

      \(table(["work"] + peers, rows))
      """
  }

  private var goals: String {
    let rows = record.verdicts.map { verdict in
      [
        verdict.work, text(verdict.goal), verdict.measured.map(spread) ?? "–",
        verdict.outcome.rawValue,
      ]
    }
    return table(["work", "goal", "measured", "verdict"], rows)
  }

  private func text(_ goal: Goal) -> String {
    let figure =
      switch goal.figure {
      case .cpu: "processor time"
      case .throughput: "throughput"
      case .memory: "memory"
      }
    let unit = goal.against.map { " × \($0)" } ?? unit(of: goal.figure)
    return switch goal.bound {
    case .atMost(let most): "\(figure) ≤ \(most.formatted(.number.grouping(.never)))\(unit)"
    case .atLeast(let least): "\(figure) ≥ \(least.formatted(.number.grouping(.never)))\(unit)"
    }
  }

  private func unit(of figure: ComparedFigure) -> String {
    switch figure {
    case .cpu: " µs"
    case .throughput: " /s"
    case .memory: " B"
    }
  }

  // MARK: Notes

  private var notes: String {
    var lines = record.missing.sorted { $0.key < $1.key }.map { "missing: \($0.key): \($0.value)" }
    lines += record.failures.map { "failed: \($0)" }
    let disturbed = record.disturbed
    if disturbed.count > 0 {
      lines.append(
        "disturbed: beside \(disturbed.count) of \(disturbed.of) turns other processes used more "
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
    value < 10 ? String(format: "%.2f", value) : number(value)
  }

  /// Three digits that matter.
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
