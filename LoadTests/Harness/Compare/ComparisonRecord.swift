/// The measurements of a comparison: every turn of every server, stored as JSON. All shown figures
/// are computed from it, so the records of several runs can be merged into one table.
import Foundation

struct ComparisonRecord: Codable, Equatable {
  static let format = "chirrup-compare/1"

  var format = ComparisonRecord.format
  var machine: String
  /// The gateway's version, as its binary prints it.
  var version: String?
  /// The commit of chirrup-load's source tree.
  var commit: String?
  var startedAt: String
  var subject: String
  /// In the order of the table.
  var columns: [String]
  /// Columns that took no part, with the reason.
  var missing: [String: String]
  /// The placement of servers and clients on cores.
  var placement: String
  var wasInterrupted = false
  var work: [Row] = []

  struct Row: Codable, Equatable {
    var name: String
    var kind: WorkPlan.Kind
    var goals: [Goal]
    var turns: [Turn] = []

    func has(_ column: String) -> Bool { turns.contains { $0.column == column } }
  }

  /// One run of one piece of work on one server.
  struct Turn: Codable, Equatable {
    var column: String
    var round: Int
    var figures: TurnFigures?
    /// The reason for missing figures.
    var failure: String?
  }

  /// Cores used by other processes during a turn, above which the turn counts as disturbed.
  static let neighboursMax = 0.4

  // MARK: Figures

  func spread(_ row: Row, _ figure: ComparedFigure, _ column: String) -> Spread? {
    spread(row.turns.filter { $0.column == column }.compactMap { $0.figures?[figure] })
  }

  private func spread(_ values: [Double]) -> Spread? { values.isEmpty ? nil : Spread(values) }

  /// The subject's figure divided by the peer's of the same round, so that momentary load affects
  /// both.
  func ratio(_ row: Row, _ figure: ComparedFigure, to peer: String) -> Spread? {
    func byRound(_ column: String) -> [Int: Double] {
      var values: [Int: Double] = [:]
      for turn in row.turns where turn.column == column {
        values[turn.round] = turn.figures?[figure]
      }
      return values
    }
    let theirs = byRound(peer)
    return spread(
      byRound(subject).compactMap { round, ours in
        theirs[round].flatMap { $0 > 0 ? ours / $0 : nil }
      })
  }

  // MARK: Goals

  struct Verdict {
    enum Outcome: String {
      case met, missed
      case unmeasured = "not measured"
    }

    var work: String
    var goal: Goal
    var measured: Spread?
    var outcome: Outcome
    /// The reason when it was not measured.
    var reason: String?
  }

  /// Goals are checked against the median. A goal without a measurement is not met.
  var verdicts: [Verdict] {
    work.flatMap { row in
      row.goals.map { goal in
        let measured =
          goal.against.map { ratio(row, goal.figure, to: $0) }
          ?? spread(row, goal.figure, subject)
        let outcome: Verdict.Outcome =
          measured.map { goal.isMet(by: $0.median) ? .met : .missed } ?? .unmeasured
        return Verdict(
          work: row.name, goal: goal, measured: measured, outcome: outcome,
          reason: outcome == .unmeasured ? reason(row, goal.against) : nil)
      }
    }
  }

  /// The reason why the row, or the peer in it, has no figure.
  private func reason(_ row: Row, _ peer: String?) -> String {
    let columns = [subject] + (peer.map { [$0] } ?? [])
    for column in columns {
      if let reason = missing[column] { return "\(column) is missing: \(reason)" }
      if let why = row.turns.last(where: { $0.column == column })?.failure {
        return "\(column): \(why)"
      }
    }
    return wasInterrupted ? "stopped before" : "\(columns.joined(separator: " or ")) took no part"
  }

  var failures: [String] {
    work.flatMap { row in
      row.turns.compactMap { turn in
        turn.failure.map { "\(row.name), \(turn.column), round \(turn.round): \($0)" }
      }
    }
  }

  /// The number of disturbed turns, and of all.
  var disturbed: (count: Int, of: Int) {
    let loads = work.flatMap(\.turns).compactMap { $0.figures?.neighbourCores }
    return (loads.count { $0 > ComparisonRecord.neighboursMax }, loads.count)
  }

  // MARK: Files

  func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(self) + Data("\n".utf8)
  }

  static func read(_ path: String) throws -> ComparisonRecord {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw PlanFailure("\(path) cannot be read")
    }
    let record: ComparisonRecord
    do {
      record = try JSONDecoder().decode(ComparisonRecord.self, from: data)
    } catch {
      throw PlanFailure("\(path) is not a record of a comparison: \(PlanFailure.text(error))")
    }
    guard record.format == ComparisonRecord.format else {
      throw PlanFailure("\(path): the format is \(record.format), not \(ComparisonRecord.format)")
    }
    return record
  }

  /// Adds the other record's rounds to the same work with new numbers, and its other work as new
  /// rows.
  mutating func append(_ other: ComparisonRecord) throws {
    guard other.subject == subject else {
      throw PlanFailure("one record is about \(subject), another about \(other.subject)")
    }
    guard other.machine == machine, other.version == version, other.commit == commit
    else {
      throw PlanFailure("the records are of different machines or gateways")
    }
    columns += other.columns.filter { !columns.contains($0) }
    missing = missing.filter { other.missing[$0.key] != nil }
    wasInterrupted = wasInterrupted || other.wasInterrupted
    if !placement.contains(other.placement) { placement += "; " + other.placement }
    for row in other.work {
      guard let index = work.firstIndex(where: { $0.name == row.name }) else {
        work.append(row)
        continue
      }
      let offset = work[index].turns.map(\.round).max() ?? 0
      work[index].turns += row.turns.map {
        var turn = $0
        turn.round += offset
        return turn
      }
      work[index].goals = row.goals
    }
  }
}
