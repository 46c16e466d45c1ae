/// The one PostgreSQL of `million`: a private cluster of its own, or one of the user's.
import EmbeddedPostgres
import Foundation
import Kernel
import Postgres
import Primitives

final class MillionDatabase {
  let url: String
  private let cluster: PrivateCluster?
  private let dataDirectory: String

  /// Connections of a gateway with one loop that does everything; some open on demand.
  static let connectionsOfGateway = 12
  /// Of this program and of `chirrup token`, and some of a superuser.
  private static let connectionsBesides = 20
  /// A gateway keeps no more pages of the buffers mapped than this; each server process has tables
  /// for the pages that it has touched.
  private static let sharedBuffersMebibytes = 256

  static func connections(gateways: Int, loops: Int) -> Int {
    gateways * (connectionsOfGateway + 2 * (loops - 1)) + connectionsBesides
  }

  /// - Parameter url: of an existing database; nil creates a cluster in `folder`.
  init(url: String?, folder: String, gateways: Int, loops: Int) throws {
    let needed = MillionDatabase.connections(gateways: gateways, loops: loops)
    dataDirectory = folder + "/database"
    if let url {
      self.url = url
      cluster = nil
      try check(needed)
      return
    }
    // The first start writes the configuration, the second one uses the additions.
    let first = PrivateCluster(dataDirectory: dataDirectory)
    try first.start()
    first.stop()
    try MillionDatabase.append(
      "max_connections = \(needed)\nshared_buffers = \(MillionDatabase.sharedBuffersMebibytes)MB\n",
      to: dataDirectory + "/postgres/data/postgresql.conf")
    let cluster = PrivateCluster(dataDirectory: dataDirectory)
    try cluster.start()
    self.url = cluster.url
    self.cluster = cluster
  }

  func stop() { cluster?.stop() }

  private static func append(_ text: String, to path: String) throws {
    let file = try FileHandle(forWritingTo: URL(filePath: path))
    try file.seekToEnd()
    try file.write(contentsOf: Data(text.utf8))
    try file.close()
  }

  private func check(_ needed: Int) throws {
    let rows = try BlockingConnection(url).run(
      Query("SELECT current_setting('max_connections')::int8"))
    let allowed = Int(rows.int(0, 0) ?? 0)
    guard allowed >= needed else {
      throw WorkerFailure(
        description: "PostgreSQL allows \(allowed) connections (max_connections), and the gateways "
          + "may need \(needed); raise it, or use fewer widgets")
    }
  }

  /// The first process of the server; nil if it is not on this machine.
  var postmaster: Int? {
    if cluster != nil { return LocalGateway.postmaster(of: dataDirectory) }
    let folder = try? BlockingConnection(url).run(
      Query("SELECT current_setting('data_directory')")
    ).text(0, 0)
    return folder.flatMap { LocalGateway.process(in: $0 + "/postmaster.pid") }
  }

  struct State: Equatable {
    var connections = 0
    var transactions = 0
    var bytes = 0
  }

  func state() throws -> State {
    let rows = try BlockingConnection(url).run(
      Query(
        """
        SELECT (SELECT count(*) FROM pg_stat_activity
            WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()),
          (SELECT xact_commit + xact_rollback FROM pg_stat_database
            WHERE datname = current_database()),
          pg_database_size(current_database())
        """))
    return State(
      connections: Int(rows.int(0, 0) ?? 0), transactions: Int(rows.int(0, 1) ?? 0),
      bytes: Int(rows.int(0, 2) ?? 0))
  }
}
