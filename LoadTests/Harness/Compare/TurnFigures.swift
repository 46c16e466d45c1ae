/// The figures of one turn, read from the JSON of `chirrup-load KIND --json`.
import Foundation

struct TurnFigures: Codable, Equatable {
  /// Messages, deliveries, handshakes or connections.
  var count: Int
  var perSecond: Double?
  var cpuMicroseconds: Double?
  /// Of all processes of the server's PostgreSQL.
  var databaseMicroseconds: Double?
  var bytesPerConnection: Double?
  /// Milliseconds.
  var p99: Double?
  var ackP50: Double?
  var ackP99: Double?
  var ceiling: Double?
  var idleCores: Double?
  var costGrowth: Double?
  var memoryGrowth: Double?
  /// Share of the client's core; near 1 the throughput is limited by the client.
  var clientLoad: Double?
  /// Cores used by all other processes meanwhile, without the server's PostgreSQL.
  var neighbourCores: Double?

  subscript(figure: ComparedFigure) -> Double? {
    switch figure {
    case .cpu: cpuMicroseconds
    case .databaseCPU: databaseMicroseconds
    case .throughput: perSecond
    case .memory: bytesPerConnection
    case .ackP50: ackP50
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
      throw PlanFailure("the workload's JSON cannot be read: \(PlanFailure.text(error))")
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
    // The cost of a delivery, unless a message was committed for each.
    cpuMicroseconds =
      report.serverCpuUsPerMessage
      ?? (rest["delivery_cost_ratio"] == nil ? rest["gateway_cpu_us_per_message"] : nil)
    databaseMicroseconds = rest["postgres_cpu_us_per_message"]
    ackP50 = rest["ack_p50_ms"]
    ackP99 = rest["half_ack_p99_ms"] ?? rest["ack_p99_ms"]
    ceiling = rest["gateway_over_direct"]
    costGrowth = rest["delivery_cost_ratio"]
    // Measured over a time that is long enough for the pings.
    idleCores = costGrowth == nil ? nil : rest["idle_cores"]
    memoryGrowth = rest["memory_ratio"]
    bytesPerConnection = rest["resident_bytes_per_connection"]
    if let bytes = bytesPerConnection, bytes <= 0 {
      throw PlanFailure("the server's memory did not grow: it had more connections before")
    }
    p99 = report.latencyUs.map { $0.p99 / 1000 }
    clientLoad = report.clientUtilisation ?? rest["generator_cores"]
  }
}

/// The compared part of the workloads' JSON. `idle` writes a record with figures by name.
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

/// Processor time used by all processes except a server, its PostgreSQL, this process and its
/// children.
struct Neighbours {
  let seconds: Double

  init?(server: Int, postmaster: Int?) {
    guard let data = FileManager.default.contents(atPath: "/proc/stat"),
      let all = Neighbours.busyTicks(String(decoding: data, as: UTF8.self)),
      let server = ProcessSample(process: server),
      let own = ProcessSample(process: Int(getpid()))
    else { return nil }
    seconds =
      all / Double(sysconf(Int32(_SC_CLK_TCK))) - server.seconds
      - own.secondsWithChildren - (postmaster.map { LocalGateway.family(of: $0) } ?? 0)
  }

  /// proc_stat(5): `cpu  user nice system idle iowait irq softirq …`, without the idle times.
  static func busyTicks(_ text: String) -> Double? {
    guard let line = text.split(separator: "\n").first, line.hasPrefix("cpu ") else { return nil }
    let ticks = line.split(separator: " ").dropFirst().compactMap { Double($0) }
    guard ticks.count >= 7 else { return nil }
    return ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]
  }
}
