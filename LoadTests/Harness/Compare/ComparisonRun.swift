/// Runs a comparison: for each work, in each round, every server has a turn. Each round begins with
/// another server.
///
/// Servers stay idle while others are measured, except where a new process is needed: then they are
/// started for the turn. All started servers are stopped at the end, also after Ctrl-C.
import EmbeddedPostgres
import Foundation
import Kernel
import Primitives

final class ComparisonRun {
  private let plan: ComparisonPlan
  private let placement: Placement
  private let scratch: String
  private let names: [String: String]
  private let portBase: Int
  /// The path of this program.
  private let binary: String
  private let signals: SignalDescriptor
  private let report: (String) -> Void
  private(set) var record: ComparisonRecord
  private var running: [String: ServerProcess] = [:]
  /// Servers that cannot take part, with the reason.
  private var absent: [String: String] = [:]

  static let portsEach = 4
  /// A longer turn is stuck and is killed.
  private static let turnMilliseconds: Int64 = 300_000
  private static let endMilliseconds: Int64 = 5_000

  init(
    _ plan: ComparisonPlan, record: ComparisonRecord, placement: Placement, scratch: String,
    names: [String: String], portBase: Int, binary: String, report: @escaping (String) -> Void
  ) throws {
    signals = try SignalDescriptor([.interrupt, .terminate])
    self.plan = plan
    self.record = record
    self.placement = placement
    self.scratch = scratch
    self.names = names
    self.portBase = portBase
    self.binary = binary
    self.report = report
  }

  /// Measures until the end or a signal; the turns measured until then are kept.
  func run() throws {
    defer { stopAll() }
    do {
      for work in plan.work { try run(work) }
    } catch is Interrupted {
      report("stopped by a signal")
      record.wasInterrupted = true
    }
    for column in plan.columns where !record.work.contains(where: { $0.has(column) }) {
      let why = plan.servers.first { $0.column == column && absent[$0.name] != nil }
      record.missing[column] = why.flatMap { absent[$0.name] }
    }
    // No row of the chosen work is for the other columns.
    let taken = record.work
    let missing = record.missing
    record.columns.removeAll { column in
      missing[column] == nil && !taken.contains { $0.has(column) }
    }
  }

  private func run(_ work: WorkPlan) throws {
    record.work.append(
      ComparisonRecord.Row(name: work.name, kind: work.kind, goals: work.goals))
    var servers: [ServerPlan] = []
    for server in plan.servers(for: work) where absent[server.name] == nil {
      do {
        _ = try program(of: server)
        if !work.kind.needsFreshServer { try start(server, for: work) }
        servers.append(server)
      } catch let failure as PlanFailure {
        try mustGoOn(without: server, failure)
      }
    }
    for round in 1...(work.rounds ?? plan.rounds) {
      let first = (round - 1) % max(1, servers.count)
      for server in servers[first...] + servers[..<first] where absent[server.name] == nil {
        let turn = try turn(work, server, round: round)
        record.work[record.work.count - 1].turns.append(turn)
        report("\(work.name), round \(round): \(turn)")
      }
    }
  }

  /// A missing peer is listed as missing; without the subject the run fails.
  private func mustGoOn(without server: ServerPlan, _ failure: PlanFailure) throws {
    let hint = server.hint.map { " (\($0))" } ?? ""
    guard server.column != plan.subject else {
      throw PlanFailure("\(server.name) cannot be started: \(failure)\(hint)")
    }
    absent[server.name] = "\(failure)\(hint)"
    report("without \(server.name): \(failure)\(hint)")
  }

  private func turn(
    _ work: WorkPlan, _ server: ServerPlan, round: Int
  ) throws -> ComparisonRecord.Turn {
    var turn = ComparisonRecord.Turn(column: server.column, round: round)
    // Other work may have left a process running, with memory of its own.
    if work.kind.needsFreshServer { running.removeValue(forKey: server.name)?.stop() }
    do {
      try start(server, for: work)
      turn.figures = try measure(work, server)
    } catch let failure as PlanFailure {
      turn.failure = failure.description
    }
    // A server that has ended is started again for its next turn.
    if work.kind.needsFreshServer || running[server.name]?.unexpectedEnd() != nil {
      running.removeValue(forKey: server.name)?.stop()
    }
    return turn
  }

  private func measure(_ work: WorkPlan, _ server: ServerPlan) throws -> TurnFigures {
    guard let running = running[server.name],
      let places = running.plan.arguments(for: work)
    else { throw PlanFailure("the server is not running") }
    let json = scratch + "/turn.json"
    let log = scratch + "/turn.log"
    for path in [json, log] { try? FileManager.default.removeItem(atPath: path) }
    var options = plan.options[work.kind] ?? [:]
    options.merge(work.options) { _, own in own }
    var words = [binary, work.kind.rawValue]
    words += try places.map { try ServerPlan.expand($0, names) }
    // A flag has no value.
    words += options.sorted { $0.key < $1.key }.flatMap {
      $0.value == "true" ? ["--" + $0.key] : ["--" + $0.key, $0.value]
    }
    // `durable` finds the gateway by its data directory.
    if work.kind != .durable { words += ["--pid", String(running.process)] }
    if work.kind == .chat {
      try issueTokens(running, options)
      if let postmaster = running.postmaster { words += ["--postgres-pid", String(postmaster)] }
    }
    words += ["--json", json]
    var command = placement.client(words, of: work)
    command.output = .file(log)
    command.errors = .file(log)
    let before = Neighbours(server: running.process, postmaster: running.postmaster)
    let begin = SystemClock.now()
    let status = try finish(try ChildProcess.spawn(command))
    let seconds = Double(SystemClock.now().nanoseconds - begin.nanoseconds) / 1e9
    if let end = running.unexpectedEnd() { throw PlanFailure(end) }
    guard status?.isSuccess == true, let written = FileManager.default.contents(atPath: json) else {
      let how = status.map { "\($0)" } ?? "stuck, so killed"
      throw PlanFailure("chirrup-load \(work.kind.rawValue): \(how): \(ServerProcess.tail(log))")
    }
    var figures = try TurnFigures(written)
    if let before, let after = Neighbours(server: running.process, postmaster: running.postmaster) {
      figures.neighbourCores = max(0, (after.seconds - before.seconds) / seconds)
    }
    return figures
  }

  /// The exit status; nil if the process was stuck.
  private func finish(
    _ child: consuming ChildProcess
  ) throws -> ChildProcess.ExitStatus? {
    var child = consume child
    if let status = try child.wait(
      milliseconds: ComparisonRun.turnMilliseconds, orReadable: signals.rawValue)
    {
      return status
    }
    let isInterrupted = signals.next() != nil
    ServerProcess.end(child, milliseconds: ComparisonRun.endMilliseconds)
    if isInterrupted { throw Interrupted() }
    return nil
  }

  private struct Interrupted: Error {}

  // MARK: Servers

  private func start(_ server: ServerPlan, for work: WorkPlan) throws {
    guard running[server.name] == nil else { return }
    if signals.next() != nil { throw Interrupted() }
    let position = plan.servers.firstIndex { $0.name == server.name } ?? 0
    var names = names
    for offset in 0..<ComparisonRun.portsEach {
      let port = portBase + position * ComparisonRun.portsEach + offset
      names[offset == 0 ? "port" : "port+\(offset)"] = String(port)
    }
    let program = try program(of: server)
    var database: PrivateCluster?
    if let folder = server.postgres {
      let cluster = try PrivateCluster(dataDirectory: ServerPlan.expand(folder, names))
      try cluster.start()
      names["database"] = cluster.url
      database = cluster
    }
    var expanded = try server.expanded(names)
    expanded.command = try expanded.command.map(ComparisonRun.variable)
    let log = scratch + "/server-\(position).log"
    do {
      running[server.name] = try ServerProcess(
        expanded, database: database, log: log, placement: placement, work: work)
    } catch let error as Errno {
      throw PlanFailure("\(program ?? server.name): \(error)")
    }
  }

  /// The program of its command, which must exist; nil for a server that is running.
  private func program(of server: ServerPlan) throws -> String? {
    guard let word = server.command.first else { return nil }
    let program = try ServerPlan.expand(ComparisonRun.variable(word), names)
    guard !program.contains("/") || FileManager.default.isExecutableFile(atPath: program) else {
      throw PlanFailure("program not found: \(program)")
    }
    return program
  }

  /// Writes the tokens of the turn's clients to `ServerPlan.tokenFile`.
  private func issueTokens(_ server: ServerProcess, _ options: [String: String]) throws {
    guard !server.plan.tokens.isEmpty else { return }
    var lines: [UInt8] = []
    for role in ["visitor", "operator"] {
      var names = names
      names["database"] = server.databaseURL
      names["role"] = role
      names["count"] = options[role + "s"] ?? "100"
      let words = try server.plan.tokens.map {
        try ServerPlan.expand(ComparisonRun.variable($0), names)
      }
      var command = Command(words[0], Array(words.dropFirst()))
      command.output = .capture
      let finished = try ChildProcess.run(command)
      guard finished.status.isSuccess else {
        throw PlanFailure("\(words.prefix(2).joined(separator: " ")): \(finished.status)")
      }
      lines += finished.output
    }
    let path = try ServerPlan.expand(ServerPlan.tokenFile, names)
    try Data(lines).write(to: URL(filePath: path))
  }

  /// Expands `$NAME` to the environment variable.
  private static func variable(_ word: String) throws -> String {
    guard word.hasPrefix("$") else { return word }
    let name = String(word.dropFirst())
    guard let value = ProcessInfo.processInfo.environment[name], !value.isEmpty else {
      throw PlanFailure("the variable \(name) is not set")
    }
    return value
  }

  private func stopAll() {
    for server in running.values { server.stop() }
    running = [:]
  }
}
