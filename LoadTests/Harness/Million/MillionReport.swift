/// The report of `million`: a row for each size, the cost of a widget as the slope over the sizes,
/// and what bounded the number.
import Foundation
import Histogram
import Primitives

struct MillionReport {
  private let run: MillionRun
  private let result: LoopResult

  init(_ run: MillionRun, result: LoopResult) {
    self.run = run
    self.result = result
  }

  private var held: Int { run.steps.last?.widgets ?? 0 }

  func record() -> CrowdRecord {
    var record = CrowdRecord(
      command: "million",
      title: "Million: \(Format.count(held)) of \(Format.count(run.options.widgets)) widgets")
    record.record.meta.readVersions(chirrup: run.options.chirrup, database: nil)
    setUp(&record)
    record.table(
      [
        "widgets", "opened/s", "made/s", "gateway B", "kernel B", "client B", "free MiB",
        "gateway %", "postgres %", "client %", "beats/s", "ack p50", "p99", "other p50", "p99",
      ], run.steps.enumerated().map { row($1, result.phases[safely: $0]) })
    slopes(&record)
    base(&record)
    let whole =
      held == run.options.widgets ? "nothing: all widgets are held" : "the early end of the run"
    record.lines.append("bounded by   \(run.bound ?? whole)")
    record.judge(result, hasDatabase: true)
    if run.steps.isEmpty, run.bound == nil { record.fail("no size was measured") }
    figures(&record)
    return record
  }

  private func setUp(_ record: inout CrowdRecord) {
    let plan = run.plan
    record.record.add(setup: "Gateways", "\(plan.gateways), each with \(run.options.loops) loop")
    record.record.add(setup: "Client processes", "\(plan.processes), and one of the speakers")
    record.record.add(
      setup: "Set-up", "at most \(Format.number(run.options.rate)) widgets a second")
    record.record.add(
      setup: "Speakers",
      "one widget in \(Format.count(plan.speaksEvery)), in two tabs, "
        + "\(run.options.messages) messages each at every size")
  }

  // MARK: Rows

  /// A line of progress.
  static func line(_ step: MillionStep, after empty: MillionSample) -> String {
    let memory = MillionCost(step, after: empty)
    return "\(Format.count(step.widgets)) widgets: \(Format.number(step.openedPerSecond)) opened a "
      + "second; gateways \(memory.gateway), kernel \(memory.kernelText), clients "
      + "\(memory.client) bytes a widget; at rest \(percent(step.rest.gatewayCores)) + "
      + "\(percent(step.rest.postgresCores)) + \(percent(step.rest.clientCores)) % of a core "
      + "(gateways, PostgreSQL, clients), \(Format.number(step.rest.heartbeatsPerSecond)) "
      + "heartbeats a second; \(step.sample.kernel.availableBytes >> 20) MiB available"
  }

  private static func percent(_ cores: Double) -> String { String(format: "%.1f", cores * 100) }

  private func row(_ step: MillionStep, _ phase: LoopPhase?) -> [String] {
    let memory = MillionCost(step, after: run.empty)
    let ack = phase?.latencies.ack
    let delivery = phase?.latencies.delivery
    return [
      Format.count(step.widgets), Format.number(step.openedPerSecond),
      Format.number(Double(step.opened) / max(1e-3, step.prepareSeconds)), "\(memory.gateway)",
      memory.kernelText, "\(memory.client)",
      "\(step.sample.kernel.availableBytes >> 20)",
      MillionReport.percent(step.rest.gatewayCores),
      MillionReport.percent(step.rest.postgresCores),
      MillionReport.percent(step.rest.clientCores), Format.number(step.rest.heartbeatsPerSecond),
      ack.map { milliseconds(at(50, $0)) } ?? "–", ack.map { milliseconds(at(99, $0)) } ?? "–",
      delivery.map { milliseconds(at(50, $0)) } ?? "–",
      delivery.map { milliseconds(at(99, $0)) } ?? "–",
    ]
  }

  // MARK: Slopes

  private var points: [(x: Double, step: MillionStep)] {
    run.steps.map { (Double($0.widgets), $0) }
  }

  /// The cost of one more widget: with the state without widgets for memory, without it for
  /// processor time, since what an idle gateway does is no widget's.
  private func slope(_ value: (MillionSample) -> Int?) -> Double? {
    var values: [(x: Double, y: Double)] = []
    if let begin = value(run.empty) { values.append((0, Double(begin))) }
    for point in points {
      if let found = value(point.step.sample) { values.append((point.x, Double(found))) }
    }
    return Slope(values)?.slope
  }

  private func restSlope(_ value: (MillionRest) -> Double) -> Double? {
    Slope(points.map { ($0.x, value($0.step.rest)) })?.slope
  }

  private func slopes(_ record: inout CrowdRecord) {
    let memory: [(String, String, (MillionSample) -> Int?)] = [
      ("gateways", "gateway_bytes_per_widget", { $0.gateways.anonymousBytes }),
      ("kernel", "kernel_bytes_per_widget", { $0.kernel.socketBytes }),
      ("clients", "client_bytes_per_widget", { $0.clients.anonymousBytes }),
      ("PostgreSQL", "postgres_bytes_per_widget", { $0.postgres.proportionalBytes }),
      ("everything", "machine_bytes_per_widget", { -$0.kernel.availableBytes }),
    ]
    var texts: [String] = []
    for (label, figure, value) in memory {
      guard let slope = slope(value) else { continue }
      record.record.set(figure, rounded(slope, places: 0))
      texts.append("\(label) \(Format.number(slope.rounded()))")
    }
    record.lines.append("slope        \(texts.joined(separator: ", ")) bytes a widget")
    let rest: [(String, String, (MillionRest) -> Double)] = [
      ("gateways", "gateway_cores_per_thousand", { $0.gatewayCores }),
      ("PostgreSQL", "postgres_cores_per_thousand", { $0.postgresCores }),
      ("clients", "client_cores_per_thousand", { $0.clientCores }),
    ]
    texts = []
    for (label, figure, value) in rest {
      guard let slope = restSlope(value) else { continue }
      record.record.set(figure, rounded(slope * 1000, places: 6))
      texts.append("\(label) \(String(format: "%.3f", slope * 100_000))")
    }
    if !texts.isEmpty {
      record.lines.append(
        "at rest      \(texts.joined(separator: ", ")) % of a core for 1,000 widgets more")
    }
  }

  /// The cost of the processes without a widget.
  private func base(_ record: inout CrowdRecord) {
    let empty = run.empty
    let count = empty.gateways.processes
    record.lines.append(
      "a gateway    \(kibibytes(empty.gateways.proportionalBytes, count)) KiB before the first "
        + "widget, of them \(kibibytes(empty.gateways.anonymousBytes, count)) anonymous, and "
        + "\(kibibytes(empty.postgres.proportionalBytes, count)) KiB in PostgreSQL")
    record.lines.append(
      "a client     \(kibibytes(empty.clients.anonymousBytes, empty.clients.processes)) KiB")
    guard let last = run.steps.last else { return }
    record.lines.append(
      "PostgreSQL   \(run.database.connections) connections, "
        + "\(Format.number(last.rest.transactionsPerSecond)) transactions a second at rest, "
        + "\(Format.bytes(Double(run.database.bytes))) of data")
    record.record.set("postgres_connections", run.database.connections)
  }

  private func kibibytes(_ bytes: Int, _ parts: Int) -> Int { (bytes / max(1, parts)) >> 10 }

  private func figures(_ record: inout CrowdRecord) {
    record.record.set("connections", held)
    record.record.set("heartbeats", result.counters.pongs)
    for (number, step) in run.steps.enumerated() {
      let memory = MillionCost(step, after: run.empty)
      var figures = [
        "connections": Double(step.widgets), "opened_per_second": step.openedPerSecond,
        "gateway_bytes_per_widget": Double(memory.gateway),
        "client_bytes_per_widget": Double(memory.client),
        "gateway_cores": step.rest.gatewayCores, "postgres_cores": step.rest.postgresCores,
        "client_cores": step.rest.clientCores,
      ]
      if let kernel = memory.kernel { figures["kernel_bytes_per_widget"] = Double(kernel) }
      if let phase = result.phases[safely: number] {
        figures["ack_p99_ms"] = at(99, phase.latencies.ack)
        figures["delivery_p99_ms"] = at(99, phase.latencies.delivery)
      }
      record.record.rounds.append(figures)
    }
    guard let last = run.steps.last else { return }
    record.record.set("opened_per_second", rounded(last.openedPerSecond))
    record.record.set("idle_cores", rounded(last.rest.gatewayCores, places: 5))
    if let phase = result.phases[safely: run.steps.count - 1] {
      record.record.add(latency: "ack", phase.latencies.ack)
      record.record.add(latency: "delivery", phase.latencies.delivery)
    }
  }
}

/// Memory of a widget at one size: the growth since there was none.
struct MillionCost: Equatable {
  var gateway: Int
  /// Nil if it is not known.
  var kernel: Int?
  var client: Int

  var kernelText: String { kernel.map { "\($0)" } ?? "?" }

  init(_ step: MillionStep, after empty: MillionSample) {
    let count = max(1, step.widgets)
    gateway = (step.sample.gateways.anonymousBytes - empty.gateways.anonymousBytes) / count
    if let now = step.sample.kernel.socketBytes, let then = empty.kernel.socketBytes {
      kernel = (now - then) / count
    }
    client = (step.sample.clients.anonymousBytes - empty.clients.anonymousBytes) / count
  }
}

extension Array {
  subscript(safely index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}
