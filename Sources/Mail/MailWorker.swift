/// Sends e-mail, on a thread of its own: waiting for PostgreSQL and for the mail server must not
/// block an event loop. One message at a time over one connection, oldest first, so that what an
/// outage has held up leaves in order.
public import Directory
public import HTTPClient
import Kernel
import Postgres
import Primitives
public import Webhooks

public struct MailOptions: Sendable {
  public var databaseURL: String
  /// Nil: no e-mail is sent.
  public var server: MailServerAddress?
  /// The sender in the envelope, and the domain of Message-ID.
  public var from: MailAddress?
  /// The URL under which the gateway is reached, for links; nil: messages have none.
  public var publicURL: String?
  /// Where replies of visitors come back; nil: nobody reads them.
  public var replies: ReplyAddress?
  public var secrets: SecretBox
  public var schedule: RetrySchedule
  /// Receives log lines for the administrator, without addresses and contents.
  public var report: @Sendable (String) -> Void

  public init(
    databaseURL: String, server: MailServerAddress?, from: MailAddress?, publicURL: String?,
    secrets: SecretBox, schedule: RetrySchedule, report: @escaping @Sendable (String) -> Void
  ) {
    self.databaseURL = databaseURL
    self.server = server
    self.from = from
    self.publicURL = publicURL
    self.secrets = secrets
    self.schedule = schedule
    self.report = report
  }
}

/// The mail metrics of a node since its start, for `/metrics`.
public struct MailMetrics: OutboxMetrics, Equatable {
  /// Messages that the mail server accepted.
  public var accepted: UInt64 = 0
  /// Messages that it refused for good.
  public var refused: UInt64 = 0
  /// Failed attempts, including those that are retried.
  public var attemptsFailed: UInt64 = 0
  /// Attempts that found no mail server that takes any message.
  public var unreachable: UInt64 = 0

  public init() {}
}

public typealias MailWorker = OutboxWorker<MailLoop>

/// The state of the worker's thread. Each turn looks for answers that are due, and sends what the
/// outbox has.
public struct MailLoop: OutboxLoop, ~Copyable {
  /// The part of a lease after the time limit of the attempt, for recording the outcome.
  static let leaseReserveMilliseconds: Int64 = 30_000
  /// The interval between two looks into the outbox, and between two searches for answers.
  static let pollMilliseconds: Int32 = 1_000
  static let searchMilliseconds: Int64 = 5_000
  static let sweepMilliseconds: Int64 = 600_000
  /// The pauses while the mail server takes no message.
  static let firstPauseMilliseconds: Int64 = 1_000
  static let lastPauseMilliseconds: Int64 = 60_000

  private struct Ended {
    var mail: LeasedMail
    var outcome: MailOutcome
  }

  private let options: MailOptions
  private let from: MailAddress
  private let lease: Identifier
  private let server: MailServer
  private var database: OutboxConnection
  private var nextSearch = Instant.zero
  private var nextSweep: Instant
  /// When the mail server is tried again.
  private var nextSend = Instant.zero
  private var outage: Backoff
  private var hasReported = false
  /// An outcome that is not recorded yet, because PostgreSQL may be unavailable. Nothing else is
  /// sent before.
  private var ended: Ended?
  public private(set) var metrics = MailMetrics()

  /// Nil: there is no mail server.
  public init?(_ options: MailOptions) {
    guard let server = options.server, let from = options.from else { return nil }
    self.options = options
    self.from = from
    let seed = Random.uint64()
    lease = .random()
    self.server = MailServer(server)
    // After a crash of PostgreSQL nothing that was recorded as sent may be sent again.
    database = OutboxConnection(
      "mail", url: options.databaseURL, isDurable: true, report: options.report)
    outage = Backoff(
      firstMilliseconds: MailLoop.firstPauseMilliseconds,
      lastMilliseconds: MailLoop.lastPauseMilliseconds, seed: seed)
    // Jitter: nodes that start together do not sweep together.
    nextSweep = SystemClock.now().advanced(byMilliseconds: 5_000 + Int64(seed % 20_000))
  }

  /// One message at a time is sent, within the turn.
  public var isBusy: Bool { false }

  /// The address of PostgreSQL alone changes.
  public mutating func use(_ options: MailOptions) { database.use(url: options.databaseURL) }

  /// Runs one turn, and waits until the next one.
  public mutating func runOnce(wakeDescriptor: Int32, goesOn: () -> Bool) {
    let now = SystemClock.now()
    database.open(now)
    var hasSent = false
    if record() {
      if now >= nextSweep { sweep(now) }
      if now >= nextSearch { search(now) }
      if now >= nextSend { hasSent = sendNext(goesOn) }
    }
    if !hasSent { server.idle(milliseconds: MailLoop.pollMilliseconds, wakeup: wakeDescriptor) }
  }

  // MARK: Sending

  /// Sends the oldest message that is due; whether there was one.
  private mutating func sendNext(_ goesOn: () -> Bool) -> Bool {
    guard goesOn(), let rows = database.run(Query(MailOutbox.peek)), rows.bool(0, 0) == true,
      let taken = database.run(
        MailOutbox.take(
          lease: lease,
          leaseMilliseconds: Int64(server.address.milliseconds)
            + MailLoop.leaseReserveMilliseconds)), !taken.isEmpty
    else { return false }
    guard let mail = MailOutbox.leased(taken) else { return true }
    guard let content = MailContent(mail.content, for: mail.id, by: options.secrets) else {
      // Another gateway may have the key.
      ended = Ended(
        mail: mail, outcome: .failed(reason: "the content cannot be decrypted: its key is missing"))
      return record()
    }
    let message = MIMEMessage(
      id: mail.id, date: mail.createdAt, domain: from.domain, envelope: from, content: content)
    guard
      let outcome = server.send(
        message.bytes, from: from.address, to: content.to.address, goesOn: goesOn)
    else {
      // The gateway stops. Whether the server has it is not known.
      ended = Ended(mail: mail, outcome: .failed(reason: "the gateway stopped"))
      return record()
    }
    ended = Ended(mail: mail, outcome: outcome)
    return record()
  }

  /// Records the last outcome; false if PostgreSQL is unavailable.
  private mutating func record() -> Bool {
    guard let ended else { return true }
    let query: Query
    switch ended.outcome {
    case .accepted: query = MailOutbox.settle(ended.mail.id, isSent: true, reason: "")
    case .refused(let reason):
      query = MailOutbox.settle(ended.mail.id, isSent: false, reason: reason)
    case .failed(let reason):
      if let pause = options.schedule.pause(after: ended.mail.attempt, random: Random.uint64()) {
        query = MailOutbox.repeatLater(
          ended.mail.id, lease: lease, pause: pause, counts: true, reason: reason)
      } else {
        query = MailOutbox.settle(ended.mail.id, isSent: false, reason: reason)
      }
    case .unreachable(let reason):
      query = MailOutbox.repeatLater(
        ended.mail.id, lease: lease, pause: 0, counts: false, reason: reason)
    }
    guard database.run(query) != nil else { return false }
    note(ended.outcome)
    self.ended = nil
    return true
  }

  private mutating func note(_ outcome: MailOutcome) {
    switch outcome {
    case .accepted: metrics.accepted += 1
    case .refused: metrics.refused += 1
    case .failed: metrics.attemptsFailed += 1
    case .unreachable(let reason):
      metrics.unreachable += 1
      nextSend = outage.next(after: SystemClock.now())
      if !hasReported { options.report("mail: the mail server takes no message: \(reason)") }
      hasReported = true
      return
    }
    outage.reset()
    hasReported = false
  }

  // MARK: Answers that are due

  private mutating func search(_ now: Instant) {
    nextSearch = now.advanced(byMilliseconds: MailLoop.searchMilliseconds)
    guard let rows = database.run(MailDigest.find) else { return }
    let found = MailDigest.found(rows)
    var isAnyAdded = false
    for digest in found {
      let load = WorkspaceSettings.load(digest.workspace)
      guard let settings = database.run(load.query), let lines = database.run(digest.read) else {
        return
      }
      let isAdded = add(digest, MailDigest.lines(lines), MailSender(load.answer(settings)))
      isAnyAdded = isAnyAdded || isAdded
    }
    // What a full outbox refuses is found again: at the next search, not at once.
    if isAnyAdded, Int64(found.count) == MailDigest.foundMax { nextSearch = .zero }
    searchAlerts()
  }

  private mutating func searchAlerts() {
    guard let rows = database.run(MailAlert.find) else { return }
    for alert in MailAlert.found(rows) {
      let load = WorkspaceSettings.load(alert.workspace)
      guard let settings = database.run(load.query) else { return }
      let content = alert.content(load.answer(settings), publicURL: options.publicURL)
      guard let content else { continue }
      let add = MailOutbox.add(
        content, id: alert.id, kind: .alert, workspace: alert.workspace, sealedBy: options.secrets)
      guard database.run(add.query) != nil else { return }
    }
  }

  /// Whether the outbox has taken it.
  private mutating func add(
    _ digest: MailDigest, _ lines: [MailDigest.Line], _ sender: MailSender
  ) -> Bool {
    let token = UnsubscribeToken(workspace: digest.workspace, address: digest.address)
    let unsubscribe = options.publicURL.map {
      $0 + UnsubscribeToken.path + token.text(by: options.secrets)
    }
    let id = Identifier.random()
    let reply = options.replies?.address(
      of: digest.session, in: digest.workspace, by: options.secrets)
    guard
      let content = digest.content(
        lines, sender: sender, unsubscribe: unsubscribe, reply: reply)
    else {
      // The row is the mark: such an address is not looked at again.
      return database.run(MailOutbox.unsendable(digest, id: id)) != nil
    }
    let add = MailOutbox.add(
      content, id: id, kind: .answers, workspace: digest.workspace,
      answers: (digest.first, digest.last), sealedBy: options.secrets)
    return database.run(add.query).map(add.answer) ?? false
  }

  private mutating func sweep(_ now: Instant) {
    nextSweep = now.advanced(byMilliseconds: MailLoop.sweepMilliseconds)
    for query in MailOutbox.sweep { _ = database.run(query) }
  }

  public mutating func finish() {}

  /// The last record of a worker that stops.
  public mutating func release() {
    database.open(SystemClock.now())
    _ = record()
  }
}
