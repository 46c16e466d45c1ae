/// A few connections that are never cut off, which measure the gateway's delay during a storm.
///
/// Each sends hello once and then a WebSocket ping every few milliseconds; the pong's delay counts
/// from the ping's due time. A loop that is busy with a thousand handshakes answers all its pings
/// late, so the largest delay is that of the loop.
import Histogram
import Kernel
import OpenSSL
import Primitives
import Synchronization

final class DelayProbe {
  private let state: DelayProbeState
  private let thread: ThreadBox

  init(target: Target, tokens: [String]) throws(Errno) {
    let state = DelayProbeState()
    self.state = state
    thread = ThreadBox(
      try Thread.spawn(name: "probe") {
        do throws(Errno) {
          try DelayProbeLoop(target, tokens, state).run()
        } catch {
          state.fail("\(error)")
        }
      })
  }

  /// The delays since the last call.
  func take() -> Histogram<UInt64> { state.take() }

  var problem: String? { state.problem }

  func stop() {
    state.stops.store(true, ordering: .relaxed)
    thread.join()
  }
}

private final class DelayProbeState: Sendable {
  let stops = Atomic(false)
  private let delays = Mutex(Latencies.empty)
  private let failure = Mutex<String?>(nil)

  func note(_ microseconds: UInt64) { _ = delays.withLock { $0.record(microseconds) } }

  func take() -> Histogram<UInt64> {
    delays.withLock { all in
      let taken = all
      all = Latencies.empty
      return taken
    }
  }

  func fail(_ reason: String) { failure.withLock { $0 = reason } }

  var problem: String? { failure.withLock { $0 } }
}

private final class DelayProbeLoop {
  private let target: Target
  private let tokens: [String]
  private let state: DelayProbeState
  private let epoll: Epoll
  private let workspace = TLSWorkspace()
  private var events = Events(capacity: 16)
  private var buffer = [UInt8](repeating: 0, count: 65_536)
  private var random = RandomStream(seed: Random.uint64())
  private var connections: [Connection?]
  private var isOnline: [Bool]
  private var retryAt: [Instant]
  private var next = 0

  private static let pingMilliseconds: Int64 = 5
  private static let retryMilliseconds: Int64 = 50

  init(_ target: Target, _ tokens: [String], _ state: DelayProbeState) throws(Errno) {
    self.target = target
    self.tokens = tokens
    self.state = state
    epoll = try Epoll()
    connections = tokens.map { _ in nil }
    isOnline = tokens.map { _ in false }
    retryAt = tokens.map { _ in .zero }
  }

  func run() throws(Errno) {
    var due = SystemClock.now()
    while !state.stops.load(ordering: .relaxed) {
      let now = SystemClock.now()
      for number in connections.indices where connections[number] == nil && now >= retryAt[number] {
        connect(number)
      }
      while due <= now {
        try ping(due)
        due = due.advanced(byMilliseconds: DelayProbeLoop.pingMilliseconds)
      }
      try epoll.wait(
        into: &events, timeoutNanoseconds: max(0, due.nanoseconds - SystemClock.now().nanoseconds))
      for position in 0..<events.count { try handle(events[position]) }
    }
  }

  private func connect(_ number: Int) {
    retryAt[number] = SystemClock.now().advanced(byMilliseconds: DelayProbeLoop.retryMilliseconds)
    isOnline[number] = false
    guard
      let connection = try? Connection(
        client: number, target: target, workspace, random: &random)
    else { return }
    guard (try? connection.register(in: epoll, datum: UInt64(number))) != nil else { return }
    connections[number] = connection
  }

  /// Pings one connection in turn, so that every loop of the gateway is measured.
  private func ping(_ due: Instant) throws(Errno) {
    next = (next + 1) % connections.count
    guard isOnline[next], let connection = connections[next] else { return }
    connection.queuePing(UInt64(due.nanoseconds), random: &random)
    try follow(next, connection.flush())
  }

  private func handle(_ event: Event) throws(Errno) {
    let number = Int(event.datum)
    guard let connection = connections[number] else { return }
    var outcome = Connection.Outcome.going
    var commands = CommandBuffer()
    if event.isWritable || event.isHungUp { outcome = connection.writable() }
    if outcome == .going, event.isReadable || event.isHungUp {
      outcome = connection.readable(&buffer) { text in
        var cursor = JSONCursor()
        while cursor.skipBlanks(text), let event = try? ServerEvent(text, &cursor) {
          if event.kind == .welcome { isOnline[number] = true }
          if event.kind == .ping { commands.pong() }
        }
        return true
      }
    }
    let now = SystemClock.now()
    for due in connection.takePongs() {
      let began = Instant(nanoseconds: Int64(clamping: due))
      state.note(Latencies.microseconds(from: began, to: now))
    }
    if outcome == .opened {
      commands.hello(ref: 1, token: tokens[number])
      outcome = .going
    }
    if outcome == .going {
      connection.queue(commands, random: &random)
      outcome = connection.flush()
    }
    try follow(number, outcome)
  }

  private func follow(_ number: Int, _ outcome: Connection.Outcome) throws(Errno) {
    if case .ended = outcome {
      connections[number] = nil
      isOnline[number] = false
    } else {
      try connections[number]?.updateInterest(in: epoll, datum: UInt64(number))
    }
  }
}
