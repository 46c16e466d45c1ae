/// The private PostgreSQL of a torture, which is stopped, frozen, and whose processes are killed.
import EmbeddedPostgres
import Foundation
import Kernel
import Postgres
import Primitives

enum TortureFailure: Error, CustomStringConvertible {
  case noServer(String)
  case gateway(String)
  case clients(String)

  var description: String {
    switch self {
    case .noServer(let what): "PostgreSQL: \(what)"
    case .gateway(let event): "the gateway \(event)"
    case .clients(let what): what
    }
  }
}

final class TortureDatabase {
  /// Connects directly, without a proxy, for the verifier.
  let url: String
  /// The server's socket.
  let socket: String
  private let cluster: PrivateCluster
  private let data: String
  /// The processes that `freeze` stopped.
  private var frozen: [Int32] = []

  private static let endMilliseconds: Int64 = 30_000

  init(directory: String) throws {
    cluster = PrivateCluster(dataDirectory: directory, restartsByItself: false)
    try cluster.start()
    url = cluster.url
    data = directory + "/postgres/data"
    let lines = try TortureDatabase.pidFile(data)
    guard lines.count > 4 else { throw TortureFailure.noServer("postmaster.pid is short") }
    socket = lines[4] + "/.s.PGSQL.5432"
  }

  deinit { stop() }

  /// `pg_ctl stop -m immediate`: without a checkpoint.
  func stopImmediately() throws {
    let process = try postmaster()
    let descriptor = try ProcessDescriptor(process)
    kill(process, SIGQUIT)
    guard try descriptor.awaitEnd(milliseconds: TortureDatabase.endMilliseconds) else {
      throw TortureFailure.noServer("process \(process) does not stop")
    }
  }

  /// Returns after the recovery.
  func startAgain() throws { try cluster.crashAndRestart() }

  /// Sends SIGSTOP to the server and all its children, including new ones.
  func freeze() throws {
    let process = try postmaster()
    kill(process, SIGSTOP)
    frozen = [process] + TortureDatabase.children(of: process)
    for child in frozen.dropFirst() { kill(child, SIGSTOP) }
  }

  func thaw() {
    for process in frozen.reversed() { kill(process, SIGCONT) }
    frozen = []
  }

  /// The server processes of the gateway's connections.
  func backends() throws -> [Int32] {
    let connection = try BlockingConnection(url)
    let rows = try connection.run(
      Query(
        """
        SELECT pid FROM pg_stat_activity
        WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY pid
        """))
    return (0..<rows.count).compactMap { rows.int($0, 0).map { Int32($0) } }
  }

  /// Ends them with `pg_terminate_backend`.
  func terminate(_ backends: [Int32]) throws {
    let connection = try BlockingConnection(url)
    for backend in backends {
      try connection.run(
        Query("SELECT pg_terminate_backend($1::int8::int4)", [.int(Int64(backend))]))
    }
  }

  func stop() {
    thaw()
    cluster.stop()
  }

  private func postmaster() throws -> Int32 {
    guard let process = try TortureDatabase.pidFile(data).first.flatMap({ Int32($0) }) else {
      throw TortureFailure.noServer("postmaster.pid contains no process id")
    }
    return process
  }

  private static func pidFile(_ data: String) throws -> [String] {
    try String(contentsOfFile: data + "/postmaster.pid", encoding: .utf8)
      .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  private static func children(of parent: Int32) -> [Int32] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { Int32($0) }.filter {
      ProcessSample(process: Int($0), isBrief: true)?.parent == Int(parent)
    }
  }
}
