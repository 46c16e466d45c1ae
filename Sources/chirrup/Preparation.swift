/// What must be true before a gateway can answer: a database that is there, has this version's
/// schema and a signing key, and with --demo the demo's workspace.
import Archive
import Migrator
import OpenSSL
import Postgres
import Settings

struct Preparation {
  var databaseURL: String
  var signingKey: [UInt8]
  var demo: DemoWorkspace?

  /// Waits for a database that does not answer, with growing pauses, and says so; meanwhile a
  /// `StartupProbe` answers load balancers. `isStopping` ends the wait.
  ///
  /// - Returns: nil when it was told to stop.
  static func complete(
    _ settings: Settings, databaseURL: String, isStopping: () -> Bool
  ) throws -> Preparation? {
    var backoff = Backoff()
    var probe: StartupProbe?
    while !isStopping() {
      do {
        return try attempt(settings, databaseURL: databaseURL)
      } catch let failure where isUnavailable(failure) {
        backoff.tell(failure)
        let open = try probe ?? StartupProbe(settings)
        probe = open
        try open.wait(milliseconds: backoff.next(), unless: isStopping)
      }
    }
    return nil
  }

  private static func attempt(_ settings: Settings, databaseURL: String) throws -> Preparation {
    let connection = try BlockingConnection(settings.databaseDirectURL ?? databaseURL)
    let migrator = try Migrator(connection)
    if settings.migrate {
      try migrator.up(report: CommandOutput(json: false).tell)
    } else {
      let pending = try migrator.plan()
      guard pending.isEmpty else {
        throw CommandFailure(
          "the schema is not up to date and --no-migrate is set; pending: "
            + pending.map(\.revision).joined(separator: ", ") + "; run chirrup migrate up")
      }
    }
    if try Archive.renewIfRestored(connection) {
      Terminal.tell("this database was restored or promoted: clients will start their copies over")
    }
    let key = try Database.signingKey(connection)
    let demo = settings.demo ? try DemoWorkspace.prepare(connection, signingKey: key) : nil
    return Preparation(databaseURL: databaseURL, signingKey: key, demo: demo)
  }

  /// A server that is not there (yet), as opposed to one that refuses.
  private static func isUnavailable(_ failure: any Error) -> Bool {
    switch failure {
    case QueryFailure.unavailable, MigrationFailure.unavailable: true
    default: false
    }
  }
}

/// Pauses of 0.25 s, doubled up to 8 s, each halved at random so that many gateways do not knock
/// together.
private struct Backoff {
  private var milliseconds: Int64 = 250
  private var lastReason = ""

  /// Each new reason once: a database may be away for hours.
  mutating func tell(_ failure: any Error) {
    let reason = "\(failure)"
    if reason != lastReason { Terminal.tell("waiting for the database: \(reason)") }
    lastReason = reason
  }

  mutating func next() -> Int64 {
    defer { milliseconds = min(milliseconds * 2, 8_000) }
    return milliseconds / 2 + Int64(SecureRandom.word() % UInt64(milliseconds / 2))
  }
}
