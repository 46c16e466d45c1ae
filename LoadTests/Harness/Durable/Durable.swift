/// `chirrup-load durable`: the cost of durability. Measures committed and acknowledged messages per
/// second through the gateway, with the same batches without a gateway, and with one INSERT per
/// message.
import ArgumentParser
import EmbeddedPostgres
import Foundation
import Kernel
import Primitives

struct Durable: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Compare the gateway with its batches driven directly, and with single INSERTs.",
    discussion: """
      The gateway, its PostgreSQL and this generator share one machine. Each round runs all \
      phases one after another, so that noise affects all alike; ratios are of one round. \
      Afterwards every acknowledged message must be in the database once. Exit status: 1 after a \
      broken promise, or with --check after a missed limit; 2 if it could not run.
      """)

  @Option(help: "The gateway: ws://ADDRESS:PORT.")
  var url = "ws://127.0.0.1:8080"
  @Option(help: "The chirrup binary, which issues the tokens.")
  var chirrup: String
  @Option(help: "The gateway's data directory, which holds its PostgreSQL.")
  var dataDir: String
  @Option(help: "The workspace that tokens are issued for.")
  var workspace = "demo"
  @Option(help: "Senders, each with its own session and connection.")
  var senders = 4_000
  @Option(help: "Messages in flight at saturation, of all senders together.")
  var window = 1_024
  @Option(help: "Messages that a sender sends at once: 1 to 16.")
  var pipeline = 16
  @Option(help: "Bytes of a message's body.")
  var bodyBytes = 100
  @Option(help: "Number of rounds.")
  var rounds = 5
  @Option(help: "Seconds of each phase; the first half second is not counted.")
  var seconds = 5
  @Option(help: "With --check: smallest ratio of the gateway's rate to that of direct batches.")
  var directRatio = 0.8
  @Option(
    help: "With --check: smallest ratio of the gateway's rate to single INSERTs on one connection.")
  var insertRatio = 10.0
  @Option(help: "With --check: limit of the ack's p99 at half load, in milliseconds; 0 for none.")
  var ackMilliseconds = 10.0
  @Flag(help: "Exit with 1 when a limit is missed.")
  var check = false
  @Flag(help: "Run only the gateway's phases, for a profiler.")
  var gatewayOnly = false

  @OptionGroup(title: "Report")
  var report: ReportOptions

  func validate() throws {
    guard let target = Target(url), !target.isSecure else {
      throw ValidationError("--url must be ws://ADDRESS:PORT")
    }
    guard (16...20_000).contains(senders), (1...16_384).contains(window) else {
      throw ValidationError("--senders must be 16 to 20000, --window 1 to 16384")
    }
    guard (1...16).contains(pipeline) else { throw ValidationError("--pipeline must be 1 to 16") }
    guard (1...100).contains(rounds), (1...20).contains(seconds) else {
      throw ValidationError("--rounds must be 1 to 100, --seconds 1 to 20")
    }
    guard (Bodies.byteCountMin...16_384).contains(bodyBytes) else {
      throw ValidationError("--body-bytes must be \(Bodies.byteCountMin) to 16384")
    }
  }

  func run() throws {
    try report.run {
      var record = RunRecord(
        command: "durable", title: "Durability: \(Format.count(senders)) senders, \(rounds) rounds")
      var found = try measure()
      found.judge(direct: directRatio, insert: insertRatio, ackMilliseconds: ackMilliseconds)
      print(found)
      record.meta.readVersions(
        chirrup: chirrup, database: try PrivateCluster.attach(dataDirectory: dataDir))
      found.fill(&record)
      if check, !found.missed.isEmpty {
        record.verdict = .failed
        record.problems += found.missed
      }
      return record
    }
  }

  private func measure() throws -> DurableReport {
    guard let target = Target(url) else { throw ValidationError("--url") }
    let local = try LocalGateway(target: target, dataDirectory: dataDir)
    let credentials = try Credentials.make(
      chirrup: chirrup, kind: "visitor", count: senders, workspace: workspace,
      database: ["--data-dir", dataDir])
    if DescriptorLimit.raise() < credentials.count + 64 {
      throw ValidationError("\(credentials.count + 64) descriptors are needed (ulimit -n)")
    }
    let crowd = try SenderPool(
      target: target, credentials: credentials, bodies: Bodies(byteCount: bodyBytes),
      pipeline: pipeline)
    try crowd.open()
    let direct = try DirectDriver(local, bodyBytes: bodyBytes, like: credentials)
    let peers = try PeerDriver(local, bodyBytes: bodyBytes, like: credentials)
    var report = DurableReport(
      machine: Machine.description, loops: local.loops, senders: senders, window: window,
      pipeline: pipeline, bodyBytes: bodyBytes)
    for number in 1...rounds {
      var round = DurableRound()
      try measureGateway(&round, crowd, local)
      if !gatewayOnly {
        try crowd.rest()
        round.direct = try direct.run(
          rows: round.batchRows, sessions: round.batchSessions, seconds: seconds)
        for kind in PeerDriver.Kind.allCases {
          try crowd.rest()
          round.peers[kind.rawValue] = try peers.run(kind, seconds: max(1, seconds * 3 / 5))
        }
        try crowd.rest()
      }
      try measureHalf(&round, crowd, local)
      report.rounds.append(round)
      FileHandle.standardError.write(Data("round \(number): \(round)\n".utf8))
    }
    try report.verify(crowd, direct, peers, local)
    return report
  }

  /// The gateway at saturation.
  private func measureGateway(
    _ round: inout DurableRound, _ crowd: SenderPool, _ local: LocalGateway
  ) throws {
    let before = try local.figures()
    let begin = local.use()
    let phase = try crowd.saturate(window: window, seconds: seconds)
    round.gatewayUse = local.use().since(begin, messages: phase.total)
    let after = try local.figures(committed: before.committed + phase.total)
    round.gateway = phase.perSecond
    round.generatorLoad = phase.load
    round.starved = Double(phase.starvedFills) / Double(max(1, phase.fills))
    round.saturated = Report.Latency(phase.latencies.ack)
    let batches = max(1, after.batches - before.batches)
    round.batchRows = Double(after.committed - before.committed) / Double(batches)
    round.batchSessions = try local.sessionsPerBatch(since: phase.wallStart)
  }

  /// Half of the saturation's rate, with exponential gaps.
  private func measureHalf(_ round: inout DurableRound, _ crowd: SenderPool, _ local: LocalGateway)
    throws
  {
    let before = try local.figures()
    let begin = local.use()
    let phase = try crowd.arrive(perSecond: round.gateway / 2, seconds: seconds)
    round.halfUse = local.use().since(begin, messages: phase.total)
    let after = try local.figures(committed: before.committed + phase.total)
    round.halfBatchRows =
      Double(after.committed - before.committed) / Double(max(1, after.batches - before.batches))
    round.half = phase.perSecond
    round.halfGeneratorLoad = phase.load
    round.halfAck = Report.Latency(phase.latencies.ack)
  }
}
