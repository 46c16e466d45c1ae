/// What a torture found, for people and as JSON.
import Foundation
import Primitives

struct TortureReport: Encodable {
  struct Resources: Encodable {
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
  var command = CommandLine.arguments.joined(separator: " ")
  var machine = Machine.description
  var seconds = 0.0
  var cycles = 0
  /// Cycles by kind of fault; one with two faults counts for both.
  var faults: [String: Int] = [:]
  var counters = Counters()
  var violations = Violations()
  var rowsCompared = 0
  var gatewayStarts = 0
  var linksBroken = 0
  /// Transactions that PostgreSQL committed and whose answer never reached the gateway.
  var commitsLost = 0
  var longestRecoveryMilliseconds: Int64 = 0
  /// The gateway with everybody connected, before the first fault and after the last one.
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
    if after.descriptors > before.descriptors + Conductor.descriptorSlack {
      problems.append("\(before.descriptors) descriptors became \(after.descriptors)")
    }
    if after.anonymousBytes > before.anonymousBytes + Conductor.memorySlackBytes {
      problems.append(
        "\(before.anonymousBytes >> 10) KiB of memory became \(after.anonymousBytes >> 10) KiB")
    }
  }

  mutating func judge() { passed = problems.isEmpty && violations.isEmpty && cycles > 0 }

  func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    encoder.keyEncodingStrategy = .convertToSnakeCase
    return try encoder.encode(self) + Data("\n".utf8)
  }

  private enum CodingKeys: CodingKey {
    case passed, seed, folder, command, machine, seconds, cycles, faults, messages, acked
    case deliveries, inflated, resent, duplicateAcks, reconnects, resumes, retries, closes,
      violations
    case rowsCompared, gatewayStarts, linksBroken, commitsLost, longestRecoveryMilliseconds
    case before, after, problems
  }

  func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(passed, forKey: .passed)
    try fields.encode(seed, forKey: .seed)
    try fields.encode(folder, forKey: .folder)
    try fields.encode(command, forKey: .command)
    try fields.encode(machine, forKey: .machine)
    try fields.encode(seconds, forKey: .seconds)
    try fields.encode(cycles, forKey: .cycles)
    try fields.encode(faults, forKey: .faults)
    try fields.encode(counters.made, forKey: .messages)
    try fields.encode(counters.acked, forKey: .acked)
    try fields.encode(counters.delivered, forKey: .deliveries)
    try fields.encode(counters.inflated, forKey: .inflated)
    try fields.encode(counters.resent, forKey: .resent)
    try fields.encode(counters.duplicateAcks, forKey: .duplicateAcks)
    try fields.encode(counters.reconnects, forKey: .reconnects)
    try fields.encode(counters.resumes, forKey: .resumes)
    try fields.encode(counters.retries, forKey: .retries)
    try fields.encode(counters.closes, forKey: .closes)
    try fields.encode(violationCounts, forKey: .violations)
    try fields.encode(rowsCompared, forKey: .rowsCompared)
    try fields.encode(gatewayStarts, forKey: .gatewayStarts)
    try fields.encode(linksBroken, forKey: .linksBroken)
    try fields.encode(commitsLost, forKey: .commitsLost)
    try fields.encode(longestRecoveryMilliseconds, forKey: .longestRecoveryMilliseconds)
    try fields.encode(before, forKey: .before)
    try fields.encode(after, forKey: .after)
    try fields.encode(problems + violations.examples, forKey: .problems)
  }

  private var violationCounts: [String: Int] {
    Dictionary(
      uniqueKeysWithValues: Violations.Kind.allCases.map { ($0.rawValue, violations[$0]) })
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
      "felt         \(linksBroken) links broken, \(commitsLost) commits whose answer was lost, "
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
    lines.append("violations   \(violations.total) (\(list(violationCounts)))")
    lines += ["machine      \(machine)", "command      \(command)"]
    lines += (violations.examples + problems).map { "problem      \($0)" }
    lines.append(passed ? "PASS" : "FAIL  logs and data are kept in \(folder)")
    return lines.joined(separator: "\n")
  }
}
