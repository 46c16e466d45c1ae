/// The lines of `serve` besides those of the gateway. They are plain text for a person; with
/// `log.format: json` they are lines of the log, which then is JSON from its first line to its last
/// (config/LOG.md).
import Logging
import Settings

struct StartupLog {
  let logger: Logger
  private let isJSON: Bool

  init(_ settings: Settings, _ logger: Logger) {
    self.logger = logger
    isJSON = settings.log.format == .json
  }

  func note(_ text: String, _ level: Logger.Level = .notice) {
    if isJSON { logger.log(level: level, "\(text)") } else { Terminal.note(text) }
  }

  func warning(_ text: String) {
    if isJSON { logger.warning("\(text)") } else { Terminal.note("warning: \(text)") }
  }

  /// The last line of a gateway that could not start.
  func failure(_ error: any Error) {
    if isJSON { logger.critical("\(error)") } else { Terminal.note("Error: \(error)") }
  }

  /// The output of migrations.
  var migrations: CommandOutput {
    isJSON ? CommandOutput(log: logger) : CommandOutput(json: false)
  }

  /// The gateway listens: the banner on standard output, or a line of the log. The link for the
  /// setup is a text for the person who reads it, and no field of the log.
  func ready(at url: String, demo: DemoWorkspace?, setupCode: String?) {
    let setupURL = setupCode.map { Banner.setupURL(url, code: $0) }
    guard isJSON else {
      return Terminal.result(Banner.text(url: url, demo: demo, setupURL: setupURL))
    }
    logger.notice("ready", metadata: ["url": .string(url), "version": .string(Version.text)])
    if let setupURL { logger.notice("set up this gateway with the one-time link \(setupURL)") }
  }
}
