/// The state of the thread that fetches contents of messages, such as pictures, from platforms. It
/// is not the thread that sends: files are written here.
///
/// The bytes of a content go into a file as they come, and are cut at the workspace's limit for one
/// file. What was fetched becomes an attachment of the visitor by the last step of an upload, on
/// the threads of the other last steps, and `ChannelInbox` binds it to the message. All ids are
/// derived from that of the message, so whatever a killed gateway has done is found, or done again.
///
/// A content is tried again with growing pauses for `waitSeconds` from its event on, and at least
/// `attemptsMin` times: a platform may be away for an hour. Then its message says only what it was.
import Attachments
import Directory
import HTTPClient
import Kernel
import Postgres
import Primitives
import Synchronization
public import Webhooks

public struct ContentLoop: OutboxLoop, ~Copyable {
  /// The most contents at a time, of which each has a file and a connection.
  static let fetchesMax = 16
  static let leaseMilliseconds: Int64 = 30_000
  static let keepMilliseconds: Int64 = 10_000
  /// The time limit of a download.
  static let downloadMilliseconds = 120_000
  /// The interval between two searches: with contents that are waiting, and without any.
  static let pollMilliseconds: Int64 = 200
  static let idleMilliseconds: Int64 = 500
  /// How long a turn waits while a last step runs.
  static let stepMilliseconds: Int64 = 20
  static let countMilliseconds: Int64 = 10_000
  static let waitSeconds: Int64 = 7_200
  static let attemptsMin = 3
  /// The pauses between attempts: the first one, and the longest. Each is twice the last.
  static let firstPauseMilliseconds: Int64 = 1_000
  static let longestPauseMilliseconds: Int64 = 60_000

  private struct Running {
    var taken: ChannelContents.Taken
    var event: InboundEvent
    var content: InboundContent
    var message: Identifier
    var incoming: IncomingFiles
    var fetch: any ContentFetch
    var file: AttachmentFetch?
    /// Its row, while the last step runs.
    var item: Attachment?

    /// The attachment's id is that of the message: it has one.
    var key: AttachmentKey { AttachmentKey(workspace: taken.person.workspace, id: message) }

    var name: String {
      let name = AttachmentName.clean(content.name)
      guard !content.isNamed, let end = file?.usualEnding else { return name }
      return "\(name.prefix { $0 != "." }).\(end)"
    }
  }

  private typealias Step = Result<AttachmentFiles.Completion, AttachmentFiles.Failure>

  /// Last steps that have ended, from other threads.
  private final class Steps: Sendable {
    private let ended = Mutex<[(ticket: UInt64, result: Step)]>([])

    func add(_ ticket: UInt64, _ result: Step) { ended.withLock { $0.append((ticket, result)) } }

    func take() -> [(ticket: UInt64, result: Step)] {
      ended.withLock { ended in
        let all = ended
        ended = []
        return all
      }
    }
  }

  private var options: ChannelOptions
  private let files: AttachmentFiles
  private var client: HTTPClient
  private var database: OutboxConnection
  private var inFlight: [UInt64: Running] = [:]
  private var completing: [UInt64: Running] = [:]
  private let steps = Steps()
  private var lastTicket: UInt64 = 0
  private var nextPoll = Instant.zero
  private var nextKeep = Instant.zero
  private var nextCount = Instant.zero
  /// The last fault of the storage that was reported.
  private var reported = ""
  public private(set) var metrics = ContentMetrics()

  /// Nil: there is no storage.
  public init?(_ options: ChannelOptions) {
    guard let files = options.files else { return nil }
    self.options = options
    self.files = files
    database = OutboxConnection("contents", url: options.databaseURL, report: options.report)
    // The gateway's administrator alone chooses the platforms' addresses.
    client = HTTPClient(connectionsMax: ContentLoop.fetchesMax) { _ in true }
  }

  public var isBusy: Bool { !inFlight.isEmpty || !completing.isEmpty }

  public mutating func use(_ options: ChannelOptions) {
    database.use(url: options.databaseURL)
    self.options = options
  }

  public mutating func runOnce(wakeDescriptor: Int32, goesOn: () -> Bool) {
    let now = SystemClock.now()
    database.open(now)
    if now >= nextCount { count(now) }
    if now >= nextPoll { poll(now) }
    advance(wakeDescriptor: wakeDescriptor)
  }

  public mutating func finish() { advance(wakeDescriptor: nil) }

  public mutating func release() {
    let leases = leases
    if !leases.isEmpty { _ = database.run(ChannelContents.release(leases)) }
    (inFlight, completing) = ([:], [:])
  }

  private var leases: [Identifier] {
    inFlight.values.map(\.taken.lease) + completing.values.map(\.taken.lease)
  }

  private mutating func advance(wakeDescriptor: Int32?) {
    let now = SystemClock.now()
    if isBusy, now >= nextKeep {
      nextKeep = now.advanced(byMilliseconds: ContentLoop.keepMilliseconds)
      _ = database.run(
        ChannelContents.keep(leases, milliseconds: ContentLoop.leaseMilliseconds))
    }
    let wait = min(nextPoll, database.nextAttempt).milliseconds(since: now)
    let most = completing.isEmpty ? ContentLoop.idleMilliseconds : ContentLoop.stepMilliseconds
    client.advance(milliseconds: Int32(max(1, min(most, wait))), wakeup: wakeDescriptor)
    while let (ticket, outcome) = client.takeEnded() {
      if let running = inFlight.removeValue(forKey: ticket) { go(on: running, outcome) }
    }
    for (ticket, result) in steps.take() {
      if let running = completing.removeValue(forKey: ticket) { complete(running, result) }
    }
  }

  // MARK: Taking

  private mutating func poll(_ now: Instant) {
    nextPoll = now.advanced(byMilliseconds: ContentLoop.idleMilliseconds)
    guard let rows = database.run(Query(ChannelContents.peek)), rows.bool(0, 0) == true else {
      return
    }
    nextPoll = now.advanced(byMilliseconds: ContentLoop.pollMilliseconds)
    guard rows.bool(0, 1) == true else { return }
    let room = ContentLoop.fetchesMax - inFlight.count - completing.count
    let lease = Identifier.random()
    guard room > 0,
      let taken = database.run(
        ChannelContents.take(
          room: room, lease: lease, milliseconds: ContentLoop.leaseMilliseconds))
    else { return }
    let contents = ChannelContents.taken(taken, lease: lease)
    let secrets = ChannelSecret.all(
      of: contents.map(\.person.workspace), by: options.secrets, &database)
    // Without PostgreSQL the leases end, and the contents are taken again.
    guard let secrets else { return }
    for taken in contents {
      begin(taken, secrets[taken.person.workspace]?[taken.person.channel])
    }
  }

  private mutating func begin(_ taken: ChannelContents.Taken, _ secret: ChannelSecret?) {
    guard let channel = Channels.named(taken.person.channel),
      let api = options.platforms[channel.name],
      case let event = channel.meaning(of: taken.payload), let content = event.content,
      case .message(let key, _, _) = event.kind
    else { return record(taken, .missing(reason: "This gateway does not know the channel.")) }
    guard !taken.isBanned else { return record(taken, .missing(reason: "")) }
    let token: [UInt8]
    switch secret {
    case .secret(let bytes): token = bytes
    case .unreadable: return retry(taken, ChannelSecret.unreadableReason, seconds: 0)
    case nil:
      return record(
        taken, .missing(reason: "No \(channel.sendingCredential) is stored for \(channel.name)."))
    }
    let place = MenuPlace(api: api, data: options.dataPlatforms[channel.name] ?? api)
    guard
      let fetch = channel.contentFetch(
        content, at: place, secret: token, milliseconds: options.timeoutMilliseconds,
        downloadMilliseconds: ContentLoop.downloadMilliseconds)
    else { return record(taken, .missing(reason: "The channel has no contents.")) }
    do throws(IncomingFiles.Fault) {
      let incoming = try IncomingFiles(rulesOf: taken.person.workspace, &database)
      let running = Running(
        taken: taken, event: event, content: content, message: taken.person.identifier(key),
        incoming: incoming, fetch: fetch)
      guard incoming.isAllowed(running.name, byteCount: content.byteCount) else {
        return record(taken, .omitted(name: running.name))
      }
      if taken.attempt > 1, try isStored(running) {
        return record(taken, .stored(running.message))
      }
      go(on: running, nil)
    } catch {
      report(error, taken)
    }
  }

  /// Whether an earlier attempt has stored it.
  private mutating func isStored(_ running: Running) throws(IncomingFiles.Fault) -> Bool {
    let statement = Attachment.find(running.message, in: running.taken.person.workspace)
    guard let rows = database.run(statement.query) else { throw .database }
    guard let item = statement.answer(rows), [.stored, .bound].contains(item.state) else {
      return false
    }
    // Nobody needs it if the message is in the log already.
    guard let uploader = try uploader(of: running) else { return true }
    return IncomingFiles.owns(uploader, item)
  }

  // MARK: Fetching

  private mutating func go(on running: Running, _ outcome: HTTPOutcome?) {
    var running = running
    if let file = running.file {
      if case .failed(HTTPClient.longAnswer(running.incoming.rules.bytesMax))? = outcome {
        drop(running)
        return record(running.taken, .omitted(name: running.name))
      }
      if let failure = file.failure {
        drop(running)
        return report(IncomingFiles.fault(failure), running.taken)
      }
    }
    switch running.fetch.next(after: outcome) {
    case .request(let request): start(request, running)
    case .download(let request): download(request, running)
    case .end(.fetched): store(running)
    case .end(.missing(let reason)):
      drop(running)
      record(running.taken, .missing(reason: reason))
    case .end(.retry(let reason, let seconds)):
      drop(running)
      retry(running.taken, reason, seconds: seconds)
    }
  }

  private mutating func download(_ request: HTTPRequest, _ running: Running) {
    var (request, running) = (request, running)
    do throws(AttachmentFiles.Failure) {
      guard let file = try files.fetch(running.key) else { throw .busy }
      running.file = file
      request.responseBytesMax = running.incoming.rules.bytesMax
      request.receive = { status, bytes in status != 200 || file.append(bytes) }
    } catch {
      return report(IncomingFiles.fault(error), running.taken)
    }
    start(request, running)
  }

  private mutating func start(_ request: HTTPRequest, _ running: Running) {
    lastTicket += 1
    if client.begin(request, ticket: lastTicket) {
      inFlight[lastTicket] = running
    } else {
      drop(running)
      retry(running.taken, "the URL is invalid", seconds: 0)
    }
  }

  /// Removes what was fetched, if anything.
  private func drop(_ running: Running) {
    if running.file != nil { files.drop(running.key) }
  }

  // MARK: Storing

  /// The visitor and the conversation, which are made if the person is new. Nil: it is in the log
  /// already, or the person is blocked.
  private mutating func uploader(
    of running: Running
  ) throws(IncomingFiles.Fault) -> Uploader? {
    let (person, message) = (running.taken.person, running.message)
    let statement = ChannelPeople.arrive(
      person, message: message, session: person.session(for: message, attempt: 0),
      visitor: .random(at: SystemClock.wallTime()), replyToken: nil, at: running.event.at)
    guard let rows = database.run(statement.query) else { throw .database }
    guard let arrival = statement.answer(rows), !arrival.isKnown, !arrival.isBanned else {
      return nil
    }
    guard let visitor = arrival.visitor, let session = arrival.session else { throw .database }
    return Uploader(workspace: person.workspace, session: session, id: visitor, isVisitor: true)
  }

  private mutating func store(_ running: Running) {
    var running = running
    guard let file = running.file, file.byteCount > 0 else {
      drop(running)
      return record(running.taken, .missing(reason: "It is empty."))
    }
    let name = running.name
    do throws(IncomingFiles.Fault) {
      guard let uploader = try uploader(of: running) else {
        drop(running)
        return record(running.taken, .missing(reason: ""))
      }
      let beginning = try running.incoming.begin(
        running.message, name, byteCount: file.byteCount, by: uploader, &database)
      switch beginning {
      case .refused:
        drop(running)
        record(running.taken, .omitted(name: name))
      case .busy: retry(running.taken, "too many files are unfinished", seconds: 0)
      case .begun(let item) where item.state != .uploading:
        drop(running)
        record(running.taken, .stored(item.id))
      case .begun(let item):
        // The last step takes its lock at once, while this and the request still hold the file.
        file.finish()
        running.file = nil
        running.item = item
        lastTicket += 1
        completing[lastTicket] = running
        let (ticket, steps) = (lastTicket, steps)
        files.complete(item, allowed: running.incoming.allowed) { steps.add(ticket, $0) }
      }
    } catch {
      report(error, running.taken)
    }
  }

  private mutating func complete(_ running: Running, _ result: Step) {
    guard let item = running.item else { return }
    do throws(IncomingFiles.Fault) {
      let completion: AttachmentFiles.Completion
      do throws(AttachmentFiles.Failure) { completion = try result.get() } catch {
        throw IncomingFiles.fault(error)
      }
      // Another gateway may have been faster.
      var isKept = try running.incoming.record(completion, of: item, in: files, &database)
      if !isKept { isKept = try isStored(running) }
      record(running.taken, isKept ? .stored(item.id) : .omitted(name: item.name))
    } catch {
      report(error, running.taken)
    }
  }

  // MARK: Outcomes

  /// Records a result. If PostgreSQL is unavailable, the lease ends, and another attempt finds out
  /// what this one has done.
  private mutating func record(_ taken: ChannelContents.Taken, _ result: ChannelContents.Result) {
    guard let rows = database.run(ChannelContents.finish(taken, result)), rows.affected > 0 else {
      return
    }
    switch result {
    case .stored: metrics.stored += 1
    case .omitted: metrics.omitted += 1
    case .missing: metrics.missing += 1
    }
    nextPoll = .zero
    options.onContent(taken.person.workspace)
  }

  private mutating func report(_ fault: IncomingFiles.Fault, _ taken: ChannelContents.Taken) {
    guard case .storage(let reason) = fault else { return }
    if reason != reported { options.report("channels: \(reason)") }
    reported = reason
    retry(taken, reason, seconds: 0)
  }

  private mutating func retry(_ taken: ChannelContents.Taken, _ reason: String, seconds: Int64) {
    metrics.attemptsFailed += 1
    guard taken.attempt < ContentLoop.attemptsMin || taken.seconds < ContentLoop.waitSeconds else {
      return record(taken, .missing(reason: "It could not be fetched in time: \(reason)"))
    }
    let own = ContentLoop.pause(after: taken.attempt)
    let pause = max(own, min(seconds * 1_000, ContentLoop.longestPauseMilliseconds))
    let jitter = Int64(Random.uint64() % UInt64(max(1, pause / 5)))
    _ = database.run(
      ChannelContents.postpone(taken, reason: reason, milliseconds: pause + jitter))
  }

  /// The pause after an attempt, in milliseconds.
  static func pause(after attempt: Int) -> Int64 {
    let doublings = min(max(0, attempt - 1), 10)
    return min(firstPauseMilliseconds << doublings, longestPauseMilliseconds)
  }

  private mutating func count(_ now: Instant) {
    nextCount = now.advanced(byMilliseconds: ContentLoop.countMilliseconds)
    _ = database.run(ChannelContents.forget)
    guard let rows = database.run(ChannelContents.countWaiting) else { return }
    metrics.waiting = Int(rows.int(0, 0) ?? 0)
    metrics.oldestWaitingSeconds = max(0, rows.int(0, 1) ?? 0)
  }
}
