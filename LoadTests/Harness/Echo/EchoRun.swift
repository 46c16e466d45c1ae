/// Runs `echo`: all connections open, each keeps its number of messages in flight (or messages
/// become due at a rate), a warm-up, the measured time, the last replies.
import Histogram
import Kernel
import Primitives

struct EchoPlan {
  var endpoint: SwarmEndpoint
  var connections = 100
  var inFlight = 1
  var sizeBytes = 20
  /// Messages due per second on all connections; nil sends as replies arrive.
  var rate: Double?
  var course: WorkCourse
}

struct EchoRun: ~Copyable, CountedWork {
  private let plan: EchoPlan
  private var ring: RingSwarm
  private var latency = latencyHistogram()
  private var departures: Departures
  var stage = WorkStage.warmUp
  /// With a rate: the due time of the first message, and the number of due messages.
  private var start = Instant.zero
  private var dueCount = 0

  private static let drainMilliseconds: Int64 = 5_000

  init(_ plan: EchoPlan) throws(Errno) {
    self.plan = plan
    ring = try RingSwarm(
      [plan.endpoint], connections: plan.connections,
      ring: FrameRing(
        payloadByteCount: plan.sizeBytes, atOnce: plan.inFlight, isBare: plan.endpoint.isBare),
      course: plan.course)
    departures = Departures(
      connections: plan.rate == nil ? plan.connections : 0, each: plan.inFlight)
  }

  var course: WorkCourse { plan.course }
  var counts: (messages: Int, published: Int) { (ring.verifier.total, 0) }
  var polledNanoseconds: Int64 { ring.swarm.polledNanoseconds }

  mutating func run(url: String) throws -> WorkFigures {
    try ring.open { _ in 0 }
    start = SystemClock.now()
    if plan.rate == nil {
      for index in 0..<plan.connections { try owe(index, plan.inFlight, start) }
    }
    var figures = WorkFigures("echo", url: url)
    _ = try count(from: start, into: &figures)
    figures.connections = plan.connections
    figures.inFlight = plan.rate == nil ? plan.inFlight : nil
    figures.sizeBytes = plan.sizeBytes
    figures.rate = plan.rate
    figures.isBare = plan.endpoint.isBare
    figures.set(latency: latency)
    figures.verified = ring.verifier.verified
    figures.problems = ring.problems
    figures.judge()
    ring.close()
    return figures
  }

  mutating func go(until limit: Instant) throws {
    var now = SystemClock.now()
    while now < limit, ring.verifier.problems.isEmpty {
      var wake = limit
      if let rate = plan.rate { wake = min(limit, try sendDue(now, rate)) }
      try turn(nanoseconds: wake.nanoseconds - SystemClock.now().nanoseconds)
      now = SystemClock.now()
    }
  }

  mutating func drain() throws {
    let limit = SystemClock.now().advanced(byMilliseconds: EchoRun.drainMilliseconds)
    while ring.verifier.peers.contains(where: { $0.received < $0.sent }), ring.problems.isEmpty {
      guard SystemClock.now() < limit else {
        let missing = ring.verifier.peers.reduce(0) { $0 + $1.sent - $1.received }
        return ring.verifier.note("\(missing) messages did not come back")
      }
      try turn(nanoseconds: 10_000_000)
    }
  }

  private mutating func turn(nanoseconds: Int64) throws(Errno) {
    try ring.wait(nanoseconds: nanoseconds)
    for position in 0..<ring.eventCount {
      let (index, count) = try ring.handle(position)
      if count == 0 { continue }
      let now = SystemClock.now()
      if plan.rate != nil {
        try settleDue(index, count, now)
      } else {
        departures.arrive(index, count, now, &latency, records: stage == .measured)
        if stage != .over { try owe(index, count, now) }
      }
    }
  }

  private mutating func owe(_ index: Int, _ count: Int, _ now: Instant) throws(Errno) {
    departures.depart(index, count, now)
    try ring.owe(index, count)
  }
}

// MARK: Due messages

/// Message k is due k / rate seconds after the start on connection k % connections, so the due time
/// of a reply follows from its number and need not be stored.
extension EchoRun {
  /// Sends the due messages, and returns the due time of the next one.
  private mutating func sendDue(_ now: Instant, _ rate: Double) throws(Errno) -> Instant {
    while stage != .over {
      let next = due(dueCount, from: start, rate)
      if next > now { return next }
      let index = dueCount % plan.connections
      dueCount += 1
      if ring.verifier.peers[index].sent - ring.verifier.peers[index].received < plan.inFlight {
        try ring.owe(index, 1)
      }
    }
    return .never
  }

  private mutating func settleDue(_ index: Int, _ came: Int, _ now: Instant) throws(Errno) {
    guard let rate = plan.rate else { return }
    let received = ring.verifier.peers[index].received
    if stage == .measured {
      for number in received - came..<received {
        let time = due(number * plan.connections + index, from: start, rate)
        latency.record(microseconds(since: time, now))
      }
    }
    // Due messages that wait for room in their connection.
    let count = (dueCount - index + plan.connections - 1) / plan.connections
    let sent = ring.verifier.peers[index].sent
    let late = min(count - sent, plan.inFlight - (sent - received))
    if late > 0, stage != .over { try ring.owe(index, late) }
  }
}
