/// How a command reaches the database: the one that is configured, the private cluster that a
/// running gateway has started, or that cluster started only for this command.
import Cluster
import Directory
import Kernel
import Migrator
import OpenSSL
import Postgres
import Primitives
import Settings

/// Why a command did not do its work, in a sentence for the person who typed it.
struct CommandFailure: Error, CustomStringConvertible {
  var description: String

  init(_ description: String) { self.description = description }
}

enum Database {
  /// How long a command waits for a gateway that is starting the cluster.
  private static let startMilliseconds: Int64 = 30_000

  static func withConnection<Result>(
    _ settings: Settings, _ body: (BlockingConnection) throws -> Result
  ) throws -> Result {
    if let url = settings.databaseDirectURL ?? settings.databaseURL {
      return try body(BlockingConnection(url))
    }
    Cluster.forgetClientSettings()
    let deadline = SystemClock.now().advanced(byMilliseconds: startMilliseconds)
    while true {
      if let url = try? Cluster.attach(dataDirectory: settings.dataDirectory) {
        return try body(BlockingConnection(url))
      }
      let cluster = Cluster(dataDirectory: settings.dataDirectory)
      do throws(ClusterFailure) {
        try cluster.start()
      } catch {
        // A gateway holds the cluster and has not finished starting it.
        guard case .inUse = error, SystemClock.now() < deadline else { throw error }
        try Epoll.pause(milliseconds: 200)
        continue
      }
      defer { cluster.stop() }
      return try body(BlockingConnection(cluster.url))
    }
  }

  /// Where the database is, within the body of `withConnection`, whose connection is open.
  static func url(_ settings: Settings) throws -> String {
    try settings.databaseDirectURL ?? settings.databaseURL
      ?? Cluster.attach(dataDirectory: settings.dataDirectory)
  }

  /// The same, for commands that read and write the product's tables.
  static func withCurrentSchema<Result>(
    _ settings: Settings, _ body: (BlockingConnection) throws -> Result
  ) throws -> Result {
    try withConnection(settings) { connection in
      try checkSchema(connection)
      return try body(connection)
    }
  }

  static func checkSchema(_ connection: BlockingConnection) throws {
    let migrator = try Migrator(connection)
    var pending = try migrator.plan()
    if !pending.isEmpty {
      // A gateway that has just started may be at it.
      try Epoll.pause(milliseconds: 2_000)
      pending = try migrator.plan()
    }
    guard pending.isEmpty else {
      throw CommandFailure(
        "the database lacks \(pending.count) migrations (first \(pending[0].revision)); "
          + "run chirrup migrate up, or start the gateway")
    }
  }

  /// The key that signs tokens: made by whoever needs it first, the same for every gateway of this
  /// database.
  static func signingKey(_ connection: BlockingConnection) throws -> [UInt8] {
    let statement = SigningKey.getOrCreate(id: "tokens", candidate: SecureRandom.bytes(32))
    guard let key = try connection.ask(statement) else {
      throw CommandFailure("the database gave no signing key")
    }
    return key
  }
}

extension BlockingConnection {
  func ask<Answer>(_ statement: Directory.Statement<Answer>) throws -> Answer {
    statement.answer(try run(statement.query))
  }

  func workspace(named name: String) throws -> Workspace {
    guard let workspace = try ask(Workspace.named(name)) else {
      throw CommandFailure(
        "there is no workspace \"\(name)\"; make it with chirrup workspace create \(name)")
    }
    return workspace
  }
}

extension Epoll {
  /// Waits for nothing.
  static func pause(milliseconds: Int32) throws {
    let epoll = try Epoll()
    var events = Events(capacity: 1)
    try epoll.wait(into: &events, timeoutMilliseconds: milliseconds)
  }
}

extension Identifier {
  static func fresh() -> Identifier {
    Identifier(
      version7At: SystemClock.wallTime(),
      randomHigh: UInt16(truncatingIfNeeded: SecureRandom.word()), randomLow: SecureRandom.word())
  }
}
