/// The figures of a workload for the terminal, as a record, and as JSON: the figures by name, as
/// `compare` reads them, together with the record.
import Foundation
import Histogram
import Primitives

struct WorkFigures: Encodable {
  /// Microseconds.
  struct Latency: Encodable {
    var count = 0
    var p50 = 0.0
    var p90 = 0.0
    var p99 = 0.0
    var p999 = 0.0
    var max = 0.0

    init(_ histogram: Histogram<UInt64>) {
      count = Int(histogram.totalCount)
      guard count > 0 else { return }
      p50 = Double(histogram.valueAtPercentile(50))
      p90 = Double(histogram.valueAtPercentile(90))
      p99 = Double(histogram.valueAtPercentile(99))
      p999 = Double(histogram.valueAtPercentile(99.9))
      max = Double(histogram.max)
    }
  }

  let workload: String
  let url: String
  var connections = 0
  var inFlight: Int?
  var subscribers: Int?
  var pending: Int?
  /// Connections that are opening at a time.
  var parallel: Int?
  var sizeBytes: Int?
  /// Messages due per second; nil when they wait for replies.
  var rate: Double?
  var isBare = false

  /// Echoes, deliveries or upgrades in the measured time.
  var messages = 0
  /// For a fan-out: messages that all subscribers have.
  var published: Int?
  var seconds = 0.0
  var messagesPerSecond = 0.0
  var serverCpuSeconds: Double?
  var serverCpuUsPerMessage: Double?
  /// Share of a core.
  var serverUtilisation: Double?
  var serverRssBytes: Int?
  var clientCpuSeconds = 0.0
  var clientCpuUsPerMessage = 0.0
  var clientUtilisation = 0.0
  private(set) var latencyUs: Latency?
  private(set) var histogram: Histogram<UInt64>?
  /// Payloads that were compared byte by byte; for all messages the frames' length and order were
  /// checked.
  var verified = 0
  var warnings: [String] = []
  var problems: [String] = []
  var passed = false

  init(_ workload: String, url: String) {
    self.workload = workload
    self.url = url
  }

  mutating func add(_ use: ProcessorTime.Difference, messages: Int, server process: Int?) {
    self.messages = messages
    seconds = use.seconds
    let each = 1e6 / Double(max(1, messages))
    messagesPerSecond = Double(messages) / max(use.seconds, 1e-9)
    serverCpuSeconds = use.serverSeconds
    serverCpuUsPerMessage = use.serverSeconds.map { $0 * each }
    serverUtilisation = use.serverSeconds.map { $0 / max(use.seconds, 1e-9) }
    clientCpuSeconds = use.clientSeconds
    clientCpuUsPerMessage = use.clientSeconds * each
    clientUtilisation = use.clientSeconds / max(use.seconds, 1e-9)
    serverRssBytes = process.flatMap { ProcessSample(process: $0)?.bytes }
  }

  mutating func judge() {
    // The real-time class is limited to 95 % of a core.
    if clientUtilisation >= 0.94 {
      if let serverUtilisation, serverUtilisation < clientUtilisation - 0.04 {
        warnings.append(
          "the client was the bottleneck: it used \(percent(clientUtilisation)) % of its core and "
            + "the server \(percent(serverUtilisation)) %. The rate is the client's limit; the "
            + "server's time for each message still counts")
      } else if serverUtilisation == nil {
        warnings.append(
          "the client used \(percent(clientUtilisation)) % of its core; use --pid to see "
            + "whether the server was as busy")
      }
    }
    passed = problems.isEmpty
  }

  mutating func set(latency: Histogram<UInt64>) {
    latencyUs = Latency(latency)
    histogram = latency
  }

  /// All figures but the histogram, which the record contains as a curve.
  private enum CodingKeys: String, CodingKey {
    case workload, url, connections, inFlight, subscribers, pending, parallel, sizeBytes, rate
    case isBare, messages, published, seconds, messagesPerSecond, serverCpuSeconds
    case serverCpuUsPerMessage, serverUtilisation, serverRssBytes, clientCpuSeconds
    case clientCpuUsPerMessage, clientUtilisation, latencyUs, verified, warnings, passed
  }

  private func percent(_ part: Double) -> Int { Int((part * 100).rounded()) }
}

extension WorkFigures: CustomStringConvertible {
  var description: String {
    var lines = ["\(workload)  \(url)  \(shape)"]
    lines.append(
      "messages     \(messages) in \(digits(seconds)) s: \(Int(messagesPerSecond)) a second")
    if let serverCpuUsPerMessage, let serverUtilisation {
      let memory = serverRssBytes.map { ", \(digits(Double($0) / 1_048_576)) MiB resident" } ?? ""
      lines.append(
        "server       \(digits(serverCpuUsPerMessage)) µs of processor time a message, "
          + "\(percent(serverUtilisation)) % of a core\(memory)")
    }
    lines.append(
      "client       \(digits(clientCpuUsPerMessage)) µs of processor time a message, "
        + "\(percent(clientUtilisation)) % of a core")
    if let latency = latencyUs {
      let values = [
        ("p50", latency.p50), ("p90", latency.p90), ("p99", latency.p99),
        ("p99.9", latency.p999), ("max", latency.max),
      ]
      lines.append(
        "latency      " + values.map { "\($0) \(Int($1))" }.joined(separator: ", ") + " µs")
    }
    if sizeBytes != nil { lines.append("verified     \(verified) payloads byte by byte") }
    lines += warnings.map { "warning      \($0)" }
    lines += problems.map { "problem      \($0)" }
    lines.append(passed ? "PASS" : "FAIL")
    return lines.joined(separator: "\n")
  }

  var shape: String {
    var parts = ["\(connections) connections"]
    if let subscribers { parts.append("\(subscribers) subscribers") }
    if let rate {
      parts.append("\(digits(rate)) messages due a second")
    } else if let inFlight {
      parts.append("\(inFlight) in flight each")
    } else if let pending {
      parts.append("\(pending) pending")
    }
    if let parallel { parts.append("\(parallel) opening at a time") }
    if let sizeBytes { parts.append("\(sizeBytes) bytes") }
    if isBare { parts.append("bare TCP") }
    return parts.joined(separator: ", ")
  }

  /// Three significant digits.
  private func digits(_ value: Double) -> String {
    value >= 100 ? "\(Int(value.rounded()))" : String(format: value >= 10 ? "%.1f" : "%.3g", value)
  }
}
