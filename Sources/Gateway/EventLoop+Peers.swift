import Chat
import Engine
import Journal
import Postgres
import Primitives

/// A look at all sessions that are followed, some with each sweep.
struct CatchUpScan {
  var next = Instant.zero
  /// The engine's number of the session at which the next part begins.
  var position = SessionIndex(0)
  var isUnderWay = false
}

/// Other gateways on the same database: each announces what it changes (`PeerNotifier`), and the
/// others read it. NOTIFY may be lost, with its connection for example, or never come, through a
/// pooler: so each loop also compares how far it knows what is followed here with the database.
extension EventLoop {
  /// Sessions that one sweep compares.
  private static let comparedMax = 2_000
  /// Time between two looks at everything; where nothing can be heard they are all there is.
  private static let lookMilliseconds: Int64 = 5_000
  private static let deafLookMilliseconds: Int64 = 1_000

  /// Changed over REST or by a job, by this gateway.
  mutating func changedHere(_ session: Identifier) {
    engine.changed(session)
    if engine.hasPeers { engine.effects.noteChange(session, engine.workspace(of: session)) }
  }

  mutating func happenedHere(_ item: WorkspaceNews) {
    context.jobs.workspaceNews(item, loop: index, now: now)
    switch item.kind {
    case .waits, .taken, .closed: lineMovedHere(item.workspace)
    case .wrote, .operators, .audience, .line, .sweep: break
    }
  }

  mutating func lineMovedHere(_ workspace: Identifier) {
    if engine.hasPeers { bell.moved(lineOf: workspace) }
  }

  /// Once an iteration, behind the commits.
  mutating func tellPeers() {
    engine.hasPeers = context.peers.areThere
    if engine.effects.hasChanges || !bell.isEmpty { ringBell() }
  }

  /// Apart from the turns in which nothing is to be told.
  @inline(never)
  private mutating func ringBell() {
    for change in engine.effects.takeChanges() { bell.add(change) }
    guard !bell.isEmpty, !bell.isUnderWay, now >= bell.notBefore, reader.isReady else { return }
    let query = Peers.tell(bell.take(as: context.peers.id))
    bell.isUnderWay = queries.ask(query, for: .bell, of: &reader, now: now)
    if !bell.isUnderWay { bellFailed() }
  }

  /// Who was told, and who not, is not known.
  mutating func bellFailed() {
    bell.lookAtEverything()
    bell.notBefore = now.advanced(byMilliseconds: PeerNotifier.retryMilliseconds)
  }

  /// One loop listens for all.
  mutating func hearPeers() {
    guard index == 0 else { return }
    context.peers.note(areHeard: reader.isListening)
    if reader.listens != heardListens {
      heardListens = reader.listens
      lookAtEverything()
    }
    while let payload = reader.takeNotification() {
      for change in PeerNotifier.read(payload, as: context.peers.id) { hear(change) }
    }
  }

  private mutating func hear(_ change: PeerChange) {
    switch change {
    case .hello: context.peers.note(true)
    case .everything: lookAtEverything()
    case .revocation:
      revocations.next = now
      pollRevocations()
    case .session(let change): engine.changed(change.session, of: change.workspace)
    case .line(let workspace):
      context.jobs.workspaceNews(
        WorkspaceNews(workspace: workspace, kind: .line), loop: index, now: now)
    }
  }

  private mutating func lookAtEverything() {
    for mailbox in context.mailboxes { mailbox.post(.look) }
  }

  mutating func beginLook() { look.next = now }

  /// With each sweep.
  mutating func lookAtFollowed() {
    guard engine.hasPeers, !look.isUnderWay, now >= look.next, reader.isReady else {
      return
    }
    let (known, next) = engine.followed(from: look.position, limit: EventLoop.comparedMax)
    look.position = next ?? SessionIndex(0)
    if next == nil {
      look.next = now.advanced(
        byMilliseconds: context.peers.areHeard
          ? EventLoop.lookMilliseconds : EventLoop.deafLookMilliseconds)
    }
    guard !known.isEmpty else { return }
    look.isUnderWay = queries.ask(Peers.compare(known), for: .look, of: &reader, now: now)
  }

  /// Sessions that are further than they are known here; nil when the database did not answer.
  mutating func finishLook(_ sessions: [Identifier]?) {
    look.isUnderWay = false
    for session in sessions ?? [] { engine.changed(session) }
  }
}
