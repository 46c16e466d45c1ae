/// `chirrup serve`: the gateway, from its settings to its end.
///
/// The order: settings, the private cluster unless a database is named, migrations and signing key,
/// the demo, the gateway, and when that has drained, the end of the cluster.
import ArgumentParser
import Cluster
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
      Settings come from these flags, from CHIRRUP_ variables and from a YAML file, the first of \
      these winning; config/chirrup.yaml documents all of them.
      """)

  @OptionGroup var options: ServeOptions

  func run() async throws {
    let settings = try await options.settings()
    try Gateway.check(settings)
    let logger = Logger(label: "chirrup") { _ in LineLogHandler(settings) }
    do {
      try await serveWithDatabase(settings, logger)
    } catch let held as LoopsHeld {
      ProcessEnd.now(status: held.exitStatus)
    }
  }

  private func serveWithDatabase(_ settings: Settings, _ logger: Logger) async throws {
    guard settings.databaseURL == nil else { return try await serve(settings, logger) }
    Cluster.forgetClientSettings()
    let cluster = Cluster(dataDirectory: settings.dataDirectory) { event in
      switch event {
      case .ended(let reason): logger.error("\(reason); it is started again")
      case .notStarted(let reason): logger.error("PostgreSQL is not back yet: \(reason)")
      case .running(let milliseconds):
        logger.info("PostgreSQL runs again", metadata: ["after_ms": "\(milliseconds)"])
      }
    }
    try cluster.start()
    defer { cluster.stop() }
    for note in cluster.notes { Terminal.tell(note) }
    var local = settings
    local.databaseURL = cluster.url
    try await serve(local, logger)
  }

  private func serve(_ settings: Settings, _ logger: Logger) async throws {
    guard let url = settings.databaseURL else { return }
    let preparation: Preparation?
    do {
      preparation = try Preparation.complete(
        settings, databaseURL: url, isStopping: StopSignals.hasCome)
    } catch let failure as MigrationFailure {
      Terminal.tell("Error: \(failure)")
      throw Ending.code(for: failure)
    }
    guard let prepared = preparation else { return }
    let options = GatewayOptions(
      settings: settings, databaseURL: url, signingSecret: prepared.signingKey,
      pageValues: [
        "WORKSPACE": DemoWorkspace.name,
        "PUBLIC_KEY": prepared.demo?.publicKey ?? "",
        "DEMO_EMAIL": prepared.demo == nil ? "" : DemoWorkspace.email,
        "DEMO_PASSWORD": prepared.demo?.password ?? "",
      ],
      logger: logger)
    try await Gateway.run(options) { listening in
      let address = Banner.url(
        settings, listening: listening.plain, secure: listening.secure)
      Terminal.answer(Banner.text(url: address, demo: prepared.demo))
    }
  }
}

/// SIGTERM and SIGINT from the first moment on, so that Ctrl-C while a database starts or is waited
/// for ends the gateway in good order too. What comes is kept by the kernel until the gateway asks.
final class StopSignals: Sendable {
  private static let early = try? StopSignals()
  /// SIGHUP is the gateway's; until it asks, the kernel keeps it, where it would end the process.
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

  /// Before any other thread starts. If it fails, so will the gateway, which says why.
  static func block() {
    _ = early
    _ = hangUps
  }

  /// Once true, always true.
  static func hasCome() -> Bool {
    guard let early else { return false }
    if early.descriptor.next() != nil { early.isStopping.store(true, ordering: .relaxed) }
    return early.isStopping.load(ordering: .relaxed)
  }
}
