/// The phases of one loop: connect, send, drain, close.
import Kernel
import Primitives
import Synchronization

extension LoadLoop {
  func run() throws(Errno) -> LoopResult {
    let begin = SystemClock.now()
    try startAll()
    let didSettle = try settle(
      until: begin.advanced(byMilliseconds: Int64(plan.settleSeconds) * 1000))
    // No loop sends before all are connected, and none waits for a loop that cannot connect.
    if !didSettle { shared.stop.store(true, ordering: .relaxed) }
    let moment = didSettle ? try meet() : nil
    while let moment, SystemClock.now() < moment { try step(until: moment) }
    if didSettle, !isStopped, plan.warmUpSeconds > 0 { try warmUp() }
    let start = SystemClock.now()
    let busy = SystemClock.threadTimeNanoseconds()
    if didSettle, !isStopped { try load(from: start) }
    let loadEnd = SystemClock.now()
    let busyNanoseconds = SystemClock.threadTimeNanoseconds() - busy
    if didSettle { try drain() }
    var result = conclude(didSettle: didSettle)
    result.loadNanoseconds = loadEnd.nanoseconds - start.nanoseconds
    result.activeNanoseconds =
      max(loadEnd, measured.latencies.lastRecorded).nanoseconds - start.nanoseconds
    result.busyNanoseconds = busyNanoseconds
    try disconnect()
    return result
  }

  func disconnect() throws(Errno) {
    try closeAll()
    let goodbye = SystemClock.now().advanced(byMilliseconds: 2000)
    while openCount > 0, SystemClock.now() < goodbye {
      try step(until: goodbye)
    }
    shared.finished.add(1, ordering: .sequentiallyConsistent)
  }

  /// Waits until all active clients are subscribed and at the end of their logs.
  func settle(until limit: Instant) throws(Errno) -> Bool {
    while !clients[..<activeCount].allSatisfy({ $0.isSettled }) {
      if isStopped || SystemClock.now() >= limit { return false }
      try step(until: SystemClock.now().advanced(byMilliseconds: 10))
    }
    return true
  }

  /// The same load, without measurements: first messages of sessions, and plans of statements, cost
  /// more than later ones.
  private func warmUp() throws(Errno) {
    phase = .warmingUp
    try send(seconds: plan.warmUpSeconds)
    measured.counters.warmUpAcked = measured.counters.acked
    measured.counters.warmUpDelivered = measured.counters.delivered
    measured.latencies = Latencies(since: SystemClock.now())
  }

  private func load(from start: Instant) throws(Errno) {
    phase = .loading
    try send(seconds: plan.seconds, from: start)
  }

  private func send(seconds: Int, from start: Instant = SystemClock.now()) throws(Errno) {
    guard !visitors.isEmpty else { return }
    talk(from: start, seconds: seconds)
    while let traffic, !traffic.isOver, !isStopped {
      try step(until: traffic.ends)
    }
    traffic = nil
  }

  /// Lets messages become due until the time is over or `traffic` is nil.
  ///
  /// - Parameter rate: messages a second, instead of the plan's.
  func talk(from start: Instant, seconds: Int = 1_000_000, rate: Double? = nil) {
    tamper = plannedTamper.take()
    traffic = Arrivals(
      perSecond: rate ?? plan.ratePerSecond, spacing: plan.spacing, from: start, seconds: seconds,
      seed: plan.seed &+ 1000 &+ UInt64(index))
  }

  /// A random session and its sender: a visitor, or an operator, who answers the longest waiting
  /// visitor.
  func pickSender() -> (client: Int, subscription: Int) {
    let session: Int
    if plan.isInTurn {
      session = talkingTurn % talkingSessions
      talkingTurn += 1
    } else {
      session = Int.random(in: 0..<talkingSessions, using: &measured.random)
    }
    if Double.random(in: 0..<1, using: &measured.random) < plan.operatorShare,
      let answerer = operators[session].randomElement(using: &measured.random)
    {
      guard let first = clients[answerer.client].unanswered.first else { return answerer }
      clients[answerer.client].unanswered.removeFirst()
      return (answerer.client, Int(first))
    }
    return (visitors[session].randomElement(using: &measured.random) ?? 0, 0)
  }

  /// Waits until every message is answered and every subscriber has received the last one. Gives up
  /// after `drainSeconds` without progress.
  func drain() throws(Errno) {
    phase = .draining
    publishProgress()
    var moved = (acked: -1, delivered: -1)
    var reconnects = -1
    var limit = Instant.never
    // Clients that only disconnect and reconnect do not count as progress.
    var latest = Instant.never
    while !isQuiet {
      let now = SystemClock.now()
      let counters = measured.counters
      let patience = Int64(plan.drainSeconds) * 1000
      if moved != (counters.acked, counters.delivered) {
        moved = (counters.acked, counters.delivered)
        (limit, latest) = (
          now.advanced(byMilliseconds: patience), now.advanced(byMilliseconds: 4 * patience)
        )
      }
      if reconnects != counters.reconnects {
        reconnects = counters.reconnects
        limit = now.advanced(byMilliseconds: patience)
      }
      if now >= min(limit, latest) { return }
      try step(until: now.advanced(byMilliseconds: 20))
    }
  }

  var isQuiet: Bool {
    clients[..<activeCount].allSatisfy { client in
      client.stage == .stopped
        || client.isSettled && client.outbox.unsettled == 0
          && client.subscriptions.allSatisfy { $0.next > measured.ledger.logs[$0.log].head }
    }
  }

  func step(until wake: Instant) throws(Errno) {
    while let due = traffic?.take(SystemClock.now()) {
      let (client, subscription) = pickSender()
      try compose(client, subscription: subscription, due: due)
    }
    try turn(until: min(wake, min(nextDeadline, traffic?.next ?? .never)))
    publishProgress()
  }

  func publishProgress() {
    let now = SystemClock.now()
    if now < nextProgress { return }
    nextProgress = now.advanced(byMilliseconds: 100)
    let counters = measured.counters
    var snapshot = RunState.Snapshot(phase: phase, clients: activeCount)
    for client in clients[..<activeCount] {
      if client.stage == .online { snapshot.online += 1 }
      snapshot.unsettled += client.outbox.unsettled
    }
    snapshot.made = counters.made
    snapshot.sent = counters.sent
    snapshot.acked = counters.acked
    snapshot.delivered = counters.delivered
    snapshot.reconnects = counters.reconnects
    snapshot.violations = measured.ledger.violations.counts
    measured.latencies.move(to: shared.intervals)
    shared.publish(snapshot, loop: index)
  }

  func conclude(didSettle: Bool) -> LoopResult {
    var made: [Int: Int] = [:]
    var unsettled = 0
    var shownToAll = measured.ledger.logs.map(\.head)
    for client in clients[..<activeCount] {
      made[client.number] = client.outbox.made
      unsettled += client.outbox.unsettled
      guard didSettle else { continue }
      for subscription in client.subscriptions {
        shownToAll[subscription.log] = min(shownToAll[subscription.log], subscription.next - 1)
        let head = measured.ledger.logs[subscription.log].head
        let missing = head - subscription.next + 1
        guard missing > 0 else { continue }
        measured.ledger.violations.note(
          .lost, count: missing,
          "session \(subscription.session): client \(client.number) received up to "
            + "\(subscription.next - 1) of \(head)")
      }
    }
    measured.ledger.close(stamp: measured.stamp) { made[$0] ?? 0 }
    let shown = zip(measured.ledger.logs, shownToAll).reduce(0) { sum, pair in
      sum
        + pair.0.slots.prefix(max(0, pair.1 - pair.0.first + 1)).count {
          measured.stamp.isOwn($0.id)
        }
    }
    return LoopResult(
      counters: measured.counters, violations: measured.ledger.violations,
      latencies: measured.latencies,
      logs: measured.ledger.logs, unsettled: unsettled, shownToAll: shown, didSettle: didSettle)
  }
}
