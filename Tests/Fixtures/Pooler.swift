import Foundation
import Glibc
import Postgres

/// A PgBouncer in transaction mode before a test's server, configured as packaged, over a Unix
/// socket. It uses its two server connections in turn, so that session state is lost with the next
/// transaction.
public final class Pooler {
  public struct Failure: Error, CustomStringConvertible {
    public var description: String
  }

  /// The URL of the database through the pooler.
  public let url: String
  private let folder: String
  private let behind: String
  /// The database name that clients use.
  private let name: String
  private let account: String?
  private var process: Process?

  private static let poolSize = 2

  /// - Parameter url: a cluster's, with the socket's folder as `host`.
  public init(before url: String) throws {
    let parts = url.split(separator: "?")
    let fields = parts[1].split(separator: "&").map { $0.split(separator: "=", maxSplits: 1) }
    guard let host = fields.first(where: { $0[0] == "host" })?[1].removingPercentEncoding else {
      throw Failure(description: "no socket's folder in \(url)")
    }
    behind = host
    name = String(parts[0].split(separator: "/").last ?? "")
    // Only the server's account may access its folder.
    let attributes = try FileManager.default.attributesOfItem(atPath: host)
    account = getuid() == 0 ? attributes[.ownerAccountName] as? String : nil
    folder = NSTemporaryDirectory() + "chirrup-pooler-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    if let account {
      try FileManager.default.setAttributes([.ownerAccountName: account], ofItemAtPath: folder)
    }
    self.url = "\(parts[0])?host=\(folder)&port=6432&user=chirrup"
    try configure(database: name)
    try start()
  }

  deinit {
    stop()
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// Connects its clients to another database from now on.
  public func lead(to database: String) throws {
    try configure(database: database)
    // Not by SIGHUP, which a process may have inherited as ignored.
    guard try obeys("RELOAD") else { throw Failure(description: "RELOAD is refused") }
  }

  /// Whether the pooler's console accepts a command. It has the simple query protocol only, so not
  /// by a connection of ours.
  private func obeys(_ command: String) throws -> Bool {
    let program = Process()
    program.executableURL = URL(filePath: "/usr/bin/env")
    program.arguments = [
      "psql", "--no-psqlrc", "--quiet", "--command", command,
      "postgresql:///pgbouncer?host=\(folder)&port=6432&user=chirrup",
    ]
    program.standardError = FileHandle.nullDevice
    program.standardOutput = FileHandle.nullDevice
    try program.run()
    program.waitUntilExit()
    return program.terminationStatus == 0
  }

  private func configure(database: String) throws {
    let text = """
      [databases]
      \(name) = host=\(behind) user=chirrup dbname=\(database)
      [pgbouncer]
      listen_addr =
      listen_port = 6432
      unix_socket_dir = \(folder)
      auth_type = any
      admin_users = chirrup
      log_connections = 0
      log_disconnections = 0
      pool_mode = transaction
      default_pool_size = \(Pooler.poolSize)
      min_pool_size = \(Pooler.poolSize)
      server_round_robin = 1
      logfile = \(folder)/log
      """
    try text.write(toFile: "\(folder)/pgbouncer.ini", atomically: true, encoding: .utf8)
    if let account {
      try FileManager.default.setAttributes(
        [.ownerAccountName: account], ofItemAtPath: "\(folder)/pgbouncer.ini")
    }
  }

  /// Returns when it answers: its socket is in the folder a moment before it listens.
  public func start() throws {
    let program = Process()
    program.executableURL = URL(filePath: "/usr/bin/env")
    program.environment = ["PATH": "/usr/sbin:/usr/bin:/bin:/usr/local/sbin:/usr/local/bin"]
    let user = account.map { ["--user", $0] } ?? []
    program.arguments = ["pgbouncer", "--quiet"] + user + ["\(folder)/pgbouncer.ini"]
    program.standardError = FileHandle.nullDevice
    program.standardOutput = FileHandle.nullDevice
    try program.run()
    process = program
    while try !obeys("SHOW VERSION") {
      guard program.isRunning else {
        throw Failure(description: "pgbouncer does not start; is the package installed? \(log)")
      }
      usleep(10_000)
    }
  }

  /// Stops at once: open connections are cut.
  public func stop() {
    guard let process else { return }
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    self.process = nil
    // Files left by a killed pooler prevent the next start.
    try? FileManager.default.removeItem(atPath: "\(folder)/.s.PGSQL.6432")
    try? FileManager.default.removeItem(atPath: "\(folder)/.s.PGSQL.6432.lock")
  }

  public func restart() throws {
    stop()
    try start()
  }

  private var log: String {
    (try? String(contentsOfFile: "\(folder)/log", encoding: .utf8)) ?? ""
  }
}
