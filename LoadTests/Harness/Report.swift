/// The result of a `chat` run: its verdict, its text for a terminal, and its record.
import Foundation
import Histogram
import Primitives

struct Report {
  struct Latency {
    var count: Int
    var p50 = 0.0
    var p99 = 0.0
    var p999 = 0.0
    var max = 0.0

    init(_ histogram: Histogram<UInt64>) {
      count = Int(histogram.totalCount)
      guard count > 0 else { return }
      p50 = Double(histogram.valueAtPercentile(50)) / 1000
      p99 = Double(histogram.valueAtPercentile(99)) / 1000
      p999 = Double(histogram.valueAtPercentile(99.9)) / 1000
      max = Double(histogram.max) / 1000
    }
  }

  struct Database {
    var rows: Int
    var ownRows: Int
    var sessions: Int
  }

  var passed = false
  var command = ""
  var machine = Machine.description
  var visitors = 0
  var operators = 0
  var connections = 0
  /// To the end of the load, or to the last ack or delivery if that came later.
  var loadSeconds = 0.0
  var sent = 0
  var acked = 0
  /// Without those of the warm-up.
  var measuredAcked = 0
  var delivered = 0
  var lost = 0
  var duplicated = 0
  var reordered = 0
  var holes = 0
  var mismatched = 0
  var unacknowledged = 0
  var resent = 0
  var duplicateAcks = 0
  var reconnects = 0
  var resyncs = 0
  var retries: [String: Int] = [:]
  var refusals: [String: Int] = [:]
  var closes: [String: Int] = [:]
  var ackMilliseconds: Latency
  var deliveryMilliseconds: Latency
  var ackedPerSecond = 0.0
  var deliveredPerSecond = 0.0
  /// Processor time of the generator's busiest loop, as a share of a core. Near 1 the measurement
  /// is of the generator itself.
  var generatorLoad = 0.0
  /// Messages of this run that every subscriber received.
  var shownToAll = 0
  var gateway: Recorder.GatewayUse?
  var database: Database?
  var problems: [String] = []

  init(counters: Counters, latencies: Latencies, seconds: Double) {
    loadSeconds = seconds
    sent = counters.made
    acked = counters.acked
    measuredAcked = counters.measuredAcked
    delivered = counters.delivered
    resent = counters.resent
    duplicateAcks = counters.duplicateAcks
    reconnects = counters.reconnects
    resyncs = counters.resyncs
    retries = counters.retries
    refusals = counters.refusals
    closes = counters.closes
    ackMilliseconds = Latency(latencies.ack)
    deliveryMilliseconds = Latency(latencies.delivery)
    if seconds > 0 {
      ackedPerSecond = Double(measuredAcked) / seconds
      deliveredPerSecond = Double(counters.measuredDelivered) / seconds
    }
  }

  /// The merged result of all clients.
  init(_ result: LoopResult) {
    self.init(
      counters: result.counters, latencies: result.latencies,
      seconds: Double(result.activeNanoseconds) / 1e9)
    shownToAll = result.shownToAll
    unacknowledged = result.unsettled
    generatorLoad = result.load
    add(result.violations)
    problems += result.problems
    database = result.audit.map {
      Database(rows: $0.rows, ownRows: $0.ownRows, sessions: $0.sessions)
    }
    judge()
  }

  mutating func add(_ violations: Violations) {
    lost += violations[.lost]
    duplicated += violations[.duplicated]
    reordered += violations[.reordered]
    holes += violations[.holes]
    mismatched += violations[.mismatched]
    problems += violations.examples
  }

  /// Sets `passed` and completes `problems`. Refusals and missing answers break no promise, but the
  /// load asks for nothing that may be refused, so they fail the run too.
  mutating func judge() {
    if unacknowledged > 0 { problems.append("\(unacknowledged) messages were never answered") }
    for (code, count) in refusals.sorted(by: { $0.key < $1.key }) {
      problems.append("\(count) messages or subscriptions were refused: \(code)")
    }
    if resyncs > 0 {
      problems.append("\(resyncs) sessions were read again from the start (resync)")
    }
    passed =
      problems.isEmpty && lost + duplicated + reordered + holes + mismatched == 0
      && acked + refusals.values.reduce(0, +) >= sent
  }
}

extension Report: CustomStringConvertible {
  var description: String {
    var lines = [
      table(
        [
          "", "sent", "acked", "delivered", "lost", "duplicated", "reordered", "holes",
          "mismatched",
        ],
        [
          ["messages"]
            + [sent, acked, delivered, lost, duplicated, reordered, holes, mismatched]
            .map { String($0) }
        ]),
      table(
        ["milliseconds", "p50", "p99", "p99.9", "max", "of"],
        [("ack", ackMilliseconds), ("delivery", deliveryMilliseconds)].map { name, latency in
          [name]
            + [latency.p50, latency.p99, latency.p999, latency.max].map { milliseconds($0) }
            + [String(latency.count)]
        }),
      "throughput   \(Int(ackedPerSecond)) acked/s, \(Int(deliveredPerSecond)) delivered/s "
        + "over \(milliseconds(loadSeconds)) s; generator \(Int(generatorLoad * 100)) % of a core",
      "clients      \(visitors) visitors, \(operators) operators, \(connections) connections",
    ]
    if let gateway {
      let memory = [gateway.residentBytesBefore, gateway.residentBytesAfter].map { $0 >> 20 }
      let each = gateway.processorSeconds * 1e6 / Double(max(1, measuredAcked))
      lines.append(
        "gateway      \(milliseconds(gateway.processorSeconds)) s of processor time, "
          + "\(milliseconds(each)) µs an ack; "
          + "\(memory[0]) MiB before, \(memory[1]) after")
    }
    let incidents =
      [("resent", resent), ("duplicate acks", duplicateAcks), ("reconnects", reconnects)]
      .filter { $0.1 > 0 }.map { "\($0.1) \($0.0)" }
      + retries.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
      + closes.sorted { $0.key < $1.key }.map { "\($0.value) closed: \($0.key)" }
    if !incidents.isEmpty { lines.append("incidents    \(incidents.joined(separator: ", "))") }
    if let database {
      lines.append("database     \(database.rows) rows in \(database.sessions) sessions compared")
    } else {
      lines.append("database     not compared: neither --database-url nor --data-dir is given")
    }
    lines += ["machine      \(machine)", "command      \(command)"]
    lines += problems.map { "problem      \($0)" }
    lines.append(passed ? "PASS" : "FAIL")
    return lines.joined(separator: "\n")
  }
}

/// A table whose columns are right-aligned except for the first.
private func table(_ header: [String], _ rows: [[String]]) -> String {
  let all = [header] + rows
  let widths = header.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
  return all.map { row in
    row.indices.map { column in
      let space = String(repeating: " ", count: widths[column] - row[column].count)
      return column == 0
        ? row[0] + String(repeating: " ", count: max(0, 12 - row[0].count)) : space + row[column]
    }.joined(separator: "  ")
  }.joined(separator: "\n")
}

extension Report {
  /// Adds the verdict's figures and the others to the record.
  func fill(_ record: inout RunRecord) {
    record.verdict = passed ? .passed : .failed
    record.problems = problems
    record.meta.loadSeconds = rounded(loadSeconds)
    record.add([
      "lost": lost, "duplicated": duplicated, "reordered": reordered, "holes": holes,
      "mismatched": mismatched,
    ])
    for (name, value) in [
      ("sent", sent), ("acked", acked), ("delivered", delivered), ("connections", connections),
      ("unacknowledged", unacknowledged), ("resent", resent), ("duplicate_acks", duplicateAcks),
      ("reconnects", reconnects), ("resyncs", resyncs),
      ("refused", refusals.values.reduce(0, +)),
    ] {
      record.set(name, value)
    }
    record.set("load_seconds", rounded(loadSeconds))
    record.set("acked_per_second", rounded(ackedPerSecond))
    record.set("delivered_per_second", rounded(deliveredPerSecond))
    record.set("generator_cores", rounded(generatorLoad))
    record.outcomes = ["retries": retries, "refusals": refusals, "closes": closes]
      .filter { !$0.value.isEmpty }
    record.proof = [
      .init(
        label: "Sent", count: sent,
        note: "by \(Format.count(visitors)) visitors, \(Format.count(operators)) operators"),
      .init(label: "Acknowledged", count: acked, note: "each ack of a message that was sent"),
    ]
    if let database {
      record.set("rows_compared", database.rows)
      record.proof.append(
        .init(
          label: "Stored", count: database.ownRows, note: "rows in PostgreSQL, each body compared"))
    }
    record.proof.append(
      .init(
        label: "Delivered to all", count: shownToAll,
        note: "\(Format.count(delivered)) receipts, each id checked"))
  }
}
