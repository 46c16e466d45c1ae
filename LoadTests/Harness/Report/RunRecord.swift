/// The record of one run, the same for every command: written by `--json`, drawn by `--html` and
/// compared by `diff`.
///
/// Names are stable, so that old files stay readable. Figures, latencies and columns are
/// dictionaries, so that a command can add its own without a change here.
import Foundation
import Histogram

struct RunRecord: Codable, Equatable {
  /// Changes when an old reader would misinterpret new files.
  static let format = "chirrup-load/1"

  enum Verdict: String, Codable {
    case passed
    /// A promise was broken, or the run could not take place as planned.
    case failed
    /// Every promise was kept, but a threshold was missed.
    case missed
  }

  /// One line of the setup: "Visitors" and "2,000".
  struct Line: Codable, Equatable {
    var label: String
    var value: String
  }

  /// One of the counts that must be equal: sent = committed = delivered.
  struct Proof: Codable, Equatable {
    var label: String
    var count: Int
    var note: String
  }

  /// Something that happened during the run: an injected fault, or an observed outage.
  struct Event: Codable, Equatable {
    var name: String
    /// From the start of the load.
    var atSeconds: Double
    var lastsSeconds: Double
  }

  /// A comparison within the run: with a peer, or of two builds.
  struct Comparison: Codable, Equatable {
    var label: String
    /// Empty for a number without a unit.
    var unit: String
    var ours: Double
    var theirs: Double
    var peer: String
    /// ours / theirs: the median, smallest and largest of the rounds.
    var ratio: Double
    var ratioMin: Double
    var ratioMax: Double
    var isLessBetter: Bool
    /// The bound of the ratio: upper or lower by `isLessBetter`.
    var goal: Double?
  }

  /// The number of batches with `from` messages up to the next bucket's `from`.
  struct BatchBucket: Codable, Equatable {
    var from: Int
    var count: Int
  }

  /// Figures of every second. A column has a value or nil for each element of `seconds`.
  struct Series: Codable, Equatable {
    /// The end of each interval, from the start of the load.
    var seconds: [Double] = []
    var columns: [String: [Double?]] = [:]
  }

  struct ThresholdVerdict: Codable, Equatable {
    var figure: String
    var condition: String
    /// Nil when the run has no such figure; the threshold is then missed.
    var value: Double?
    var isKept: Bool
  }

  var format = RunRecord.format
  var command: String
  var title: String
  var verdict = Verdict.passed
  var meta = Meta()
  var setup: [Line] = []
  var proof: [Proof] = []
  /// Broken promises by kind; all must be 0. Empty for a command without such checks.
  var invariants: [String: Int] = [:]
  var figures: [String: Double] = [:]
  var latencies: [String: LatencyRecord] = [:]
  var series = Series()
  var batches: [BatchBucket] = []
  /// "retries", "refusals" and "closes", each by code.
  var outcomes: [String: [String: Int]] = [:]
  /// The figures of each round, for commands with rounds.
  var rounds: [[String: Double]] = []
  var comparisons: [Comparison] = []
  var thresholds: [ThresholdVerdict] = []
  var events: [Event] = []
  var problems: [String] = []

  init(command: String, title: String) {
    self.command = command
    self.title = title
  }

  /// Sets a figure by its name in `Figure.all`.
  mutating func set(_ name: String, _ value: Double) {
    precondition(Figure.named(name) != nil, "add \(name) to Figure.all")
    // Neither JSON nor a chart can represent infinity or NaN.
    if value.isFinite { figures[name] = value }
  }

  mutating func set(_ name: String, _ value: Int) { set(name, Double(value)) }

  mutating func add(setup label: String, _ value: String) {
    setup.append(Line(label: label, value: value))
  }

  /// Adds a latency and its figures `NAME_p50_ms`, `NAME_p99_ms`, `NAME_p999_ms` and `NAME_max_ms`.
  mutating func add(latency name: String, _ histogram: Histogram<UInt64>) {
    guard histogram.totalCount > 0 else { return }
    let record = LatencyRecord(microseconds: histogram)
    latencies[name] = record
    set("\(name)_p50_ms", record.at(50))
    set("\(name)_p99_ms", record.at(99))
    set("\(name)_p999_ms", record.at(99.9))
    set("\(name)_max_ms", record.maxMilliseconds)
  }

  mutating func add(_ violations: [String: Int]) {
    for (name, count) in violations {
      invariants[name, default: 0] += count
      set(name, invariants[name] ?? 0)
    }
  }
}

/// A histogram as its percentile curve: small, and exact enough to draw and compare.
struct LatencyRecord: Codable, Equatable {
  var count = 0
  var meanMilliseconds = 0.0
  var maxMilliseconds = 0.0
  var percentiles: [Double] = []
  var milliseconds: [Double] = []

  /// Evenly spaced on the drawn axis, which is logarithmic towards 100.
  private static let percentilesWanted: [Double] = {
    var wanted: Set<Double> = [0, 50, 75, 90, 95, 99, 99.9]
    for step in 1...60 {
      wanted.insert(rounded(100 - 100 * pow(10, -Double(step) / 10), places: 6))
    }
    return wanted.sorted()
  }()

  init(microseconds histogram: Histogram<UInt64>) {
    count = Int(histogram.totalCount)
    guard count > 0 else { return }
    meanMilliseconds = rounded(histogram.mean / 1000)
    maxMilliseconds = rounded(Double(histogram.max) / 1000)
    // Beyond one in `count` only the largest value remains.
    let last = 100 - 100 / Double(count)
    for percentile in LatencyRecord.percentilesWanted where percentile <= max(last, 50) {
      percentiles.append(percentile)
      milliseconds.append(rounded(Double(histogram.valueAtPercentile(percentile)) / 1000))
    }
    percentiles.append(100)
    milliseconds.append(maxMilliseconds)
  }

  /// The value at the next recorded percentile; 0 without any.
  func at(_ percentile: Double) -> Double {
    percentiles.firstIndex { $0 >= percentile }.map { milliseconds[$0] } ?? 0
  }
}

/// Removes insignificant digits, to keep files small.
func rounded(_ value: Double, places: Int = 3) -> Double {
  let scale = pow(10, Double(places))
  return (value * scale).rounded() / scale
}

extension RunRecord {
  func json() throws -> Data { try RunRecord.encode(self) }

  static func encode(_ value: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    encoder.keyEncodingStrategy = .convertToSnakeCase
    encoder.dateEncodingStrategy = .iso8601
    return try encoder.encode(value) + Data("\n".utf8)
  }

  init(json: Data) throws {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    decoder.dateDecodingStrategy = .iso8601
    self = try decoder.decode(RunRecord.self, from: json)
  }

  init(file path: String) throws(ReportFailure) {
    guard let data = FileManager.default.contents(atPath: path) else { throw .unreadable(path) }
    do {
      try self.init(json: data)
    } catch {
      throw .malformed(path, "\(error)")
    }
    guard format == RunRecord.format else { throw .foreign(path, format) }
  }
}

enum ReportFailure: Error, CustomStringConvertible {
  case unreadable(String)
  case malformed(String, String)
  case foreign(String, String)
  case unwritable(String, String)

  var description: String {
    switch self {
    case .unreadable(let path): "\(path) cannot be read"
    case .malformed(let path, let why):
      "\(path) is not a report of `chirrup-load … --json` (\(why.prefix(200)))"
    case .foreign(let path, let format):
      "\(path) has the format \(format); this program reads \(RunRecord.format)"
    case .unwritable(let path, let why): "\(path) cannot be written: \(why)"
    }
  }
}
