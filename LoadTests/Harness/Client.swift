/// One client of protocol chirrup.v1 as a pure state machine: a visitor, or one connection of an
/// operator.
///
/// It sends hello, subscribes from its last position, sends its outbox in order, answers pings,
/// retries under the same ids, and reconnects by the class of the close code. The ledger records
/// every received message. It owns no socket and reads no clock, so the tests read as transcripts.
import Primitives

struct Client {
  enum Stage: Equatable {
    /// Reconnects at this instant.
    case offline(until: Instant)
    case connecting
    /// `hello` was sent, without an answer yet.
    case greeting
    case online
    /// A close code forbids a reconnect, or the client cannot continue.
    case stopped
  }

  /// The driver's action after an event.
  enum Action: Equatable {
    case none
    case connect
    case close(UInt16)
  }

  struct Subscription {
    enum State { case absent, requested, current }

    /// The session's index in the ledger.
    let log: Int
    let session: Identifier
    var state = State.absent
    /// The next expected seq; everything before it was received.
    var next = 1
    /// `next` at the last subscribe: the `from` that the answer must have.
    var asked = 1
    var epoch = ""
    var isLive = false
  }

  enum Role: String, Equatable, Codable { case visitor, operator_ }

  let number: Int
  let role: Role
  let token: String
  var stage = Stage.offline(until: .zero)
  var subscriptions: [Subscription]
  var outbox = Outbox()
  /// Subscriptions with an unanswered message of their visitor, oldest first.
  var unanswered: [Int32] = []

  let positions: [Identifier: Int]
  var attempt = 0
  var wasOnline = false
  /// Whether its received messages count for the latencies.
  var isTimed = true
  private let backoffMaxMilliseconds: Int
  var inFlightMax = 1
  private var absentCount = 0
  var requestedCount = 0
  /// No send and no retry of a subscription happens before this.
  var notBefore = Instant.zero
  var silenceMilliseconds: Int64 = 40_000
  var silenceEnds = Instant.never
  /// When to reconnect, set by a `drain` event.
  var moveAt = Instant.never

  private static let connectTimeoutMilliseconds: Int64 = 20_000
  /// Message numbers are refs below this; hello and the subscriptions have refs from here on.
  static let helloRef = Stamp.numbersMax
  static let unansweredMax = 64
  /// The gateway's rate limit counts subscribes, so only a few are outstanding at a time.
  private static let subscribesAtOnce = 64

  init(
    number: Int, role: Role, token: String, sessions: [(log: Int, id: Identifier)],
    backoffMaxMilliseconds: Int
  ) {
    self.number = number
    self.role = role
    self.token = token
    self.backoffMaxMilliseconds = backoffMaxMilliseconds
    subscriptions = sessions.map { Subscription(log: $0.log, session: $0.id) }
    positions =
      sessions.count == 1
      ? [:]
      : Dictionary(uniqueKeysWithValues: sessions.enumerated().map { ($0.element.id, $0.offset) })
    absentCount = subscriptions.count
  }

  /// Everything is subscribed, and its backlog was received.
  var isSettled: Bool {
    stage == .online && absentCount == 0 && subscriptions.allSatisfy { $0.isLive }
  }

  /// The latest time of the next `tick`.
  var deadline: Instant {
    switch stage {
    case .offline(let until): return until
    case .stopped: return .never
    case .connecting, .greeting: return silenceEnds
    case .online:
      var earliest = min(silenceEnds, moveAt)
      let waits = outbox.isHeld ? outbox.inFlight == 0 : outbox.next != nil
      if notBefore != .zero, waits || canSubscribe { earliest = min(earliest, notBefore) }
      return earliest
    }
  }

  private var canSubscribe: Bool {
    absentCount > 0 && requestedCount < Client.subscribesAtOnce
  }

  // MARK: The connection

  mutating func connecting(now: Instant) {
    stage = .connecting
    silenceEnds = now.advanced(byMilliseconds: Client.connectTimeoutMilliseconds)
  }

  mutating func opened(now: Instant, _ output: inout CommandBuffer) {
    stage = .greeting
    output.hello(ref: Client.helloRef, token: token)
  }

  /// The connection ended, with or without the code of a close frame; `label` is the reason in the
  /// report.
  mutating func closed(code: UInt16?, label: String, now: Instant, _ measured: inout Measurements) {
    if stage == .stopped { return }
    measured.counters.closes[label, default: 0] += 1
    outbox.rewind()
    for index in subscriptions.indices {
      subscriptions[index].state = .absent
      subscriptions[index].isLive = false
    }
    absentCount = subscriptions.count
    requestedCount = 0
    let moving = moveAt
    moveAt = .never
    notBefore = .zero
    silenceEnds = .never
    switch code ?? 0 {
    case 4202...4399:
      stage = .stopped
      measured.counters.stopped += 1
    case _ where moving != .never:
      stage = .offline(until: max(now, moving))
    case 4000...4099:
      let delay = Int64.random(in: 0...1000, using: &measured.random)
      stage = .offline(until: now.advanced(byMilliseconds: delay))
    default:
      // Full jitter: between 0 and a bound that doubles.
      let bound = min(backoffMaxMilliseconds, 1000 << min(attempt, 16))
      attempt += 1
      let delay = Int64.random(in: 0...Int64(bound), using: &measured.random)
      stage = .offline(until: now.advanced(byMilliseconds: delay))
    }
  }

  mutating func tick(
    now: Instant, _ measured: inout Measurements, _ output: inout CommandBuffer
  ) -> Action {
    switch stage {
    case .stopped: return .none
    case .offline(let until): return now >= until ? .connect : .none
    case .connecting, .greeting: return now >= silenceEnds ? .close(1000) : .none
    case .online: break
    }
    if now >= silenceEnds { return .close(4102) }
    if now >= moveAt { return .close(1000) }
    if now >= notBefore {
      subscribeAbsent(&output)
      // The outbox stays held while answers are outstanding; the last answer leads here again.
      if outbox.isHeld, outbox.inFlight > 0 { return .none }
      notBefore = .zero
      if outbox.isHeld { outbox.rewind() }
      pump(&measured, &output)
    }
    return .none
  }

  // MARK: Sending

  /// A message is due: it gets its id and is appended to the outbox.
  mutating func compose(
    subscription: Int, due: Instant, _ measured: inout Measurements, _ output: inout CommandBuffer
  ) {
    let id = measured.stamp.identifier(due: due, client: number, number: outbox.made)
    outbox.append(id, subscription: subscription)
    measured.counters.made += 1
    pump(&measured, &output)
  }

  mutating func pump(_ measured: inout Measurements, _ output: inout CommandBuffer) {
    guard stage == .online, notBefore == .zero else { return }
    while outbox.inFlight < inFlightMax, let entry = outbox.next {
      let subscription = subscriptions[Int(entry.subscription)]
      guard subscription.state == .current else { return }
      let number = measured.stamp.number(of: entry.id)
      output.send(
        ref: number, session: subscription.session, id: entry.id, bodies: measured.bodies)
      measured.counters.sent += 1
      if outbox.takeNext() { measured.counters.resent += 1 }
    }
  }

  mutating func subscribeAbsent(_ output: inout CommandBuffer) {
    guard canSubscribe else { return }
    for index in subscriptions.indices where subscriptions[index].state == .absent {
      subscribe(index, &output)
      if !canSubscribe { return }
    }
  }

  mutating func subscribe(_ index: Int, _ output: inout CommandBuffer) {
    mark(index, .requested)
    subscriptions[index].asked = subscriptions[index].next
    output.subscribe(
      ref: Client.helloRef + 1 + index, session: subscriptions[index].session,
      after: subscriptions[index].next - 1, epoch: subscriptions[index].epoch)
  }

  mutating func mark(_ index: Int, _ state: Subscription.State) {
    switch subscriptions[index].state {
    case .absent: absentCount -= 1
    case .requested: requestedCount -= 1
    case .current: break
    }
    switch state {
    case .absent: absentCount += 1
    case .requested: requestedCount += 1
    case .current: break
    }
    subscriptions[index].state = state
    subscriptions[index].isLive = false
  }
}
