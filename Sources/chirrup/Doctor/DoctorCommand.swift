/// `chirrup doctor`: examines the machine, the settings, the way from the browser to the gateway,
/// and PostgreSQL. It works beside a running gateway and without one, and changes nothing.
import ArgumentParser
import EmbeddedPostgres
import Kernel
import Primitives
import Settings

struct DoctorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Find what is wrong with this installation, and what mends it. Changes nothing.",
    discussion: """
      Takes the flags, environment and file of serve. Prints one line for each check, and under a \
      warning or a failure the line that mends it. With --json one object per line: check, state \
      (ok, warning, failure, skipped), found, mend, milliseconds; at the end ok, warnings, \
      failures, skipped, exit_code. Exit codes: 0 all is well; 1 a check failed; 2 warnings only; \
      64 wrong usage. README.md lists the checks.
      """)

  @OptionGroup var options: ServeOptions
  @Option(
    help: ArgumentHelp(
      "A PEM file of certificates to trust instead of the system's.", valueName: "file"))
  var authority: String?
  @Option(help: ArgumentHelp("Only this check. Repeatable.", valueName: "check"))
  var only: [String] = []
  @Flag(help: "Print JSON, one object per line.") var json = false

  func validate() throws {
    let names = DoctorCheck.all.map(\.name)
    for name in only where !names.contains(name) {
      throw ValidationError("there is no check \(name); there are \(names.joined(separator: ", "))")
    }
  }

  func run() async throws {
    let loaded: Result<(settings: Settings, warnings: [String]), SettingsFault>
    do throws(SettingsFault) {
      loaded = .success(try await Settings.load(file: options.data.config, flags: options.flags))
    } catch {
      loaded = .failure(error)
    }
    let report = DoctorReport(output: CommandOutput(json: json))
    let examination = Examination(loaded, authority: authority)
    if case .success(let valid) = loaded, valid.settings.databaseURL == nil {
      // As in a gateway with a private PostgreSQL: libpq's variables are for another server.
      PrivateCluster.forgetClientSettings()
    }
    for check in DoctorCheck.all {
      let isWanted = only.isEmpty || only.contains(check.name)
      guard isWanted || check.isFoundation else { continue }
      let begin = SystemClock.now()
      var diagnosis = Diagnosis.skipped("the settings are not valid")
      if (try? loaded.get()) != nil || check.name == DoctorCheck.settings.name {
        diagnosis = check.examine(examination)
      }
      guard isWanted else { continue }
      report.add(
        check.name, diagnosis, milliseconds: SystemClock.now().milliseconds(since: begin))
    }
    // Threads of checks that took too long may still run.
    ProcessEnd.now(status: report.finish().rawValue)
  }
}

/// Prints and counts the results.
private final class DoctorReport {
  private let output: CommandOutput
  private var counts: [Diagnosis.State: Int64] = [:]

  init(output: CommandOutput) { self.output = output }

  func add(_ name: String, _ diagnosis: Diagnosis, milliseconds: Int64) {
    counts[diagnosis.state, default: 0] += 1
    var text = "\(DoctorReport.label(diagnosis.state))  \(name): \(diagnosis.found)"
    if let remedy = diagnosis.remedy { text += "\n      mend: \(remedy)" }
    output.result(
      text,
      [
        ("check", .text(name)), ("state", .text(diagnosis.state.rawValue)),
        ("found", .text(diagnosis.found)),
        ("mend", diagnosis.remedy.map { .text($0) } ?? .null),
        ("milliseconds", .number(milliseconds)),
      ])
  }

  func finish() -> ExitCode {
    func count(_ state: Diagnosis.State) -> Int64 { counts[state] ?? 0 }
    let code: ExitCode =
      count(.failure) > 0 ? .failure : count(.warning) > 0 ? ExitCode(2) : .success
    output.result(
      "\(count(.ok)) well, \(count(.warning)) warnings, \(count(.failure)) failures, "
        + "\(count(.skipped)) not checked",
      [
        ("ok", .number(count(.ok))), ("warnings", .number(count(.warning))),
        ("failures", .number(count(.failure))), ("skipped", .number(count(.skipped))),
        ("exit_code", .number(Int64(code.rawValue))),
      ])
    return code
  }

  /// Four letters, as `chirrup migrate verify` prints them.
  private static func label(_ state: Diagnosis.State) -> String {
    switch state {
    case .ok: "PASS"
    case .warning: "WARN"
    case .failure: "FAIL"
    case .skipped: "SKIP"
    }
  }
}
