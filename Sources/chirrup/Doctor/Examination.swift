/// The subject of `chirrup doctor`: the settings, and what earlier checks have found, which later
/// ones need. Nothing here changes the gateway, the database or a file.
import EmbeddedPostgres
import Gateway
import Kernel
import Migrator
import Postgres
import Primitives
import Settings
import Synchronization

final class Examination: Sendable {
  struct Facts: Sendable {
    /// Whether a gateway answers at an address of `listen` or `tls.listen`.
    var gatewayAnswers = false
    /// Its process; nil if only root may see it.
    var process: Int32?
    /// The URL of PostgreSQL, once it has answered.
    var database: String?
    /// How a request to `public_url` arrived at the gateway.
    var arrival: Arrival?
  }

  /// The time limit of a statement of a check.
  private static let statementMilliseconds = 5_000

  /// The settings; or why they are not valid.
  let loaded: Result<(settings: Settings, warnings: [String]), SettingsFault>
  /// A PEM file of certificates to trust instead of the system's.
  let authority: String?
  private let known = Mutex(Facts())

  init(
    _ loaded: Result<(settings: Settings, warnings: [String]), SettingsFault>, authority: String?
  ) {
    self.loaded = loaded
    self.authority = authority
  }

  /// The settings; the checks after the first run only if they are valid.
  var settings: Settings { (try? loaded.get().settings) ?? Settings() }

  var facts: Facts { known.withLock { $0 } }

  func note(_ change: sending (inout Facts) -> Void) { known.withLock { change(&$0) } }

  // MARK: PostgreSQL

  enum Role { case gateway, owner }

  /// The URL of the database without its pooler; nil if the private PostgreSQL does not run: only a
  /// gateway starts it.
  func url(as role: Role) -> String? {
    let direct = settings.databaseDirectURL ?? settings.databaseURL
    if let direct { return role == .owner ? settings.migrationsURL ?? direct : direct }
    guard let own = try? PrivateCluster.attach(dataDirectory: settings.dataDirectory) else {
      return nil
    }
    return role == .owner ? own : PrivateCluster.gatewayURL(own)
  }

  /// Runs `body` on a new connection, in a read-only transaction that is rolled back.
  ///
  /// - Returns: a diagnosis that skips the check if PostgreSQL has not answered before.
  func reading(
    as role: Role = .gateway, _ body: (BlockingConnection) throws -> Diagnosis
  ) throws -> Diagnosis {
    try connected(as: role) { connection in
      // For the transaction only: behind a pooler, other clients get the same connection.
      try connection.execute(script: "BEGIN READ ONLY")
      defer { try? connection.execute(script: "ROLLBACK") }
      try connection.execute(
        script: "SET LOCAL statement_timeout = \(Examination.statementMilliseconds)")
      return try body(connection)
    }
  }

  /// Likewise, without a transaction.
  func connected(
    as role: Role = .gateway, _ body: (BlockingConnection) throws -> Diagnosis
  ) throws -> Diagnosis {
    guard facts.database != nil, let url = url(as: role) else {
      return .skipped("PostgreSQL does not answer")
    }
    return try body(BlockingConnection(url))
  }
}

/// A file of /proc or /sys, trimmed; nil if it cannot be read.
func kernelText(_ path: String) -> String? {
  (try? TextFile.read(path, bytesMax: TextFile.tableBytesMax)).map {
    String($0.trimmingSuffix(while: \.isWhitespace))
  }
}

extension String {
  func trimmingSuffix(while isTrimmed: (Character) -> Bool) -> Substring {
    var end = endIndex
    while end > startIndex, isTrimmed(self[index(before: end)]) { end = index(before: end) }
    return self[..<end]
  }
}
