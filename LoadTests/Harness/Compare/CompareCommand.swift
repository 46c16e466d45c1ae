/// `chirrup-load compare`: the gateway and other servers on the same work, in turns.
import ArgumentParser
import Foundation
import Kernel

struct Compare: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Measure several servers in turns at the same work, and check their ratios.",
    discussion: """
      A YAML file lists the servers, their start commands, the work and the goals; \
      LoadTests/Peers/speed.yaml is an example. Servers run on one core, the client on another, \
      both under `chrt -r 1` where it is allowed. For each work all servers take turns, round \
      after round, so that other load on the machine affects all of them. The gateway's figure \
      is divided by each peer's of the same round; a goal is checked against the median of the \
      rounds.

      The work is run by `chirrup-load echo`, `fanout`, `upgrade`, `idle`, `chat`, `durable` \
      and `growth`, whose options the file may set. A peer that cannot be started is listed as \
      missing, a turn that fails as failed. Exit status: 1 if a turn failed, or with --check if \
      a goal is missed or was not measured; 2 if it could not run.

      To split a long comparison, use --work with --json, then --show FILE … for one table.
      """)

  @Option(help: "The YAML file with servers, work and goals.")
  var plan: String?
  @Option(help: "The chirrup binary (default: in the folder of chirrup-load).")
  var chirrup: String?
  @Option(help: "NAME=PATH: the binary of the server with this name. Repeatable.")
  var peerBinary: [String] = []
  @Option(help: "Only work whose name contains this. Repeatable.")
  var work: [String] = []
  @Option(help: "Only these columns, besides the gateway's. Repeatable.")
  var server: [String] = []
  @Option(help: "Number of rounds, overriding the file.")
  var rounds: Int?
  @Option(help: "Seconds of each turn of echo and fanout, overriding the file.")
  var seconds: Double?
  @Option(help: "The core of the servers.")
  var serverCore: Int?
  @Option(help: "The core of the client.")
  var clientCore: Int?
  @Flag(help: "Do not use the real-time class.")
  var noRealTime = false
  @Option(help: "The first port of the servers.")
  var port = 21_000
  @Option(help: "The commit to show, if it is not that of chirrup-load's folder.")
  var commit: String?
  @Option(help: "Write every turn to this file as JSON.")
  var json: String?
  @Option(
    parsing: .upToNextOption,
    help: "Do not measure, but show these files of --json as one table.")
  var show: [String] = []
  @Flag(help: "Exit with 1 when a goal is missed or was not measured.")
  var check = false

  func validate() throws {
    guard show.isEmpty == (plan != nil) else {
      throw ValidationError("use --plan FILE to measure, or --show FILE … to show")
    }
    guard rounds.map({ (1...100).contains($0) }) ?? true else {
      throw ValidationError("--rounds must be 1 to 100")
    }
    guard seconds.map({ (0.1...60).contains($0) }) ?? true else {
      throw ValidationError("--seconds must be 0.1 to 60")
    }
    guard (1_024...60_000).contains(port) else {
      throw ValidationError("--port must be 1024 to 60000")
    }
    guard peerBinary.allSatisfy({ $0.contains("=") }) else {
      throw ValidationError("--peer-binary must be NAME=PATH")
    }
  }

  func run() throws {
    let record: ComparisonRecord
    do {
      record = try show.isEmpty ? measure() : joined()
      if let json { try record.json().write(to: URL(filePath: json)) }
    } catch {
      FileHandle.standardError.write(Data("chirrup-load: \(error)\n".utf8))
      throw ExitCode(2)
    }
    print(ComparisonTable(record: record))
    let isMissed = check && record.verdicts.contains { $0.outcome != .met }
    if isMissed || !record.failures.isEmpty || record.wasInterrupted { throw ExitCode(1) }
  }

  private func joined() throws -> ComparisonRecord {
    var record = try ComparisonRecord.read(show[0])
    for path in show.dropFirst() { try record.append(ComparisonRecord.read(path)) }
    return record
  }

  private func measure() throws -> ComparisonRecord {
    let file = URL(filePath: self.plan ?? "")
    let plan = try chosen(from: ComparisonPlan.read(file.path))
    guard let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    else { throw PlanFailure("/proc/self/exe cannot be read") }
    let folder = URL(filePath: own).deletingLastPathComponent()
    let chirrup = self.chirrup ?? folder.appending(path: "chirrup").path
    let scratch = try Scratch()
    var names = [
      "chirrup": chirrup, "scratch": scratch.path,
      "folder": file.deletingLastPathComponent().path,
    ]
    if plan.servers.contains(where: { $0.needsCertificate }) {
      try names.merge(scratch.certificate()) { old, _ in old }
    }
    // Servers and clients inherit the limit.
    _ = DescriptorLimit.raise()
    let placement = try Placement(
      serverCore: serverCore, clientCore: clientCore, wantsRealTime: !noRealTime)
    let record = ComparisonRecord(
      machine: Machine.description, version: Compare.version(of: chirrup),
      commit: commit ?? Meta().commit,
      startedAt: Date().formatted(.iso8601), subject: plan.subject, columns: plan.columns,
      missing: [:], placement: placement.description)
    let run = try ComparisonRun(
      plan, record: record, placement: placement, scratch: scratch.path, names: names,
      portBase: port, binary: own
    ) { line in
      FileHandle.standardError.write(Data((line + "\n").utf8))
    }
    try run.run()
    return run.record
  }

  /// The file's plan with the options applied.
  private func chosen(from plan: ComparisonPlan) throws -> ComparisonPlan {
    var plan = plan
    if let rounds { plan.rounds = rounds }
    if let seconds {
      for kind in [WorkPlan.Kind.echo, .fanout] {
        plan.options[kind, default: [:]]["seconds"] = String(seconds)
      }
      for index in plan.work.indices { plan.work[index].options["seconds"] = nil }
    }
    for pair in peerBinary {
      let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2, let index = plan.servers.firstIndex(where: { $0.name == parts[0] }),
        !plan.servers[index].command.isEmpty
      else { throw PlanFailure("--peer-binary \(pair): no started server has that name") }
      plan.servers[index].use(program: parts[1])
    }
    if !work.isEmpty {
      plan.work = plan.work.filter { row in work.contains { row.name.contains($0) } }
      guard !plan.work.isEmpty else { throw PlanFailure("no work matches --work") }
    }
    if !server.isEmpty {
      for name in server where !plan.columns.contains(name) {
        throw PlanFailure("--server \(name): no such column")
      }
      let columns = [plan.subject] + server
      plan.servers = plan.servers.filter { columns.contains($0.column) }
      for index in plan.work.indices {
        plan.work[index].goals.removeAll { $0.against.map { !columns.contains($0) } ?? false }
      }
    }
    return plan
  }

  private static func version(of chirrup: String) -> String? {
    var command = Command(chirrup, ["version"])
    command.output = .capture
    command.errors = .discard
    guard let finished = try? ChildProcess.run(command), finished.status.isSuccess else {
      return nil
    }
    return finished.text.trimmingCharacters(in: .whitespacesAndNewlines)
  }
}

/// A folder for logs, data and certificates, removed at the end.
private final class Scratch {
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "chirrup-compare-\(getpid())"
    // The gateway drops root, and its PostgreSQL must still reach its data.
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Creates a key (elliptic curve P-256) and a certificate, valid for a day.
  func certificate() throws -> [String: String] {
    let names = ["certificate": path + "/certificate.pem", "key": path + "/key.pem"]
    var command = Command(
      "openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
        "-days", "1", "-keyout", path + "/key.pem", "-out", path + "/certificate.pem",
      ])
    command.output = .discard
    command.errors = .discard
    guard try ChildProcess.run(command).status.isSuccess else {
      throw PlanFailure("`openssl req` failed to create a certificate for TLS")
    }
    return names
  }
}
