import Chat
import Engine
import Journal
import Postgres
import Primitives

/// Keeps one loop in step with the other gateways on the same database. Each announces what it
/// changes (`PeerNotifier`), and the others read it. NOTIFY may be lost, with its connection for
/// example, or never come, through a pooler: so each loop also compares how far it knows what is
/// followed here with the database (`CatchUpScan`).
struct PeerSync {
  private let peers: Peers
  private var notifier = PeerNotifier()
  /// One statement at a time: what comes meanwhile goes with the next one.
  private var isNotifying = false
  /// After a failure.
  private var notifiesNext = Instant.zero
  private var scan = CatchUpScan()
  /// See `StoreDriver.subscriptionCount`.
  private var subscriptionCount = 0

  private static let retryMilliseconds: Int64 = 1_000

  init(_ peers: Peers) { self.peers = peers }

  // MARK: To the others

  /// A session was changed over REST or by a background job of this gateway.
  func noteChange(_ session: Identifier, _ engine: inout Engine) {
    engine.changed(session)
    if engine.hasPeers {
      engine.effects.noteChange(session, engine.sessions.workspace(of: session))
    }
  }

  mutating func noteQueueMoved(in workspace: Identifier, _ engine: borrowing Engine) {
    if engine.hasPeers { notifier.queueMoved(in: workspace) }
  }

  /// Once a turn, behind the commits.
  mutating func announce(
    _ engine: inout Engine, _ store: inout StoreDriver, now: Instant
  ) {
    engine.hasPeers = peers.areThere
    if engine.effects.hasChanges || !notifier.isEmpty { notify(&engine, &store, now) }
  }

  /// Apart from the turns in which there is nothing to announce.
  @inline(never)
  private mutating func notify(
    _ engine: inout Engine, _ store: inout StoreDriver, _ now: Instant
  ) {
    for change in engine.effects.takeChanges() { notifier.add(change) }
    guard !notifier.isEmpty, !isNotifying, now >= notifiesNext, store.canRead else { return }
    let query = Peers.tell(notifier.takePayloads(as: peers.id))
    isNotifying = store.ask(query, for: .notification, now: now)
    if !isNotifying { noteFailure(now) }
  }

  mutating func noteNotified(_ isDone: Bool, now: Instant) {
    isNotifying = false
    if !isDone { noteFailure(now) }
  }

  /// Which of the others have received it is not known.
  private mutating func noteFailure(_ now: Instant) {
    notifier.requestScan()
    notifiesNext = now.advanced(byMilliseconds: PeerSync.retryMilliseconds)
  }

  // MARK: From the others

  /// What the others have announced since the last turn. One loop listens for all.
  mutating func takeChanges(_ store: inout StoreDriver) -> [PeerChange] {
    peers.note(areHeard: store.isListening)
    var changes: [PeerChange] = []
    if store.subscriptionCount != subscriptionCount {
      subscriptionCount = store.subscriptionCount
      changes.append(.everything)
    }
    while let payload = store.takeNotification() {
      changes += PeerNotifier.changes(in: payload, as: peers.id)
    }
    return changes
  }

  mutating func requestScan(now: Instant) { scan.next = now }

  /// With each sweep: compares a part of what is followed here with the database.
  mutating func scan(_ engine: borrowing Engine, _ store: inout StoreDriver, now: Instant) {
    guard engine.hasPeers, !scan.isUnderWay, now >= scan.next, store.canRead else { return }
    let (known, next) = engine.sessions.followed(
      from: scan.position, limit: CatchUpScan.sessionsMax)
    scan.position = next ?? SessionIndex(0)
    if next == nil { scan.next = now.advanced(byMilliseconds: CatchUpScan.pause(peers)) }
    guard !known.isEmpty else { return }
    scan.isUnderWay = store.ask(Peers.compare(known), for: .catchUp, now: now)
  }

  /// Nil when the database did not answer.
  mutating func finishScan(_ behind: [Identifier]?, _ engine: inout Engine) {
    scan.isUnderWay = false
    for session in behind ?? [] { engine.changed(session) }
  }
}

/// One comparison of all sessions that are followed with the database, a part with each sweep.
private struct CatchUpScan {
  /// Sessions that one sweep compares.
  static let sessionsMax = 2_000
  /// Time between two scans; where no notification comes they are all there is.
  private static let milliseconds: Int64 = 5_000
  private static let deafMilliseconds: Int64 = 1_000

  var next = Instant.zero
  /// The engine's number of the session at which the next part begins.
  var position = SessionIndex(0)
  var isUnderWay = false

  static func pause(_ peers: Peers) -> Int64 {
    peers.areHeard ? milliseconds : deafMilliseconds
  }
}
