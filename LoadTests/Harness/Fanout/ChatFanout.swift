/// Fan-out of the gateway through the chat protocol: all connections subscribe to one session, and
/// each message is a `send` that is committed to PostgreSQL, acknowledged and delivered to all.
///
/// The subscribers are connections of an operator, who may have any number of them, and take turns
/// in sending, because a connection may send twenty messages a second. So there is one ack per n
/// deliveries.
import Histogram
import Kernel
import Primitives
import Wire

struct ChatFanout: ~Copyable, CountedWork {
  private let plan: FanoutPlan
  private let session: Identifier
  private let stamp: Stamp
  private let bodies: Bodies
  private var swarm: Swarm
  private var verifier: SessionVerifier
  private var buffer = [UInt8](repeating: 0, count: Swarm.bufferByteCount)
  private let greeting: [UInt8]
  private var commands = CommandBuffer()
  private var frames: [UInt8] = []
  private var sent = 0
  private var turnOf = 0
  var stage = WorkStage.warmUp {
    didSet {
      verifier.isMeasuring = stage == .measured
      if stage == .measured { (fills, starvedFills) = (0, 0) }
    }
  }
  private var start = Instant.zero
  /// Fills of the window, and those that were limited by the subscribers' send rates.
  private var fills = 0
  private var starvedFills = 0

  private static let underWayMax = 256
  private static let openSecondsMax: Int64 = 120
  private static let drainMilliseconds: Int64 = 20_000
  private static let inFlightMax = 16

  init(_ plan: FanoutPlan, endpoint: SwarmEndpoint, token: String, session: Identifier)
    throws(Errno)
  {
    self.plan = plan
    self.session = session
    stamp = Stamp(nonce: Random.uint64(), wall: SystemClock.wallTime(), now: SystemClock.now())
    bodies = Bodies(byteCount: plan.sizeBytes)
    swarm = try Swarm([endpoint], limit: plan.subscribers, isPolling: plan.course.busyPoll)
    verifier = SessionVerifier(
      subscribers: plan.subscribers, stamp: stamp, bodies: bodies, pendingMax: plan.window,
      verifiesAll: plan.course.verify)
    greeting = chatGreeting(token: token, session: session)
  }

  var course: WorkCourse { plan.course }
  var counts: (messages: Int, published: Int) { (verifier.delivered, verifier.settled) }
  var polledNanoseconds: Int64 { swarm.polledNanoseconds }

  mutating func run(url: String) throws -> WorkFigures {
    try open()
    start = SystemClock.now()
    var figures = WorkFigures("fanout", url: url)
    figures.published = try count(from: start, into: &figures)
    figures.connections = plan.subscribers
    figures.subscribers = plan.subscribers
    figures.pending = plan.rate == nil ? plan.pending : nil
    figures.sizeBytes = plan.sizeBytes
    figures.rate = plan.rate
    figures.set(latency: verifier.latency)
    figures.verified = verifier.verified
    figures.problems = verifier.problems
    if !swarm.endings.isEmpty {
      figures.problems.append("connections ended: \(list(swarm.endings))")
    }
    if starvedFills * 20 > fills {
      figures.warnings.append(
        "the protocol's 20 messages a second per connection were the limit: use more --subscribers")
    }
    figures.judge()
    close()
    return figures
  }

  // MARK: The course

  private mutating func open() throws {
    let limit = SystemClock.now().advanced(byMilliseconds: ChatFanout.openSecondsMax * 1000)
    while verifier.liveCount < plan.subscribers {
      guard swarm.endings.isEmpty, verifier.problems.isEmpty, SystemClock.now() < limit else {
        if let problem = verifier.problems.first { throw WorkFailure.notSubscribed(problem) }
        throw WorkFailure.notOpened(
          open: verifier.liveCount, wanted: plan.subscribers, endings: swarm.endings)
      }
      while swarm.begun < plan.subscribers,
        swarm.begun - verifier.liveCount < ChatFanout.underWayMax,
        swarm.endings.isEmpty
      {
        _ = try swarm.begin()
      }
      try turn(nanoseconds: 100_000_000)
    }
  }

  mutating func go(until limit: Instant) throws(Errno) {
    var now = SystemClock.now()
    while now < limit, verifier.problems.isEmpty, swarm.endings.isEmpty {
      let wake = min(limit, try publish(now))
      try turn(nanoseconds: wake.nanoseconds - SystemClock.now().nanoseconds)
      now = SystemClock.now()
    }
  }

  mutating func drain() throws(Errno) {
    let limit = SystemClock.now().advanced(byMilliseconds: ChatFanout.drainMilliseconds)
    while pending > 0, verifier.problems.isEmpty, swarm.endings.isEmpty {
      guard SystemClock.now() < limit else {
        return verifier.note(
          "of \(sent) messages \(verifier.acked) were acknowledged and "
            + "\(verifier.settled) delivered to all"
        )
      }
      try turn(nanoseconds: 10_000_000)
    }
    for (index, subscriber) in verifier.subscribers.enumerated()
    where verifier.problems.isEmpty && subscriber.next != verifier.head + 1 {
      verifier.note("connection \(index) received up to \(subscriber.next - 1) of \(verifier.head)")
    }
  }

  private mutating func close() {
    var goodbye: [UInt8] = []
    FrameEncoder.appendMaskedClose(.normal, maskKey: 0, to: &goodbye)
    for index in 0..<plan.subscribers where swarm.contains(index) {
      _ = try? goodbye.withRawSpan { (span) throws(Errno) in try swarm.sendFrames(index, span) }
    }
  }

  // MARK: Events

  private mutating func turn(nanoseconds: Int64) throws(Errno) {
    try swarm.wait(nanoseconds: nanoseconds)
    for position in 0..<swarm.eventCount {
      let event = swarm.event(position)
      let index = Int(event.datum)
      guard swarm.contains(index) else { continue }
      if event.isWritable { _ = try swarm.writable(index) }
      guard event.isReadable || event.isHungUp, swarm.contains(index) else { continue }
      let arrival = try swarm.receive(index, &buffer) {
        verifier.take(index, $0, SystemClock.now())
      }
      if arrival == .opened {
        try greeting.withRawSpan { (span) throws(Errno) in try swarm.sendFrames(index, span) }
      }
      if !verifier.asked.isEmpty { try answer() }
    }
  }

  /// Answers pings.
  private mutating func answer() throws(Errno) {
    for (index, ping) in verifier.takeAsked() where swarm.contains(index) {
      frames.removeAll(keepingCapacity: true)
      if let ping {
        ping.withRawSpan {
          FrameEncoder.appendMaskedFrame(.pong, payload: $0, maskKey: 0, to: &frames)
        }
      } else {
        commands.pong()
        appendCommands()
      }
      try sendFrames(index)
    }
  }

  // MARK: Sending

  private var pending: Int { sent - min(verifier.acked, verifier.settled) }

  /// Sends as many messages as allowed or due; returns the time of the next call.
  private mutating func publish(_ now: Instant) throws(Errno) -> Instant {
    var count = plan.pending - pending
    if let rate = plan.rate {
      count = 0
      while count < plan.window - pending, due(sent + count, from: start, rate) <= now {
        count += 1
      }
    }
    var isStarved = false
    while count > 0, !isStarved {
      guard let index = nextSender(min(count, ChatFanout.inFlightMax), now) else {
        isStarved = true
        break
      }
      let part = min(count, ChatFanout.inFlightMax)
      try send(index, part, now)
      count -= part
    }
    fills += 1
    starvedFills += isStarved ? 1 : 0
    if isStarved { return now.advanced(byMilliseconds: 1) }
    return plan.rate.map { due(sent, from: start, $0) } ?? .never
  }

  /// The next subscriber in turn, if its rate limit allows this many messages. Otherwise no other
  /// one may send, because all others sent later.
  private mutating func nextSender(_ count: Int, _ now: Instant) -> Int? {
    for _ in 0..<min(plan.subscribers, 64) {
      let index = turnOf
      turnOf = turnOf + 1 == plan.subscribers ? 0 : turnOf + 1
      if verifier.subscribers[index].inFlight + count <= ChatFanout.inFlightMax,
        verifier.subscribers[index].allowance.take(count, now)
      {
        return index
      }
    }
    return nil
  }

  private mutating func send(_ index: Int, _ count: Int, _ now: Instant) throws(Errno) {
    for _ in 0..<count {
      let time = plan.rate.map { due(sent, from: start, $0) } ?? now
      let id = stamp.identifier(due: time, client: index, number: sent)
      commands.send(ref: sent, session: session, id: id, bodies: bodies)
      sent += 1
    }
    verifier.subscribers[index].inFlight += count
    frames.removeAll(keepingCapacity: true)
    appendCommands()
    try sendFrames(index)
  }

  private mutating func appendCommands() {
    commands.bytes.withRawSpan { span in
      var start = 0
      for end in commands.ends {
        FrameEncoder.appendMaskedFrame(
          .text, payload: span.extracting(start..<end), maskKey: 0x5A17_C3E9, to: &frames)
        start = end
      }
    }
    commands.removeAll()
  }

  private mutating func sendFrames(_ index: Int) throws(Errno) {
    try frames.withRawSpan { (span) throws(Errno) in try swarm.sendFrames(index, span) }
  }
}

/// The first frame of a client that subscribes to one session, framed and masked.
func chatGreeting(token: String, session: Identifier) -> [UInt8] {
  var text: [UInt8] = []
  text.append("{\"type\":\"hello\",\"ref\":1,\"token\":\"")
  text.append(token)
  text.append("\",\"subscribe\":[{\"ref\":2,\"session\":\"")
  session.appendText(to: &text)
  text.append("\",\"after\":0}]}")
  var frame: [UInt8] = []
  text.withRawSpan {
    FrameEncoder.appendMaskedFrame(.text, payload: $0, maskKey: 0x3C5A_9617, to: &frame)
  }
  return frame
}
