/// What a comparison has measured: every turn of every server, as JSON keeps it. All figures that
/// are shown follow from it, so records of several runs can be shown as one table.
import Foundation

struct ComparisonRecord: Codable, Equatable {
  static let format = "chirrup-compare/1"

  var format = ComparisonRecord.format
  var machine: String
  /// Of the gateway, as its binary says.
  var version: String?
  /// Of the tree that chirrup-load was built in.
  var commit: String?
  var startedAt: String
  var subject: String
  /// In the order of the table.
  var columns: [String]
  /// Columns that took part in nothing, and why.
  var missing: [String: String]
  /// How servers and clients were placed.
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

  /// One server did one piece of work once.
  struct Turn: Codable, Equatable {
    var column: String
    var round: Int
    var figures: TurnFigures?
    /// Why there are no figures.
    var failure: String?
  }

  /// Cores' worth that other processes may use beside a turn before it is pointed out.
  static let neighboursMax = 0.4

  // MARK: Figures

  func spread(_ row: Row, _ figure: ComparedFigure, _ column: String) -> Spread? {
    spread(row.turns.filter { $0.column == column }.compactMap { $0.figures?[figure] })
  }

  private func spread(_ values: [Double]) -> Spread? { values.isEmpty ? nil : Spread(values) }

  /// The subject divided by the peer, within each round: neighbours of the moment hit both.
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
    /// Why it was not measured.
    var reason: String?
  }

  /// The median is judged. What was not measured has not been met.
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

  /// Why there is no figure of the row, or none of the peer's in it.
  private func reason(_ row: Row, _ peer: String?) -> String {
    let columns = [subject] + (peer.map { [$0] } ?? [])
    for column in columns {
      if let why = missing[column] { return "\(column) is missing: \(why)" }
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

  /// Turns beside which others were busy, of all.
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
      throw PlanFailure("\(path) is no record of a comparison: \(PlanFailure.text(error))")
    }
    guard record.format == ComparisonRecord.format else {
      throw PlanFailure("\(path): the format is \(record.format), not \(ComparisonRecord.format)")
    }
    return record
  }

  /// Rounds of the same work are added, each with a number of its own; other work comes below.
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
