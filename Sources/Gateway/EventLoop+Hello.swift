import Chat
import Directory
import Engine
import Journal
import Kernel
import Logging
import Postgres
import Primitives
import Settings
import Tokens

/// What the operators' connections of a loop stand for, by their links: looked at again every two
/// seconds, because a token may outlive what it was issued for.
struct Logins {
  var byLink: [SlotID: OperatorLogin] = [:]
  var nextCheck = Instant.zero
  var isCheckInFlight = false
  /// Where the next check begins, when there are more than one statement takes.
  var offset = 0
  /// When it is asked next who was blocked.
  var nextBans = Instant.zero

  static let checkMilliseconds: Int64 = 2_000
}

/// From a token to a member: verified, admitted, bound to its origin, and for operators looked at
/// again as long as they stay.
extension EventLoop {
  /// Some 5 microseconds each, at most one for each connection and `hello`.
  mutating func verifyTokens() {
    for verification in engine.takeVerifications() {
      engine.verified(verification.connection, admit(verification))
    }
  }

  /// The token's member, if its address may have one more token verified, the page is the token's,
  /// and its visitor and workspace may have one more connection.
  private mutating func admit(_ verification: Verification) -> Result<Member, TokenRefusal> {
    guard let slot = link(ofConnection: Int(verification.connection.index)) else {
      return .failure(.invalid)
    }
    guard shared.admission.mayVerify(links[slot].caller.peer.ip, now: now) else {
      return .failure(.tooFast)
    }
    let token: VerifiedToken
    do throws(TokenFault) {
      token = try shared.tokens.verify(verification.token, now: engine.wall)
    } catch {
      return .failure(error == .expired ? .expired : .invalid)
    }
    switch token.principal {
    case .visitor: return admitVisitor(slot, token)
    case .operator: return admitOperator(slot, token)
    }
  }

  /// A browser sends the Origin, so a token that was issued for one site is of no use to the pages
  /// of another (faults A05); a program may say what it likes, and has the token itself.
  private mutating func admitVisitor(
    _ slot: Int, _ token: VerifiedToken
  ) -> Result<Member, TokenRefusal> {
    guard case .visitor(let id, let workspace, let sessions, let name) = token.principal else {
      return .failure(.invalid)
    }
    if let bound = token.binding.origin, let origin = links[slot].caller.origin, bound != origin {
      return .failure(.foreignOrigin)
    }
    switch shared.admission.enter(
      visitor: id, workspace: workspace, &links[slot].caller.place)
    {
    case .admitted: break
    case .tooManyOfVisitor: return .failure(.tooManyConnections)
    case .tooManyOfWorkspace: return .failure(.workspaceFull)
    }
    return .success(
      Member(
        person: Person(role: .visitor, id: id, name: Array(name.utf8)), workspace: workspace,
        sessions: sessions, expiresAt: token.expiresAt))
  }

  private mutating func admitOperator(
    _ slot: Int, _ token: VerifiedToken
  ) -> Result<Member, TokenRefusal> {
    guard case .operator(let id, let workspace, let name, let role) = token.principal else {
      return .failure(.invalid)
    }
    guard role != Operator.roleBeforeOwnPassword else { return .failure(.passwordChangeRequired) }
    let link = links.id(at: slot)
    let known = logins.byLink[link]
    // A renewal for somebody else is refused by the engine, and changes nothing here.
    if known == nil || known?.id == id && known?.workspace == workspace {
      logins.byLink[link] = OperatorLogin(
        id: id, workspace: workspace, role: role, session: token.binding.session,
        credential: token.binding.credential)
      logins.nextCheck = min(logins.nextCheck, now)
    }
    return .success(
      Member(
        person: Person(role: .operator_, id: id, name: Array(name.utf8)), workspace: workspace,
        sessions: [], expiresAt: token.expiresAt))
  }

  // MARK: Logins that end

  /// Asks whether the operators who are connected may still be: not disabled, still members with
  /// the same role, still logged in, the same password (faults A16). Their sockets are closed
  /// within the next sweeps.
  mutating func checkLogins() {
    guard now >= logins.nextCheck, !logins.isCheckInFlight, writer.health == .ready else { return }
    logins.nextCheck = now.advanced(byMilliseconds: Logins.checkMilliseconds)
    logins.byLink = logins.byLink.filter { links.contains($0.key) }
    guard !logins.byLink.isEmpty else { return }
    let all = Array(Set(logins.byLink.values))
    if logins.offset >= all.count { logins.offset = 0 }
    let checked = Array(all[logins.offset...].prefix(OperatorLogin.checkedMax))
    logins.offset += checked.count
    logins.isCheckInFlight = queries.ask(
      OperatorLogin.stillGood(checked).query, for: .logins(checked), of: &reader, now: now)
  }

  /// The answer; without one, nobody is sent away.
  mutating func finishCheck(of checked: [OperatorLogin], _ good: [Int]?) {
    logins.isCheckInFlight = false
    guard let good else { return }
    let ended = Set(checked.indices).subtracting(good).map { checked[$0] }
    guard !ended.isEmpty else { return }
    for (link, login) in logins.byLink where ended.contains(login) {
      logins.byLink[link] = nil
      guard links.contains(link), case .webSocket(let connection) = links[Int(link.index)].phase
      else { continue }
      engine.revoke(connection)
    }
  }

  /// Asks which visitors were blocked or erased since the oldest token that may still be good, and
  /// closes what connections they have. The audit log says so on every node, also of those who are
  /// no more.
  mutating func checkBans() {
    guard now >= logins.nextBans, writer.health == .ready else { return }
    logins.nextBans = now.advanced(byMilliseconds: Logins.checkMilliseconds)
    let seconds = Int64(shared.settings.visitorTokenSeconds) + 60
    _ = queries.ask(
      Visitor.bannedLately(seconds: seconds).query, for: .banned, of: &reader, now: now)
  }

  mutating func finishBans(_ banned: Set<Identifier>?) {
    guard let banned, !banned.isEmpty else { return }
    engine.expel(banned)
  }

  // MARK: Origins

  /// One loop reads the workspaces' lists for all.
  mutating func refreshOrigins() {
    guard index == 0, now >= nextOrigins, writer.health == .ready else { return }
    nextOrigins = now.advanced(byMilliseconds: Origins.refreshMilliseconds)
    _ = queries.ask(
      Workspace.allOrigins(limit: Origins.listedMax).query, for: .origins, of: &reader, now: now)
  }

  mutating func finishOrigins(_ list: (origins: [String], hasOpenWorkspace: Bool)?) {
    guard let list else { return }
    if list.origins.count >= Origins.listedMax {
      logger.error("more than \(Origins.listedMax) allowed origins: some are not admitted")
    }
    origins.load(list.origins, hasOpenWorkspace: list.hasOpenWorkspace)
    for other in 0..<shared.loopCount where other != index {
      shared.mailboxes[other].post(.origins(origins))
    }
  }
}
