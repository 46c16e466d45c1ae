/// The circumstances of a record: command, time, machine and versions.
import Foundation
import Kernel
import Postgres

struct Meta: Codable, Equatable {
  /// The command line, without passwords and tokens.
  var commandLine = Meta.withoutSecrets(CommandLine.arguments)
  /// Whole seconds, as stored in JSON.
  var startedAt = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down))
  var machine = Machine.processor
  var cores = ProcessInfo.processInfo.activeProcessorCount
  var memoryBytes = Int(ProcessInfo.processInfo.physicalMemory)
  var kernel = Machine.kernel
  var system = Machine.system
  /// The commit of this program's source tree, with a + if files differ from it.
  var commit = Meta.treeCommit
  var seed: UInt64?
  var gatewayVersion: String?
  var postgresVersion: String?
  var loadSeconds = 0.0

  /// Queries the versions of the gateway's binary and its PostgreSQL, where known. Unavailable ones
  /// stay nil.
  mutating func readVersions(chirrup: String?, database: String?) {
    if let chirrup, let text = Meta.output(of: Command(chirrup, ["version"])) {
      gatewayVersion = text.hasPrefix("chirrup ") ? String(text.dropFirst(8)) : text
    }
    if let database, let rows = try? BlockingConnection(database).run(Query("SHOW server_version"))
    {
      postgresVersion = rows.text(0, 0)
    }
  }

  private static var treeCommit: String? {
    guard
      let executable = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    else { return nil }
    let folder = URL(filePath: executable).deletingLastPathComponent().path
    guard
      let commit = output(of: Command("git", ["-C", folder, "rev-parse", "--short=10", "HEAD"]))
    else { return nil }
    let changes = ["-C", folder, "status", "--porcelain", "--untracked-files=no"]
    return commit + (output(of: Command("git", changes))?.isEmpty == false ? "+" : "")
  }

  /// The output of a command with exit status 0.
  private static func output(of command: Command) -> String? {
    var command = command
    command.output = .capture
    command.errors = .discard
    guard let finished = try? ChildProcess.run(command), finished.status.isSuccess else {
      return nil
    }
    return String(decoding: finished.output, as: UTF8.self)
      .trimmingCharacters(in: .whitespacesAndNewlines)
  }

  // MARK: Secrets

  /// The arguments, quoted for a shell. The program's folder, passwords in connection strings, and
  /// JSON Web Tokens are removed.
  static func withoutSecrets(_ arguments: [String]) -> String {
    let program = URL(filePath: arguments.first ?? "chirrup-load").lastPathComponent
    return ([program] + arguments.dropFirst().map { quoted(withoutSecrets($0)) })
      .joined(separator: " ")
  }

  static func withoutSecrets(_ text: String) -> String {
    text.replacing(/(\/\/[^\/@\s:]*):[^@\s]*@/) { "\($0.1):…@" }
      .replacing(/(?i)\b(password|token)=('[^']*'|[^&\s]*)/) { "\($0.1)=…" }
      .replacing(/eyJ[A-Za-z0-9_\-]+(\.[A-Za-z0-9_\-]*){1,2}/) { _ in "…" }
  }

  private static func quoted(_ word: String) -> String {
    let plain = word.allSatisfy { $0.isLetter || $0.isNumber || "-_./:=,+@%…".contains($0) }
    return plain && !word.isEmpty
      ? word : "'" + word.replacingOccurrences(of: "'", with: "'\\''") + "'"
  }
}
