/// Delivers the events of the outbox, on a thread of its own: waiting for PostgreSQL and for
/// receivers must not block an event loop.
public import Directory
import HTTPClient
import Kernel
import Postgres
import Primitives

public struct DeliveryOptions: Sendable {
  public var databaseURL: String
  public var addressGuard: AddressGuard
  public var secrets: SecretBox
  /// The time limit of one attempt.
  public var timeoutMilliseconds: Int
  public var schedule: RetrySchedule
  /// Receives log lines for the administrator, without URLs and contents.
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

public typealias DeliveryWorker = OutboxWorker<DeliveryLoop>

/// The state of the worker's thread. Each turn polls the outbox, takes deliveries, sends them and
/// records their outcomes.
public struct DeliveryLoop: OutboxLoop, ~Copyable {
  /// The most concurrent requests.
  static let requestsMax = 64
  /// The part of a lease after the time limit of the attempt, for recording the outcome.
  static let leaseReserveMilliseconds: Int64 = 5_000
  /// The interval between two polls of the outbox: while any webhook is enabled, and while none is.
  static let pollMilliseconds: Int64 = 200
  static let idleMilliseconds: Int64 = 2_000
  static let countMilliseconds: Int64 = 10_000

  private var options: DeliveryOptions
  private let lease: Identifier
  private var client: HTTPClient
  private var database: OutboxConnection
  private var nextPoll = Instant.zero
  private var nextSweep: Instant
  private var nextCount = Instant.zero
  private var inFlight: [UInt64: Delivery] = [:]
  /// Outcomes that are not recorded yet, because PostgreSQL may be unavailable.
  private var ended: [(delivery: Delivery, failure: String?)] = []
  private var lastTicket: UInt64 = 0
  public private(set) var metrics = DeliveryMetrics()

  public init(_ options: DeliveryOptions) {
    self.options = options
    let seed = Random.uint64()
    lease = .random()
    database = OutboxConnection("webhooks", url: options.databaseURL, report: options.report)
    let addressGuard = options.addressGuard
    client = HTTPClient(connectionsMax: DeliveryLoop.requestsMax) { addressGuard.admits($0) }
    // Jitter: nodes that start together do not sweep together.
    nextSweep = SystemClock.now().advanced(byMilliseconds: 5_000 + Int64(seed % 20_000))
  }

  public var isBusy: Bool { !inFlight.isEmpty || !ended.isEmpty }

  public mutating func use(_ options: DeliveryOptions) {
    database.use(url: options.databaseURL)
    self.options = options
  }

  /// Runs one turn. Waits until the next poll at most, unless PostgreSQL takes longer.
  public mutating func runOnce(wakeDescriptor: Int32, goesOn: () -> Bool) {
    let now = SystemClock.now()
    database.open(now)
    if now >= nextSweep { sweep(now) }
    if now >= nextCount { count(now) }
    if now >= nextPoll { poll(now) }
    advance(wakeDescriptor: wakeDescriptor)
  }

  /// Continues the requests in flight and records outcomes, without taking new deliveries.
  public mutating func finish() { advance(wakeDescriptor: nil) }

  private mutating func advance(wakeDescriptor: Int32?) {
    let wait = min(nextPoll, database.nextAttempt).milliseconds(since: SystemClock.now())
    // Without a descriptor the worker is stopping and has little time left.
    let most: Int64 = wakeDescriptor == nil ? 100 : DeliveryLoop.idleMilliseconds
    client.advance(milliseconds: Int32(max(1, min(most, wait))), wakeup: wakeDescriptor)
    while let (ticket, outcome) = client.takeEnded() {
      guard let delivery = inFlight.removeValue(forKey: ticket) else { continue }
      ended.append((delivery, failure(of: outcome)))
    }
    while database.isOpen, let (delivery, failure) = ended.first {
      guard record(delivery, failure) else { break }
      ended.removeFirst()
      nextPoll = .zero
    }
    metrics.inFlight = inFlight.count
  }

  // MARK: PostgreSQL

  private mutating func poll(_ now: Instant) {
    nextPoll = now.advanced(byMilliseconds: DeliveryLoop.idleMilliseconds)
    guard let rows = database.run(Query(DeliveryQueue.peek)), rows.bool(0, 0) == true else {
      return
    }
    nextPoll = now.advanced(byMilliseconds: DeliveryLoop.pollMilliseconds)
    let room = DeliveryLoop.requestsMax - inFlight.count
    guard rows.bool(0, 1) == true, room > 0, let taken = take(room: room) else { return }
    for delivery in taken { begin(delivery) }
    // More deliveries may be due than one poll takes.
    if taken.count > 0 { nextPoll = .zero }
  }

  private mutating func take(room: Int) -> [Delivery]? {
    let busy = inFlight.values.map(\.webhook) + ended.map(\.delivery.webhook)
    var shares: [Identifier: Int] = [:]
    for webhook in busy { shares[webhook, default: 0] += 1 }
    let full = shares.filter { $0.value >= DeliveryQueue.perWebhook }.map(\.key)
    let (lease, milliseconds) = (
      lease, Int64(options.timeoutMilliseconds) + DeliveryLoop.leaseReserveMilliseconds
    )
    return database.transaction { connection in
      let rows = try connection.run(DeliveryQueue.lock(busy: full))
      let locked = (0..<rows.count).compactMap { row in
        rows.uuid(row, 0).flatMap { workspace in rows.uuid(row, 1).map { (workspace, $0) } }
      }
      if locked.isEmpty { return [] }
      return DeliveryQueue.deliveries(
        try connection.run(
          DeliveryQueue.take(
            locked, lease: lease, leaseMilliseconds: milliseconds, room: room, busy: busy)))
    }
  }

  private mutating func begin(_ delivery: Delivery) {
    let place = Delivery.place(of: delivery.webhook)
    guard let secret = options.secrets.open(delivery.secret, place: place) else {
      ended.append(
        (delivery, "the secret cannot be decrypted: its credentials_key is not configured"))
      return
    }
    lastTicket += 1
    let post = delivery.post(
      secret: secret, unixSeconds: SystemClock.wallTime().microseconds / 1_000_000,
      milliseconds: options.timeoutMilliseconds)
    guard client.begin(post, ticket: lastTicket) else {
      ended.append((delivery, "the URL is invalid"))
      return
    }
    inFlight[lastTicket] = delivery
  }

  /// Records the outcome of an attempt; false if PostgreSQL is unavailable.
  private mutating func record(_ delivery: Delivery, _ failure: String?) -> Bool {
    let pause =
      failure == nil
      ? nil : options.schedule.pause(after: delivery.attempt, random: Random.uint64())
    guard
      let rows = database.run(
        DeliveryQueue.finish(delivery, lease: lease, failure: failure, pause: pause))
    else { return false }
    if failure != nil { metrics.attemptsFailed += 1 }
    switch rows.isEmpty ? nil : rows.text(0, 0) {
    case "delivered": metrics.delivered += 1
    case "failed": metrics.failed += 1
    default: return true
    }
    _ = database.run(DeliveryQueue.wake(behind: delivery))
    return true
  }

  /// Releases unfinished deliveries, so that another node can take them at once.
  public mutating func release() {
    let rest = Array(inFlight.values) + ended.map(\.delivery)
    inFlight = [:]
    ended = []
    if !rest.isEmpty { _ = database.run(DeliveryQueue.release(lease: lease, rest)) }
  }

  private mutating func sweep(_ now: Instant) {
    nextSweep = now.advanced(byMilliseconds: DeliverySweep.intervalMilliseconds)
    if let rows = database.run(DeliverySweep.disableFailing) {
      for row in 0..<rows.count {
        let id = rows.uuid(row, 0).map { "\($0)" } ?? ""
        options.report("disabled the webhook \(id): all attempts of the last days failed")
      }
    }
    for query in [DeliverySweep.failPending, DeliverySweep.deleteOld, DeliverySweep.deleteOrphans] {
      for _ in 0..<DeliverySweep.rounds {
        guard let rows = database.run(query), rows.affected >= Int(DeliverySweep.rows) else {
          break
        }
      }
    }
  }

  private mutating func count(_ now: Instant) {
    nextCount = now.advanced(byMilliseconds: DeliveryLoop.countMilliseconds)
    guard let rows = database.run(DeliverySweep.countPending) else { return }
    metrics.pending = Int(rows.int(0, 0) ?? 0)
    metrics.oldestPendingSeconds = max(0, rows.int(0, 1) ?? 0)
  }
}
