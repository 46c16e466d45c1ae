/// Fan-out of a server without a chat protocol: a message sent to one URL must arrive unchanged at
/// all connections of another.
import Histogram
import Kernel
import Primitives

struct FanoutPlan {
  var subscribers = 1_000
  var sizeBytes = 128
  /// Published messages that not all subscribers have received, at most.
  var pending = 1
  /// Messages due per second; nil publishes whenever the window has room.
  var rate: Double?
  var course: WorkCourse

  /// With a rate, messages do not wait for earlier ones, up to this many.
  static let openPendingMax = 4_096
  var window: Int { rate == nil ? pending : FanoutPlan.openPendingMax }
}

struct PlainFanout: ~Copyable, CountedWork {
  private let plan: FanoutPlan
  private var ring: RingSwarm
  private var window: Window
  private var latency = latencyHistogram()
  var stage = WorkStage.warmUp
  private var start = Instant.zero

  private static let drainMilliseconds: Int64 = 10_000
  /// A server may answer the handshake before it has registered the subscriber.
  private static let settleMilliseconds: Int64 = 200

  init(_ plan: FanoutPlan, subscribe: SwarmEndpoint, publish: SwarmEndpoint) throws(Errno) {
    self.plan = plan
    ring = try RingSwarm(
      [subscribe, publish], connections: plan.subscribers + 1,
      ring: FrameRing(
        payloadByteCount: plan.sizeBytes, atOnce: plan.window, isBare: subscribe.isBare),
      course: plan.course)
    window = Window(subscribers: plan.subscribers, pendingMax: plan.window)
  }

  /// The publisher has the last connection.
  private var publisher: Int { plan.subscribers }

  var course: WorkCourse { plan.course }
  var counts: (messages: Int, published: Int) { (ring.verifier.total, window.settled) }
  var polledNanoseconds: Int64 { ring.swarm.polledNanoseconds }

  mutating func run(url: String) throws -> WorkFigures {
    ring.verifier.published = 0
    let subscribers = plan.subscribers
    try ring.open { $0 < subscribers ? 0 : 1 }
    try go(until: SystemClock.now().advanced(byMilliseconds: PlainFanout.settleMilliseconds))
    start = SystemClock.now()
    try publish(start)
    var figures = WorkFigures("fanout", url: url)
    figures.published = try count(from: start, into: &figures)
    figures.connections = plan.subscribers + 1
    figures.subscribers = plan.subscribers
    figures.pending = plan.rate == nil ? plan.pending : nil
    figures.sizeBytes = plan.sizeBytes
    figures.rate = plan.rate
    figures.isBare = ring.verifier.ring.shape == nil
    figures.set(latency: latency)
    figures.verified = ring.verifier.verified
    figures.problems = ring.problems
    figures.judge()
    ring.close()
    return figures
  }

  mutating func go(until limit: Instant) throws(Errno) {
    var now = SystemClock.now()
    while now < limit, ring.verifier.problems.isEmpty {
      var wake = limit
      if let rate = plan.rate, start != .zero {
        try publishDue(now, rate)
        if window.hasRoom { wake = min(limit, dueTime(window.published, rate)) }
      }
      try turn(nanoseconds: wake.nanoseconds - SystemClock.now().nanoseconds)
      now = SystemClock.now()
    }
  }

  mutating func drain() throws(Errno) {
    let limit = SystemClock.now().advanced(byMilliseconds: PlainFanout.drainMilliseconds)
    while window.pending > 0, ring.problems.isEmpty {
      guard SystemClock.now() < limit else {
        let missing =
          plan.subscribers * window.published
          - ring.verifier.peers[..<plan.subscribers].reduce(0) { $0 + $1.received }
        return ring.verifier.note("\(missing) deliveries are missing")
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
      if index == publisher || ring.verifier.peers[index].received > window.published {
        return ring.verifier.note("connection \(index) got a message although it only publishes")
      }
      let first = ring.verifier.peers[index].received - count
      window.arrive(first, count, now, &latency, records: stage == .measured)
    }
    window.settle()
    if plan.rate == nil, start != .zero, stage != .over { try publish(SystemClock.now()) }
  }

  // MARK: Publishing

  /// Fills the window with one write.
  private mutating func publish(_ now: Instant) throws(Errno) {
    guard plan.rate == nil else { return }
    try publish(plan.pending - window.pending) { _ in now }
  }

  private mutating func publishDue(_ now: Instant, _ rate: Double) throws(Errno) {
    var count = 0
    while count < plan.window - window.pending,
      dueTime(window.published + count, rate) <= now
    {
      count += 1
    }
    let (start, first) = (start, window.published)
    try publish(count) { due($0 + first, from: start, rate) }
  }

  private func dueTime(_ number: Int, _ rate: Double) -> Instant { due(number, from: start, rate) }

  private mutating func publish(_ count: Int, _ due: (Int) -> Instant) throws(Errno) {
    guard count > 0 else { return }
    for number in 0..<count { window.publish(due(number)) }
    ring.verifier.published = window.published
    try ring.owe(publisher, count)
  }
}
