/// A workload's figures as the common record of a run.
import Foundation

extension WorkFigures {
  var record: RunRecord {
    var record = RunRecord(command: workload, title: "\(workload.capitalized): \(shape)")
    record.verdict = passed ? .passed : .failed
    record.problems = problems
    record.meta.loadSeconds = rounded(seconds)
    record.add(setup: "Server", url)
    record.add(setup: "Load", shape)
    for warning in warnings { record.add(setup: "Mind", warning) }
    record.set("connections", connections)
    record.set("load_seconds", rounded(seconds))
    record.set("messages", messages)
    record.set("messages_per_second", rounded(messagesPerSecond))
    record.set("client_cpu_seconds", rounded(clientCpuSeconds))
    record.set("client_cpu_us_per_message", rounded(clientCpuUsPerMessage))
    record.set("client_cores", rounded(clientUtilisation))
    record.set("verified", verified)
    if let published { record.set("published", published) }
    if let serverRssBytes { record.set("server_resident_bytes", serverRssBytes) }
    for (name, value) in [
      ("server_cpu_seconds", serverCpuSeconds),
      ("server_cpu_us_per_message", serverCpuUsPerMessage),
      ("server_cores", serverUtilisation),
    ] {
      if let value { record.set(name, rounded(value)) }
    }
    if let histogram { record.add(latency: latencyName, histogram) }
    return record
  }

  private var latencyName: String {
    switch workload {
    case "fanout": "delivery"
    case "upgrade": "opening"
    default: "reply"
    }
  }

  /// One JSON object with the keys of both.
  private struct Both: Encodable {
    let figures: WorkFigures
    let record: RunRecord

    func encode(to encoder: any Encoder) throws {
      try figures.encode(to: encoder)
      try record.encode(to: encoder)
    }
  }

  func json(beside record: RunRecord) throws -> Data {
    try RunRecord.encode(Both(figures: self, record: record))
  }
}

/// The exit status is 1 for a broken promise, 2 for a run that could not take place.
extension ReportOptions {
  /// Runs a workload and says what it found: 1 for a broken promise, 2 for a run that could not be.
  func run(work measure: () throws -> WorkFigures) throws {
    var found: WorkFigures?
    try run(json: { try found?.json(beside: $0) ?? $0.json() }) {
      let figures = try measure()
      print(figures)
      found = figures
      return figures.record
    }
  }
}
