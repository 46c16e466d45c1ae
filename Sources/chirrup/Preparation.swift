/// The preconditions of a gateway: a database that answers, with this version's schema and a
/// signing key, and with --demo the demo workspace.
import DataRetention
import Directory
import Gateway
import Kernel
import Logging
import Migrator
import OpenSSL
import Postgres
import Primitives
import Settings
import Tokens

struct Preparation {
  var databaseURL: String
  var signingKey: [UInt8]
  var tokens: TokenAuthority
  var demo: DemoWorkspace?
  /// For the first owner; nil if the database has an operator.
  var setupCode: String?

  /// Retries with growing pauses while the database does not answer, and prints the reason. A
  /// `StartupProbe` answers load balancers meanwhile.
  ///
  /// - Returns: nil once `isStopping` returns true.
  static func complete(
    _ settings: Settings, databaseURL: String, isPrivate: Bool, supervisor: Supervisor,
    _ log: StartupLog,
    isStopping: () -> Bool
  ) throws -> Preparation? {
    var backoff = Backoff()
    var probe: StartupProbe?
    while !isStopping() {
      do {
        return try attempt(
          settings, databaseURL: databaseURL, isPrivate: isPrivate, supervisor.messages, log)
      } catch let failure where isUnavailable(failure) {
        backoff.report(failure, to: log, supervisor.messages)
        let open = try probe ?? StartupProbe(settings, supervisor.sockets)
        probe = open
        try open.wait(milliseconds: backoff.next(), unless: isStopping)
      }
    }
    return nil
  }

  private static func attempt(
    _ settings: Settings, databaseURL: String, isPrivate: Bool, _ service: ServiceManager?,
    _ log: StartupLog
  ) throws -> Preparation {
    let url = settings.databaseDirectURL ?? databaseURL
    let owner = try BlockingConnection(settings.migrationsURL ?? url)
    if settings.migrationsURL == nil { try checkLogin(owner) }
    try migrate(owner, settings, service, log)
    if isPrivate { try DatabaseRoles(Migrator(owner)).openGatewayLogin() }
    let connection = settings.migrationsURL == nil ? owner : try BlockingConnection(url)
    try checkLogin(connection)
    if let warning = try DatabaseRoles(Migrator(connection)).loginWarning() {
      log.warning("\(warning.problem); \(warning.remedy)")
    }
    if try StoredData.renewIfRestored(connection) {
      log.note(
        "this database was restored or promoted: clients discard their copies and load them again")
    }
    if let fault = try MaintenanceFault.find(settings.maintenance, owner: owner) { throw fault }
    let key = try Database.signingKey(settings, connection)
    try Database.sealSigningKeys(settings, connection)
    try Database.sealIdentitySecrets(Database.secretBox(settings, connection), connection)
    let demo =
      settings.demo
      ? try DemoWorkspace.prepare(
        connection, owner: settings.demoContent ? owner : nil, signingKey: key) : nil
    let setupCode =
      try connection.run(FirstOwner.isMissing)
      ? SetupCode.issue(Database.secretBox(settings, connection), now: SystemClock.wallTime()) : nil
    return Preparation(
      databaseURL: databaseURL, signingKey: key,
      tokens: try Database.tokenAuthority(settings, connection), demo: demo, setupCode: setupCode)
  }

  /// Throws if a running gateway could not use the database of these settings.
  static func check(_ settings: Settings) throws {
    guard let url = settings.databaseURL else { return }
    let connection = try BlockingConnection(url)
    // Through a pooler, sessions are not the gateway's own.
    let direct = try settings.databaseDirectURL.map { try BlockingConnection($0) } ?? connection
    try checkLogin(direct)
    try Database.checkSchema(direct)
  }

  /// Throws if row security or missing privileges would refuse the gateway's statements.
  private static func checkLogin(_ connection: BlockingConnection) throws {
    if let fault = try DatabaseRoles(Migrator(connection)).loginFault() {
      throw CommandFailure("\(fault.problem); \(fault.remedy)")
    }
  }

  /// Applies pending migrations, or throws if it may not.
  private static func migrate(
    _ owner: BlockingConnection, _ settings: Settings, _ service: ServiceManager?,
    _ log: StartupLog
  ) throws {
    let migrator = try Migrator(owner)
    let pending: [Migration]
    switch try migrator.status().standing() {
    case .current: return
    case .ahead(let newer):
      return log.warning(
        "a newer chirrup has migrated the database (\(newer.joined(separator: ", "))), and says "
          + "that gateways of this release can run on it; install the newer one here too")
    case .pending(let migrations): pending = migrations
    }
    let names = pending.map(\.revision).joined(separator: ", ")
    guard settings.migrate else {
      throw CommandFailure(
        "the schema is not up to date and --no-migrate is set; pending: \(names); "
          + "run chirrup migrate up, or start without --no-migrate")
    }
    guard try DatabaseRoles(migrator).canMigrate() else {
      throw CommandFailure(
        "migrations are pending, and the user of the database may not apply them: \(names); "
          + "set migrations_url (CHIRRUP_MIGRATIONS_URL) to the URL of the tables' owner, or run "
          + "chirrup migrate up as that user")
    }
    service?.send(.status("applying migrations: \(names)"))
    try migrator.up(report: log.migrations.report)
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
  mutating func report(
    _ failure: any Error, to log: StartupLog, _ service: ServiceManager?
  ) {
    let reason = "waiting for the database: \(failure)"
    if reason != lastReason {
      log.note(reason, .warning)
      service?.send(.status(reason))
    }
    lastReason = reason
  }

  mutating func next() -> Int64 {
    defer { milliseconds = min(milliseconds * 2, 8_000) }
    return milliseconds / 2 + Int64(SecureRandom.word() % UInt64(milliseconds / 2))
  }
}
