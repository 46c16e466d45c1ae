/// The differences of two records, figure by figure.
import Foundation

struct Difference {
  enum Verdict: String {
    case better, worse
    /// Differs, but the figure has no better or worse, or its noise is unknown.
    case other = "differs"
    case same = "within noise"
    case equal
  }

  struct Row {
    var figure: String
    var before: Double
    var after: Double
    /// Nil if unknown, see `Noise`.
    var noise: Double?
    var verdict: Verdict

    /// Nil if one of the values is 0.
    var ratio: Double? { before > 0 && after > 0 ? after / before : nil }
    var label: String { Figure.named(figure)?.label ?? figure }
  }

  let before: RunRecord
  let after: RunRecord
  let rows: [Row]
  /// Differences of the circumstances that make the runs hard to compare.
  let cautions: [String]

  init(_ before: RunRecord, _ after: RunRecord) {
    self.before = before
    self.after = after
    let common = Figure.all.map(\.name).filter {
      before.figures[$0] != nil && after.figures[$0] != nil
    }
    rows = common.map { name in
      Difference.row(name, before, after)
    }
    cautions = Difference.cautions(before, after)
  }

  private static func row(_ name: String, _ before: RunRecord, _ after: RunRecord) -> Row {
    let (old, new) = (before.figures[name] ?? 0, after.figures[name] ?? 0)
    let noise = Noise.factor(before.samples(of: name), after.samples(of: name))
    var row = Row(figure: name, before: old, after: new, noise: noise, verdict: .same)
    guard old != new else {
      row.verdict = .equal
      return row
    }
    let isPromise = before.invariants[name] != nil || after.invariants[name] != nil
    if let noise, let ratio = row.ratio {
      if ratio < noise, ratio > 1 / noise { return row }
    } else if !isPromise {
      row.verdict = .other
      return row
    }
    switch Figure.named(name)?.better ?? .neither {
    case .less: row.verdict = new < old ? .better : .worse
    case .more: row.verdict = new > old ? .better : .worse
    case .neither: row.verdict = .other
    }
    return row
  }

  private static func cautions(_ before: RunRecord, _ after: RunRecord) -> [String] {
    var cautions: [String] = []
    if before.command != after.command {
      cautions.append("One is of \(before.command), the other of \(after.command).")
    }
    for (name, old, new) in [
      ("machine", before.meta.machine, after.meta.machine),
      ("number of cores", "\(before.meta.cores)", "\(after.meta.cores)"),
      ("kernel", before.meta.kernel, after.meta.kernel),
      ("PostgreSQL", before.meta.postgresVersion ?? "", after.meta.postgresVersion ?? ""),
    ] where old != new {
      cautions.append("The \(name) differs: \(old.isEmpty ? "unknown" : old), then \(new).")
    }
    for line in before.setup {
      if let other = after.setup.first(where: { $0.label == line.label }), other != line {
        cautions.append("\(line.label): \(line.value), then \(other.value).")
      }
    }
    for record in [before, after] where record.verdict == .failed {
      cautions.append("\(record.title): this run failed, so its figures may be meaningless.")
    }
    return cautions
  }

  var isWorse: Bool { rows.contains { $0.verdict == .worse } }
}

extension Difference.Row {
  /// For example "1.20 ×".
  var ratioText: String { ratio.map { "\(Format.number($0)) ×" } ?? "–" }
  var noiseText: String { noise.map { "± \(Format.percent($0 - 1))" } ?? "not known" }
}

extension Difference: CustomStringConvertible {
  var description: String {
    let table = rows.filter { $0.before != 0 || $0.after != 0 }.map { row in
      [
        row.figure, Format.figure(row.figure, row.before), Format.figure(row.figure, row.after),
        row.ratioText, row.noiseText, row.verdict.rawValue,
      ]
    }
    let all = [["figure", "before", "after", "ratio", "noise", ""]] + table
    let widths = (0..<6).map { column in all.map { $0[column].count }.max() ?? 0 }
    let lines = all.map { cells in
      cells.enumerated().map { index, cell in
        let space = String(repeating: " ", count: widths[index] - cell.count)
        return index == 0 || index == 5 ? cell + (index == 0 ? space : "") : space + cell
      }.joined(separator: "  ")
    }
    return (cautions.map { "caution: \($0)" } + lines).joined(separator: "\n")
  }
}
