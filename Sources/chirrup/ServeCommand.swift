/// `chirrup serve`: starts, runs and stops the gateway.
///
/// The order: load settings; start the private PostgreSQL unless a database URL is set; migrate;
/// read the signing key; create the demo workspace; run the gateway until it has drained; stop the
/// private PostgreSQL.
import ArgumentParser
import EmbeddedPostgres
import Gateway
import Kernel
import Logging
import Migrator
import Settings
import Synchronization

struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve", abstract: "Run the gateway.",
    discussion: """
      Settings come from these flags, from CHIRRUP_ environment variables and from a YAML file, \
      in this order of precedence. config/chirrup.yaml documents all of them.
      """)

  @OptionGroup var options: ServeOptions

  func run() async throws {
    let service = ServiceManager.take { errno in
      Terminal.note("warning: the service manager does not get this gateway's messages: \(errno)")
    }
    let inherited = try InheritedSockets.take()
    let (settings, warnings) = try await options.settings()
    let logger = Logger(label: "chirrup") { _ in LineLogHandler(settings) }
    let log = StartupLog(settings, logger)
    for warning in warnings { log.warning(warning) }
    do {
      var listening = settings
      try listening.use(inherited)
      let source = options.source(of: settings)
      try await run(listening, log, Supervisor(messages: service, sockets: inherited), source)
    } catch let held as LoopsStalled {
      ProcessEnd.now(status: held.exitStatus)
    } catch let code as ExitCode {
      throw code
    } catch {
      log.failure(error)
      throw Ending.code(for: error)
    }
    // Threads that hash passwords or deliver webhooks may still be ending. OpenSSL's exit handler
    // would free their state at the same time (a double free after "stopped" was seen once).
    ProcessEnd.now(status: 0)
  }

  private func run(
    _ settings: Settings, _ log: StartupLog, _ supervisor: Supervisor, _ source: SettingsSource
  ) async throws {
    let logger = log.logger
    try leaveRoot(settings, logger)
    try Gateway.check(settings)
    if settings.credentialsKeys.isEmpty {
      logger.notice(
        """
        credentials_key is not set: whoever has a copy of the database can read the keys that sign \
        tokens and the secrets of webhooks and other services in it. Set it in a file outside the \
        database (CHIRRUP_CREDENTIALS_KEY_FILE).
        """)
    }
    try await serveWithDatabase(settings, log, supervisor, source)
  }

  /// A gateway started as root becomes the user of the settings, or warns.
  private func leaveRoot(_ settings: Settings, _ logger: Logger) throws {
    guard Privileges.isRoot else { return }
    guard let user = settings.user else {
      logger.warning(
        """
        the gateway runs as root, which it does not need. Start it as another user, or name one \
        in the setting user
        """)
      return
    }
    // Root may raise its limit further than the user.
    _ = DescriptorLimit.raise()
    try Privileges.become(
      user, owning: settings.databaseURL == nil ? settings.dataDirectory : nil)
    logger.info("the gateway runs as another user than root", metadata: ["user": "\(user)"])
  }

  private func serveWithDatabase(
    _ settings: Settings, _ log: StartupLog, _ supervisor: Supervisor, _ source: SettingsSource
  ) async throws {
    guard settings.databaseURL == nil else {
      return try await serve(settings, log, supervisor, source)
    }
    let logger = log.logger
    PrivateCluster.forgetClientSettings()
    let cluster = PrivateCluster(dataDirectory: settings.dataDirectory) { event in
      switch event {
      case .ended(let reason): logger.error("\(reason); restarting it")
      case .notStarted(let reason): logger.error("PostgreSQL has not restarted yet: \(reason)")
      case .running(let milliseconds):
        logger.info(
          "PostgreSQL runs again", metadata: ["after_ms": .stringConvertible(milliseconds)])
      }
    }
    supervisor.messages?.send(.status("starting the private PostgreSQL"))
    try supervisor.whileExtending { try cluster.start() }
    defer { cluster.stop() }
    for note in cluster.notes { log.note(note) }
    var local = settings
    local.databaseURL = PrivateCluster.gatewayURL(cluster.url)
    local.migrationsURL = cluster.url
    try await serve(local, log, supervisor, source, isPrivate: true)
  }

  private func serve(
    _ settings: Settings, _ log: StartupLog, _ supervisor: Supervisor, _ source: SettingsSource,
    isPrivate: Bool = false
  ) async throws {
    guard let url = settings.databaseURL else { return }
    let preparation = try supervisor.whileExtending {
      try Preparation.complete(
        settings, databaseURL: url, isPrivate: isPrivate, supervisor: supervisor, log,
        isStopping: StopSignals.hasCome)
    }
    guard let prepared = preparation else { return }
    let options = GatewayOptions(
      settings: settings, version: Version.text, schema: try Chain.embedded().head ?? "",
      databaseURL: url, signingSecret: prepared.signingKey, tokens: prepared.tokens,
      pageValues: [
        "WORKSPACE": DemoWorkspace.name,
        "PUBLIC_KEY": prepared.demo?.publicKey ?? "",
        "DEMO_EMAIL": prepared.demo == nil ? "" : DemoWorkspace.email,
        "DEMO_PASSWORD": prepared.demo?.password ?? "",
        "MAIL": settings.mail.smtpURL == nil ? "" : "yes",
      ],
      logger: log.logger, service: supervisor.messages, inherited: supervisor.sockets,
      source: source)
    try await Gateway.run(options) { listening in
      let address = Banner.url(
        settings, listening: listening.plain, secure: listening.secure)
      log.ready(at: address, demo: prepared.demo, setupCode: prepared.setupCode)
    }
  }
}

/// The service manager's side of this process, if there is one.
struct Supervisor {
  var messages: ServiceManager?
  var sockets: [InheritedSocket]

  /// A crash recovery, a migration and an outage of the database may last longer than the manager
  /// waits for a start.
  func whileExtending<Value>(_ work: () throws -> Value) throws -> Value {
    guard let messages else { return try work() }
    return try messages.whileExtending(work)
  }
}

/// Blocks SIGTERM and SIGINT from the start of the process, so that Ctrl-C also stops the gateway
/// in an orderly way while it starts or waits for a database. The kernel keeps a blocked signal
/// pending until the gateway reads it.
final class StopSignals: Sendable {
  private static let early = try? StopSignals()
  /// Blocks SIGHUP, which the gateway reads later; unblocked, it would end the process.
  private static let hangUps = try? HangUps()

  private final class HangUps: Sendable {
    private let descriptor: SignalDescriptor

    init() throws { descriptor = try SignalDescriptor([.hangUp]) }
  }

  private let descriptor: SignalDescriptor
  private let isStopping = Atomic(false)

  private init() throws {
    descriptor = try SignalDescriptor([.terminate, .interrupt])
  }

  /// Call before any other thread starts, because threads inherit the signal mask. A failure is not
  /// reported here: the gateway's own attempt fails in the same way and reports it.
  static func block() {
    _ = early
    _ = hangUps
  }

  /// Whether SIGTERM or SIGINT has arrived. Once true, always true.
  static func hasCome() -> Bool {
    guard let early else { return false }
    if early.descriptor.next() != nil { early.isStopping.store(true, ordering: .relaxed) }
    return early.isStopping.load(ordering: .relaxed)
  }
}
