import Engine
import Kernel
import Logging
import Primitives
import Settings

/// The event loop of one thread: one epoll, one engine, one writer and one reader connection to
/// PostgreSQL. It coordinates the components below, each of which owns its state. A component
/// receives another one as an argument, or returns what the loop has to do.
///
/// The order of a turn (`run`) is the durability contract. Events and answers only change state;
/// messages leave in the flush, after the batch; sockets are closed last. So no message is
/// acknowledged or shown before its COMMIT was received, and no event refers to a socket that was
/// closed in the same turn.
struct EventLoop: ~Copyable {
  let context: GatewayContext
  let pulse: LoopPulse
  let logger: Logger

  var poller: Poller
  var sockets: SocketTable
  var acceptor: Acceptor
  var tls: TLSDriver
  var http: HTTPServer
  var engine: Engine
  var store: StoreDriver
  var peers: PeerSync
  var revocations = Revocations()
  var periodic: PeriodicTasks
  var mail = MailQueue()
  var output = OutputQueue()
  var journal: ConnectionJournal
  /// The receive buffer of all connections, so that an idle one holds none.
  var input: [UInt8]
  var drain = Drain()
  var turn = Turn()
  var metrics = LoopMetrics()

  /// The loop's number.
  var index: Int { engine.loop }

  /// Bytes read from one socket in one event; the other sockets come before its next bytes.
  static let receiveBytes = 262_144

  /// Creates a loop whose epoll watches its mailbox and its listeners.
  static func make(
    index: Int, context: GatewayContext, listeners: [Listener]
  ) throws(Errno) -> EventLoop {
    let loop = EventLoop(
      index: index, context: context, listeners: listeners, poller: try Poller())
    try loop.poller.epoll.add(
      rawValue: context.mailboxes[index].rawDescriptor, .read, datum: Datum.mailbox)
    try loop.acceptor.watch(loop.poller.epoll)
    return loop
  }

  private init(
    index: Int, context: GatewayContext, listeners: [Listener], poller: consuming Poller
  ) {
    self.poller = poller
    self.context = context
    pulse = context.pulses[index]
    var logger = context.logger
    logger[metadataKey: "loop"] = .stringConvertible(index)
    self.logger = logger
    let connectionsMax = context.rules.connectionsMax
    sockets = SocketTable(limit: connectionsMax + Admission.adminSocketsMax, logger: logger)
    acceptor = Acceptor(context, listeners, logger)
    tls = TLSDriver(context.certificates?.first, context.admission)
    http = HTTPServer(context, loop: index, logger)
    engine = Engine(
      loop: index, loopCount: context.loopCount,
      configuration: Engine.Configuration(
        connectionsMax: connectionsMax, sessionsMax: context.settings.limits.warmSessions,
        recentBytesMax: context.settings.limits.recentMebibytes << 20 / context.loopCount,
        node: "1",
        compression: context.settings.compression.options,
        quotas: context.rules.quotas),
      now: turn.now, wall: turn.wall)
    store = StoreDriver(
      url: context.rules.databaseURL, seed: Random.uint64(),
      listen: index == 0 ? Peers.listen : nil, logger: logger)
    peers = PeerSync(context.peers)
    journal = ConnectionJournal(gateway: context.peers.id, loop: index, logger: logger)
    periodic = PeriodicTasks(now: turn.now)
    input = Array(repeating: 0, count: EventLoop.receiveBytes)
  }

  /// Runs until `stop`, or until a drain is complete.
  mutating func run() {
    metrics.turns = TurnMeter(processorTime: SystemClock.threadTimeNanoseconds())
    while !drain.isOver {
      wait()
      beginTurn()
      takeMail()
      dispatchEvents()
      startHandshakes()
      runTimers()
      admitConnections()
      driveStore()
      exchangeWithPeers()
      postMail()
      flush()
      closeDoomed()
      endTurn()
    }
    end()
  }

  // MARK: Wait

  /// Waits for events until the next deadline. Does not block while work is left over from this
  /// turn, or while the engine has reads to send: the flush continues a slow subscriber's backlog;
  /// the sweep alone would send one page per tick.
  private mutating func wait() {
    let deadline = min(
      periodic.nextSweep, engine.inbox.nextRead, store.nextDeadline,
      min(peers.nextDeadline, context.jobs.nextDeadline(loop: index)))
    var timeout: Int64 = 0
    if !engine.hasDirty && http.unsent.isEmpty && !store.isReadDue(engine) && !tls.isHandshakeDue
      && !hasLeftOver
    {
      timeout = max(0, min(deadline.milliseconds(since: turn.now) + 1, 500))
    }
    let ended = SystemClock.now()
    metrics.turns.note(
      from: turn.now, to: ended, processorTime: SystemClock.threadTimeNanoseconds)
    if !output.hasLeft {
      metrics.durations.undelivered.end(at: ended, in: &metrics.durations.delivery)
    }
    pulse.note(.waiting)
    poller.wait(milliseconds: timeout)
  }

  /// Work of this turn was left to the next one.
  private var hasLeftOver: Bool {
    !mail.isEmpty || output.hasLeft || store.hasLeft || sockets.hasDoomed
  }

  private mutating func beginTurn() {
    turn = Turn()
    pulse.begin(turn.now)
    engine.now = turn.now
    engine.wall = turn.wall
    metrics.iterations &+= 1
    tls.beginTurn()
  }

  /// After the flush: output that confirms a revocation has left.
  private mutating func endTurn() {
    revocations.confirm(engine, store, now: turn.now)
    advanceDrain()
  }

  private mutating func end() {
    acceptor.end()
    pulse.note(.mail)
    endMail()
    postMetrics()
    pulse.note(.ended)
  }

  // MARK: Events

  /// Handles sockets that are readable or writable. When the turn's time is over, the remaining
  /// ones are skipped and come first in the next turn: epoll reports them again, except
  /// edge-triggered ones, which are never skipped.
  private mutating func dispatchEvents() {
    pulse.note(.sockets)
    // Sockets of clients never delay batches and answers.
    for position in 0..<poller.count { store.note(poller[position].datum) }
    poller.rotate()
    for step in 0..<poller.count {
      let event = poller.event(atStep: step)
      guard event.datum >= Datum.listenerMin else { continue }
      if poller.isStopped, !isEdgeTriggered(event.datum) { continue }
      dispatch(event)
      if !poller.isStopped, step + 1 < poller.count, turn.isOver(.sockets) {
        poller.stop(afterStep: step)
      }
    }
  }

  private func isEdgeTriggered(_ datum: UInt64) -> Bool {
    guard datum >= Datum.socketMin else { return false }
    let id = SocketID(datum: datum)
    return sockets.contains(id) && sockets[id.index].interest.contains(.edgeTriggered)
  }

  private mutating func dispatch(_ event: Event) {
    guard event.datum >= Datum.socketMin else {
      let listener = Int(event.datum - Datum.listenerMin)
      acceptor.accept(listener, &sockets, poller.epoll, &metrics, turn)
      return
    }
    let id = SocketID(datum: event.datum)
    // It may have been closed in this turn.
    guard sockets.contains(id) else { return }
    if event.isWritable { becameWritable(id.index) }
    if event.isReadable || event.isHungUp {
      receive(id.index, hasHungUp: event.isReadHungUp)
      answerEarly(id.index)
    }
  }

  // MARK: Timers

  private mutating func runTimers() {
    pulse.note(.timers)
    if turn.now >= context.jobs.nextDeadline(loop: index) {
      context.jobs.startDue(loop: index, now: turn.now)
    }
    if periodic.beginSweepIfDue(now: turn.now) { sweep() }
  }

  private mutating func sweep() {
    engine.sweep()
    // The engine's sweep covers its connections. Without other sockets no table scan is needed.
    if sockets.count > engine.connections.count { sweepSockets() }
    if index == 0 { sweepForAll() }
    store.pollGeneration(now: turn.now)
    revocations.sweep(sockets)
    if journal.taps.isOn { journal.taps.sweep(turn) }
    periodic.storePresence(&engine, &store, now: turn.now)
    periodic.readAbsences(engine, &store, now: turn.now)
    peers.scan(engine, &store, now: turn.now)
    acceptor.resume(poller.epoll)
    periodic.trimMemory(httpSockets: sockets.count - engine.connections.count, now: turn.now)
    postMetrics()
  }

  /// The tasks that the first loop does for all loops.
  private mutating func sweepForAll() {
    periodic.removeExpired(&store, turn.wall, now: turn.now)
    periodic.readOrigins(&store, now: turn.now)
    revocations.feed.poll(&store, now: turn.now)
    guard !drain.isDraining else { return }
    context.jobs.advance(loop: index, now: turn.now)
    if periodic.isMaintenanceDue(store, now: turn.now) {
      context.maintenance.start(on: context.executors[index])
      context.upkeep.start(on: context.executors[index])
    }
  }

  mutating func postMetrics() {
    metrics.isStoreReady = store.isReady && http.origins.isLoaded
    metrics.isWriterReady = store.isWriterReady
    metrics.isReaderReady = store.canRead
    metrics.isDraining = drain.isDraining
    metrics.hasEnded = drain.isOver
    metrics.sockets = sockets.count
    metrics.handshakes.underWay = tls.handshakesUnderWay
    metrics.handshakes.waiting = tls.handshakesWaiting
    metrics.connections = engine.connections.count
    metrics.sessions = engine.sessions.count
    metrics.queuedRecords = engine.queuedRecords
    let oldest = [engine.oldestQueued, store.batch.oldest].compactMap { $0 }.min() ?? turn.now
    metrics.oldestRecord = turn.now.nanoseconds &- oldest.nanoseconds
    metrics.queriesPending = store.pendingQueries
    metrics.recentBytes = engine.sessions.recentByteCount
    metrics.engine = engine.counters
    context.metrics.publish(metrics, loop: index)
  }

  // MARK: The store

  private mutating func driveStore() {
    pulse.note(.store)
    store.write(&engine, poller.epoll, &metrics, now: turn.now)
    let isDue = store.receive(loop: index, now: turn.now)
    takeAnswers()
    if store.sendQueries(&engine, isDue: isDue, now: turn.now) {
      takeAnswers()
      store.watchReader(poller.epoll)
    }
    // Messages that the answers released are committed in the same turn.
    if store.canWrite && engine.hasBatch {
      store.write(&engine, poller.epoll, &metrics, now: turn.now)
    }
    if store.noteHealth(&engine, now: turn.now) { postMetrics() }
  }

  private mutating func takeAnswers() {
    while let answer = store.takeAnswer(&engine, &metrics, now: turn.now) {
      take(answer)
      if turn.isOver(.store) { return }
    }
  }

  // MARK: Drain

  mutating func beginDrain(_ milliseconds: Int64) {
    guard drain.begin(milliseconds, now: turn.now) else { return }
    http.beginDrain()
    acceptor.drain(&sockets, poller.epoll, &metrics, turn)
    engine.connections.announceDrain(windowMilliseconds: milliseconds / 2)
    postMetrics()
    periodic.sweepNow(turn.now)
  }

  private mutating func advanceDrain() {
    guard drain.isDraining, !drain.isOver else { return }
    if drain.isCloseDue(now: turn.now) { engine.closeAll() }
    let unstored = engine.queuedRecords + store.batch.recordCount
    let isIdle = engine.connections.count == 0 && unstored == 0
    drain.endIfDue(isIdle: isIdle, now: turn.now)
    guard drain.isOver, unstored > 0 else { return }
    logger.warning(
      """
      \(unstored) messages were not stored: PostgreSQL did not answer in time; none of them was \
      acknowledged, so their senders send them again
      """)
  }
}
