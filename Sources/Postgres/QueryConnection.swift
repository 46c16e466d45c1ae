public import Primitives

/// A connection for the event loop: queries are sent in pipeline mode without waiting for earlier
/// ones, and no call waits for PostgreSQL. Each query is its own transaction, so an error affects
/// only itself.
///
/// The loop watches `descriptor` (for reading always, for writing while `wantsWrite`) and calls
/// `advance` when it is ready, and when `nextDeadline` has passed. Only two steps of connecting may
/// block for a short time: the resolution of a host name, and the connect of a Unix socket.
///
/// Invariant: `takeAnswer` returns each ticket accepted by `enqueue` exactly once.
public struct QueryConnection: ~Copyable {
  /// Waiting and sent queries.
  public static let queriesMax = 1_024
  /// A query that was not sent within this time is answered with `unavailable`.
  public static let waitMilliseconds: Int64 = 5_000
  /// A statement is cancelled after this time, unless `init` says otherwise.
  public static let statementMillisecondsDefault: Int64 = 10_000
  /// The connection is closed when the server does not answer for this time beyond the limit of a
  /// statement.
  static let silenceMilliseconds: Int64 = 5_000
  static let connectMilliseconds: Int64 = 5_000

  private enum Phase { case down, connecting, preparing, ready }

  private struct Waiting {
    var ticket: UInt64
    var query: Query
    var expiry: Instant
  }
  private struct Sent {
    /// Nil for the connection's own statements.
    var ticket: UInt64?
    /// Its first result identifies the database (through a pooler).
    var isGuarded = false
    /// A LISTEN. If it is refused (on a standby), there are no notifications.
    var isListen = false
    /// The number of results of preceding statements: scope and locks.
    var resultsBefore = 0
    /// The statement that is prepared before it.
    var preparing: PreparedStatements.Key?
    /// The pooler has connected to another database than before.
    var isElsewhere = false
    var at: Instant
    var result: Result<Rows, QueryFailure>?
  }

  private struct Server {
    var url: String
    var statementMilliseconds: Int64
  }

  private var server: Server
  /// A working connection is replaced by one to another address.
  private var isReplacing = false
  private var pq: PQConnection?
  private var phase = Phase.down
  private var backoff: Backoff
  private var deadline = Instant.zero
  private var waiting = FIFO<Waiting>()
  private var sent = FIFO<Sent>()
  private var answers = FIFO<(ticket: UInt64, result: Result<Rows, QueryFailure>)>()
  private var notifications: Notifications
  private var prepared = PreparedStatements()
  private var parameters = ParameterBuffer()
  /// Whether statements can be restricted to a workspace, see `Scope`; known when ready.
  public private(set) var canScope = false

  /// Identifies the connected database, see `StoreIdentity`; empty before the first connection.
  public private(set) var store = ""
  /// Whether the connection goes through a pooler (PgBouncer), see `PQConnection.isPooled`. Then
  /// statements are sent as text, one at a time, each first checks the database, and settings last
  /// for one statement.
  public private(set) var isPooled = false

  /// The error of the server or the network when the connection was last lost.
  public private(set) var reason = "not connected yet"
  /// The reason why it is not connected; nil while connected, and before the end of the first
  /// attempt. It reconnects on its own within a second.
  public var fault: String? { hasFailed ? reason : nil }
  private var hasFailed = false
  /// Changes whenever `descriptor` may be another socket, even with the same number: the loop must
  /// register it again.
  public private(set) var registration: UInt32 = 0

  /// Changes when notifications may have been missed, see `Notifications`.
  public var listens: Int { notifications.listens }
  /// Whether notifications are received. Never through a pooler, which has no permanent sessions.
  public var isListening: Bool { notifications.isListening }

  /// Connects at the first `advance`.
  ///
  /// - Parameters:
  ///   - listen: a LISTEN statement, sent on each new connection.
  ///   - statementMilliseconds: the server cancels a statement after this time
  ///     (`statement_timeout`).
  public init(
    url: String, seed: UInt64 = 0, listen: StaticString? = nil,
    statementMilliseconds: Int64 = statementMillisecondsDefault
  ) {
    server = Server(url: url, statementMilliseconds: statementMilliseconds)
    notifications = Notifications(statement: listen)
    backoff = Backoff(firstMilliseconds: 50, lastMilliseconds: 1_000, seed: seed)
  }

  /// -1 without a socket.
  public private(set) var descriptor: Int32 = -1
  public private(set) var wantsWrite = false

  /// Whether queries are sent at once, or wait only until the connection is replaced.
  public var isReady: Bool { phase == .ready || isReplacing }

  /// The time at which `advance` must be called even without an event.
  public var nextDeadline: Instant {
    var next = Instant.never
    switch phase {
    case .down, .connecting: next = deadline
    case .preparing, .ready:
      if let oldest = sent.first {
        next = oldest.at.advanced(byMilliseconds: silenceMilliseconds)
      }
    }
    if let oldest = waiting.first { next = min(next, oldest.expiry) }
    return next
  }

  private var silenceMilliseconds: Int64 {
    server.statementMilliseconds + QueryConnection.silenceMilliseconds
  }

  /// Adds a query; false when the queue is full. `takeAnswer` returns its answer.
  public mutating func enqueue(_ query: Query, ticket: UInt64, now: Instant) -> Bool {
    guard waiting.count + sent.count < QueryConnection.queriesMax else { return false }
    if phase == .ready, !isReplacing, !isPooled || sent.isEmpty {
      send(query, ticket: ticket, now: now)
    } else {
      waiting.append(
        Waiting(
          ticket: ticket, query: query,
          expiry: now.advanced(byMilliseconds: QueryConnection.waitMilliseconds)))
    }
    return true
  }

  public mutating func takeAnswer() -> (ticket: UInt64, result: Result<Rows, QueryFailure>)? {
    answers.popFirst()
  }

  /// Whether `takeAnswer` has an answer.
  public var hasAnswers: Bool { !answers.isEmpty }

  /// The payload of the next notification.
  public mutating func takeNotification() -> String? { notifications.next() }

  public var hasNotifications: Bool { !notifications.isEmpty }

  /// Reconnects, because this database is not the expected one, or takes no writes any more.
  public mutating func reconnect(
    now: Instant, because reason: String = "another database has taken over"
  ) {
    if phase != .down { disconnect(now, reason) }
  }

  /// Connects to another address from now on. A working connection is replaced as soon as its
  /// statements have their answers; queries of the meantime wait.
  public mutating func use(url: String, now: Instant) {
    guard url != server.url else { return }
    server.url = url
    backoff.reset()
    if phase == .ready {
      isReplacing = true
      replaceIfIdle(now)
    } else {
      close("another address is configured")
      deadline = now
    }
  }

  private mutating func replaceIfIdle(_ now: Instant) {
    guard isReplacing, phase == .ready, sent.isEmpty else { return }
    close("the connection is replaced")
    deadline = now
  }

  public mutating func advance(now: Instant) {
    switch phase {
    case .down: if now >= deadline { connect(now) }
    case .connecting: advanceConnect(now)
    case .preparing, .ready: exchange(now)
    }
    while let oldest = waiting.first, oldest.expiry <= now, let expired = waiting.popFirst() {
      answers.append((expired.ticket, .failure(.unavailable(reason: reason))))
    }
  }

  // MARK: Connecting

  private mutating func connect(_ now: Instant) {
    pq = PQConnection.start(url: server.url)
    phase = .connecting
    noteSocket()
    deadline = now.advanced(byMilliseconds: QueryConnection.connectMilliseconds)
    if pq?.isBroken ?? true { disconnect(now, pq?.errorMessage ?? "out of memory") }
  }

  private mutating func advanceConnect(_ now: Instant) {
    let progress = pq?.advanceConnect() ?? .failed
    noteSocket()
    switch progress {
    case .waiting:
      if now >= deadline { disconnect(now, "no answer from the server") }
    case .failed:
      disconnect(now, pq?.errorMessage ?? "out of memory")
    case .ready:
      phase = .preparing
      guard pq?.execute(text: StoreIdentity.query) ?? false, pq?.sync() ?? false else {
        return disconnect(now, pq?.errorMessage ?? "out of memory")
      }
      prepared.isScopePrepared = false
      sent.append(Sent(ticket: nil, at: now))
      flush(now)
    }
  }

  private mutating func noteSocket() {
    descriptor = pq?.descriptor ?? -1
    wantsWrite = pq?.connectWantsWrite ?? false
    registration &+= 1
  }

  private mutating func disconnect(_ now: Instant, _ reason: String) {
    isReplacing = false
    hasFailed = true
    self.reason = reason
    deadline = backoff.next(after: now)
    close(reason)
  }

  /// Sent queries may have run; they are answered with `unavailable`. Waiting queries stay queued.
  private mutating func close(_ reason: String) {
    pq = nil
    descriptor = -1
    wantsWrite = false
    registration &+= 1
    phase = .down
    notifications.end()
    prepared.removeAll()
    while let lost = sent.popFirst() {
      guard let ticket = lost.ticket else { continue }
      answers.append((ticket, .failure(.unavailable(reason: reason))))
    }
  }

  // MARK: Talking

  private mutating func send(_ query: Query, ticket: UInt64, now: Instant) {
    let scope = canScope ? query.scope : nil
    var resultsBefore = scope == nil ? 0 : isPooled || prepared.isScopePrepared ? 1 : 2
    if isPooled { resultsBefore += 2 }
    resultsBefore += query.locks.count + (query.isPlannedAnew ? 1 : 0)
    let isGuarded = !isPooled || guardStore()
    let isEntered =
      isGuarded && (scope.map { enter($0) } ?? true) && query.locks.allSatisfy { take($0) }
      && (!query.isPlannedAnew || allowScans())
    parameters.removeAll()
    for parameter in query.parameters { parameters.append(parameter) }
    // During the first use of a text, other uses are sent without a name, so that a failure to
    // prepare does not affect them.
    let key = PreparedStatements.Key(
      text: query.sql.address, types: parameters.types, isScoped: scope != nil)
    var preparing: PreparedStatements.Key?
    var accepted: Bool
    if isPooled || query.isPlannedAnew {
      accepted = pq?.execute(text: query.sql, parameters) ?? false
    } else if let known = prepared[key] {
      accepted =
        known.isConfirmed
        ? pq?.execute(known.name, parameters) ?? false
        : pq?.execute(text: query.sql, parameters) ?? false
    } else {
      let name = prepared.add(key)
      preparing = key
      accepted =
        (pq?.prepare(name, query.sql, types: parameters.types) ?? false)
        && (pq?.execute(name, parameters) ?? false)
    }
    accepted = isEntered && accepted && (pq?.sync() ?? false)
    sent.append(
      Sent(
        ticket: ticket, isGuarded: isPooled, resultsBefore: resultsBefore, preparing: preparing,
        at: now))
    if accepted {
      flush(now)
    } else {
      disconnect(now, pq?.errorMessage ?? "out of memory")
    }
  }

  /// With `$1` they end with the transaction; `$2` is `statement_timeout`. A plan made while a
  /// table was empty is kept after it has grown, so sequential scans are disabled (see
  /// `allowScans`); their cost would enable the JIT compiler, so that is disabled too.
  package static let settings: SQL = """
    SELECT set_config('enable_seqscan', 'off', $1), set_config('jit', 'off', $1),
      set_config('statement_timeout', $2, $1),
      set_config('idle_in_transaction_session_timeout', '10000', $1),
      set_config('lock_timeout', '0', $1), \(SessionSettings.meaning)
    """

  private func applySettings() -> Bool {
    var parameters = ParameterBuffer()
    parameters.append(.bool(isPooled))
    parameters.append(.text(String(server.statementMilliseconds)))
    return pq?.execute(text: QueryConnection.settings, parameters) ?? false
  }

  /// Through a pooler, in the transaction of each query.
  private func guardStore() -> Bool {
    (pq?.execute(text: StoreIdentity.query) ?? false) && applySettings()
  }

  /// The statements up to the next sync are one transaction, and the settings end with it.
  private mutating func enter(_ scope: Scope) -> Bool {
    parameters.removeAll()
    for id in [scope.workspace, scope.user] {
      if let id {
        parameters.append(.uuid) { id.appendBytes(to: &$0) }
      } else {
        parameters.appendNull(.uuid)
      }
    }
    if isPooled { return pq?.execute(text: Scope.enter, parameters) ?? false }
    if !prepared.isScopePrepared {
      prepared.isScopePrepared = true
      guard pq?.prepare("scope", Scope.enter, types: parameters.types) ?? false else {
        return false
      }
    }
    return pq?.execute("scope", parameters) ?? false
  }

  /// A statement that is planned for the tables as they are may scan them, until the end of its
  /// transaction.
  private mutating func allowScans() -> Bool {
    parameters.removeAll()
    return pq?.execute(text: "SELECT set_config('enable_seqscan', 'on', true)", parameters) ?? false
  }

  /// Sent as text, because it is too rare to prepare.
  private mutating func take(_ lock: Lock) -> Bool {
    parameters.removeAll()
    for parameter in lock.parameters { parameters.append(parameter) }
    return pq?.execute(text: lock.sql, parameters) ?? false
  }

  private mutating func exchange(_ now: Instant) {
    let received = pq?.receive() ?? false
    takeNotifications()
    takeResults(now)
    guard phase != .down else { return }
    if !received || (pq?.isBroken ?? true) {
      return disconnect(now, pq?.errorMessage ?? "connection lost")
    }
    flush(now)
    if let oldest = sent.first,
      now.milliseconds(since: oldest.at) >= silenceMilliseconds
    {
      disconnect(now, "the server does not answer")
    }
    replaceIfIdle(now)
  }

  private mutating func takeNotifications() {
    guard isListening else { return }
    while let text = pq?.nextNotification() { notifications.append(text) }
  }

  private mutating func flush(_ now: Instant) {
    switch pq?.flush() ?? .failed {
    case .all: wantsWrite = false
    case .some: wantsWrite = true
    case .failed: disconnect(now, pq?.errorMessage ?? "connection lost")
    }
  }

  private mutating func takeResults(_ now: Instant) {
    // Between two results of the pipeline there is one nil; a second nil means that there are no
    // more results.
    var nones = 0
    while !sent.isEmpty, nones < 2, !(pq?.isBusy ?? true) {
      guard let answer = pq?.next() else {
        nones += 1
        continue
      }
      nones = 0
      switch answer.form {
      case .done:
        sent.updateFirst { entry in
          if entry.resultsBefore > 0 {
            entry.resultsBefore -= 1
            if entry.isGuarded {
              entry.isGuarded = false
              entry.isElsewhere = answer.rows().text(0, 0) != store
            }
          } else if let key = entry.preparing {
            prepared.confirm(key)
            entry.preparing = nil
          } else if entry.result == nil {
            entry.result = .success(answer.rows())
          }
        }
      case .refused: refuse(answer.refusal)
      case .skipped: break
      case .sync: finish(now)
      }
    }
  }

  private mutating func refuse(_ refusal: ServerRefusal) {
    reason = refusal.message
    sent.updateFirst { entry in
      // A statement that could not be prepared does not exist.
      if let key = entry.preparing { prepared.remove(key) }
      entry.result = .failure(.refused(refusal.state, message: refusal.message))
    }
    // The statement was dropped (DISCARD ALL), or its tables have changed: it is prepared again.
    if refusal.state.code == "26000" { prepared.isScopePrepared = false }
    if refusal.state.code == "26000" || refusal.state.code == "0A000" { prepared.removeAll() }
  }

  private mutating func finish(_ now: Instant) {
    guard let entry = sent.popFirst() else { return }
    let result = entry.result ?? .failure(.unavailable(reason: "the server skipped the query"))
    if let ticket = entry.ticket {
      guard !entry.isElsewhere else {
        answers.append((ticket, .failure(.unavailable(reason: QueryConnection.elsewhere))))
        return disconnect(now, QueryConnection.elsewhere)
      }
      answers.append((ticket, result))
      return sendWaiting(now)
    }
    if entry.isListen {
      guard case .success = result else { return }
      notifications.begin()
      return
    }
    guard case .success(let rows) = result else { return disconnect(now, reason) }
    // The answer to the settings has no content.
    guard phase == .preparing else { return }
    becomeReady(rows, now)
  }

  private static let elsewhere = "the pooler now connects to another database"

  private mutating func becomeReady(_ introduction: Rows, _ now: Instant) {
    store = introduction.text(0, 0) ?? ""
    canScope = introduction.bool(0, 1) == true
    isPooled = pq?.isPooled(answeredBy: introduction.int(0, 2)) ?? false
    if !isPooled {
      guard applySettings(), pq?.sync() ?? false else {
        return disconnect(now, pq?.errorMessage ?? "out of memory")
      }
      sent.append(Sent(ticket: nil, at: now))
      guard beginToListen(now) else {
        return disconnect(now, pq?.errorMessage ?? "out of memory")
      }
    }
    phase = .ready
    isReplacing = false
    hasFailed = false
    backoff.reset()
    sendWaiting(now)
    if phase == .ready { flush(now) }
  }

  private mutating func beginToListen(_ now: Instant) -> Bool {
    guard let listen = notifications.statement else { return true }
    guard pq?.execute(text: SQL(listen)) ?? false, pq?.sync() ?? false else { return false }
    sent.append(Sent(ticket: nil, isListen: true, at: now))
    return true
  }

  private mutating func sendWaiting(_ now: Instant) {
    while phase == .ready, !isReplacing, !isPooled || sent.isEmpty, let next = waiting.popFirst() {
      send(next.query, ticket: next.ticket, now: now)
    }
  }
}
