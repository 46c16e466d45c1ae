/// The preconditions of a gateway: a database that answers, with this version's schema and a
/// signing key, and with --demo the demo workspace.
import DataRetention
import Migrator
import OpenSSL
import Postgres
import Settings

struct Preparation {
  var databaseURL: String
  var signingKey: [UInt8]
  var demo: DemoWorkspace?

  /// Retries with growing pauses while the database does not answer, and prints the reason. A
  /// `StartupProbe` answers load balancers meanwhile.
  ///
  /// - Returns: nil once `isStopping` returns true.
  static func complete(
    _ settings: Settings, databaseURL: String, isStopping: () -> Bool
  ) throws -> Preparation? {
    var backoff = Backoff()
    var probe: StartupProbe?
    while !isStopping() {
      do {
        return try attempt(settings, databaseURL: databaseURL)
      } catch let failure where isUnavailable(failure) {
        backoff.report(failure)
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
      try migrator.up(report: CommandOutput(json: false).report)
    } else {
      let pending = try migrator.plan()
      guard pending.isEmpty else {
        throw CommandFailure(
          "the schema is not up to date and --no-migrate is set; pending: "
            + pending.map(\.revision).joined(separator: ", ")
            + "; run chirrup migrate up, or start without --no-migrate")
      }
    }
    if try StoredData.renewIfRestored(connection) {
      Terminal.note(
        "this database was restored or promoted: clients discard their copies and load them again")
    }
    let key = try Database.signingKey(connection)
    let demo = settings.demo ? try DemoWorkspace.prepare(connection, signingKey: key) : nil
    return Preparation(databaseURL: databaseURL, signingKey: key, demo: demo)
  }

  /// Whether the server does not answer (yet), as opposed to refusing a statement.
  private static func isUnavailable(_ failure: any Error) -> Bool {
    switch failure {
    case QueryFailure.unavailable, MigrationFailure.unavailable: true
    default: false
    }
  }
}

/// Exponential backoff from 0.25 s to 8 s. Jitter takes up to half of each pause, so that many
/// gateways do not connect at the same moment.
private struct Backoff {
  private var milliseconds: Int64 = 250
  private var lastReason = ""

  /// Prints a reason only when it differs from the last one: an outage may last hours.
  mutating func report(_ failure: any Error) {
    let reason = "\(failure)"
    if reason != lastReason { Terminal.note("waiting for the database: \(reason)") }
    lastReason = reason
  }

  mutating func next() -> Int64 {
    defer { milliseconds = min(milliseconds * 2, 8_000) }
    return milliseconds / 2 + Int64(SecureRandom.word() % UInt64(milliseconds / 2))
  }
}
