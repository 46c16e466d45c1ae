/// `chirrup-load chat`: visitors and operators with real tokens, at an open arrival rate,
/// verified.
import ArgumentParser
import Cluster
import Foundation
import Kernel
import Postgres
import Primitives
import Synchronization

struct Chat: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Visitors and operators talk; every message is accounted for.",
    discussion: """
      Messages become due at a rate that does not wait for the gateway, and latencies count from \
      the due time. At the end every ack must be in the database once, and every subscriber must \
      have been shown 1, 2, 3, … to the last message. Ends with 1 if a promise was broken, with 3 \
      if a threshold was missed, with 2 if it could not run.
      """)

  @Option(help: "The gateway: ws://ADDRESS:PORT[/PATH], or wss:// for TLS.")
  var url = "ws://127.0.0.1:8080"
  @Flag(help: "With wss://: any certificate will do.")
  var insecure = false
  @Option(help: "With wss://: a PEM file of certificates to trust besides the system's.")
  var authority: String?
  @Option(help: "Visitors, each with a session of its own.")
  var visitors = 100
  @Option(help: "Operators, among whom the sessions are split.")
  var operators = 2
  @Option(help: "Messages due a second, all senders together.")
  var rate = 100.0
  @Option(help: "Gaps between messages: poisson or constant.")
  var arrivals = Arrivals.Spacing.poisson
  @Option(help: "Seconds during which messages become due.")
  var seconds = 10
  @Option(help: "Bytes of a message's body.")
  var bodyBytes = 100
  @Option(help: "Part of the messages that operators send.")
  var operatorShare = 0.3
  @Option(help: "Subscriptions of one operator's connection; a larger share opens several.")
  var subscriptions = 128
  @Option(help: "Threads, each with a loop of its own.")
  var threads = 1

  @Option(name: .customLong("tokens"), help: "A file of `chirrup token`; may be repeated.")
  var tokenFiles: [String] = []
  @Option(help: "The gateway's binary, to make the tokens with.")
  var chirrup: String?
  @Option(help: "The workspace of the tokens.")
  var workspace = "demo"
  @Option(help: "The gateway's data directory: tokens and rows come from its PostgreSQL.")
  var dataDir: String?
  @Option(help: "The gateway's PostgreSQL: tokens and rows come from it.")
  var databaseUrl: String?

  @Option(help: "Seconds to wait for everybody to connect.")
  var settleSeconds = 60
  @Option(help: "Seconds without any progress after which missing answers are given up.")
  var drainSeconds = 30
  @Option(help: "Seconds that a client waits at most before it reconnects.")
  var backoffSeconds = 5
  @Option(help: "Process id of the gateway, for its processor time and memory (of --data-dir's).")
  var pid: Int?
  @Option(help: "Seconds between two lines of progress where there is no terminal.")
  var progressSeconds = 5
  @Option(help: "Repeats the senders, gaps and delays of an earlier run.")
  var seed: UInt64?
  @OptionGroup(title: "Report")
  var report: ReportOptions

  func validate() throws {
    guard Target(url) != nil else {
      throw ValidationError("--url must be ws://ADDRESS:PORT or wss://…")
    }
    try check("--visitors", visitors, 1...1_000_000)
    try check("--operators", operators, 0...10_000)
    try check("--seconds", seconds, 1...86_400)
    try check("--body-bytes", bodyBytes, Bodies.byteCountMin...16_384)
    try check("--subscriptions", subscriptions, 1...256)
    try check("--threads", threads, 1...64)
    guard rate > 0, rate <= 1_000_000 else { throw ValidationError("--rate must be 0 to 1000000") }
    guard (0...1).contains(operatorShare) else {
      throw ValidationError("--operator-share must be 0 to 1")
    }
    guard !tokenFiles.isEmpty || chirrup != nil else {
      throw ValidationError(
        "give --tokens FILE, or --chirrup PATH with --data-dir or --database-url")
    }
  }

  func run() throws {
    try report.run {
      var record = RunRecord(command: "chat", title: headline)
      let found = try measure(&record)
      found.fill(&record)
      print(found)
      return record
    }
  }

  var headline: String {
    "Chat: \(Format.count(visitors)) visitors, \(Format.number(rate)) messages a second"
  }

  private func describe(_ record: inout RunRecord, seed: UInt64, connections: Int) {
    record.meta.seed = seed
    record.add(setup: "Visitors", "\(Format.count(visitors)), each with a session of its own")
    record.add(setup: "Operators", Format.count(operators))
    record.add(setup: "Connections", Format.count(connections))
    record.add(
      setup: "Arrivals", "\(Format.number(rate)) a second, \(arrivals.rawValue), open loop")
    record.add(setup: "Bodies", "\(Format.count(bodyBytes)) bytes")
    record.add(setup: "Length", "\(Format.seconds(Double(seconds)))")
    record.add(setup: "Generator", threads == 1 ? "1 thread" : "\(threads) threads")
  }

  private func measure(_ record: inout RunRecord) throws -> Report {
    let credentials = try gatherCredentials()
    let seed = seed ?? Random.uint64()
    let stamp = Stamp(
      nonce: Random.uint64(), wall: SystemClock.wallTime(), now: SystemClock.now())
    let casts = Cast.split(credentials, loops: threads, subscriptionsMax: subscriptions)
    let descriptors = casts.reduce(32) { $0 + $1.parts.count }
    if DescriptorLimit.raise() < descriptors {
      throw ValidationError(
        "\(descriptors) descriptors are needed, \(DescriptorLimit.current) allowed (ulimit -n)")
    }
    let connections = casts.reduce(0) { $0 + $1.parts.count }
    describe(&record, seed: seed, connections: connections)
    let database = try databaseURL()
    record.meta.ask(chirrup: chirrup, database: database)
    let (results, recorder) = try runLoops(casts, stamp: stamp, seed: seed)

    var counters = Counters()
    var latencies = Latencies()
    for result in results {
      counters.add(result.counters)
      latencies.add(result.latencies)
    }
    let nanoseconds = results.map(\.activeNanoseconds).max() ?? 0
    var report = Report(
      counters: counters, latencies: latencies, seconds: Double(nanoseconds) / 1e9)
    report.gateway = recorder.gatewayUse
    report.command = record.meta.commandLine
    report.shownToAll = results.reduce(0) { $0 + $1.shownToAll }
    report.visitors = visitors
    report.operators = operators
    report.connections = connections
    report.unacknowledged = results.reduce(0) { $0 + $1.unsettled }
    report.generatorLoad = results.map(\.load).max() ?? 0
    for result in results {
      report.add(result.violations)
      if let problem = result.problem { report.problems.append(problem) }
    }
    if let database {
      var audit = Audit(stamp: stamp, bodies: Bodies(byteCount: bodyBytes))
      let connection = try BlockingConnection(database)
      for result in results { try audit.run(result.logs, on: connection) }
      report.add(audit.violations)
      report.database = .init(
        rows: audit.rowCount, ownRows: audit.ownRowCount, sessions: audit.sessionCount)
    }
    report.judge()
    record.add(latency: "ack", latencies.ack)
    record.add(latency: "delivery", latencies.delivery)
    recorder.fill(&record, messages: counters.acked, deliveries: counters.delivered)
    return report
  }

  private func gatherCredentials() throws -> [Credential] {
    var all: [Credential] = []
    for file in tokenFiles { all += try Credentials.read(file: file) }
    if let chirrup {
      let place =
        databaseUrl.map { ["--database-url", $0] } ?? dataDir.map { ["--data-dir", $0] } ?? []
      for (kind, count) in [("visitor", visitors), ("operator", operators)] {
        all += try Credentials.make(
          chirrup: chirrup, kind: kind, count: count, workspace: workspace, place: place)
      }
    }
    return try take(.visitor, visitors, "visitor", of: all)
      + take(.operator_, operators, "operator", of: all)
  }

  private func take(
    _ kind: Credential.Kind, _ count: Int, _ name: String, of all: [Credential]
  ) throws -> [Credential] {
    let found = all.filter { $0.kind == kind }
    guard found.count >= count else {
      throw CredentialFailure.tooFew(name, wanted: count, found: found.count)
    }
    return Array(found.prefix(count))
  }

  private func databaseURL() throws -> String? {
    if let databaseUrl { return databaseUrl }
    return try dataDir.map { try Cluster.attach(dataDirectory: $0) }
  }
}
