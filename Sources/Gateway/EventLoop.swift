import Chat
import Engine
import Journal
import Kernel
import Logging
import OpenSSL
import Postgres
import Primitives
import Settings
import Wire

/// One thread, one epoll, one engine, one writer and one reader connection to PostgreSQL.
///
/// The order of an iteration is the durability contract: wait → mail → events (state changes only)
/// → timers → submit batch → post mail → flush → close. Nothing is written to a socket in reaction
/// to an event, nothing is closed inside its own event, and nothing is acked or shown before the
/// journal has seen its COMMIT.
struct EventLoop: ~Copyable {
  let index: Int
  let context: GatewayContext
  let pulse: LoopPulse
  let logger: Logger

  let epoll: Epoll
  var events = Events(capacity: 1024)
  var listeners: [Listener] = []
  var sockets: SocketTable
  var engine: Engine
  var store: StoreDriver

  var now: Instant
  var metrics = LoopMetrics()
  var mail: [LoopMail] = []
  /// How many of `mail`, and of `dirty`, are done: see `TurnLimit`.
  var mailTaken = 0
  var dirtyFlushed = 0
  /// Of the event at which the next turn begins, if it is among its events.
  var nextDatum = Datum.none
  /// One receive buffer for all connections: an idle one holds none.
  var input: [UInt8]
  var output: [UInt8] = []
  var dirty: [ConnectionIndex] = []
  var httpDirty: [SocketID] = []
  /// Certificates for new connections; nil without TLS.
  var tlsContext: TLSContext?
  let tlsWorkspace = TLSWorkspace()
  /// Sockets whose TLS has something to say for itself.
  var unsentSockets: [SocketID] = []
  var handshakes = HandshakeQueue()
  /// Handshakes that may still be driven in this iteration.
  var handshakesLeft = EventLoop.handshakesPerTurn
  /// Sockets that were refused and linger, see `refusedMax`.
  var refusedCount = 0
  var refusals = Refusals()
  var appends = PendingAppends()
  var nextSweep: Instant
  var origins: Origins
  var periodic: PeriodicTasks
  var peers: PeerSync
  var revocations = RevocationChecks()
  /// Read by the first loop for all.
  var revocationFeed = RevocationFeed()
  var drain = Drain()
  var random: RandomBlock

  /// Bytes read from one socket in one event: the next one's turn comes after that.
  static let receiveBytes = 262_144

  /// Makes a loop and everything it waits for.
  static func make(
    index: Int, context: GatewayContext, listeners: [Listener]
  ) throws(Errno) -> EventLoop {
    let loop = EventLoop(index: index, context: context, listeners: listeners, epoll: try Epoll())
    try loop.epoll.add(
      rawValue: context.mailboxes[index].rawDescriptor, .read, datum: Datum.mailbox)
    for listener in listeners.indices {
      try loop.epoll.add(
        rawValue: listeners[listener].rawDescriptor, .read, datum: Datum.listener(listener))
    }
    return loop
  }

  private init(
    index: Int, context: GatewayContext, listeners: [Listener], epoll: consuming Epoll
  ) {
    self.index = index
    self.context = context
    pulse = context.pulses[index]
    var logger = context.logger
    logger[metadataKey: "loop"] = "\(index)"
    self.logger = logger
    self.epoll = epoll
    let now = SystemClock.now()
    self.now = now
    // How many there are in all is counted by `Admission`; one loop may have any share of them, and
    // those on their way from another loop besides.
    let connectionsMax = context.settings.connectionsMax
    sockets = SocketTable(limit: 2 * connectionsMax, logger: logger)
    engine = Engine(
      loop: index, loopCount: context.loopCount,
      configuration: Engine.Configuration(
        connectionsMax: 2 * connectionsMax, sessionsMax: context.settings.warmSessionsMax,
        recentBytesMax: context.settings.recentMebibytesMax << 20 / context.loopCount, node: "1",
        compression: context.settings.compression.options),
      now: now, wall: SystemClock.wallTime())
    random = RandomBlock()
    store = StoreDriver(
      url: context.databaseURL, seed: random.next(), listen: index == 0 ? Peers.listen : nil,
      logger: logger)
    input = Array(repeating: 0, count: EventLoop.receiveBytes)
    nextSweep = now
    periodic = PeriodicTasks(now: now)
    peers = PeerSync(context.peers)
    origins = Origins(context.settings)
    self.listeners = listeners
    tlsContext = context.certificates?.first
  }

  /// Runs until the loop is told to stop or has drained.
  mutating func run() {
    metrics.turns = TurnMeter(processorTime: SystemClock.threadTimeNanoseconds())
    while !drain.isOver {
      wait()
      now = SystemClock.now()
      pulse.begin(now)
      engine.now = now
      engine.wall = SystemClock.wallTime()
      metrics.iterations &+= 1
      handshakesLeft = EventLoop.handshakesPerTurn
      pulse.note(.mail)
      takeMail()
      pulse.note(.sockets)
      dispatchEvents()
      pulse.note(.handshakes)
      startHandshakes()
      pulse.note(.timers)
      if now >= nextSweep { sweep() }
      pulse.note(.engine)
      engine.readInbox()
      verifyTokens()
      moveDepartures()
      revocations.ask(engine, &store, now: now)
      pulse.note(.store)
      driveStore()
      pulse.note(.peers)
      if index == 0 { takePeerChanges() }
      peers.announce(&engine, &store, now: now)
      engine.settleSessions()
      postMail()
      passNews()
      answerRequests()
      pulse.note(.output)
      applyPauses()
      flush()
      closeDoomed()
      revocations.confirm(engine, store, now: now)
      advanceDrain()
    }
    pulse.note(.mail)
    endMail()
    postMetrics()
    pulse.note(.ended)
  }

  /// Sleeps until something happens or a deadline comes; not at all while output is left over, or
  /// while the engine wants pages that PostgreSQL may be asked for: who is far behind is pumped in
  /// the flush, and would else get one page for each sweep.
  private mutating func wait() {
    let deadline = min(nextSweep, engine.nextInboxRead, store.nextDeadline)
    var timeout: Int64 = 0
    if !engine.hasDirty && httpDirty.isEmpty && !store.isReadDue(engine) && !handshakes.isDue
      && !hasLeftOver
    {
      timeout = max(0, min(deadline.milliseconds(since: now) + 1, 500))
    }
    metrics.turns.note(
      from: now, to: SystemClock.now(), processorTime: SystemClock.threadTimeNanoseconds)
    pulse.note(.waiting)
    do throws(Errno) {
      try epoll.wait(into: &events, timeoutMilliseconds: Int32(timeout))
    } catch {
      preconditionFailure("epoll_wait cannot fail on a valid descriptor: \(error)")
    }
  }

  mutating func dispatch(_ event: Event) {
    if event.datum < Datum.socketMin {
      acceptAll(Int(event.datum - Datum.listenerMin))
    } else {
      dispatch(SocketID(datum: event.datum), event)
    }
  }

  /// A socket's generation guards against events for a socket that was closed in this iteration.
  private mutating func dispatch(_ id: SocketID, _ event: Event) {
    guard sockets.contains(id) else { return }
    let socket = id.index
    if event.isWritable { becameWritable(socket) }
    if event.isReadable || event.isHungUp {
      receive(socket, hasHungUp: event.isReadHungUp)
      answerEarly(socket)
    }
  }

  private mutating func sweep() {
    nextSweep = now.advanced(byMilliseconds: Engine.sweepMilliseconds)
    engine.sweep()
    // A socket is a connection of the engine, or speaks HTTP, or ends: where all are connections,
    // which the engine's own sweep looks after, none has to be read.
    if sockets.count > engine.connections.count { sweepSockets() }
    if index == 0 { sweepForAll() }
    store.pollGeneration(now: now)
    revocations.sweep(sockets)
    periodic.storePresence(&engine, &store, now: now)
    peers.scan(engine, &store, now: now)
    resumeListeners()
    periodic.trimMemory(httpSockets: sockets.count - engine.connections.count, now: now)
    postMetrics()
  }

  /// What the first loop does for all.
  private mutating func sweepForAll() {
    periodic.removeExpired(&store, engine.wall, now: now)
    periodic.readOrigins(&store, now: now)
    revocationFeed.poll(&store, now: now)
    guard !drain.isDraining else { return }
    context.jobs.advance(loop: index, now: now)
    if periodic.isMaintenanceDue(store, now: now) {
      context.maintenance.start(on: context.executors[index])
    }
  }

  mutating func postMetrics() {
    metrics.isStoreReady = store.isReady && origins.isLoaded
    metrics.isDraining = drain.isDraining
    metrics.hasEnded = drain.isOver
    metrics.sockets = sockets.count
    metrics.handshakesUnderWay = handshakes.underWay
    metrics.handshakesWaiting = handshakes.count
    metrics.connections = engine.connections.count
    metrics.sessions = engine.sessionCount
    metrics.queuedRecords = engine.queuedRecords
    metrics.recentBytes = engine.recentByteCount
    metrics.engine = engine.counters
    context.board.post(metrics, loop: index)
  }
}

/// What an epoll event is about. A socket carries its `SocketID`.
enum Datum {
  static let none = UInt64.max
  static let mailbox: UInt64 = 0
  static let writer: UInt64 = 1
  static let reader: UInt64 = 2
  static let listenerMin: UInt64 = 16
  static let socketMin: UInt64 = 1 << 32

  static func listener(_ index: Int) -> UInt64 { listenerMin + UInt64(index) }
}

/// Random words, fetched from the kernel in blocks: names of connections need 128 bits each.
struct RandomBlock {
  private var words: [UInt64] = []

  mutating func next() -> UInt64 {
    if words.isEmpty {
      let bytes = Random.bytes(512)
      words = bytes.withRawSpan { span in (0..<64).map { span.word(at: $0 * 8) } }
    }
    return words.removeLast()
  }

  mutating func identifier(at time: WallTime) -> Identifier {
    Identifier(
      version7At: time, randomHigh: UInt16(truncatingIfNeeded: next()), randomLow: next())
  }
}
