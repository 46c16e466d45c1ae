/// Revoked means out: no connection is welcomed before the database has confirmed what its token
/// says, and connections whose people were shut out are closed.
///
/// The order that makes it exact on one gateway: the commit; then each loop makes the answers of
/// statements that began before void, and checks its connections again; then each loop waits until
/// everything that had come before is stored; then the request is answered.
import Chat
import Directory
import Engine
import Kernel
import Postgres
import Primitives

/// To a loop, about people who were shut out.
enum RevocationMail: Sendable {
  /// Check their connections again. Nil: anybody may have been shut out.
  case recheck(Set<Identifier>?, Countdown?)
  /// Confirm when everything is stored that came before.
  case settle(Countdown)
  /// A task on this loop waits for it, and not for ever.
  case limit(Countdown)
}

/// What one loop has asked, or has to ask, the database about the people behind its connections:
/// whether a token is still good before its connection is welcomed or renewed, and whether those
/// who are connected may stay. Both in batches, one statement of each kind at a time.
struct Revocations {
  /// A verified token that waits for the database.
  struct TokenCheck {
    enum Step {
      case hello(Member)
      /// From another loop, with a hello.
      case arrival
    }
    var socket: SocketID
    var connection: ConnectionID
    var subject: Standing.Subject
    var step: Step
    /// Something was revoked since the statement began: its answer does not count.
    var isStale = false
  }

  /// People who are checked again, in parts, and those who wait for that.
  private struct Recheck {
    var subjects: [Standing.Subject]
    var countdowns: [Countdown]

    /// The subjects of the next statement.
    var next: [Standing.Subject] { Array(subjects.prefix(Standing.checkedMax)) }
  }

  /// One for each connection at most.
  private var waiting: [TokenCheck] = []
  private var asked: [TokenCheck] = []
  private var areTokensUnderWay = false
  /// The logins of the operators' connections, by their sockets, once they were confirmed.
  private var logins: [SocketID: OperatorLogin] = [:]

  /// The people of the next recheck; nil: everybody.
  private var suspects: Set<Identifier>? = []
  private var suspectCountdowns: [Countdown] = []
  private var recheck: Recheck?
  private var isRecheckUnderWay = false

  /// For messages that came before and are not stored yet.
  private var settling: [(since: Instant, countdown: Countdown)] = []
  /// Of those who wait on this loop, when they are answered in any case.
  private var limits: [(at: Instant, countdown: Countdown)] = []
  /// Confirmed at the end of the turn, when all that was written has left.
  private var done: [Countdown] = []

  /// After a statement that failed.
  private var asksNext = Instant.zero
  private static let retryMilliseconds: Int64 = 250
  /// A request that shuts somebody out waits this long for each of its steps.
  private static let limitMilliseconds: Int64 = 5_000

  /// Used by the first loop, which reads the database for all.
  var feed = RevocationFeed()

  mutating func add(_ check: TokenCheck) { waiting.append(check) }

  mutating func take(_ item: RevocationMail, now: Instant) {
    switch item {
    case .recheck(let ids, let countdown): requestRecheck(of: ids, countdown)
    case .settle(let countdown): settling.append((now, countdown))
    case .limit(let countdown):
      let end = now.advanced(byMilliseconds: Revocations.limitMilliseconds)
      limits.append((end, countdown))
    }
  }

  private mutating func requestRecheck(of ids: Set<Identifier>?, _ countdown: Countdown?) {
    for index in asked.indices where ids?.contains(asked[index].subject.id) ?? true {
      asked[index].isStale = true
    }
    if let ids { suspects?.formUnion(ids) } else { suspects = nil }
    if let countdown { suspectCountdowns.append(countdown) }
  }

  /// Whether connections are to be checked again.
  private var mustRecheck: Bool {
    recheck != nil || suspects?.isEmpty != true || !suspectCountdowns.isEmpty
  }

  // MARK: Asking

  /// Once a turn, before the store is driven, and after each answer.
  mutating func ask(_ engine: borrowing Engine, _ store: inout StoreDriver, now: Instant) {
    guard store.canRead, now >= asksNext else { return }
    if !waiting.isEmpty || mustRecheck { askNow(engine, &store, now) }
  }

  /// Apart from the turns in which there is nothing to ask.
  @inline(never)
  private mutating func askNow(
    _ engine: borrowing Engine, _ store: inout StoreDriver, _ now: Instant
  ) {
    let subjects = takeTokenChecks()
    if !subjects.isEmpty {
      let statement = Standing.shutOut(of: subjects)
      if !store.ask(statement.query, for: .tokenChecks(statement), now: now) {
        _ = settleTokenChecks(isAnswered: false)
        asksNext = now.advanced(byMilliseconds: Revocations.retryMilliseconds)
      }
    }
    if recheck == nil && mustRecheck { beginRecheck(engine) }
    guard !isRecheckUnderWay, let next = recheck?.next else { return }
    let statement = Standing.shutOut(of: next)
    isRecheckUnderWay = store.ask(
      statement.query, for: .recheck(statement, count: next.count), now: now)
  }

  /// The subjects of the next statement about tokens.
  private mutating func takeTokenChecks() -> [Standing.Subject] {
    guard !areTokensUnderWay else { return [] }
    asked = Array(waiting.prefix(Standing.checkedMax))
    waiting.removeFirst(asked.count)
    areTokensUnderWay = !asked.isEmpty
    return asked.map(\.subject)
  }

  /// Those whose answer counts; the others are asked about again.
  private mutating func settleTokenChecks(isAnswered: Bool) -> [TokenCheck] {
    areTokensUnderWay = false
    var settled: [TokenCheck] = []
    var again: [TokenCheck] = []
    for var check in asked {
      if isAnswered, !check.isStale {
        settled.append(check)
      } else {
        check.isStale = false
        again.append(check)
      }
    }
    asked = []
    waiting = again + waiting
    return settled
  }

  // MARK: Hello and renewal

  /// Without an answer nobody is let in: they are asked about again.
  mutating func finishTokenChecks(
    _ shutOut: Set<Standing.Subject>?, _ engine: inout Engine, _ sockets: borrowing SocketTable,
    now: Instant
  ) {
    let checks = settleTokenChecks(isAnswered: shutOut != nil)
    guard let shutOut else {
      asksNext = now.advanced(byMilliseconds: Revocations.retryMilliseconds)
      return
    }
    for check in checks where sockets.contains(check.socket) {
      let isGood = !shutOut.contains(check.subject)
      switch (check.step, check.subject) {
      case (.arrival, _) where isGood: engine.settle(check.connection)
      case (.hello(let member), let subject) where isGood:
        if case .login(let login) = subject { note(login, of: check.socket) }
        engine.verified(check.connection, .success(member))
      case (_, .login): engine.verified(check.connection, .failure(.revoked))
      case (_, .visitor): engine.verified(check.connection, .failure(.banned))
      }
    }
  }

  /// A renewal for somebody else is refused by the engine, and changes nothing here.
  private mutating func note(_ login: OperatorLogin, of socket: SocketID) {
    let known = logins[socket]
    guard known == nil || known?.id == login.id && known?.workspace == login.workspace else {
      return
    }
    logins[socket] = login
  }

  // MARK: Those who are connected

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

  /// Without an answer the same people are asked about again.
  mutating func finishRecheck(
    of count: Int, _ shutOut: Set<Standing.Subject>?, _ engine: inout Engine,
    _ sockets: borrowing SocketTable, now: Instant
  ) {
    isRecheckUnderWay = false
    guard let shutOut else {
      asksNext = now.advanced(byMilliseconds: Revocations.retryMilliseconds)
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
    _ shutOut: Set<Standing.Subject>, _ engine: inout Engine, _ sockets: borrowing SocketTable
  ) {
    for (socket, login) in logins where shutOut.contains(.login(login)) {
      logins[socket] = nil
      guard sockets.contains(socket), case .webSocket(let connection) = sockets[socket.index].phase
      else { continue }
      engine.revoke(connection, .revoked)
    }
    let ids = Set(shutOut.map(\.id))
    for (connection, member) in engine.connections.visitors(in: ids)
    where shutOut.contains(.visitor(member.person.id, workspace: member.workspace)) {
      engine.revoke(connection, .banned)
    }
  }

  // MARK: The end of a turn, a sweep, and of the loop

  /// After the flush: what is confirmed now has left, or will never leave.
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

  /// With each sweep: forgets sockets that have gone, also while the database does not answer.
  mutating func sweep(_ sockets: borrowing SocketTable) {
    var alive: [TokenCheck] = []
    for check in waiting where sockets.contains(check.socket) { alive.append(check) }
    waiting = alive
    var gone: [SocketID] = []
    for id in logins.keys where !sockets.contains(id) { gone.append(id) }
    for id in gone { logins[id] = nil }
  }

  /// The loop ends: nobody waits for ever.
  mutating func end() {
    let countdowns =
      suspectCountdowns + (recheck?.countdowns ?? []) + settling.map(\.countdown)
      + limits.map(\.countdown)
    for countdown in countdowns + done { countdown.giveUp() }
    self = Revocations()
  }
}
