/// The figures of one turn, read from what `chirrup-load KIND --json` wrote.
import Foundation

struct TurnFigures: Codable, Equatable {
  /// Messages, deliveries, handshakes or connections.
  var count: Int
  var perSecond: Double?
  var cpuMicroseconds: Double?
  var bytesPerConnection: Double?
  /// Milliseconds.
  var p99: Double?
  var ackP99: Double?
  var ceiling: Double?
  var idleCores: Double?
  var costGrowth: Double?
  var memoryGrowth: Double?
  /// Of the core that the client had: near 1 the throughput is the client's.
  var clientLoad: Double?
  /// Cores' worth of everything else that ran meanwhile, the gateway's PostgreSQL included.
  var neighbourCores: Double?

  subscript(figure: ComparedFigure) -> Double? {
    switch figure {
    case .cpu: cpuMicroseconds
    case .throughput: perSecond
    case .memory: bytesPerConnection
    case .ackP99: ackP99
    case .ceiling: ceiling
    case .idle: idleCores
    case .costGrowth: costGrowth
    case .memoryGrowth: memoryGrowth
    }
  }
}

extension TurnFigures {
  init(_ json: Data) throws {
    let report: WorkloadReport
    do {
      let decoder = JSONDecoder()
      decoder.keyDecodingStrategy = .convertFromSnakeCase
      report = try decoder.decode(WorkloadReport.self, from: json)
    } catch {
      throw PlanFailure("the workload's JSON is not understood: \(PlanFailure.text(error))")
    }
    guard report.passed != false, report.problems?.isEmpty != false else {
      throw PlanFailure((report.problems ?? ["it did not pass"]).joined(separator: "; "))
    }
    let rest = report.figures ?? [:]
    let counts = ["acked", "rows_compared", "connections"].lazy.compactMap { rest[$0] }
    guard let count = report.messages ?? counts.first.map({ Int($0) }), count > 0 else {
      throw PlanFailure("nothing was measured")
    }
    self.count = count
    perSecond = report.messagesPerSecond ?? rest["acked_per_second"]
    // A delivery's only where no message was committed for each.
    cpuMicroseconds =
      report.serverCpuUsPerMessage
      ?? (rest["delivery_cost_ratio"] == nil ? rest["gateway_cpu_us_per_message"] : nil)
    ackP99 = rest["half_ack_p99_ms"] ?? rest["ack_p99_ms"]
    ceiling = rest["gateway_over_direct"]
    costGrowth = rest["delivery_cost_ratio"]
    // After a rest that is long enough for the pings.
    idleCores = costGrowth == nil ? nil : rest["idle_cores"]
    memoryGrowth = rest["memory_ratio"]
    bytesPerConnection = rest["resident_bytes_per_connection"]
    if let bytes = bytesPerConnection, bytes <= 0 {
      throw PlanFailure("the server's memory did not grow: it had held more connections before")
    }
    p99 = report.latencyUs.map { $0.p99 / 1000 }
    clientLoad = report.clientUtilisation ?? rest["generator_cores"]
  }
}

/// The part of the workloads' JSON that is compared; `idle` has a record with figures by name.
private struct WorkloadReport: Decodable {
  struct Latency: Decodable { var p99: Double }

  var messages: Int?
  var messagesPerSecond: Double?
  var serverCpuUsPerMessage: Double?
  var clientUtilisation: Double?
  var latencyUs: Latency?
  var problems: [String]?
  var passed: Bool?
  var figures: [String: Double]?
}

/// What has been used of the machine so far by everything but a server and this process with its
/// children.
struct Neighbours {
  let seconds: Double

  init?(server: Int) {
    guard let data = FileManager.default.contents(atPath: "/proc/stat"),
      let all = Neighbours.busyTicks(String(decoding: data, as: UTF8.self)),
      let server = ProcessSample(process: server),
      let own = ProcessSample(process: Int(getpid()))
    else { return nil }
    seconds = all / Double(sysconf(Int32(_SC_CLK_TCK))) - server.seconds - own.secondsWithChildren
  }

  /// proc_stat(5): `cpu  user nice system idle iowait irq softirq …`; what is idle is not counted.
  static func busyTicks(_ text: String) -> Double? {
    guard let line = text.split(separator: "\n").first, line.hasPrefix("cpu ") else { return nil }
    let ticks = line.split(separator: " ").dropFirst().compactMap { Double($0) }
    guard ticks.count >= 7 else { return nil }
    return ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]
  }
}
