/// The flags that override settings. They stay text here; `Settings.load` validates all sources
/// together, so that one error lists every invalid value.
import ArgumentParser
import Gateway
import Settings

/// The flags of every command: where the settings and the database are.
struct DataOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("A YAML file of settings; see config/chirrup.yaml.", valueName: "file"))
  var config: String?

  @Option(
    name: .customLong("database-url"),
    help: ArgumentHelp(
      "The PostgreSQL to use instead of the private one in --data-dir.", valueName: "url"))
  var databaseURL: String?

  @Option(
    name: .customLong("data-dir"),
    help: ArgumentHelp(
      "The directory of the private PostgreSQL (default: ./var).", valueName: "directory"))
  var dataDirectory: String?

  var flags: [SettingKey: String] {
    var flags: [SettingKey: String] = [:]
    flags[.databaseURL] = databaseURL
    flags[.dataDirectory] = dataDirectory
    return flags
  }

  func settings() async throws -> Settings {
    let (settings, warnings) = try await Settings.load(file: config, flags: flags)
    for warning in warnings { Terminal.note("warning: \(warning)") }
    return settings
  }
}

/// The flags of `chirrup serve`.
struct ServeOptions: ParsableArguments {
  @OptionGroup var data: DataOptions

  @Option(
    help: ArgumentHelp(
      "An address to listen on (default: 127.0.0.1:8080). Repeatable.", valueName: "host:port"))
  var listen: [String] = []

  @Option(
    help: ArgumentHelp(
      "An address to listen on for TLS. Repeatable.", valueName: "host:port"))
  var tlsListen: [String] = []

  @Option(
    name: .customLong("admin-listen"),
    help: ArgumentHelp(
      "An address for /metrics (default: 127.0.0.1:9180). Repeatable.", valueName: "host:port"))
  var adminListen: [String] = []

  @Option(
    name: .customLong("tls-certificates"),
    help: ArgumentHelp("A certificate chain for TLS, in PEM. Repeatable.", valueName: "file"))
  var tlsCertificates: [String] = []

  @Option(
    name: .customLong("tls-keys"),
    help: ArgumentHelp(
      "The private key of each certificate, in PEM, in the same order. Repeatable.",
      valueName: "file"))
  var tlsKeys: [String] = []

  @Option(
    name: .customLong("public-url"),
    help: ArgumentHelp("The gateway's URL as browsers see it.", valueName: "url"))
  var publicURL: String?

  @Option(help: ArgumentHelp("The number of event loops (0: one per core).", valueName: "count"))
  var loops: String?

  @Option(
    help: ArgumentHelp(
      "The lowest level to log: trace, debug, info, notice, warning, error or "
        + "critical.", valueName: "level"))
  var logLevel: String?

  @Option(help: ArgumentHelp("The format of log lines: text or json.", valueName: "format"))
  var logFormat: String?

  @Option(
    help: ArgumentHelp(
      "Seconds within which a stopping gateway closes its connections (default: 10).",
      valueName: "seconds"))
  var drainSeconds: String?

  @Flag(help: "Create the workspace \"demo\" with an operator, and serve the page /demo.")
  var demo = false

  @Flag(help: "Serve a WebSocket echo at /debug/echo, for conformance tests.")
  var debugEcho = false

  @Flag(help: "Refuse to start if migrations are pending, instead of applying them.")
  var noMigrate = false

  var flags: [SettingKey: String] {
    var flags = data.flags
    if !listen.isEmpty { flags[.listen] = listen.joined(separator: ",") }
    if !tlsListen.isEmpty { flags[.tlsListen] = tlsListen.joined(separator: ",") }
    if !adminListen.isEmpty { flags[.adminListen] = adminListen.joined(separator: ",") }
    if !tlsCertificates.isEmpty {
      flags[.tlsCertificates] = tlsCertificates.joined(separator: ",")
    }
    if !tlsKeys.isEmpty { flags[.tlsKeys] = tlsKeys.joined(separator: ",") }
    flags[.publicURL] = publicURL
    flags[.loops] = loops
    flags[.logLevel] = logLevel
    flags[.logFormat] = logFormat
    flags[.drainSeconds] = drainSeconds
    if demo { flags[.demo] = "true" }
    if debugEcho { flags[.debugEcho] = "true" }
    if noMigrate { flags[.migrate] = "false" }
    return flags
  }

  /// What a reload needs: the same file and flags as at the start.
  func source(of loaded: Settings) -> SettingsSource {
    let (file, flags) = (data.config, flags)
    return SettingsSource(
      loaded: loaded, load: { try await Settings.load(file: file, flags: flags) },
      checkDatabase: Preparation.check, apply: { LogThreshold.use($0.log.level) })
  }

  /// The settings, and warnings for the log.
  func settings() async throws -> (Settings, warnings: [String]) {
    try await Settings.load(file: data.config, flags: flags)
  }
}
