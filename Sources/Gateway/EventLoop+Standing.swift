/// Shut out means out: no connection is welcomed before the database has confirmed what its token
/// says, and connections whose people were shut out are closed. See `Standings`.
///
/// The order that makes it exact on one gateway: the commit; then each loop makes the answers of
/// statements that began before void, and checks its connections again; then each loop waits until
/// everything that had come before is stored; then the request is answered.
import API
import Chat
import Directory
import Engine
import Postgres
import Primitives

/// To a loop, about people who were shut out.
enum StandingMail: Sendable {
  /// Nil: anybody may have been.
  case look(Set<Identifier>?, Countdown?)
  case settle(Countdown)
  /// Somebody on this loop waits for it, and not for ever.
  case limit(Countdown)
}

extension EventLoop {
  mutating func take(_ item: StandingMail) {
    switch item {
    case .look(let ids, let countdown): standings.look(at: ids, countdown)
    case .settle(let countdown): standings.settling.append((now, countdown))
    case .limit(let countdown):
      standings.limits.append(
        (now.advanced(byMilliseconds: Standings.limitMilliseconds), countdown))
    }
  }

  /// Once an iteration, before the store is driven, and after each answer.
  mutating func askStandings() {
    guard reader.isReady, now >= standings.notBefore else { return }
    if !standings.waiting.isEmpty || standings.mustLook { askAgain() }
  }

  /// Apart from the turns in which nothing is to be asked.
  @inline(never)
  private mutating func askAgain() {
    let subjects = standings.takeClaims()
    if !subjects.isEmpty {
      let statement = Standing.shutOut(of: subjects)
      if !queries.ask(statement.query, for: .claims(statement), of: &reader, now: now) {
        finishClaims(nil)
      }
    }
    if standings.isLookDue { standings.beginRecheck(of: self.subjects(in: standings.hints)) }
    guard !standings.isRecheckUnderWay, standings.recheck != nil else { return }
    let checked = standings.checked
    let statement = Standing.shutOut(of: checked)
    standings.isRecheckUnderWay = queries.ask(
      statement.query, for: .recheck(statement, count: checked.count), of: &reader, now: now)
  }

  // MARK: Hello and renewal

  /// Without an answer nobody is let in: they are asked about again.
  mutating func finishClaims(_ shutOut: Set<Standing.Subject>?) {
    let claims = standings.settleClaims(isAnswered: shutOut != nil)
    defer { askStandings() }
    guard let shutOut else {
      standings.notBefore = now.advanced(byMilliseconds: Standings.retryMilliseconds)
      return
    }
    for claim in claims where sockets.contains(claim.socket) {
      let isGood = !shutOut.contains(claim.subject)
      switch (claim.step, claim.subject) {
      case (.arrival, _) where isGood: engine.settle(claim.connection)
      case (.hello(let member), let subject) where isGood:
        if case .login(let login) = subject { note(login, of: claim.socket) }
        engine.verified(claim.connection, .success(member))
      case (_, .login): engine.verified(claim.connection, .failure(.revoked))
      case (_, .visitor): engine.verified(claim.connection, .failure(.banned))
      }
    }
  }

  /// A renewal for somebody else is refused by the engine, and changes nothing here.
  private mutating func note(_ login: OperatorLogin, of socket: SocketID) {
    let known = standings.logins[socket]
    guard known == nil || known?.id == login.id && known?.workspace == login.workspace else {
      return
    }
    standings.logins[socket] = login
  }

  // MARK: Connections

  private func subjects(in ids: Set<Identifier>?) -> Set<Standing.Subject> {
    var found: Set<Standing.Subject> = []
    for login in standings.logins.values where ids?.contains(login.id) ?? true {
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
  mutating func finishRecheck(of count: Int, _ shutOut: Set<Standing.Subject>?) {
    standings.isRecheckUnderWay = false
    defer { askStandings() }
    guard let shutOut else {
      standings.notBefore = now.advanced(byMilliseconds: Standings.retryMilliseconds)
      return
    }
    if !shutOut.isEmpty { cut(shutOut) }
    standings.advanceRecheck(by: count)
  }

  private mutating func cut(_ shutOut: Set<Standing.Subject>) {
    for (socket, login) in standings.logins where shutOut.contains(.login(login)) {
      standings.logins[socket] = nil
      guard sockets.contains(socket),
        case .webSocket(let connection) = sockets[socket.index].phase
      else { continue }
      engine.revoke(connection, .revoked)
    }
    let ids = Set(shutOut.map(\.id))
    for (connection, member) in engine.connections.visitors(in: ids)
    where shutOut.contains(.visitor(member.person.id, workspace: member.workspace)) {
      engine.revoke(connection, .banned)
    }
  }

  // MARK: The end of an iteration, and of the loop

  /// After the flush: what is confirmed now has left, or will never leave.
  mutating func confirmStandings() {
    for countdown in standings.done { countdown.confirm() }
    standings.done.removeAll(keepingCapacity: true)
    if !standings.settling.isEmpty {
      let pending = [engine.oldestQueued, storeSockets.oldestInFlight].compactMap { $0 }.min()
      standings.settling.removeAll { since, countdown in
        if let pending, pending <= since { return false }
        countdown.confirm()
        return true
      }
    }
    if !standings.limits.isEmpty {
      standings.limits.removeAll { [now] at, countdown in
        if now >= at { countdown.giveUp() }
        return countdown.isOver
      }
    }
  }

  /// With each sweep: sockets that have gone, also while nobody answers.
  mutating func sweepStandings() {
    standings.waiting = standings.waiting.filter { sockets.contains($0.socket) }
    standings.logins = standings.logins.filter { sockets.contains($0.key) }
    pollRevocations()
  }

  // MARK: What was revoked elsewhere

  mutating func pollRevocations() {
    guard index == 0, reader.isReady, !revocations.isUnderWay, now >= revocations.next else {
      return
    }
    if revocations.store != reader.store {
      // Another database has other transactions, and may have lost the last ones.
      revocations.store = reader.store
      revocations.horizon = nil
    }
    revocations.next = now.advanced(byMilliseconds: Revocations.pollMilliseconds)
    let statement = Standing.revoked(since: revocations.horizon)
    revocations.isUnderWay = queries.ask(
      statement.query, for: .revocations(statement), of: &reader, now: now)
  }

  mutating func finishRevocations(_ found: Standing.Revoked?) {
    revocations.isUnderWay = false
    guard let found, let horizon = found.horizon else { return }
    // The first read says only where to go on, and nothing of what came before it.
    let isFirst = revocations.horizon == nil
    revocations.horizon = horizon
    if isFirst || found.subjects?.isEmpty != true { lookAgain(at: isFirst ? nil : found.subjects) }
    // It was told while the statement was under way.
    if now >= revocations.next { pollRevocations() }
  }

  private func lookAgain(at ids: Set<Identifier>?) {
    for mailbox in context.mailboxes { mailbox.post(.standing(.look(ids, nil))) }
  }
}
