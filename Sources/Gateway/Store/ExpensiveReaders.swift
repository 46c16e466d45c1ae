import Kernel
import Logging
import Postgres
import Primitives
import Synchronization

/// Connections to PostgreSQL for expensive statements, on a thread of their own: a slow search
/// delays neither commits nor the other reads of a loop.
///
/// Each connection runs one statement at a time, which PostgreSQL cancels after
/// `statement_timeout`; further ones wait in order. `ExpensiveCalls` limits the statements of one
/// workspace. The thread is started by the first statement, and a connection is opened when a
/// statement needs it.
final class ExpensiveReaders: Sendable {
  typealias Continuation = CheckedContinuation<Result<Rows, QueryFailure>, Never>

  /// Statements that wait for a connection; further ones are refused.
  static let waitingMax = 4_096
  private static let wakeupDatum = UInt64.max

  struct Request {
    var query: Query
    var continuation: Continuation
    var since = SystemClock.now()
  }

  /// For `/metrics`.
  struct Figures: Sendable {
    var connectionsMax = 0
    var busy = 0
    var waiting = 0
    /// From the request until a connection is free for it.
    var waits = DurationHistogram()
  }

  private struct Inbox {
    var requests: [Request] = []
    /// Requests that the thread has taken and not sent yet.
    var waiting = 0
    var isStarted = false
    var isStopping = false
    var source: Source
  }

  /// The address of PostgreSQL and the time limit of a statement.
  fileprivate struct Source: Equatable {
    var url: String
    var milliseconds: Int64
  }

  private let count: Int
  private let logger: Logger
  private let inbox: Mutex<Inbox>
  private let posted = Mutex(Figures())
  private let wakeup: EventCounter
  /// Made with the gateway and not with the thread: when the first statement comes, no descriptor
  /// may be left.
  private let epoll: Epoll

  /// - Parameters:
  ///   - count: the number of connections.
  ///   - seconds: the time limit of a statement.
  init(url: String, count: Int, seconds: Int, logger: Logger) throws(Errno) {
    inbox = Mutex(Inbox(source: Source(url: url, milliseconds: Int64(seconds) * 1_000)))
    self.count = count
    self.logger = logger
    wakeup = try EventCounter()
    epoll = try Epoll()
    try epoll.add(rawValue: wakeup.rawValue, .read, datum: ExpensiveReaders.wakeupDatum)
  }

  /// Changes the address and the limit for the next statements. Statements under way end on their
  /// connections, which are then replaced.
  func use(url: String, seconds: Int) {
    inbox.withLock { $0.source = Source(url: url, milliseconds: Int64(seconds) * 1_000) }
    wakeup.signal()
  }

  var figures: Figures {
    var figures = posted.withLock { $0 }
    figures.connectionsMax = count
    return figures
  }

  func run(_ query: Query) async -> Result<Rows, QueryFailure> {
    await withCheckedContinuation { continuation in
      let refusal = add(Request(query: query, continuation: continuation))
      if let refusal { continuation.resume(returning: .failure(refusal)) } else { wakeup.signal() }
    }
  }

  private func add(_ request: Request) -> QueryFailure? {
    inbox.withLock { inbox in
      guard !inbox.isStopping else { return .unavailable(reason: "the gateway stops") }
      guard inbox.requests.count + inbox.waiting < ExpensiveReaders.waitingMax else {
        return .overloaded
      }
      guard start(&inbox) else { return .overloaded }
      inbox.requests.append(request)
      return nil
    }
  }

  /// Ends the thread. Statements without an answer are answered with `unavailable`.
  func stop() {
    inbox.withLock { $0.isStopping = true }
    wakeup.signal()
  }

  private func start(_ inbox: inout Inbox) -> Bool {
    if inbox.isStarted { return true }
    do throws(Errno) {
      _ = try Thread.spawn(name: "readers") { [self] in
        do throws(Errno) {
          try serve()
        } catch {
          preconditionFailure("the readers cannot wait: \(error)")
        }
      }
      inbox.isStarted = true
    } catch {
      return false
    }
    return true
  }

  private func serve() throws(Errno) {
    var events = Events(capacity: count + 1)
    let first = inbox.withLock(\.source)
    var readers = (0..<count).map { Reader(first, seed: UInt64($0)) }
    var waiting: [Request] = []
    while true {
      let (isStopping, source) = inbox.withLock { inbox in
        waiting += inbox.requests
        inbox.requests = []
        return (inbox.isStopping, inbox.source)
      }
      if isStopping { break }
      for index in readers.indices where readers[index].isFree && readers[index].source != source {
        readers[index] = Reader(source, seed: UInt64(index))
      }
      let now = SystemClock.now()
      assign(&waiting, to: readers, now)
      inbox.withLock { $0.waiting = waiting.count }
      var deadline = Instant.never
      var hasFree = false
      for (index, reader) in readers.enumerated() where reader.isInUse {
        reader.advance(now: now)
        watch(reader, index)
        deadline = min(deadline, reader.nextDeadline)
        hasFree = hasFree || reader.isFree
      }
      if hasFree && !waiting.isEmpty { continue }
      posted.withLock {
        $0.waiting = waiting.count
        $0.busy = readers.count { !$0.isFree }
      }
      let left = max(0, min(deadline.milliseconds(since: SystemClock.now()) + 1, 60_000))
      try epoll.wait(into: &events, timeoutMilliseconds: Int32(left))
      for position in 0..<events.count {
        if events[position].datum == ExpensiveReaders.wakeupDatum {
          wakeup.drain()
        } else {
          readers[Int(events[position].datum)].isReadable = true
        }
      }
    }
    let stopped = Result<Rows, QueryFailure>.failure(.unavailable(reason: "the gateway stops"))
    for reader in readers { reader.answer(stopped) }
    for request in waiting { request.continuation.resume(returning: stopped) }
  }

  /// Connected readers first, so that no more are opened than are needed.
  private func assign(_ waiting: inout [Request], to readers: [Reader], _ now: Instant) {
    var sent = 0
    while sent < waiting.count,
      let reader = readers.first(where: { $0.isFree && $0.isReady })
        ?? readers.first(where: { $0.isFree })
    {
      posted.withLock { $0.waits.add(now.nanoseconds &- waiting[sent].since.nanoseconds) }
      reader.send(waiting[sent], now: now)
      sent += 1
    }
    waiting.removeFirst(sent)
  }

  private func watch(_ reader: Reader, _ index: Int) {
    guard let interest = reader.newInterest() else { return }
    do throws(Errno) {
      // The socket of a connection under way may be another one with the same number.
      do throws(Errno) {
        try epoll.modify(rawValue: reader.descriptor, interest, datum: UInt64(index))
      } catch  where error == .noEntry {
        try epoll.add(rawValue: reader.descriptor, interest, datum: UInt64(index))
      }
    } catch {
      logger.error("cannot watch a socket to PostgreSQL: \(error)")
    }
  }
}

/// One connection and its statement. Only the thread of `ExpensiveReaders` uses it.
private final class Reader {
  let source: ExpensiveReaders.Source
  private var connection: QueryConnection
  private var continuation: ExpensiveReaders.Continuation?
  private var watched: (registration: UInt32, wantsWrite: Bool) = (0, false)
  private(set) var isInUse = false
  var isReadable = false

  init(_ source: ExpensiveReaders.Source, seed: UInt64) {
    self.source = source
    connection = QueryConnection(
      url: source.url, seed: seed, statementMilliseconds: source.milliseconds)
  }

  var isFree: Bool { continuation == nil }
  var isReady: Bool { connection.isReady }
  var nextDeadline: Instant { connection.nextDeadline }
  var descriptor: Int32 { connection.descriptor }

  func send(_ request: ExpensiveReaders.Request, now: Instant) {
    isInUse = true
    isReadable = true
    continuation = request.continuation
    if !connection.enqueue(request.query, ticket: 0, now: now) { answer(.failure(.overloaded)) }
  }

  /// Receives, and gives the answer to the task that waits for it.
  func advance(now: Instant) {
    guard isReadable || now >= connection.nextDeadline else { return }
    isReadable = false
    connection.advance(now: now)
    while let (_, result) = connection.takeAnswer() { answer(result) }
  }

  func answer(_ result: Result<Rows, QueryFailure>) {
    continuation.take()?.resume(returning: result)
  }

  /// The events to register with epoll; nil if nothing has changed, or there is no socket.
  func newInterest() -> Interest? {
    guard connection.descriptor >= 0 else { return nil }
    let current = (connection.registration, connection.wantsWrite)
    guard current != watched else { return nil }
    watched = current
    return connection.wantsWrite ? [.read, .write] : .read
  }
}
