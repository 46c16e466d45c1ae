/// `chirrup reload`: the gateway that runs on this machine reads its configuration again.
import ArgumentParser
import Gateway
import JSON
import Settings

struct ReloadCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reload",
    abstract: "Let the running gateway read its configuration again, without a restart.",
    discussion: """
      Asks the gateway on this machine at admin_listen; SIGHUP does the same. The gateway reads \
      the file, its variables, the files of secrets and the certificates as at its start. It uses \
      what has changed at once, or lists what waits for a restart; open connections stay. An \
      invalid configuration is refused as a whole. Exit codes: 0 used, 1 refused, 4 the database \
      does not answer.
      """)

  @OptionGroup var options: AdministrationOptions
  @Flag(help: "Only check the configuration, and print what would change.") var check = false

  /// The gateway may wait for the database of a changed URL.
  private static let milliseconds: Int32 = 40_000

  func run() async throws {
    do {
      try await options.ask { client, _, output in
        let answer = try client.request(
          "POST", check ? "/reload?check=true" : "/reload", milliseconds: Self.milliseconds)
        guard let report = JSONValue(answer)?.object else {
          throw CommandFailure("the gateway's answer cannot be read")
        }
        print(report, output)
      }
    } catch let fault as SettingsFault {
      let failure = CommandFailure(fault.describe("nothing was changed"))
      CommandOutput(json: options.json).report(failure, code: .failure)
      throw ExitCode.failure
    }
  }

  private func print(_ report: [String: JSONValue], _ output: CommandOutput) {
    let applied = report["applied"]?.array ?? []
    let waiting = report["waiting"]?.array ?? []
    let warnings = report["warnings"]?.array?.compactMap(\.string) ?? []
    var lines = warnings.map { "warning: \($0)" }
    lines += applied.map(line)
    lines += waiting.map { "waits for a restart: " + line($0) }
    lines.append(
      check
        ? "Valid: \(applied.count) to be used at once, \(waiting.count) after a restart."
        : "Reloaded: \(applied.count) used now, \(waiting.count) after a restart.")
    let members = report.sorted { $0.key < $1.key }
      .map { ($0.key, CommandOutput.Value.json(String(decoding: $0.value.text, as: UTF8.self))) }
    output.result(lines.joined(separator: "\n"), members + [("check", .bool(check))])
  }

  /// A secret has no values.
  private func line(_ change: JSONValue) -> String {
    let setting = change.object?["setting"]?.string ?? ""
    guard let before = change.object?["before"]?.string,
      let after = change.object?["after"]?.string
    else { return "\(setting): changed" }
    return "\(setting): \(before) → \(after)"
  }
}
