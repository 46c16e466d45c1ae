/// The gateway and its PostgreSQL as processes on this machine: their processor time and the
/// gateway's metrics.
import EmbeddedPostgres
import Foundation
import Kernel
import Postgres
import Primitives

enum LocalGatewayFailure: Error, CustomStringConvertible {
  case noGateway(String)

  var description: String {
    switch self {
    case .noGateway(let folder):
      "no gateway uses \(folder): \(folder)/gateway.lock names no process"
    }
  }
}

/// Processor seconds so far.
struct ProcessorUse {
  var gateway = 0.0
  var postgres = 0.0
  var generator = 0.0

  /// Microseconds per message since `begin`.
  func since(_ begin: ProcessorUse, messages: Int) -> PerMessage {
    let scale = 1e6 / Double(max(1, messages))
    return PerMessage(
      gateway: (gateway - begin.gateway) * scale, postgres: (postgres - begin.postgres) * scale,
      generator: (generator - begin.generator) * scale)
  }
}

/// Microseconds of processor time.
struct PerMessage: Encodable {
  var gateway = 0.0
  var postgres = 0.0
  var generator = 0.0
}

final class LocalGateway {
  let database: String
  let loops: Int
  private let target: Target
  private let gateway: Int
  private let postmaster: Int
  private let sql: BlockingConnection

  init(target: Target, dataDirectory: String) throws {
    self.target = target
    database = try PrivateCluster.attach(dataDirectory: dataDirectory)
    sql = try BlockingConnection(database)
    guard let gateway = LocalGateway.process(in: dataDirectory + "/gateway.lock"),
      let postmaster = LocalGateway.postmaster(of: dataDirectory)
    else { throw LocalGatewayFailure.noGateway(dataDirectory) }
    self.gateway = gateway
    self.postmaster = postmaster
    loops = try GatewayMetrics.read(target).loops
  }

  /// The first process of the private PostgreSQL.
  static func postmaster(of dataDirectory: String) -> Int? {
    process(in: dataDirectory + "/postgres/data/postmaster.pid")
  }

  static func process(in path: String) -> Int? {
    FileManager.default.contents(atPath: path).flatMap {
      Int(String(decoding: $0, as: UTF8.self).prefix { $0.isNumber })
    }
  }

  // MARK: Processor time

  func use() -> ProcessorUse {
    var use = ProcessorUse()
    use.gateway = ProcessSample(process: gateway)?.seconds ?? 0
    use.generator = ProcessSample(process: Int(getpid()))?.seconds ?? 0
    use.postgres = LocalGateway.family(of: postmaster)
    return use
  }

  /// Processor seconds of a server's processes, including those that have ended.
  static func family(of parent: Int) -> Double {
    children(of: parent).reduce(
      ProcessSample(process: parent, isBrief: true)?.secondsWithChildren ?? 0
    ) { $0 + (ProcessSample(process: $1, isBrief: true)?.seconds ?? 0) }
  }

  static func children(of parent: Int) -> [Int] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { Int($0) }.filter {
      ProcessSample(process: $0, isBrief: true)?.parent == parent
    }
  }

  // MARK: /metrics

  /// Waits until the metrics, which each loop publishes twice a second, include `committed`
  /// messages.
  func figures(committed: Int = 0) throws -> GatewayMetrics {
    for _ in 0..<1_200 {
      let figures = try GatewayMetrics.read(target)
      if figures.committed >= committed { return figures }
      usleep(50_000)
    }
    throw MetricsFailure.noMetrics("they lack acknowledged messages after a minute")
  }

  // MARK: The database

  /// The mean number of sessions in a batch: all rows of a batch have the same time.
  func sessionsPerBatch(since: WallTime) throws -> Double {
    let rows = try sql.run(
      Query(
        """
        SELECT count(*), count(DISTINCT created_at) FROM (
          SELECT DISTINCT session_id, created_at FROM chats WHERE created_at >= $1) AS parts
        """, [.time(since)]))
    return Double(rows.int(0, 0) ?? 0) / Double(max(1, rows.int(0, 1) ?? 1))
  }

  func run(_ query: Query) throws -> Rows { try sql.run(query) }
}
