/// The senders of `durable`: many connections on one loop, each with its own session. They cost
/// little, because they share the machine with the measured gateway.
import Kernel
import OpenSSL
import Primitives

/// The senders' figures of one phase.
struct SenderPhase {
  /// Acknowledged in the counted time, and in the whole phase.
  var counted = 0
  var total = 0
  var nanoseconds: Int64 = 0
  var busyNanoseconds: Int64 = 0
  var latencies = Latencies()
  var wallStart = WallTime(microseconds: 0)

  /// The number of fills of the window, and of those that the senders' rate limits left incomplete.
  var fills = 0
  var starvedFills = 0

  var perSecond: Double { Double(counted) * 1e9 / Double(max(1, nanoseconds)) }
  /// Share of a core.
  var load: Double { Double(busyNanoseconds) / Double(max(1, nanoseconds)) }
}

final class SenderPool: PoolDelegate {
  let bodies: Bodies
  let stamp: Stamp
  private(set) var senders: [Sender] = []
  var ledger: Ledger
  private(set) var refusals: [String: Int] = [:]
  private(set) var problems: [String] = []

  private let tokens: [String]
  private let pipeline: Int
  private let pool: Pool
  private var random = RandomStream(seed: Random.uint64())
  private var liveCount = 0
  private var phase = SenderPhase()
  private var inFlight = 0
  /// Senders with nothing in flight, longest waiting first.
  private var ready: ReadyQueue
  private var retryAt = Instant.never

  /// Time for opening all connections.
  private static let openSecondsMax: Int64 = 120
  /// Not counted at the start of a phase.
  static let warmMilliseconds: Int64 = 500
  /// Due messages are collected for this time, which saves wake-ups. It counts in the latency.
  private static let arrivalNanoseconds: Int64 = 200_000

  init(target: Target, credentials: [Credential], bodies: Bodies, pipeline: Int) throws(Errno) {
    self.bodies = bodies
    self.pipeline = pipeline
    tokens = credentials.map(\.token)
    let sessions = credentials.compactMap(\.session)
    ledger = Ledger(sessions: sessions)
    senders = sessions.map { Sender(session: $0) }
    ready = ReadyQueue(capacity: sessions.count)
    stamp = Stamp(nonce: Random.uint64(), wall: SystemClock.wallTime(), now: SystemClock.now())
    pool = try Pool(target: target)
  }

  // MARK: Opening

  /// Waits until all senders are subscribed.
  func open() throws {
    let limit = SystemClock.now().advanced(byMilliseconds: SenderPool.openSecondsMax * 1000)
    while liveCount < senders.count {
      guard problems.isEmpty, SystemClock.now() < limit else {
        throw CredentialFailure.tooFew("connection", wanted: senders.count, found: liveCount)
      }
      try pool.begin(upTo: senders.count, ready: liveCount)
      try turn(nanoseconds: 100_000_000)
    }
    for number in senders.indices { enqueue(number) }
  }

  private func enqueue(_ number: Int) {
    guard !senders[number].isQueued else { return }
    senders[number].isQueued = true
    ready.append(number)
  }

  /// Answers early, so that the gateway sends no pings in the next phase.
  func rest() throws(Errno) {
    for number in senders.indices {
      pool.commands.pong()
      try transmit(number)
    }
    try turn(nanoseconds: 10_000_000)
  }

  // MARK: The phases

  /// A closed loop: `window` messages are in flight, and each ack makes room for the next.
  func saturate(window: Int, seconds: Int) throws -> SenderPhase {
    try measure(seconds: seconds) { now in
      try fill(window, now)
      return now.advanced(byMilliseconds: 1)
    }
  }

  /// An open loop: the same number of messages at once becomes due at random times, independent of
  /// the gateway.
  func arrive(perSecond: Double, seconds: Int) throws -> SenderPhase {
    var arrivals = Arrivals(
      perSecond: max(1, perSecond / Double(pipeline)), spacing: .poisson, from: SystemClock.now(),
      seconds: seconds,
      seed: random.next())
    return try measure(seconds: seconds) { now in
      while let due = arrivals.take(now) {
        try send(pick(now), count: pipeline, due: due)
      }
      return max(
        arrivals.next, Instant(nanoseconds: now.nanoseconds + SenderPool.arrivalNanoseconds))
    }
  }

  /// Calls `act` after each batch of events; it returns when it must be called next.
  private func measure(
    seconds: Int, _ act: (Instant) throws -> Instant
  ) throws -> SenderPhase {
    phase = SenderPhase()
    phase.wallStart = SystemClock.wallTime()
    var now = SystemClock.now()
    let warm = now.advanced(byMilliseconds: SenderPool.warmMilliseconds)
    let end = now.advanced(byMilliseconds: Int64(seconds) * 1000)
    var start = now
    var busy: Int64 = 0
    var isWarm = false
    while now < end {
      let wake = try act(now)
      try turn(nanoseconds: max(0, wake.nanoseconds - SystemClock.now().nanoseconds))
      now = SystemClock.now()
      if !isWarm, now >= warm {
        isWarm = true
        start = now
        phase.counted = 0
        (phase.fills, phase.starvedFills) = (0, 0)
        phase.latencies = Latencies()
        busy = SystemClock.threadTimeNanoseconds()
      }
    }
    var result = phase
    result.nanoseconds = now.nanoseconds - start.nanoseconds
    result.busyNanoseconds = SystemClock.threadTimeNanoseconds() - busy
    try drain()
    result.total = phase.total
    result.latencies = phase.latencies
    return result
  }

  /// Waits for all answers, at most 30 seconds after the last one.
  private func drain() throws(Errno) {
    var limit = SystemClock.now().advanced(byMilliseconds: 30_000)
    var known = phase.total
    while inFlight > 0 || retryAt != .never, problems.isEmpty {
      try turn(nanoseconds: 20_000_000)
      if phase.total != known {
        known = phase.total
        limit = SystemClock.now().advanced(byMilliseconds: 30_000)
      }
      if SystemClock.now() >= limit {
        problems.append("\(inFlight) messages were not answered for 30 s")
        return
      }
    }
  }

  // MARK: Sending

  private func fill(_ window: Int, _ now: Instant) throws(Errno) {
    // The longest waiting sender has the largest allowance: if it is too small, so are all others.
    while inFlight < window, let number = ready.first {
      let count = min(pipeline, window - inFlight, senders[number].inFlightMax)
      guard senders[number].takeTokens(count, now) else { break }
      ready.removeFirst()
      senders[number].isQueued = false
      try send(number, count: count, due: now)
    }
    phase.fills += 1
    if inFlight < window { phase.starvedFills += 1 }
  }

  /// A random sender that may send now. A queue entry of the other phase remains.
  private func pick(_ now: Instant) -> Int {
    for _ in 0..<16 {
      let number = Int(truncatingIfNeeded: random.next() % UInt64(senders.count))
      if senders[number].flying.count + pipeline <= senders[number].inFlightMax,
        !senders[number].isHeld, senders[number].takeTokens(pipeline, now)
      {
        return number
      }
    }
    // All senders are at the protocol's limit: the gateway will report it, and the run fails.
    return Int(truncatingIfNeeded: random.next() % UInt64(senders.count))
  }

  private func send(_ number: Int, count: Int, due: Instant) throws(Errno) {
    for _ in 0..<count {
      let id = stamp.identifier(due: due, client: number, number: senders[number].made)
      pool.commands.send(
        ref: senders[number].made, session: senders[number].session, id: id, bodies: bodies)
      senders[number].made += 1
      senders[number].flying.append(id)
    }
    inFlight += count
    try transmit(number)
  }

  private func transmit(_ number: Int) throws(Errno) {
    try pool.transmit(number, self)
  }

  func ended(_ number: Int, _ end: ConnectionEnd) {
    problems.append("connection \(number) ended: \(end.label)")
  }

  // MARK: Receiving

  private func turn(nanoseconds: Int64) throws(Errno) {
    try pool.turn(nanoseconds: nanoseconds, self)
    let now = SystemClock.now()
    if now >= retryAt { try retry(now) }
  }

  func opened(_ number: Int) { pool.commands.hello(ref: Client.helloRef, token: tokens[number]) }

  func received(_ number: Int, _ text: RawSpan, _ now: Instant) {
    switch QuickEvent(text) {
    case .ack(let ref, let id, let seq): acked(number, ref, id, seq, now)
    case .message(let id, let seq): ledger.shown(number, seq: seq, id: id)
    case .other: receiveOther(number, text, now)
    }
  }

  private func acked(_ number: Int, _ ref: Int, _ id: Identifier, _ seq: Int, _ now: Instant) {
    guard let local = senders[number].flying.firstIndex(of: id), stamp.number(of: id) == ref else {
      ledger.violations.note(
        .mismatched, "an ack without an outstanding message: ref \(ref) seq \(seq)")
      return
    }
    ledger.acked(number, seq: seq, id: id)
    phase.counted += 1
    phase.total += 1
    phase.latencies.ack(from: stamp.due(of: id), to: now)
    senders[number].flying.remove(at: local)
    inFlight -= 1
    if senders[number].flying.isEmpty { enqueue(number) }
  }

  /// Handles the rare events: welcome, pings, errors.
  private func receiveOther(_ number: Int, _ text: RawSpan, _ now: Instant) {
    var cursor = JSONCursor()
    while cursor.skipBlanks(text) {
      guard let event = try? ServerEvent(text, &cursor) else {
        problems.append("not JSON: \(text.string.prefix(200))")
        return
      }
      switch event.kind {
      case .welcome:
        senders[number].inFlightMax = max(1, event.inFlightMax)
        pool.commands.subscribe(
          ref: Client.helloRef + 1, session: senders[number].session, after: 0, epoch: "")
      case .live: liveCount += 1
      case .ping: pool.commands.pong()
      case .error: failed(number, event, now)
      case .ack, .message, .subscribed, .more, .ok, .resync, .unsubscribed, .drain, .other: break
      }
    }
  }

  /// When every message of the sender has its answer, all without an ack are sent again, in order,
  /// under the same ids (PROTOCOL.md, pipelining).
  private func failed(_ number: Int, _ event: ServerEvent, _ now: Instant) {
    refusals[event.code, default: 0] += 1
    guard event.retry else {
      problems.append("\(event.code): \(event.message)")
      return
    }
    senders[number].isHeld = true
    senders[number].retryAt = now.advanced(
      byMilliseconds: Int64(max(50, event.retryAfterMilliseconds)))
    retryAt = min(retryAt, senders[number].retryAt)
  }

  private func retry(_ now: Instant) throws(Errno) {
    retryAt = .never
    for number in senders.indices where senders[number].isHeld {
      guard now >= senders[number].retryAt else {
        retryAt = min(retryAt, senders[number].retryAt)
        continue
      }
      senders[number].isHeld = false
      for id in senders[number].flying {
        pool.commands.send(
          ref: stamp.number(of: id), session: senders[number].session, id: id, bodies: bodies)
      }
      try transmit(number)
    }
  }
}
