/// The report options of every measuring command, and the exit statuses.
import ArgumentParser
import Foundation

struct ReportOptions: ParsableArguments {
  @Option(help: "Write the report to this file as JSON.")
  var json: String?
  @Option(help: "Write the report to this file as one self-contained HTML page.")
  var html: String?
  @Option(
    help: "A file of options and thresholds (LoadTests/Scenarios); the command line overrides it."
  )
  var profile: String?
  @Option(
    name: .customLong("threshold"),
    help: "A limit, such as 'ack_p99_ms < 10'; if missed, the exit status is 3. Repeatable.",
    transform: { try Threshold($0) })
  var thresholds: [Threshold] = []
  @Option(help: "The report's headline.")
  var title: String?

  init() {}

  /// The exit statuses of a run.
  static let broken = ExitCode(1)
  static let couldNotRun = ExitCode(2)
  static let missed = ExitCode(3)

  /// Runs the measurement and the report. An error that prevents the run is printed and ends with
  /// 2. `encode` makes the JSON if it is more than the record.
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

  /// Checks the thresholds, prints the results, and writes the files.
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

  /// Checks the paths before the load, not after an hour of it.
  private func checkPlaces() throws(ReportFailure) {
    for path in [json, html].compactMap({ $0 }) {
      let folder = URL(filePath: path).deletingLastPathComponent().path
      guard FileManager.default.isWritableFile(atPath: folder) else {
        throw .unwritable(path, "the folder \(folder) does not exist or is not writable")
      }
    }
  }

  private func write(_ data: Data, to path: String) throws {
    try data.write(to: URL(filePath: path))
  }
}

extension RunRecord {
  /// A line for each threshold, and the verdict; empty without thresholds.
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
