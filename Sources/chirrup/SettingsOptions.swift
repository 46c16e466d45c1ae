/// The flags that name settings. They are read as text and checked together with all other sources,
/// so that one refusal names everything that is wrong.
import ArgumentParser
import Settings

/// Where the data is: what every command needs.
struct DataOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("A YAML file of settings; see config/chirrup.yaml.", valueName: "file"))
  var config: String?

  @Option(
    name: .customLong("database-url"),
    help: ArgumentHelp(
      "A PostgreSQL to use instead of the private one in --data-dir.", valueName: "url"))
  var databaseURL: String?

  @Option(
    name: .customLong("data-dir"),
    help: ArgumentHelp("The directory of the private PostgreSQL (./var).", valueName: "directory"))
  var dataDirectory: String?

  var flags: [SettingKey: String] {
    var flags: [SettingKey: String] = [:]
    flags[.databaseURL] = databaseURL
    flags[.dataDirectory] = dataDirectory
    return flags
  }

  func settings() async throws -> Settings {
    let (settings, warnings) = try await Settings.load(file: config, flags: flags)
    for warning in warnings { Terminal.tell("warning: \(warning)") }
    return settings
  }
}

/// What only a gateway needs.
struct ServeOptions: ParsableArguments {
  @OptionGroup var data: DataOptions

  @Option(
    help: ArgumentHelp(
      "An address to listen on (127.0.0.1:8080). Repeatable.", valueName: "host:port"))
  var listen: [String] = []

  @Option(
    help: ArgumentHelp(
      "An address to listen on for TLS. Repeatable.", valueName: "host:port"))
  var tlsListen: [String] = []

  @Option(
    name: .customLong("tls-certificates"),
    help: ArgumentHelp("A PEM certificate chain for TLS. Repeatable.", valueName: "file"))
  var tlsCertificates: [String] = []

  @Option(
    name: .customLong("tls-keys"),
    help: ArgumentHelp(
      "The PEM key of each certificate, in the same order. Repeatable.", valueName: "file"))
  var tlsKeys: [String] = []

  @Option(
    name: .customLong("public-url"),
    help: ArgumentHelp("The URL under which browsers reach the gateway.", valueName: "url"))
  var publicURL: String?

  @Option(help: ArgumentHelp("Event loops (0: one for each core).", valueName: "count"))
  var loops: String?

  @Option(
    help: ArgumentHelp(
      "trace, debug, info, notice, warning, error or critical.", valueName: "level"))
  var logLevel: String?

  @Option(help: ArgumentHelp("text or json.", valueName: "format"))
  var logFormat: String?

  @Option(
    help: ArgumentHelp(
      "Seconds for clients to go when the gateway stops (10).", valueName: "seconds"))
  var drainSeconds: String?

  @Flag(help: "A workspace \"demo\" with an operator, and the page /demo.")
  var demo = false

  @Flag(help: "A WebSocket echo at /debug/echo, for conformance tests.")
  var debugEcho = false

  @Flag(help: "Refuse to start on a schema that is not up to date, instead of migrating it.")
  var noMigrate = false

  var flags: [SettingKey: String] {
    var flags = data.flags
    if !listen.isEmpty { flags[.listen] = listen.joined(separator: ",") }
    if !tlsListen.isEmpty { flags[.tlsListen] = tlsListen.joined(separator: ",") }
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

  func settings() async throws -> Settings {
    let (settings, warnings) = try await Settings.load(file: data.config, flags: flags)
    for warning in warnings { Terminal.tell("warning: \(warning)") }
    return settings
  }
}
