/// One client of protocol chirrup.v1 as a pure state machine: a visitor, or one connection of an
/// operator.
///
/// It says hello, subscribes from where it was, keeps its outbox full and in order, answers
/// pings, retries under the same ids, and reconnects as the close code's hundred asks. Every
/// message it is shown goes to the ledger. It owns no socket and reads no clock, so the tests
/// read as transcripts.
import Primitives

struct Client {
  enum Stage: Equatable {
    /// Connects again at the instant.
    case offline(until: Instant)
    case connecting
    /// `hello` is on its way.
    case greeting
    case online
    /// Told to stop, or unable to go on.
    case stopped
  }

  /// What the driver must do after an event.
  enum Action: Equatable {
    case none
    case connect
    case close(UInt16)
  }

  struct Subscription {
    enum State { case absent, requested, current }

    /// The session's number in the ledger, and its id.
    let log: Int
    let session: Identifier
    var state = State.absent
    /// The seq that must come next; everything before it was shown to this client.
    var next = 1
    /// `next` when it was last asked for: what `from` must say.
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
  /// Subscriptions whose visitor wrote and was not answered yet, oldest first.
  var unanswered: [Int32] = []

  let positions: [Identifier: Int]
  var attempt = 0
  var wasOnline = false
  /// Whether what it is shown counts for the latencies.
  var isTimed = true
  private let backoffMaxMilliseconds: Int
  var inFlightMax = 1
  private var absentCount = 0
  var requestedCount = 0
  /// Nothing is sent and no subscription retried before this.
  var notBefore = Instant.zero
  var silenceMilliseconds: Int64 = 40_000
  var silenceEnds = Instant.never
  /// Set by `drain`: when to change the connection.
  var moveAt = Instant.never

  private static let connectTimeoutMilliseconds: Int64 = 20_000
  /// Numbers of messages are refs below this; above it are hello and the subscriptions.
  static let helloRef = Stamp.numbersMax
  static let unansweredMax = 64
  /// Subscribing counts for the gateway's rate limit of commands, so few answers are awaited at
  /// once.
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

  /// Everything subscribed and its backlog shown.
  var isSettled: Bool {
    stage == .online && absentCount == 0 && subscriptions.allSatisfy { $0.isLive }
  }

  /// When `tick` wants to be called, at the latest.
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

  // MARK: the connection

  mutating func connecting(now: Instant) {
    stage = .connecting
    silenceEnds = now.advanced(byMilliseconds: Client.connectTimeoutMilliseconds)
  }

  mutating func opened(now: Instant, _ output: inout CommandBuffer) {
    stage = .greeting
    output.hello(ref: Client.helloRef, token: token)
  }

  /// The connection is gone, by a close frame with a code or without one; `label` names the
  /// reason.
  mutating func closed(code: UInt16?, label: String, now: Instant, _ book: inout Scorebook) {
    if stage == .stopped { return }
    book.counters.closes[label, default: 0] += 1
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
      book.counters.stopped += 1
    case _ where moving != .never:
      stage = .offline(until: max(now, moving))
    case 4000...4099:
      let delay = Int64.random(in: 0...1000, using: &book.random)
      stage = .offline(until: now.advanced(byMilliseconds: delay))
    default:
      // Full jitter: anywhere between nothing and twice the last bound.
      let bound = min(backoffMaxMilliseconds, 1000 << min(attempt, 16))
      attempt += 1
      let delay = Int64.random(in: 0...Int64(bound), using: &book.random)
      stage = .offline(until: now.advanced(byMilliseconds: delay))
    }
  }

  mutating func tick(
    now: Instant, _ book: inout Scorebook, _ output: inout CommandBuffer
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
      // While answers are missing the pipeline stays held: the last one calls again.
      if outbox.isHeld, outbox.inFlight > 0 { return .none }
      notBefore = .zero
      if outbox.isHeld { outbox.rewind() }
      pump(&book, &output)
    }
    return .none
  }

  // MARK: sending

  /// A message is due: it gets its id and goes into the outbox.
  mutating func compose(
    subscription: Int, due: Instant, _ book: inout Scorebook, _ output: inout CommandBuffer
  ) {
    let id = book.stamp.identifier(due: due, client: number, number: outbox.made)
    outbox.append(id, subscription: subscription)
    book.counters.made += 1
    pump(&book, &output)
  }

  mutating func pump(_ book: inout Scorebook, _ output: inout CommandBuffer) {
    guard stage == .online, notBefore == .zero else { return }
    while outbox.inFlight < inFlightMax, let entry = outbox.next {
      let subscription = subscriptions[Int(entry.subscription)]
      guard subscription.state == .current else { return }
      let number = book.stamp.number(of: entry.id)
      output.send(
        ref: number, session: subscription.session, id: entry.id, bodies: book.bodies)
      book.counters.sent += 1
      if outbox.takeNext() { book.counters.resent += 1 }
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
