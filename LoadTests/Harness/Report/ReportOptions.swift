/// What every command that measures offers about its report, and how it ends.
import ArgumentParser
import Foundation

struct ReportOptions: ParsableArguments {
  @Option(help: "Writes the report there as JSON.")
  var json: String?
  @Option(help: "Writes the report there as one HTML page that needs nothing else.")
  var html: String?
  @Option(
    help: "A file of options and thresholds (LoadTests/Scenarios); what is given here overrides it."
  )
  var profile: String?
  @Option(
    name: .customLong("threshold"),
    help: "A limit, such as 'ack_p99_ms < 10'; missed, the run ends with 3. May be repeated.",
    transform: { try Threshold($0) })
  var thresholds: [Threshold] = []
  @Option(help: "The report's headline.")
  var title: String?

  init() {}

  /// The exit statuses of a run.
  static let broken = ExitCode(1)
  static let couldNotRun = ExitCode(2)
  static let missed = ExitCode(3)

  /// Runs the measurement: what keeps it from running is said in a sentence, and ends with 2.
  /// `encode` makes the JSON, where it is not the record alone.
  func run(
    json encode: (RunRecord) throws -> Data = { try $0.json() }, _ measure: () throws -> RunRecord
  ) throws {
    var record: RunRecord
    do {
      try checkPlaces()
      record = try measure()
    } catch {
      FileHandle.standardError.write(Data("chirrup-load: \(error)\n".utf8))
      throw ReportOptions.couldNotRun
    }
    do {
      try conclude(&record, encode)
    } catch {
      FileHandle.standardError.write(Data("chirrup-load: \(error)\n".utf8))
      throw ReportOptions.couldNotRun
    }
    switch record.verdict {
    case .passed: return
    case .failed: throw ReportOptions.broken
    case .missed: throw ReportOptions.missed
    }
  }

  /// Judges the thresholds, says so, and writes the files.
  func conclude(
    _ record: inout RunRecord, _ encode: (RunRecord) throws -> Data = { try $0.json() }
  ) throws(ReportFailure) {
    if let title { record.title = title }
    record.thresholds = thresholds.map { $0.verdict(record.figures) }
    if record.verdict == .passed, record.thresholds.contains(where: { !$0.isKept }) {
      record.verdict = .missed
    }
    print(record.thresholdText, terminator: "")
    if let json {
      do { try write(encode(record), to: json) } catch { throw .unwritable(json, "\(error)") }
    }
    if let html {
      do { try write(Data(Page.text(record).utf8), to: html) } catch {
        throw .unwritable(html, "\(error)")
      }
    }
  }

  /// Before an hour of load, not after it.
  private func checkPlaces() throws(ReportFailure) {
    for path in [json, html].compactMap({ $0 }) {
      let folder = URL(filePath: path).deletingLastPathComponent().path
      guard FileManager.default.isWritableFile(atPath: folder) else {
        throw .unwritable(path, "there is no folder \(folder), or it may not be written to")
      }
    }
  }

  private func write(_ data: Data, to path: String) throws {
    try data.write(to: URL(filePath: path))
  }
}

extension RunRecord {
  /// A line for each threshold, and the verdict on them; empty without any.
  var thresholdText: String {
    guard !thresholds.isEmpty else { return "" }
    let lines = thresholds.map { threshold in
      let value = threshold.value.map { Format.figure(threshold.figure, $0) } ?? "not measured"
      return "\(threshold.isKept ? "kept" : "MISSED")".padded(12) + " "
        + "\(threshold.figure) \(threshold.condition): \(value)\n"
    }
    let missed = thresholds.count { !$0.isKept }
    let verdict =
      missed == 0 ? "all \(thresholds.count) kept" : "\(missed) of \(thresholds.count) missed"
    return lines.joined() + "thresholds   \(verdict)\n"
  }
}

extension String {
  func padded(_ width: Int) -> String {
    padding(toLength: max(width, count), withPad: " ", startingAt: 0)
  }
}
