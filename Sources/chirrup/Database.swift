/// Connects a command to the database: the configured one, the private PostgreSQL of a running
/// gateway, or that PostgreSQL started only for this command.
import Directory
import EmbeddedPostgres
import Gateway
import Kernel
import Migrator
import Postgres
import Primitives
import Settings
import Tokens

/// The error of a command, as a sentence for the administrator.
struct CommandFailure: Error, CustomStringConvertible {
  var description: String

  init(_ description: String) { self.description = description }
}

enum Database {
  /// The user of a command's connection.
  enum User {
    /// The user of a gateway, whose privileges suffice for most commands.
    case gateway
    /// The owner of the tables, for migrations and for what reads an application's tables.
    case owner
  }

  /// How long a command waits for a gateway that is starting the private PostgreSQL.
  private static let startMilliseconds: Int64 = 30_000

  static func withConnection<Result>(
    _ settings: Settings, as user: User = .gateway,
    _ body: (BlockingConnection) throws -> Result
  ) throws -> Result {
    if let url = settings.url(for: user) { return try body(BlockingConnection(url)) }
    PrivateCluster.forgetClientSettings()
    let deadline = SystemClock.now().advanced(byMilliseconds: startMilliseconds)
    while true {
      if let url = try? PrivateCluster.attach(dataDirectory: settings.dataDirectory) {
        return try body(connect(url, as: user))
      }
      let cluster = PrivateCluster(dataDirectory: settings.dataDirectory)
      do throws(ClusterFailure) {
        try cluster.start()
      } catch {
        // A gateway has locked the data directory and is still starting its server.
        guard case .inUse = error, SystemClock.now() < deadline else { throw error }
        Thread.sleep(milliseconds: 200)
        continue
      }
      defer { cluster.stop() }
      return try body(connect(cluster.url, as: user))
    }
  }

  /// Connects to the private PostgreSQL. The gateway's role exists once migrations have run.
  private static func connect(
    _ url: String, as user: User
  ) throws(QueryFailure) -> BlockingConnection {
    if user == .gateway,
      let connection = try? BlockingConnection(PrivateCluster.gatewayURL(url))
    {
      return connection
    }
    return try BlockingConnection(url)
  }

  /// The URL of the database. Valid only within the body of `withConnection`, which keeps the
  /// private PostgreSQL running.
  static func url(_ settings: Settings) throws -> String {
    try settings.url(for: .gateway)
      ?? PrivateCluster.gatewayURL(PrivateCluster.attach(dataDirectory: settings.dataDirectory))
  }

  /// Like `withConnection`, but throws if migrations are pending.
  static func withCurrentSchema<Result>(
    _ settings: Settings, as user: User = .gateway,
    _ body: (BlockingConnection) throws -> Result
  ) throws -> Result {
    try withConnection(settings, as: user) { connection in
      try checkSchema(connection)
      return try body(connection)
    }
  }

  static func checkSchema(_ connection: BlockingConnection) throws {
    let migrator = try Migrator(connection)
    guard case .pending = try migrator.status().standing() else { return }
    // A gateway that has just started may be applying them.
    Thread.sleep(milliseconds: 2_000)
    if case .pending(let pending) = try migrator.status().standing() {
      throw CommandFailure(
        "\(pending.count) migrations are pending (the first is \(pending[0].revision)); "
          + "run chirrup migrate up, or start the gateway")
    }
  }
}

extension Settings {
  /// The URL of the database without its pooler; nil for the private PostgreSQL.
  fileprivate func url(for user: Database.User) -> String? {
    let direct = databaseDirectURL ?? databaseURL
    return user == .owner ? migrationsURL ?? direct : direct
  }
}

extension BlockingConnection {
  func run<Answer>(_ statement: Directory.Statement<Answer>) throws -> Answer {
    statement.answer(try run(statement.query))
  }

  func workspace(named name: String) throws -> Workspace {
    guard let workspace = try run(Workspace.named(name)) else {
      throw CommandFailure(
        "there is no workspace \"\(name)\"; create it with: chirrup workspace create \(name)")
    }
    return workspace
  }
}
