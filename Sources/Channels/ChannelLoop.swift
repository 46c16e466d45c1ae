/// The state of the channel worker's thread. Each turn notes what is new in the log, takes the next
/// message of each conversation that is due, sends it and records its outcome.
import Attachments
import Chat
import Directory
import HTTPClient
import JSON
import Kernel
import Postgres
import Primitives
public import Webhooks

public struct ChannelLoop: OutboxLoop, ~Copyable {
  /// The most concurrent requests.
  static let requestsMax = 32
  /// Of these, the most for profiles.
  static let profilesMax = 8
  /// The part of a lease after the time limit of the attempt, for recording the outcome.
  static let leaseReserveMilliseconds: Int64 = 5_000
  /// The interval between two searches: with conversations that are watched, and without any.
  static let pollMilliseconds: Int64 = 300
  static let idleMilliseconds: Int64 = 2_000
  /// The interval between two searches in conversations that are not watched.
  static let restMilliseconds: Int64 = 30_000
  static let countMilliseconds: Int64 = 10_000
  /// The pauses between attempts: the first one, and the longest. Each is twice the last.
  static let firstPauseMilliseconds: Int64 = 1_000
  static let longestPauseMilliseconds: Int64 = 60_000
  /// The longest pause that a platform may want.
  static let wantedSecondsMax: Int64 = 86_400

  /// The purpose of a request.
  private enum Purpose {
    case message(ChannelOutbox.Sending, usesReplyToken: Bool, begun: Instant, requests: Int)
    case profile(ChannelProfiles.Wanted)
  }

  private var options: ChannelOptions
  private let lease: Identifier
  private var client: HTTPClient
  private var database: OutboxConnection
  private var nextPoll = Instant.zero
  private var nextRest = Instant.zero
  private var nextSweep: Instant
  private var nextCount = Instant.zero
  private var inFlight: [UInt64: Purpose] = [:]
  /// Outcomes that are not recorded yet, because PostgreSQL may be unavailable.
  private var ended: [(purpose: Purpose, outcome: HTTPOutcome, wasSent: Bool)] = []
  private var lastTicket: UInt64 = 0
  private var menus: ChannelMenuLoop
  public private(set) var metrics = ChannelMetrics()

  public init(_ options: ChannelOptions) {
    self.options = options
    let seed = Random.uint64()
    lease = .random()
    database = OutboxConnection("channels", url: options.databaseURL, report: options.report)
    menus = ChannelMenuLoop(options)
    // The gateway's administrator alone chooses the platforms' addresses.
    client = HTTPClient(connectionsMax: ChannelLoop.requestsMax) { _ in true }
    // Jitter: nodes that start together do not sweep together.
    nextSweep = SystemClock.now().advanced(byMilliseconds: 5_000 + Int64(seed % 20_000))
  }

  public var isBusy: Bool { !inFlight.isEmpty || !ended.isEmpty || menus.isBusy }

  public mutating func use(_ options: ChannelOptions) {
    database.use(url: options.databaseURL)
    self.options = options
    menus.use(options)
  }

  /// Runs one turn. Waits until the next poll at most, unless PostgreSQL takes longer.
  public mutating func runOnce(wakeDescriptor: Int32, goesOn: () -> Bool) {
    let now = SystemClock.now()
    database.open(now)
    // Before messages are taken again whose lease has ended meanwhile.
    recordEnded()
    if now >= nextSweep { sweep(now) }
    if now >= nextCount { count(now) }
    if now >= nextPoll { poll(now) }
    advance(wakeDescriptor: wakeDescriptor)
  }

  /// Continues the requests in flight and records outcomes, without taking new messages.
  public mutating func finish() { advance(wakeDescriptor: nil) }

  private mutating func advance(wakeDescriptor: Int32?) {
    let wait = min(nextPoll, database.nextAttempt).milliseconds(since: SystemClock.now())
    // Without a descriptor the worker is stopping and has little time left.
    let most: Int64 =
      if menus.isBusy {
        ChannelMenuLoop.pollMilliseconds
      } else {
        wakeDescriptor == nil ? 100 : ChannelLoop.idleMilliseconds
      }
    menus.advance(&database)
    client.advance(milliseconds: Int32(max(1, min(most, wait))), wakeup: wakeDescriptor)
    while let (ticket, outcome, wasSent) = client.takeSent() {
      guard let purpose = inFlight.removeValue(forKey: ticket) else { continue }
      ended.append((purpose, outcome, wasSent))
    }
    recordEnded()
  }

  private mutating func recordEnded() {
    while database.isOpen, let (purpose, outcome, wasSent) = ended.first {
      guard record(purpose, outcome, wasSent) else { break }
      ended.removeFirst()
      nextPoll = .zero
    }
  }

  // MARK: PostgreSQL

  private mutating func poll(_ now: Instant) {
    nextPoll = now.advanced(byMilliseconds: ChannelLoop.idleMilliseconds)
    if now >= nextRest {
      nextRest = now.advanced(byMilliseconds: ChannelLoop.restMilliseconds)
      guard database.run(ChannelOutbox.noteRest) != nil else { return }
    }
    guard let rows = database.run(Query(ChannelOutbox.peek)) else { return }
    if rows.bool(0, 0) == true {
      nextPoll = now.advanced(byMilliseconds: ChannelLoop.pollMilliseconds)
      guard let noted = database.run(ChannelOutbox.note) else { return }
      if noted.affected > 0 || rows.bool(0, 1) == true { takeMessages() }
    } else if rows.bool(0, 1) == true {
      takeMessages()
    }
    if rows.bool(0, 2) == true { takeProfiles() }
    if rows.bool(0, 3) == true { takeMenus() }
  }

  private mutating func takeMessages() {
    let room = ChannelLoop.requestsMax - inFlight.count
    guard room > 0, ended.isEmpty else { return }
    let (lease, milliseconds) = (
      lease, Int64(options.timeoutMilliseconds) + ChannelLoop.leaseReserveMilliseconds
    )
    let taken = database.transaction { connection -> ([ChannelOutbox.Sending], Int) in
      // An attempt is stored before it begins: without that, after a crash of PostgreSQL a reply
      // token would be taken for a fresh one.
      try connection.run(Query("SELECT set_config('synchronous_commit', 'on', true)"))
      let rows = try connection.run(ChannelOutbox.lock(room: room))
      let locked = (0..<rows.count).compactMap { row in
        rows.uuid(row, 0).flatMap { workspace in rows.uuid(row, 1).map { (workspace, $0) } }
      }
      if locked.isEmpty { return ([], 0) }
      let taken = try connection.run(
        ChannelOutbox.take(locked, lease: lease, leaseMilliseconds: milliseconds))
      return (ChannelOutbox.sendings(taken), locked.count)
    }
    guard let (sendings, locked) = taken else { return }
    let secrets = ChannelSecret.all(
      of: sendings.map(\.workspace), by: options.secrets, &database)
    for sending in sendings { begin(sending, secrets) }
    // More may be due than one poll takes.
    if locked == room { nextPoll = .zero }
  }

  private mutating func takeProfiles() {
    let room = min(
      ChannelLoop.profilesMax, ChannelLoop.requestsMax - inFlight.count - ended.count)
    guard room > 0, let rows = database.run(ChannelProfiles.take(room: room)) else { return }
    let wanted = ChannelProfiles.wanted(rows)
    guard !wanted.isEmpty else { return }
    let secrets = ChannelSecret.all(
      of: wanted.map(\.person.workspace), by: options.secrets, &database)
    for one in wanted {
      guard let channel = Channels.named(one.person.channel),
        let base = options.platforms[channel.name],
        case .secret(let secret)? = secrets?[one.person.workspace]?[channel.name],
        let request = channel.profileRequest(
          of: one.person.address, at: base, secret: secret,
          milliseconds: options.timeoutMilliseconds)
      else { continue }
      start(request, .profile(one))
    }
  }

  private mutating func takeMenus() {
    let taken = menus.take(&database)
    let secrets = ChannelSecret.all(
      of: taken.map(\.workspace), by: options.secrets, &database)
    for one in taken {
      switch secrets?[one.workspace]?[one.channel] {
      case .secret(let secret): menus.begin(one, secret: secret, &database)
      case .unreadable:
        menus.end(
          one, .failed(reason: ChannelSecret.unreadableReason, isClean: false), &database)
      case nil: break  // Deleted: the row is too. Or PostgreSQL is away: the lease ends.
      }
    }
  }

  private mutating func begin(
    _ sending: ChannelOutbox.Sending, _ secrets: [Identifier: [String: ChannelSecret]]?
  ) {
    guard let channel = Channels.named(sending.channel),
      let base = options.platforms[sending.channel]
    else { return refuse(sending, "This gateway does not know the channel.") }
    guard !sending.isUnknown || channel.capabilities.recognisesRepeats else {
      return refuse(
        sending, "The gateway ended before it had the platform's answer.", isUnknown: true)
    }
    guard !sending.isLeft else {
      return refuse(sending, "The person has blocked the account.")
    }
    guard let secrets else { return setBack(sending) }
    switch secrets[sending.workspace]?[sending.channel] {
    case .secret(let secret):
      let isTokenGood = sending.replyTokenSeconds <= channel.capabilities.replyAgainSeconds
      let token = isTokenGood ? sending.replyToken : nil
      guard let message = withFiles(sending) else { return }
      // Files may have been deleted since the last part.
      let requests = channel.requestCount(for: message)
      guard sending.part < requests else {
        return refuse(sending, nil)
      }
      start(
        channel.request(
          for: message, part: sending.part, replyToken: token, at: base, secret: secret,
          milliseconds: options.timeoutMilliseconds),
        .message(
          sending, usesReplyToken: token != nil, begun: SystemClock.now(), requests: requests))
    case .unreadable:
      if !postpone(sending, ChannelSecret.unreadableReason, seconds: 0, dropsToken: false) {
        setBack(sending)
      }
    case nil: refuse(sending, "No \(channel.sendingCredential) is stored for \(channel.name).")
    }
  }

  /// The message with links to its files. Nil: it has failed, or PostgreSQL is unavailable.
  private mutating func withFiles(_ sending: ChannelOutbox.Sending) -> OutboundMessage? {
    var message = sending.message
    guard message.kind == .file else { return message }
    guard let publicURL = options.publicURL else {
      refuse(sending, "The gateway has no public_url, which links to files need.")
      return nil
    }
    let listed = JSONValue(message.payload)?["attachments"]?.array ?? []
    let ids = listed.compactMap { $0["id"]?.string.flatMap { Identifier($0) } }
    let statement = Attachment.shown(ids, in: sending.workspace, session: sending.session)
    guard let rows = database.run(statement.query) else {
      setBack(sending)
      return nil
    }
    let now = SystemClock.wallTime().microseconds / 1_000_000
    let found = Dictionary(
      statement.answer(rows).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    message.files = ids.compactMap { found[$0] }.map { file in
      OutboundFile(
        name: file.name, type: file.type, byteCount: file.byteCount,
        url: publicURL
          + AttachmentLink(file.key, end: now + AttachmentLimits.channelLinkSeconds)
          .url(signedBy: options.secrets))
    }
    guard !message.files.isEmpty else {
      refuse(sending, "The files are deleted.")
      return nil
    }
    return message
  }

  private mutating func start(_ request: HTTPRequest, _ purpose: Purpose) {
    lastTicket += 1
    if client.begin(request, ticket: lastTicket) {
      inFlight[lastTicket] = purpose
    } else {
      ended.append((purpose, .failed(reason: "the URL is invalid"), false))
    }
  }

  // MARK: Outcomes

  /// Records an outcome; false if PostgreSQL is unavailable.
  private mutating func record(
    _ purpose: Purpose, _ outcome: HTTPOutcome, _ wasSent: Bool
  ) -> Bool {
    switch purpose {
    case .profile(let wanted): return record(wanted, outcome)
    case .message(let sending, let usesReplyToken, let begun, let requests):
      guard let channel = Channels.named(sending.channel) else { return true }
      // The outcome may be recorded later than it came, which makes the token older than it was.
      let age = sending.replyTokenSeconds + SystemClock.now().milliseconds(since: begun) / 1_000
      let verdict = channel.verdict(
        on: outcome, wasSent: wasSent, usedReplyToken: usesReplyToken,
        mayBeUsed: sending.attempt > 1 && age <= channel.capabilities.replyAgainSeconds)
      if verdict == .sent, sending.part + 1 < requests {
        return database.run(ChannelOutbox.finishPart(sending, lease: lease)) != nil
      }
      return record(sending, verdict, hoursMax: channel.capabilities.retryHours)
    }
  }

  private mutating func record(
    _ sending: ChannelOutbox.Sending, _ verdict: SendVerdict, hoursMax: Int64
  ) -> Bool {
    switch verdict {
    case .sent: return finish(sending, nil)
    case .failed(let reason): return finish(sending, reason)
    case .unknown(let reason): return finish(sending, reason, isUnknown: true)
    case .withoutReplyToken:
      return database.run(
        ChannelOutbox.postpone(
          sending, lease: lease, reason: nil, milliseconds: 0, dropsToken: true)) != nil
    case .retry(let reason, let seconds, let isUnknown):
      guard sending.seconds < hoursMax * 3_600 else { return finish(sending, reason) }
      return postpone(sending, reason, seconds: seconds, dropsToken: !isUnknown)
    }
  }

  /// Ends a message without a request, for this reason; nil: all of it is sent.
  private mutating func refuse(
    _ sending: ChannelOutbox.Sending, _ reason: String?, isUnknown: Bool = false
  ) {
    if finish(sending, reason, isUnknown: isUnknown) {
      nextPoll = .zero
    } else if !isUnknown {
      setBack(sending)
    }
  }

  /// PostgreSQL was lost after the attempt was stored: nothing was sent, which is recorded later.
  private mutating func setBack(_ sending: ChannelOutbox.Sending) {
    let purpose = Purpose.message(
      sending, usesReplyToken: false, begun: SystemClock.now(), requests: 1)
    ended.append((purpose, .failed(reason: "PostgreSQL was unavailable"), false))
  }

  private mutating func finish(
    _ sending: ChannelOutbox.Sending, _ reason: String?, isUnknown: Bool = false
  ) -> Bool {
    let done = database.run(
      ChannelOutbox.finish(sending, lease: lease, reason: reason, isUnknown: isUnknown))
    guard done != nil else { return false }
    if reason == nil {
      metrics.sent += 1
    } else {
      metrics.attemptsFailed += 1
      metrics.failed += 1
    }
    return true
  }

  private mutating func postpone(
    _ sending: ChannelOutbox.Sending, _ reason: String, seconds: Int64, dropsToken: Bool
  ) -> Bool {
    let wanted = min(seconds, ChannelLoop.wantedSecondsMax) * 1_000
    let pause = max(ChannelLoop.pause(after: sending.attempt), wanted)
    let jitter = Int64(Random.uint64() % UInt64(max(1, pause / 5)))
    guard
      database.run(
        ChannelOutbox.postpone(
          sending, lease: lease, reason: reason, milliseconds: pause + jitter,
          dropsToken: dropsToken)) != nil
    else { return false }
    metrics.attemptsFailed += 1
    return true
  }

  /// The pause after an attempt, in milliseconds.
  static func pause(after attempt: Int) -> Int64 {
    let doublings = min(max(0, attempt - 1), 10)
    return min(firstPauseMilliseconds << doublings, longestPauseMilliseconds)
  }

  private mutating func record(_ wanted: ChannelProfiles.Wanted, _ outcome: HTTPOutcome) -> Bool {
    guard let channel = Channels.named(wanted.person.channel),
      case .answered(let status, let body, _) = outcome
    else { return true }
    if (200..<300).contains(status), let profile = channel.profile(in: body) {
      guard let rows = database.run(ChannelProfiles.store(profile, of: wanted)) else {
        return false
      }
      for row in 0..<rows.count {
        if let session = rows.uuid(row, 0) { options.onChange(session, wanted.person.workspace) }
      }
      return true
    }
    // Otherwise the next attempt is due already.
    guard [400, 403, 404].contains(status) else { return true }
    return database.run(ChannelProfiles.giveUp(wanted)) != nil
  }

  // MARK: The rest

  /// Releases what is unfinished, so that another node can take it at once.
  public mutating func release() {
    if isBusy { _ = database.run(ChannelOutbox.release(lease: lease)) }
    menus.release(&database)
    inFlight = [:]
    ended = []
  }

  private mutating func sweep(_ now: Instant) {
    nextSweep = now.advanced(byMilliseconds: ChannelSweep.intervalMilliseconds)
    for _ in 0..<ChannelSweep.rounds {
      guard let rows = database.run(ChannelSweep.forgetEvents),
        rows.affected >= Int(ChannelSweep.rows)
      else { break }
    }
  }

  private mutating func count(_ now: Instant) {
    nextCount = now.advanced(byMilliseconds: ChannelLoop.countMilliseconds)
    guard let rows = database.run(ChannelOutbox.countWaiting) else { return }
    metrics.waiting = Int(rows.int(0, 0) ?? 0)
    metrics.oldestWaitingSeconds = max(0, rows.int(0, 1) ?? 0)
  }
}
