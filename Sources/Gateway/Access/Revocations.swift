/// Enforces revocations: no connection is welcomed before the database has confirmed its token, and
/// connections of revoked users are closed.
///
/// On one gateway a revocation is exact by this order: COMMIT; then each loop discards answers of
/// statements that began before, and checks its connections again; then each loop waits until all
/// earlier messages are stored; then the request is answered.
import Chat
import Directory
import Engine
import Kernel
import Postgres
import Primitives

/// Mail to a loop about a revocation.
enum RevocationMail: Sendable {
  /// Check the connections of these users again; nil: of all users.
  case recheck(Set<Identifier>?, Countdown?)
  /// Confirm when all messages that came before are stored.
  case settle(Countdown)
  /// Give the countdown up after a time: a task on this loop waits for it.
  case limit(Countdown, milliseconds: Int64 = Revocations.limitMilliseconds)
}

/// The checks of one loop: whether a token is still valid before its connection is welcomed or
/// renewed, and whether connected users may stay. Both in batches, one statement of each kind at a
/// time.
struct Revocations {
  /// A verified token that waits for the database.
  struct TokenCheck {
    enum Step {
      case hello(Member)
      /// Moved here from another loop with a hello.
      case arrival
    }
    var socket: SocketID
    var connection: ConnectionID
    var subject: Standing.Subject
    var step: Step
    /// Something was revoked after the statement began, so its answer is discarded.
    var isStale = false
  }

  /// Users who are checked again, in parts, and the requests that wait for that.
  private struct Recheck {
    var subjects: [Standing.Subject]
    var countdowns: [Countdown]

    /// The subjects of the next statement.
    var next: [Standing.Subject] { Array(subjects.prefix(Standing.checkedMax)) }
  }

  /// At most one for each connection.
  private var waiting: [TokenCheck] = []
  /// The checks of the statement in flight.
  private var inFlight: [TokenCheck] = []
  private var isTokenCheckInFlight = false
  /// The confirmed logins of the operators' connections, by socket.
  private var logins: [SocketID: OperatorLogin] = [:]

  /// The users of the next recheck; nil: all users.
  private var suspects: Set<Identifier>? = []
  private var suspectCountdowns: [Countdown] = []
  private var recheck: Recheck?
  private var isRecheckInFlight = false

  /// Confirmed when messages that came before `since` are stored.
  private var settling: [(since: Instant, countdown: Countdown)] = []
  /// Countdowns of tasks on this loop, given up at `at`.
  private var limits: [(at: Instant, countdown: Countdown)] = []
  /// Confirmed at the end of the turn, after the flush.
  private var done: [Countdown] = []

  /// When to try again after a failed statement.
  private var retryAt = Instant.zero
  private static let retryMilliseconds: Int64 = 250
  /// Time that a request waits for each step of a revocation.
  static let limitMilliseconds: Int64 = 5_000

  /// Used by the first loop, which reads revocations for all.
  var feed = RevocationFeed()

  mutating func add(_ check: TokenCheck) { waiting.append(check) }

  mutating func take(_ item: RevocationMail, now: Instant) {
    switch item {
    case .recheck(let ids, let countdown): requestRecheck(of: ids, countdown)
    case .settle(let countdown): settling.append((now, countdown))
    case .limit(let countdown, let milliseconds):
      let end = now.advanced(byMilliseconds: milliseconds)
      limits.append((end, countdown))
    }
  }

  private mutating func requestRecheck(of ids: Set<Identifier>?, _ countdown: Countdown?) {
    for index in inFlight.indices where ids?.contains(inFlight[index].subject.id) ?? true {
      inFlight[index].isStale = true
    }
    if let ids { suspects?.formUnion(ids) } else { suspects = nil }
    if let countdown { suspectCountdowns.append(countdown) }
  }

  /// Whether connections are to be checked again.
  private var mustRecheck: Bool {
    recheck != nil || suspects?.isEmpty != true || !suspectCountdowns.isEmpty
  }

  // MARK: Queries

  /// Queues the next checks: once a turn, before the store is driven, and after each answer.
  mutating func enqueueChecks(_ engine: borrowing Engine, _ store: inout StoreDriver, now: Instant)
  {
    guard store.canRead, now >= retryAt else { return }
    if !waiting.isEmpty || mustRecheck { enqueueNow(engine, &store, now) }
  }

  /// Keeps this code out of turns without checks.
  @inline(never)
  private mutating func enqueueNow(
    _ engine: borrowing Engine, _ store: inout StoreDriver, _ now: Instant
  ) {
    let subjects = takeTokenChecks()
    if !subjects.isEmpty {
      let statement = Standing.shutOut(of: subjects)
      if !store.enqueue(statement.query, for: .tokenChecks(statement), now: now) {
        _ = settleTokenChecks(isAnswered: false)
        retryAt = now.advanced(byMilliseconds: Revocations.retryMilliseconds)
      }
    }
    if recheck == nil && mustRecheck { beginRecheck(engine) }
    guard !isRecheckInFlight, let next = recheck?.next else { return }
    let statement = Standing.shutOut(of: next)
    isRecheckInFlight = store.enqueue(
      statement.query, for: .recheck(statement, count: next.count), now: now)
  }

  /// The subjects of the next statement about tokens.
  private mutating func takeTokenChecks() -> [Standing.Subject] {
    guard !isTokenCheckInFlight else { return [] }
    inFlight = Array(waiting.prefix(Standing.checkedMax))
    waiting.removeFirst(inFlight.count)
    isTokenCheckInFlight = !inFlight.isEmpty
    return inFlight.map(\.subject)
  }

  /// Ends the statement in flight.
  ///
  /// - Returns: the checks with a valid answer; the others are queued again.
  private mutating func settleTokenChecks(isAnswered: Bool) -> [TokenCheck] {
    isTokenCheckInFlight = false
    var settled: [TokenCheck] = []
    var again: [TokenCheck] = []
    for var check in inFlight {
      if isAnswered, !check.isStale {
        settled.append(check)
      } else {
        check.isStale = false
        again.append(check)
      }
    }
    inFlight = []
    waiting = again + waiting
    return settled
  }

  // MARK: Hello and renewal

  /// Welcomes or refuses the checked connections. Without an answer they are checked again.
  mutating func finishTokenChecks(
    _ shutOut: [Standing.Subject: Standing.Exclusion]?, _ engine: inout Engine,
    _ sockets: borrowing SocketTable, now: Instant
  ) {
    let checks = settleTokenChecks(isAnswered: shutOut != nil)
    guard let shutOut else {
      retryAt = now.advanced(byMilliseconds: Revocations.retryMilliseconds)
      return
    }
    for check in checks where sockets.contains(check.socket) {
      if let exclusion = shutOut[check.subject] {
        engine.verified(check.connection, .failure(exclusion.refusal))
        continue
      }
      switch check.step {
      case .arrival: engine.settle(check.connection)
      case .hello(let member):
        if case .login(let login) = check.subject { note(login, of: check.socket) }
        engine.verified(check.connection, .success(member))
      }
    }
  }

  /// Stores the login of a connection. A renewal for another user changes nothing here, and the
  /// engine refuses it.
  private mutating func note(_ login: OperatorLogin, of socket: SocketID) {
    let known = logins[socket]
    guard known == nil || known?.id == login.id && known?.workspace == login.workspace else {
      return
    }
    logins[socket] = login
  }

  // MARK: Connected users

  private mutating func beginRecheck(_ engine: borrowing Engine) {
    recheck = Recheck(
      subjects: Array(subjects(in: suspects, engine)), countdowns: suspectCountdowns)
    suspects = []
    suspectCountdowns = []
    endRecheckIfDone()
  }

  private func subjects(
    in ids: Set<Identifier>?, _ engine: borrowing Engine
  ) -> Set<Standing.Subject> {
    var found: Set<Standing.Subject> = []
    for login in logins.values where ids?.contains(login.id) ?? true {
      found.insert(.login(login))
    }
    if ids?.isEmpty != true {
      for (_, member) in engine.connections.visitors(in: ids) {
        found.insert(.visitor(member.person.id, workspace: member.workspace))
      }
    }
    return found
  }

  /// Closes connections of revoked users. Without an answer the same users are checked again.
  mutating func finishRecheck(
    of count: Int, _ shutOut: [Standing.Subject: Standing.Exclusion]?, _ engine: inout Engine,
    _ sockets: borrowing SocketTable, now: Instant
  ) {
    isRecheckInFlight = false
    guard let shutOut else {
      retryAt = now.advanced(byMilliseconds: Revocations.retryMilliseconds)
      return
    }
    if !shutOut.isEmpty { revoke(shutOut, &engine, sockets) }
    recheck?.subjects.removeFirst(count)
    endRecheckIfDone()
  }

  private mutating func endRecheckIfDone() {
    guard let over = recheck, over.subjects.isEmpty else { return }
    recheck = nil
    done += over.countdowns
  }

  private mutating func revoke(
    _ shutOut: [Standing.Subject: Standing.Exclusion], _ engine: inout Engine,
    _ sockets: borrowing SocketTable
  ) {
    for (socket, login) in logins where shutOut[.login(login)] != nil {
      logins[socket] = nil
      guard sockets.contains(socket), case .webSocket(let connection) = sockets[socket.index].phase
      else { continue }
      engine.revoke(connection, .revoked)
    }
    let ids = Set(shutOut.keys.map(\.id))
    for (connection, member) in engine.connections.visitors(in: ids) {
      let subject = Standing.Subject.visitor(member.person.id, workspace: member.workspace)
      if let exclusion = shutOut[subject] { engine.revoke(connection, exclusion.refusal) }
    }
  }

  // MARK: End of a turn, sweep, end of the loop

  /// Confirms finished countdowns after the flush: output of closed connections was sent or is
  /// discarded.
  mutating func confirm(
    _ engine: borrowing Engine, _ store: borrowing StoreDriver, now: Instant
  ) {
    for countdown in done { countdown.confirm() }
    done.removeAll(keepingCapacity: true)
    if !settling.isEmpty {
      let pending = [engine.oldestQueued, store.batch.oldest].compactMap { $0 }.min()
      settling.removeAll { since, countdown in
        if let pending, pending <= since { return false }
        countdown.confirm()
        return true
      }
    }
    if !limits.isEmpty {
      limits.removeAll { at, countdown in
        if now >= at { countdown.giveUp() }
        return countdown.isOver
      }
    }
  }

  /// With each sweep: forgets closed sockets, also while the database does not answer.
  mutating func sweep(_ sockets: borrowing SocketTable) {
    var alive: [TokenCheck] = []
    for check in waiting where sockets.contains(check.socket) { alive.append(check) }
    waiting = alive
    var gone: [SocketID] = []
    for id in logins.keys where !sockets.contains(id) { gone.append(id) }
    for id in gone { logins[id] = nil }
  }

  /// The loop ends: all countdowns are given up.
  mutating func end() {
    let countdowns =
      suspectCountdowns + (recheck?.countdowns ?? []) + settling.map(\.countdown)
      + limits.map(\.countdown)
    for countdown in countdowns + done { countdown.giveUp() }
    self = Revocations()
  }
}

extension Standing.Exclusion {
  /// REST answers the same three 401, 403 and 401.
  fileprivate var refusal: TokenRefusal {
    switch self {
    case .ended: .revoked
    case .banned: .banned
    case .unknown: .invalid
    }
  }
}
