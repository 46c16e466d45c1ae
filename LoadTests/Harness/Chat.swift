/// `chirrup-load chat`: visitors and operators with real tokens at an open arrival rate, verified.
import ArgumentParser
import Foundation
import Kernel
import Primitives

struct Chat: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Let visitors and operators talk, and verify every message.",
    discussion: """
      Messages become due at a rate that does not depend on the gateway, and latencies count from \
      the due time. At the end each acknowledged message must be in the database once, and every \
      subscriber must have received 1, 2, 3, … to the last one. Exit status: 1 after a broken \
      promise, 3 after a missed threshold, 2 if it could not run.
      """)

  @OptionGroup(title: "Gateway") var gateway: GatewayOptions
  @OptionGroup(title: "Clients") var credentials: CredentialOptions
  @OptionGroup(title: "Run") var workers: WorkerOptions
  @Option(help: "Visitors, each with its own session.")
  var visitors = 100
  @Option(help: "Operators; the sessions are split among them.")
  var operators = 2
  @Option(help: "Operators per session on average: with 1.5 every second session has two.")
  var operatorsPerSession = 1.0
  @Option(help: "Messages due per second, of all senders together.")
  var rate = 100.0
  @Option(help: "Gaps between messages: poisson or constant.")
  var arrivals = Arrivals.Spacing.poisson
  @Option(help: "Seconds during which messages become due.")
  var seconds = 10
  @Option(help: "Seconds of the same load before, which are verified but not measured.")
  var warmUp = 0
  @Option(help: "Bytes of a message's body.")
  var bodyBytes = 100
  @Option(help: "Share of the messages that operators send, 0 to 1.")
  var operatorShare = 0.3
  @Option(help: "Subscriptions per connection of an operator; more sessions need more connections.")
  var subscriptions = 128
  @Option(help: "Longest delay before a client reconnects, in seconds.")
  var backoffSeconds = 5
  @OptionGroup(title: "Report") var report: ReportOptions

  func validate() throws {
    try credentials.check()
    try checkRange("--visitors", visitors, 1...1_000_000)
    try checkRange("--operators", operators, 0...10_000)
    try checkRange("--seconds", seconds, 1...86_400)
    try checkRange("--warm-up", warmUp, 0...3_600)
    try checkRange("--body-bytes", bodyBytes, Bodies.byteCountMin...16_384)
    try checkRange("--subscriptions", subscriptions, 1...256)
    try checkRange("--backoff-seconds", backoffSeconds, 1...60)
    try checkRate(rate, max: 1_000_000)
    guard (0...1).contains(operatorShare) else {
      throw ValidationError("--operator-share must be 0 to 1")
    }
    guard (1...100).contains(operatorsPerSession) else {
      throw ValidationError("--operators-per-session must be 1 to 100")
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

  private func describe(_ record: inout RunRecord, seed: UInt64, groups: [ClientGroup]) {
    let parts = groups.flatMap(\.members)
    record.meta.seed = seed
    record.add(setup: "Visitors", "\(Format.count(visitors)), each with its own session")
    record.add(
      setup: "Operators",
      "\(Format.count(operators)), \(Format.number(operatorsPerSession)) a session")
    record.add(setup: "Connections", Format.count(parts.count))
    record.add(
      setup: "Arrivals", "\(Format.number(rate)) a second, \(arrivals.rawValue), open loop")
    record.add(setup: "Bodies", "\(Format.count(bodyBytes)) bytes")
    record.add(setup: "Length", "\(Format.seconds(Double(seconds)))")
    if warmUp > 0 { record.add(setup: "Warm-up", "\(Format.seconds(Double(warmUp)))") }
    record.add(
      setup: "Generator", groups.count == 1 ? "1 process" : "\(groups.count) processes")
  }

  private func measure(_ record: inout RunRecord) throws -> Report {
    let target = try gateway.target()
    let clients = try credentials.gather(visitors: visitors, operators: operators)
    let groups = try split(clients)
    let connections = groups.reduce(0) { $0 + $1.members.count }
    let seed = workers.seed ?? Random.uint64()
    describe(&record, seed: seed, groups: groups)
    let database = try credentials.database()
    record.meta.readVersions(chirrup: credentials.chirrup, database: database)
    let plan = LoadPlan(
      target: target,
      stamp: Stamp(nonce: Random.uint64(), wall: SystemClock.wallTime(), now: SystemClock.now()),
      bodyBytes: bodyBytes, ratePerSecond: rate, spacing: arrivals, warmUpSeconds: warmUp,
      seconds: seconds, operatorShare: operatorShare, settleSeconds: workers.settleSeconds,
      drainSeconds: workers.drainSeconds, backoffMaxMilliseconds: backoffSeconds * 1000, seed: seed)
    var works = workers.works(
      groups.count, plan: plan, course: .chat, connections: connections, database: database)
    for index in groups.indices { works[index].groups = [groups[index]] }
    let members = try WorkerGroup(
      works, progressSeconds: workers.progressSeconds, title: report.title ?? headline,
      plannedSeconds: seconds
    ) { recorder($0, target) }
    // No process sends before all clients are connected.
    if try members.await(step: 0, seconds: workers.settleSeconds + 30) { try members.take() }
    let result = try members.results(afterSeconds: warmUp + seconds)
    record.add(latency: "ack", result.latencies.ack)
    record.add(latency: "delivery", result.latencies.delivery)
    members.recorder.fill(
      &record, messages: result.counters.measuredAcked,
      deliveries: result.counters.measuredDelivered)
    var found = Report(result)
    found.gateway = members.recorder.gatewayUse
    found.command = record.meta.commandLine
    found.visitors = visitors
    found.operators = operators
    found.connections = connections
    return found
  }

  private func split(_ credentials: [Credential]) throws -> [ClientGroup] {
    let followed = (Double(visitors) * operatorsPerSession).rounded(.up)
    let connections = visitors + operators + Int(followed) / subscriptions
    let processes = workers.count(connections: connections)
    let needed = Int(operatorsPerSession.rounded(.up)) * processes
    guard operatorsPerSession == 1 || operators >= needed else {
      throw ValidationError(
        "\(processes) processes with \(Format.number(operatorsPerSession)) operators a session "
          + "need --operators \(needed)")
    }
    return ClientGroup.split(
      credentials, loops: processes, operatorsPerSession: operatorsPerSession,
      subscriptionsMax: subscriptions
    ).filter { !$0.members.isEmpty }
  }

  private func recorder(_ shared: RunState, _ target: Target) -> Recorder {
    let (gateway, credentials) = (gateway, credentials)
    return Recorder(
      intervals: shared.intervals, gateway: { gateway.process(credentials) },
      postmaster: gateway.postmaster(credentials), target: target)
  }
}
