import Chat
import Engine
import Journal
import Postgres
import Primitives

/// Synchronises one loop with the other gateways on the same database. Each gateway announces its
/// changes (`PeerNotifier`), and the others read them. A notification may be lost, or never arrive:
/// through a pooler, or from the application of an adopted database. So each loop also compares the
/// heads of its subscribed sessions with the database (`CatchUpScan`). Without notifications it
/// also queries the deleted sessions of the workspaces whose lists operators watch.
struct PeerSync {
  private let peers: Peers
  private var notifier = PeerNotifier()
  private var signals = PendingSignals()
  /// When signals may be sent again.
  private var signalsNext = Instant.zero
  /// One statement at a time; changes of the meantime go with the next one.
  private var isNotifying = false
  /// When to notify again after a failure.
  private var notifiesNext = Instant.zero
  private var scan = CatchUpScan()
  /// See `StoreDriver.subscriptionCount`.
  private var subscriptionCount = 0

  private static let retryMilliseconds: Int64 = 1_000
  /// Each notification is a transaction, and previews change with each key.
  private static let signalMilliseconds: Int64 = 100

  init(_ peers: Peers) { self.peers = peers }

  // MARK: To the other gateways

  /// A session was changed over REST or by a background job of this gateway.
  func noteChange(
    _ session: Identifier, of workspace: Identifier?, _ engine: inout Engine
  ) {
    engine.changed(session, of: workspace)
    if engine.hasPeers {
      engine.effects.noteChange(session, workspace ?? engine.sessions.workspace(of: session))
    }
  }

  mutating func noteQueueMoved(in workspace: Identifier, _ engine: borrowing Engine) {
    if engine.hasPeers { notifier.queueMoved(in: workspace) }
  }

  /// Once a turn, after the commits.
  mutating func announce(
    _ engine: inout Engine, _ store: inout StoreDriver, now: Instant
  ) {
    engine.hasPeers = peers.exist
    if engine.effects.hasChanges || engine.effects.hasSignals || !notifier.isEmpty
      || !signals.isEmpty
    {
      notify(&engine, &store, now)
    }
  }

  /// When `announce` has something to send that no event of the loop announces.
  var nextDeadline: Instant {
    signals.isEmpty || isNotifying ? .never : max(signalsNext, notifiesNext)
  }

  /// Keeps this code out of turns without changes.
  @inline(never)
  private mutating func notify(
    _ engine: inout Engine, _ store: inout StoreDriver, _ now: Instant
  ) {
    for change in engine.effects.takeChanges() { notifier.add(change) }
    for signal in engine.effects.takeSignals() { signals.add(signal) }
    guard peers.isAnyRunning else {
      notifier = PeerNotifier()
      signals = PendingSignals()
      return
    }
    guard store.canRead else {
      // They are old once it answers again.
      signals = PendingSignals()
      return
    }
    let isSignalDue = !signals.isEmpty && now >= signalsNext
    guard !notifier.isEmpty || isSignalDue, !isNotifying, now >= notifiesNext else { return }
    var payloads = notifier.takePayloads(as: peers.id)
    if isSignalDue {
      payloads += peers.seal.payloads(signals.take(), as: peers.id)
      signalsNext = now.advanced(byMilliseconds: PeerSync.signalMilliseconds)
    }
    let query = Peers.notify(payloads)
    isNotifying = store.enqueue(query, for: .notification, now: now)
    if !isNotifying { noteFailure(now) }
  }

  mutating func noteNotified(_ isDone: Bool, now: Instant) {
    isNotifying = false
    if !isDone { noteFailure(now) }
  }

  /// It is unknown which gateways were notified, so all have to scan.
  private mutating func noteFailure(_ now: Instant) {
    notifier.requestScan()
    notifiesNext = now.advanced(byMilliseconds: PeerSync.retryMilliseconds)
  }

  // MARK: From the other gateways

  /// The changes of the next notification; nil if none is left. The first loop receives them for
  /// all.
  mutating func nextChanges(_ store: inout StoreDriver) -> [PeerChange]? {
    peers.note(isListening: store.isListening)
    guard store.subscriptionCount == subscriptionCount else {
      subscriptionCount = store.subscriptionCount
      return [.everything]
    }
    return store.takeNotification().map { PeerNotifier.changes(in: $0, as: peers.id) }
  }

  mutating func requestScan(now: Instant) { scan.next = now }

  /// With each sweep: compares some of the subscribed sessions with the database.
  mutating func scan(_ engine: borrowing Engine, _ store: inout StoreDriver, now: Instant) {
    let isListening = peers.isListening
    // Not only gateways delete conversations.
    guard engine.hasPeers || peers.includeApplication || !isListening, !scan.isUnderWay,
      now >= scan.next, store.canRead
    else { return }
    let (known, next) = engine.sessions.followed(
      from: scan.position, limit: CatchUpScan.sessionsMax)
    scan.position = next ?? SessionIndex(0)
    if next == nil { scan.next = now.advanced(byMilliseconds: CatchUpScan.pause(peers)) }
    let watched = isListening ? [] : engine.inbox.watchedWorkspaces
    guard !known.isEmpty || !watched.isEmpty else { return }
    scan.isUnderWay = store.enqueue(
      Peers.sessionsBehind(known, watched: watched), for: .catchUp, now: now)
  }

  /// - Parameter behind: sessions with a lower head here, and deleted ones; nil if the database did
  ///   not answer.
  mutating func finishScan(_ behind: [SessionChange]?, _ engine: inout Engine) {
    scan.isUnderWay = false
    for change in behind ?? [] { engine.changed(change.session, of: change.workspace) }
  }
}

/// Compares all subscribed sessions with the database, some with each sweep.
private struct CatchUpScan {
  /// Sessions compared by one sweep.
  static let sessionsMax = 2_000
  /// Time between two scans.
  private static let milliseconds: Int64 = 5_000
  /// The same while no notifications are received, or the application of an adopted database
  /// writes, which sends none: its commits would wait for each other.
  private static let unnotifiedMilliseconds: Int64 = 1_000

  var next = Instant.zero
  /// The first session of the next part.
  var position = SessionIndex(0)
  var isUnderWay = false

  static func pause(_ peers: Peers) -> Int64 {
    peers.isListening && !peers.includeApplication ? milliseconds : unnotifiedMilliseconds
  }
}
