/// Sends push messages, on a thread of its own: waiting for PostgreSQL and for push services must
/// not block an event loop.
public import Directory
import HTTPClient
import Kernel
import OpenSSL
import Postgres
import Primitives
public import Webhooks

public struct PushOptions: Sendable {
  public var databaseURL: String
  /// Push services have to pass it, as webhooks do.
  public var addressGuard: AddressGuard
  public var secrets: SecretBox
  /// A URL of the gateway's administrator, for push services; nil: none is known.
  public var contact: String?
  /// The time limit of one attempt.
  public var timeoutMilliseconds: Int
  public var schedule: RetrySchedule
  /// Receives log lines for the administrator, without addresses and contents.
  public var report: @Sendable (String) -> Void

  public init(
    databaseURL: String, addressGuard: AddressGuard, secrets: SecretBox, contact: String?,
    timeoutMilliseconds: Int, schedule: RetrySchedule, report: @escaping @Sendable (String) -> Void
  ) {
    self.databaseURL = databaseURL
    self.addressGuard = addressGuard
    self.secrets = secrets
    self.contact = contact
    self.timeoutMilliseconds = timeoutMilliseconds
    self.schedule = schedule
    self.report = report
  }
}

/// The push metrics of a node since its start, for `/metrics`.
public struct PushMetrics: OutboxMetrics, Equatable {
  /// Messages that push services accepted.
  public var delivered: UInt64 = 0
  /// Failed attempts, including those that are retried.
  public var attemptsFailed: UInt64 = 0
  /// Subscriptions that browsers have ended.
  public var ended: UInt64 = 0

  public init() {}
}

public typealias PushWorker = OutboxWorker<PushLoop>

/// The state of the worker's thread. Each turn notes new events, takes due notices, sends them and
/// records their outcomes.
public struct PushLoop: OutboxLoop, ~Copyable {
  /// The most concurrent requests.
  static let requestsMax = 32
  /// The part of a lease after the time limit of the attempt, for recording the outcome.
  static let leaseReserveMilliseconds: Int64 = 5_000
  /// The interval between two searches for events: with subscriptions, and without any.
  static let pollMilliseconds: Int64 = 1_000
  static let idleMilliseconds: Int64 = 2_000

  private struct Ended {
    var notice: PushNotice
    var outcome: PushOutcome
  }

  private var options: PushOptions
  private let lease: Identifier
  private var client: HTTPClient
  private var database: OutboxConnection
  private var key: P256Key?
  /// Whether it was reported that the key cannot be used.
  private var hasReportedKey = false
  private var nextPoll = Instant.zero
  private var nextSweep: Instant
  private var inFlight: [UInt64: PushNotice] = [:]
  /// Outcomes that are not recorded yet, because PostgreSQL may be unavailable.
  private var ended: [Ended] = []
  private var lastTicket: UInt64 = 0
  public private(set) var metrics = PushMetrics()

  public init(_ options: PushOptions) {
    self.options = options
    let seed = Random.uint64()
    lease = .random()
    database = OutboxConnection("push", url: options.databaseURL, report: options.report)
    let addressGuard = options.addressGuard
    client = HTTPClient(connectionsMax: PushLoop.requestsMax) { addressGuard.admits($0) }
    // Jitter: nodes that start together do not sweep together.
    nextSweep = SystemClock.now().advanced(byMilliseconds: 5_000 + Int64(seed % 20_000))
  }

  public var isBusy: Bool { !inFlight.isEmpty || !ended.isEmpty }

  public mutating func use(_ options: PushOptions) {
    database.use(url: options.databaseURL)
    self.options = options
  }

  /// Runs one turn. Waits until the next poll at most, unless PostgreSQL takes longer.
  public mutating func runOnce(wakeDescriptor: Int32, goesOn: () -> Bool) {
    let now = SystemClock.now()
    database.open(now)
    if now >= nextSweep { sweep(now) }
    if now >= nextPoll { poll(now) }
    advance(wakeDescriptor: wakeDescriptor)
  }

  /// Continues the requests in flight and records outcomes, without taking new notices.
  public mutating func finish() { advance(wakeDescriptor: nil) }

  private mutating func advance(wakeDescriptor: Int32?) {
    let wait = min(nextPoll, database.nextAttempt).milliseconds(since: SystemClock.now())
    // Without a descriptor the worker is stopping and has little time left.
    let most: Int64 = wakeDescriptor == nil ? 100 : PushLoop.idleMilliseconds
    client.advance(milliseconds: Int32(max(1, min(most, wait))), wakeup: wakeDescriptor)
    while let (ticket, outcome) = client.takeEnded() {
      guard let notice = inFlight.removeValue(forKey: ticket) else { continue }
      ended.append(Ended(notice: notice, outcome: PushOutcome(outcome)))
    }
    while database.isOpen, let first = ended.first, record(first) { ended.removeFirst() }
  }

  private mutating func poll(_ now: Instant) {
    nextPoll = now.advanced(byMilliseconds: PushLoop.idleMilliseconds)
    guard let rows = database.run(Query(PushQueue.peek)), rows.bool(0, 0) == true, findKey() else {
      return
    }
    nextPoll = now.advanced(byMilliseconds: PushLoop.pollMilliseconds)
    guard let noted = database.run(PushQueue.note) else { return }
    let room = PushLoop.requestsMax - inFlight.count - ended.count
    guard noted.affected > 0 || rows.bool(0, 1) == true, room > 0 else { return }
    let busy = inFlight.values.map(\.login) + ended.map(\.notice.login)
    guard
      let taken = database.run(
        PushQueue.take(
          lease: lease,
          leaseMilliseconds: Int64(options.timeoutMilliseconds)
            + PushLoop.leaseReserveMilliseconds, room: room, busy: busy))
    else { return }
    for notice in PushQueue.notices(taken) { begin(notice) }
    // More notices may be due than one poll takes.
    if taken.count == room { nextPoll = .zero }
  }

  /// Reads the gateways' key. Without it nothing can be pushed, which the log has once.
  private mutating func findKey() -> Bool {
    if key != nil { return true }
    guard let rows = database.run(PushKey.find.query), let stored = PushKey.find.answer(rows) else {
      return false
    }
    key = stored.open(by: options.secrets)
    if key == nil, !hasReportedKey {
      options.report(
        "push: the key cannot be decrypted: its credentials_key is not configured")
      hasReportedKey = true
    }
    if let resealed = stored.resealed(by: options.secrets) { _ = database.run(resealed) }
    return key != nil
  }

  private mutating func begin(_ notice: PushNotice) {
    let place = PushSubscription.place(of: notice.login)
    guard let key,
      let subscription = options.secrets.open(notice.subscription, place: place)
        .flatMap({ PushSubscription($0) })
    else {
      // Another gateway may have the key.
      return end(
        notice, .failed("the subscription cannot be decrypted: its key is missing", seconds: 0))
    }
    guard
      let post = notice.post(
        to: subscription, key: key, contact: options.contact, now: SystemClock.wallTime(),
        milliseconds: options.timeoutMilliseconds)
    else { return end(notice, .refused("the message cannot be encrypted")) }
    lastTicket += 1
    guard client.begin(post, ticket: lastTicket) else {
      return end(notice, .refused("the URL is invalid"))
    }
    inFlight[lastTicket] = notice
  }

  private mutating func end(_ notice: PushNotice, _ outcome: PushOutcome) {
    ended.append(Ended(notice: notice, outcome: outcome))
  }

  /// Records the outcome of an attempt; false if PostgreSQL is unavailable.
  private mutating func record(_ ended: Ended) -> Bool {
    let notice = ended.notice
    let query: Query
    switch ended.outcome {
    case .delivered:
      query = PushQueue.finish(
        notice, lease: lease, isDelivered: true, pause: nil, pausesAll: false)
    case .gone: query = PushQueue.forget(notice.login)
    case .refused:
      query = PushQueue.finish(
        notice, lease: lease, isDelivered: false, pause: nil, pausesAll: false)
    case .failed(_, let seconds):
      let pause = options.schedule.pause(after: notice.attempt, random: Random.uint64())
      query = PushQueue.finish(
        notice, lease: lease, isDelivered: false, pause: pause.map { max($0, seconds * 1_000) },
        pausesAll: seconds > 0)
    }
    guard database.run(query) != nil else { return false }
    switch ended.outcome {
    case .delivered: metrics.delivered += 1
    case .gone: metrics.ended += 1
    case .refused, .failed: metrics.attemptsFailed += 1
    }
    return true
  }

  /// Releases unfinished notices, so that another node can take them at once.
  public mutating func release() {
    if isBusy { _ = database.run(PushQueue.release(lease: lease)) }
    inFlight = [:]
    ended = []
  }

  private mutating func sweep(_ now: Instant) {
    nextSweep = now.advanced(byMilliseconds: PushSweep.intervalMilliseconds)
    for query in [PushSweep.forgetSubscriptions, PushSweep.forgetNotices] {
      for _ in 0..<PushSweep.rounds {
        guard let rows = database.run(query), rows.affected >= Int(PushSweep.rows) else { break }
      }
    }
  }
}
