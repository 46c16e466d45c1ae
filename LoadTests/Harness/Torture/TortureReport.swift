/// The result of a torture: its text for the terminal, and its record.
import Foundation
import Primitives

struct TortureReport {
  struct Resources {
    var descriptors: Int
    var anonymousBytes: Int

    init(_ sample: (descriptors: Int, anonymousBytes: Int)) {
      descriptors = sample.descriptors
      anonymousBytes = sample.anonymousBytes
    }
  }

  var passed = false
  let seed: UInt64
  let folder: String
  var command = Meta.withoutSecrets(CommandLine.arguments)
  var machine = Machine.description
  var seconds = 0.0
  var cycles = 0
  /// Cycles by kind of fault; a cycle with two faults counts for both.
  var faults: [String: Int] = [:]
  var counters = Counters()
  var latencies = Latencies()
  var violations = Violations()
  var rowsCompared = 0
  var rowsStored = 0
  var gatewayStarts = 0
  var linksBroken = 0
  /// Committed transactions whose answer did not reach the gateway.
  var commitsLost = 0
  var longestRecoveryMilliseconds: Int64 = 0
  /// The gateway with all clients connected, before the first and after the last fault.
  var before: Resources?
  var after: Resources?
  var problems: [String] = []

  init(seed: UInt64, folder: String) {
    self.seed = seed
    self.folder = folder
  }

  mutating func judgeResources() {
    guard let before, let after else {
      problems.append("the gateway's memory and descriptors could not be read")
      return
    }
    if after.descriptors > before.descriptors + TortureRun.descriptorSlack {
      problems.append("\(before.descriptors) descriptors became \(after.descriptors)")
    }
    if after.anonymousBytes > before.anonymousBytes + TortureRun.memorySlackBytes {
      problems.append(
        "\(before.anonymousBytes >> 10) KiB of memory became \(after.anonymousBytes >> 10) KiB")
    }
  }

  mutating func judge() { passed = problems.isEmpty && violations.isEmpty && cycles > 0 }
}

extension TortureReport {
  func fill(_ record: inout RunRecord) {
    record.verdict = passed ? .passed : .failed
    record.problems = problems + violations.examples
    record.meta.seed = seed
    record.meta.loadSeconds = rounded(seconds)
    record.add(violations.byName)
    for (name, value) in [
      ("cycles", cycles), ("sent", counters.made), ("acked", counters.acked),
      ("delivered", counters.delivered), ("inflated", counters.inflated),
      ("resent", counters.resent), ("duplicate_acks", counters.duplicateAcks),
      ("reconnects", counters.reconnects), ("resumes", counters.resumes),
      ("rows_compared", rowsCompared), ("links_broken", linksBroken),
      ("commits_lost", commitsLost), ("gateway_starts", gatewayStarts),
      ("recovery_max_ms", Int(longestRecoveryMilliseconds)),
    ] {
      record.set(name, value)
    }
    record.set("load_seconds", rounded(seconds))
    record.add(latency: "ack", latencies.ack)
    record.add(latency: "delivery", latencies.delivery)
    if let before, let after {
      record.set("descriptor_growth", after.descriptors - before.descriptors)
      record.set("gateway_growth_bytes", after.anonymousBytes - before.anonymousBytes)
    }
    record.outcomes = [
      "faults": faults, "retries": counters.retries, "closes": counters.closes,
      "refusals": counters.refusals,
    ].filter { !$0.value.isEmpty }
    record.proof = [
      .init(label: "Sent", count: counters.made, note: "by visitors in two tabs, and operators"),
      .init(label: "Acknowledged", count: counters.acked, note: "during all faults"),
      .init(
        label: "Stored", count: rowsStored,
        note: "\(Format.count(rowsCompared)) comparisons of rows"),
    ]
  }
}

extension TortureReport: CustomStringConvertible {
  var description: String {
    func list(_ counts: [String: Int]) -> String {
      counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    }
    var lines = [
      "cycles       \(cycles) in \(Int(seconds)) s, seed \(seed)",
      "faults       \(list(faults))",
      "effects       \(linksBroken) links broken, \(commitsLost) commits whose answer was lost, "
        + "\(gatewayStarts) starts of the gateway",
      "messages     \(counters.made), \(counters.acked) acked, \(counters.delivered) shown, "
        + "\(rowsCompared) rows compared",
      "clients      \(counters.resent) resends, \(counters.duplicateAcks) acked as stored before, "
        + "\(counters.reconnects) reconnects, \(counters.resumes) resumes, "
        + "\(counters.inflated) deflated messages",
      "recovery     \(longestRecoveryMilliseconds) ms at most",
    ]
    if !counters.retries.isEmpty { lines.append("retries      \(list(counters.retries))") }
    lines.append("closes       \(list(counters.closes))")
    if let before, let after {
      lines.append(
        "gateway      \(before.descriptors) descriptors before, \(after.descriptors) after; "
          + "\(before.anonymousBytes >> 10) KiB before, \(after.anonymousBytes >> 10) KiB after")
    }
    lines.append("violations   \(violations.total) (\(list(violations.byName)))")
    lines += ["machine      \(machine)", "command      \(command)"]
    lines += (violations.examples + problems).map { "problem      \($0)" }
    lines.append(passed ? "PASS" : "FAIL  logs and data are kept in \(folder)")
    return lines.joined(separator: "\n")
  }
}
