/// Delivers what the outbox holds, on a thread of its own: its connection waits for PostgreSQL, and
/// its requests for other people's servers, so that no loop ever does.
public import Directory
import HTTPClient
public import Kernel
import Postgres
import Primitives
import Synchronization

public struct DeliveryOptions: Sendable {
  public var databaseURL: String
  public var addressGuard: AddressGuard
  public var secrets: SecretBox
  /// For one attempt.
  public var timeoutMilliseconds: Int
  public var schedule: RetrySchedule
  /// Told about what an administrator of the gateway should know, without addresses and contents.
  public var report: @Sendable (String) -> Void

  public init(
    databaseURL: String, addressGuard: AddressGuard, secrets: SecretBox, timeoutMilliseconds: Int,
    schedule: RetrySchedule, report: @escaping @Sendable (String) -> Void
  ) {
    self.databaseURL = databaseURL
    self.addressGuard = addressGuard
    self.secrets = secrets
    self.timeoutMilliseconds = timeoutMilliseconds
    self.schedule = schedule
    self.report = report
  }
}

public final class DeliveryWorker: Sendable {
  /// For how long requests under way may go on when the worker is told to stop.
  static let graceMilliseconds: Int64 = 2_000

  private let options: DeliveryOptions
  private let isStopping = Atomic(false)
  /// Rings when the worker is to stop, so that while nothing is to be delivered it may sleep from
  /// one look to the next.
  private let bell: EventCounter
  private let isDone = Atomic(false)
  private let posted = Mutex(DeliveryFigures())

  public init(_ options: DeliveryOptions) throws(Errno) {
    self.options = options
    bell = try EventCounter()
  }

  public var figures: DeliveryFigures { posted.withLock { $0 } }

  public var hasEnded: Bool { isDone.load(ordering: .acquiring) }

  /// Nothing more is taken; what is under way may end.
  public func stop() {
    isStopping.store(true, ordering: .releasing)
    bell.signal()
  }

  /// Returns after `stop`, within the grace and the time of one statement.
  public func run() {
    var course = DeliveryCourse(options)
    while !isStopping.load(ordering: .acquiring) {
      course.turn(bell: bell.rawValue)
      let figures = course.figures
      posted.withLock { $0 = figures }
    }
    let limit = SystemClock.now().advanced(byMilliseconds: DeliveryWorker.graceMilliseconds)
    while course.isBusy, SystemClock.now() < limit { course.carryOn(bell: nil) }
    course.giveBack()
    isDone.store(true, ordering: .releasing)
  }
}

/// What the thread does in turns: look, take, send, note what became of it.
struct DeliveryCourse: ~Copyable {
  /// Requests at once.
  static let requestsMax = 64
  /// Beyond the time of an attempt, what a node may need to note its outcome.
  static let leaseReserveMilliseconds: Int64 = 5_000
  /// Between two looks into the outbox: while a webhook is enabled, and while none is.
  static let lookMilliseconds: Int64 = 200
  static let idleMilliseconds: Int64 = 2_000
  static let countMilliseconds: Int64 = 10_000

  private let options: DeliveryOptions
  private let lease: Identifier
  private var client: HTTPClient
  private var connection: BlockingConnection?
  private var backoff: Backoff
  private var nextConnect = Instant.zero
  private var nextLook = Instant.zero
  private var nextSweep: Instant
  private var nextCount = Instant.zero
  private var underWay: [UInt64: Delivery] = [:]
  /// What became of requests and is not yet noted: PostgreSQL may be away for a moment.
  private var ended: [(delivery: Delivery, failure: String?)] = []
  private var lastTicket: UInt64 = 0
  private(set) var figures = DeliveryFigures()

  init(_ options: DeliveryOptions) {
    self.options = options
    let seed = Random.uint64()
    lease = Identifier(
      version7At: SystemClock.wallTime(), randomHigh: UInt16(truncatingIfNeeded: seed),
      randomLow: Random.uint64())
    backoff = Backoff(firstMilliseconds: 250, lastMilliseconds: 10_000, seed: seed)
    let addressGuard = options.addressGuard
    client = HTTPClient(connectionsMax: DeliveryCourse.requestsMax) { addressGuard.admits($0) }
    // Nodes that start together do not sweep together.
    nextSweep = SystemClock.now().advanced(byMilliseconds: 5_000 + Int64(seed % 20_000))
  }

  var isBusy: Bool { !underWay.isEmpty || !ended.isEmpty }

  /// One turn, up to the next look unless something happens before or PostgreSQL takes longer.
  mutating func turn(bell: Int32?) {
    let now = SystemClock.now()
    if connection == nil, now >= nextConnect { connect(now) }
    if now >= nextSweep { sweep(now) }
    if now >= nextCount { count(now) }
    if now >= nextLook { look(now) }
    carryOn(bell: bell)
  }

  /// Goes on with what is under way, and takes nothing new.
  mutating func carryOn(bell: Int32?) {
    let next = connection == nil ? min(nextLook, nextConnect) : nextLook
    let wait = next.milliseconds(since: SystemClock.now())
    // With the bell rung already, what is under way has little time left.
    let most: Int64 = bell == nil ? 100 : DeliveryCourse.idleMilliseconds
    client.advance(milliseconds: Int32(max(1, min(most, wait))), bell: bell)
    while let (ticket, outcome) = client.takeEnded() {
      guard let delivery = underWay.removeValue(forKey: ticket) else { continue }
      ended.append((delivery, failure(of: outcome)))
    }
    while connection != nil, let (delivery, failure) = ended.first {
      guard note(delivery, failure) else { break }
      ended.removeFirst()
      nextLook = .zero
    }
    figures.underWay = underWay.count
  }

  // MARK: PostgreSQL

  private mutating func connect(_ now: Instant) {
    do throws(QueryFailure) {
      let made = try BlockingConnection(options.databaseURL)
      // Of an attempt that is noted and lost in a crash of PostgreSQL another one follows, under
      // the same id: that is what was promised, and spares a wait for the disk. Behind a pooler a
      // session is nobody's own, and its settings would be those of others.
      if try !made.isPooled() { try made.run(DeliveryCourse.settings) }
      connection = made
      backoff.reset()
    } catch {
      nextConnect = backoff.next(after: now)
    }
  }

  private static let settings = Query(
    """
    SELECT set_config('synchronous_commit', 'off', false),
      set_config('statement_timeout', '10000', false),
      set_config('idle_in_transaction_session_timeout', '10000', false),
      set_config('jit', 'off', false)
    """)

  /// The answer; nil when there is none, and then the connection is given up.
  private mutating func ask(_ query: Query) -> Rows? {
    guard let connection else { return nil }
    do throws(QueryFailure) {
      return try connection.run(query)
    } catch {
      lose(error)
      return nil
    }
  }

  private mutating func lose(_ failure: QueryFailure) {
    if case .refused(let state, let message) = failure {
      options.report("webhooks: PostgreSQL refused a statement: \(state.code) \(message)")
    }
    connection = nil
    nextConnect = backoff.next(after: SystemClock.now())
  }

  private mutating func look(_ now: Instant) {
    nextLook = now.advanced(byMilliseconds: DeliveryCourse.idleMilliseconds)
    guard let rows = ask(Query(DeliveryQueue.peek)), rows.bool(0, 0) == true else { return }
    nextLook = now.advanced(byMilliseconds: DeliveryCourse.lookMilliseconds)
    let room = DeliveryCourse.requestsMax - underWay.count
    guard rows.bool(0, 1) == true, room > 0, let connection else { return }
    do {
      let taken = try take(connection, room: room)
      for delivery in taken { begin(delivery) }
      // There may be more than one look takes.
      if taken.count > 0 { nextLook = .zero }
    } catch let failure as QueryFailure {
      lose(failure)
    } catch {
      lose(.unavailable(reason: "\(error)"))
    }
  }

  private func take(_ connection: BlockingConnection, room: Int) throws -> [Delivery] {
    let busy = underWay.values.map(\.webhook) + ended.map(\.delivery.webhook)
    var shares: [Identifier: Int] = [:]
    for webhook in busy { shares[webhook, default: 0] += 1 }
    let full = shares.filter { $0.value >= DeliveryQueue.perWebhook }.map(\.key)
    return try connection.transaction { connection in
      let rows = try connection.run(DeliveryQueue.lock(busy: full))
      let locked = (0..<rows.count).compactMap { row in
        rows.uuid(row, 0).flatMap { workspace in rows.uuid(row, 1).map { (workspace, $0) } }
      }
      if locked.isEmpty { return [] }
      return DeliveryQueue.deliveries(
        try connection.run(
          DeliveryQueue.take(
            locked, lease: lease,
            leaseMilliseconds: Int64(options.timeoutMilliseconds)
              + DeliveryCourse.leaseReserveMilliseconds, room: room, busy: busy)))
    }
  }

  private mutating func begin(_ delivery: Delivery) {
    let place = Delivery.place(of: delivery.webhook)
    guard let secret = options.secrets.open(delivery.secret, place: place) else {
      ended.append((delivery, "the secret does not open: its credentials_key is not configured"))
      return
    }
    lastTicket += 1
    let post = delivery.post(
      secret: secret, unixSeconds: SystemClock.wallTime().microseconds / 1_000_000,
      milliseconds: options.timeoutMilliseconds)
    guard client.begin(post, ticket: lastTicket) else {
      ended.append((delivery, "the address is none that can be asked"))
      return
    }
    underWay[lastTicket] = delivery
  }

  /// False when PostgreSQL cannot be told now.
  private mutating func note(_ delivery: Delivery, _ failure: String?) -> Bool {
    let pause =
      failure == nil
      ? nil : options.schedule.pause(after: delivery.attempt, random: Random.uint64())
    guard
      let rows = ask(
        DeliveryQueue.finish(delivery, lease: lease, failure: failure, pause: pause))
    else { return false }
    if failure != nil { figures.attemptsFailed += 1 }
    switch rows.isEmpty ? nil : rows.text(0, 0) {
    case "delivered": figures.delivered += 1
    case "failed": figures.failed += 1
    default: return true
    }
    _ = ask(DeliveryQueue.wake(behind: delivery))
    return true
  }

  /// What is not done when the worker stops is another's at once.
  mutating func giveBack() {
    let rest = Array(underWay.values) + ended.map(\.delivery)
    underWay = [:]
    ended = []
    if !rest.isEmpty { _ = ask(DeliveryQueue.giveBack(lease: lease, rest)) }
  }

  private mutating func sweep(_ now: Instant) {
    nextSweep = now.advanced(byMilliseconds: DeliverySweep.milliseconds)
    if let rows = ask(DeliverySweep.disable) {
      for row in 0..<rows.count {
        let id = rows.uuid(row, 0).map { "\($0)" } ?? ""
        options.report("the webhook \(id) has failed for days and is disabled now")
      }
    }
    for query in [DeliverySweep.giveUp, DeliverySweep.forget, DeliverySweep.forgetOrphans] {
      for _ in 0..<DeliverySweep.rounds {
        guard let rows = ask(query), rows.affected >= Int(DeliverySweep.rows) else { break }
      }
    }
  }

  private mutating func count(_ now: Instant) {
    nextCount = now.advanced(byMilliseconds: DeliveryCourse.countMilliseconds)
    if let rows = ask(DeliverySweep.pending) { figures.pending = Int(rows.int(0, 0) ?? 0) }
  }
}
