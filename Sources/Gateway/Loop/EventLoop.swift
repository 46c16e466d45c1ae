import Engine
import Kernel
import Logging
import Primitives
import Settings

/// One thread, one epoll, one engine, one writer and one reader connection to PostgreSQL: the
/// coordinator of the components below, which own their state. What one needs of another it gets as
/// an argument, or returns for the loop to act on.
///
/// The order of a turn is the durability contract: wait → mail → events (state changes only) →
/// timers → submit batch → post mail → flush → close. Nothing is written to a socket in reaction
/// to an event, nothing is closed inside its own event, and nothing is acked or shown before the
/// journal has seen its COMMIT.
struct EventLoop: ~Copyable {
  let index: Int
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
  /// One receive buffer for all connections: an idle one holds none.
  var input: [UInt8]
  var drain = Drain()
  var turn = Turn()
  var metrics = LoopMetrics()

  /// Bytes read from one socket in one event: the next one's turn comes after that.
  static let receiveBytes = 262_144

  /// Makes a loop and everything it waits for.
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
    self.index = index
    self.poller = poller
    self.context = context
    pulse = context.pulses[index]
    var logger = context.logger
    logger[metadataKey: "loop"] = "\(index)"
    self.logger = logger
    // How many there are in all is counted by `Admission`; one loop may have any share of them, and
    // those on their way from another loop besides.
    let connectionsMax = 2 * context.settings.limits.connections
    sockets = SocketTable(limit: connectionsMax, logger: logger)
    acceptor = Acceptor(context, listeners, logger)
    tls = TLSDriver(context.certificates?.first, context.admission)
    http = HTTPServer(context, loop: index)
    engine = Engine(
      loop: index, loopCount: context.loopCount,
      configuration: Engine.Configuration(
        connectionsMax: connectionsMax, sessionsMax: context.settings.limits.warmSessions,
        recentBytesMax: context.settings.limits.recentMebibytes << 20 / context.loopCount,
        node: "1",
        compression: context.settings.compression.options),
      now: turn.now, wall: turn.wall)
    store = StoreDriver(
      url: context.databaseURL, seed: Random.uint64(), listen: index == 0 ? Peers.listen : nil,
      logger: logger)
    peers = PeerSync(context.peers)
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

  /// Sleeps until something happens or a deadline comes; not at all while output is left over, or
  /// while the engine wants pages that PostgreSQL may be asked for: the flush continues a slow
  /// subscriber's backlog; the sweep alone would send one page per tick.
  private mutating func wait() {
    let deadline = min(periodic.nextSweep, engine.nextInboxRead, store.nextDeadline)
    var timeout: Int64 = 0
    if !engine.hasDirty && !http.hasUnsent && !store.isReadDue(engine) && !tls.isHandshakeDue
      && !hasLeftOver
    {
      timeout = max(0, min(deadline.milliseconds(since: turn.now) + 1, 500))
    }
    metrics.turns.note(
      from: turn.now, to: SystemClock.now(), processorTime: SystemClock.threadTimeNanoseconds)
    pulse.note(.waiting)
    poller.wait(milliseconds: timeout)
  }

  /// Something of this turn was left to the next one.
  private var hasLeftOver: Bool {
    !mail.isEmpty || output.hasLeft || store.hasAnswers || sockets.hasDoomed
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
    pulse.note(.mail)
    endMail()
    postMetrics()
    pulse.note(.ended)
  }

  // MARK: Events

  /// Sockets that have something to read or room to write. Those that were passed over are first
  /// next time; epoll reports them again, except those that wait for a ClientHello.
  private mutating func dispatchEvents() {
    pulse.note(.sockets)
    // Batches and answers never wait for peers.
    for position in 0..<poller.count { store.note(poller[position].datum) }
    poller.rotate()
    for step in 0..<poller.count {
      let event = poller.event(atStep: step)
      guard event.datum >= Datum.listenerMin else { continue }
      if poller.isStopped, !isReportedOnce(event.datum) { continue }
      dispatch(event)
      if !poller.isStopped, step + 1 < poller.count, turn.isOver(.sockets) {
        poller.stop(behindStep: step)
      }
    }
  }

  private func isReportedOnce(_ datum: UInt64) -> Bool {
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
    if periodic.beginSweepIfDue(now: turn.now) { sweep() }
  }

  private mutating func sweep() {
    engine.sweep()
    // A socket is a connection of the engine, or speaks HTTP, or ends: where all are connections,
    // which the engine's own sweep looks after, none has to be read.
    if sockets.count > engine.connections.count { sweepSockets() }
    if index == 0 { sweepForAll() }
    store.pollGeneration(now: turn.now)
    revocations.sweep(sockets)
    periodic.storePresence(&engine, &store, now: turn.now)
    peers.scan(engine, &store, now: turn.now)
    acceptor.resume(poller.epoll)
    periodic.trimMemory(httpSockets: sockets.count - engine.connections.count, now: turn.now)
    postMetrics()
  }

  /// What the first loop does for all.
  private mutating func sweepForAll() {
    periodic.removeExpired(&store, turn.wall, now: turn.now)
    periodic.readOrigins(&store, now: turn.now)
    revocations.feed.poll(&store, now: turn.now)
    guard !drain.isDraining else { return }
    context.jobs.advance(loop: index, now: turn.now)
    if periodic.isMaintenanceDue(store, now: turn.now) {
      context.maintenance.start(on: context.executors[index])
    }
  }

  mutating func postMetrics() {
    metrics.isStoreReady = store.isReady && http.origins.isLoaded
    metrics.isDraining = drain.isDraining
    metrics.hasEnded = drain.isOver
    metrics.sockets = sockets.count
    metrics.handshakes.underWay = tls.handshakesUnderWay
    metrics.handshakes.waiting = tls.handshakesWaiting
    metrics.connections = engine.connections.count
    metrics.sessions = engine.sessionCount
    metrics.queuedRecords = engine.queuedRecords
    metrics.recentBytes = engine.recentByteCount
    metrics.engine = engine.counters
    context.metrics.publish(metrics, loop: index)
  }

  // MARK: Drain

  mutating func beginDrain(_ milliseconds: Int64) {
    guard drain.begin(milliseconds, now: turn.now) else { return }
    acceptor.close(poller.epoll)
    http.beginDrain()
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
      \(unstored) messages are not stored: PostgreSQL did not answer in time; none of them was \
      acknowledged, and their senders send them again
      """)
  }
}
