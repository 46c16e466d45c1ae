import Chat
import Engine
import Journal
import Primitives
import Wire

/// A gateway process. Its loops exchange only mail.
final class GatewayNode {
  private(set) var loops: [GatewayLoop] = []
  private(set) var isAlive = true

  init(run: Run, loopCount: Int) {
    for index in 0..<loopCount {
      loops.append(GatewayLoop(run: run, node: self, index: index, loopCount: loopCount))
    }
    for loop in loops { loop.wake() }
  }

  /// kill -9.
  func kill() {
    isAlive = false
    for loop in loops { loop.die() }
  }
}

/// The driver of one engine, in place of `Gateway/EventLoop`, with the same order of an iteration.
final class GatewayLoop {
  private enum MailItem {
    case mail(Mail)
    case arrival(Departure, Socket)

    static func describe(_ mail: Mail) -> String {
      switch mail {
      case .append(let item): "append \(item.record.id) \(item.record.origin.ordinal)"
      case .outcome(let item): "outcome \(item.id) \(item.outcome.verdict)"
      default: String("\(mail)".prefix(60))
      }
    }
  }

  unowned let run: Run
  /// The other loops of the process; empty once it is dead.
  private weak var node: GatewayNode?
  private var isAlive = true
  let index: Int
  private(set) var engine: Engine
  private var writer: LogWriter<SimulatedConnection>

  private var sockets: [ConnectionIndex: Socket] = [:]
  private var readable: [Socket] = []
  private var writable: [Socket] = []
  private var mailbox: [MailItem] = []
  /// When the last mail to this loop arrives: mail keeps its order.
  private var lastMail: Int64 = 0
  private var answers: [(inout Engine) -> Void] = []
  private var readsInFlight = 0
  /// The database that the writer is connected to. A read from another one does not count.
  private var store = ""
  private var nextSweep: Instant
  private var wakeNumber = 0
  private var wakeTime = Int64.max
  private var isBatchUnderWay = false
  private var random: Dice

  init(run: Run, node: GatewayNode, index: Int, loopCount: Int) {
    self.run = run
    self.node = node
    self.index = index
    random = Dice(seed: run.dice.next())
    engine = Engine(
      loop: index, loopCount: loopCount,
      configuration: Engine.Configuration(
        connectionsMax: 10_000, sessionsMax: run.loadedSessionsMax, node: "simulated"),
      now: run.agenda.now, wall: run.agenda.wall)
    nextSweep = run.agenda.now
    let relay = Relay()
    let postgres = run.postgres
    let bug = run.bug
    writer = LogWriter(seed: run.dice.next()) {
      SimulatedConnection(Backend(postgres) { relay.loop?.wake() }, bug: bug)
    }
    relay.loop = self
  }

  private final class Relay { weak var loop: GatewayLoop? }

  func die() {
    if isAlive { run.evictions += engine.counters.sessionEvictions }
    isAlive = false
    let all = sockets.values.sorted { $0.client.number < $1.client.number }
    sockets = [:]
    for socket in all { socket.reset() }
    for case .arrival(_, let socket) in mailbox { socket.reset() }
    wakeNumber += 1
  }

  // MARK: Waking up

  func wake() { wake(afterMicroseconds: run.dice.below(150)) }

  private func wake(afterMicroseconds delay: Int) {
    let time = run.agenda.microseconds + Int64(delay)
    guard isAlive, time < wakeTime else { return }
    wakeTime = time
    wakeNumber += 1
    let number = wakeNumber
    run.agenda.after(microseconds: delay) { [weak self] in
      guard let self, number == wakeNumber, isAlive else { return }
      wakeTime = .max
      iterate()
    }
  }

  func becameWritable(_ socket: Socket) {
    writable.append(socket)
    wake()
  }

  /// Adds a client's upgraded connection. Returns false when the engine is full.
  func accept(_ socket: Socket) -> Bool {
    let name = random.identifier()
    guard let id = engine.connections.accept(name: name, isEcho: false, now: engine.now) else {
      return false
    }
    sockets[id.index] = socket
    socket.loop = self
    socket.id = id
    return true
  }

  // MARK: One iteration

  private func iterate() {
    engine.now = run.agenda.now
    engine.wall = run.agenda.wall
    takeMail()
    readSockets()
    if engine.now >= nextSweep {
      nextSweep = engine.now.advanced(byMilliseconds: Engine.sweepMilliseconds)
      engine.sweep()
    }
    if run.bug == .forgetFollower { forgetFollower() }
    engine.readInbox()
    verifyTokens()
    moveDepartures()
    driveStore()
    engine.settleSessions()
    postMail()
    applyPauses()
    flush()
    closeDoomed()
    run.checker.audit(self)
    let deadline = min(nextSweep, engine.inbox.nextRead, writer.status.nextDeadline)
    let wait = max(
      0, deadline.nanoseconds / 1000 - min(deadline, run.agenda.now).nanoseconds / 1000)
    let isBusy =
      engine.hasDirty || engine.effects.hasReads && readsInFlight < 256
      || sockets.values.contains { !$0.incoming.isEmpty && !$0.isPaused }
    wake(afterMicroseconds: isBusy ? 20 : deadline <= run.agenda.now ? 20 : Int(min(wait, 500_000)))
  }

  private func forgetFollower() {
    guard engine.sessions.count == run.loadedSessionsMax, run.dice.onceIn(20) else { return }
    let session = run.sessions[run.dice.below(run.sessions.count)]
    for other in node?.loops ?? [] where other !== self {
      engine.deliver(.unfollow(session: session, loop: other.index))
    }
  }

  private func takeMail() {
    let items = mailbox
    mailbox = []
    for item in items {
      switch item {
      case .mail(let mail): engine.deliver(mail)
      case .arrival(let departure, let socket):
        guard !socket.isClosed, let id = engine.connections.adopt(departure, now: engine.now)
        else {
          socket.close()
          continue
        }
        sockets[id.index] = socket
        socket.loop = self
        socket.id = id
        socket.isPaused = false
        engine.settle(id)
      }
    }
  }

  private func readSockets() {
    let ready = writable
    writable = []
    for socket in ready where !socket.isClosed && socket.loop === self {
      if let id = socket.id { engine.connections.writable(id.index, now: engine.now) }
    }
    for connection in sockets.keys.sorted() {
      guard let socket = sockets[connection] else { continue }
      if !socket.incoming.isEmpty, !socket.isPaused {
        var bytes = socket.takeIncoming()
        bytes.withMutableRawSpan { engine.receive(connection, &$0) }
      } else if socket.hasPeerEnded {
        engine.connections.peerEnded(connection)
      }
    }
  }

  private func verifyTokens() {
    for verification in engine.effects.takeVerifications() {
      let token = String(decoding: verification.token, as: UTF8.self)
      engine.verified(
        verification.connection, run.member(token).map { .success($0) } ?? .failure(.invalid))
    }
  }

  private func moveDepartures() {
    for (id, target) in engine.effects.takeDepartures() {
      guard let socket = sockets[id.index], let departure = engine.connections.depart(id) else {
        continue
      }
      sockets[id.index] = nil
      socket.loop = nil
      socket.id = nil
      node?.loops[target].post(.arrival(departure, socket))
    }
  }

  private func post(_ item: MailItem) {
    let arrival = max(lastMail, run.agenda.microseconds + Int64(run.dice.delay(typical: 60)))
    lastMail = arrival
    run.agenda.after(microseconds: Int(arrival - run.agenda.microseconds)) { [weak self] in
      guard let self, isAlive else { return }
      mailbox.append(item)
      wake()
    }
  }

  private func postMail() {
    for loop in node?.loops ?? [] where loop !== self {
      var mail = engine.effects.takeMail(for: loop.index)
      if run.bug == .swapMail, mail.count > 1 { mail.swapAt(0, 1) }
      for item in mail {
        run.log("mail \(index) to \(loop.index): \(MailItem.describe(item))")
        if run.bug == .dropMail, run.dice.onceIn(20) { continue }
        loop.post(.mail(item))
      }
    }
  }

  // MARK: The store

  private func driveStore() {
    let now = engine.now
    writer.advance(now: now)
    noteStore()
    settleBatches()
    while writer.status.isReady && engine.hasBatch {
      engine.submitBatch { writer.submit(&$0, now: now) }
      writer.advance(now: now)
      noteStore()
      settleBatches()
    }
    engine.isStoreReachable = writer.status.isWorthTrying
    let ready = answers
    answers = []
    for finish in ready { finish(&engine) }
    while readsInFlight < 256, let request = engine.effects.nextRead() { perform(request) }
  }

  /// Call it before outcomes are delivered: the writer may have reached another database.
  private func noteStore() {
    guard writer.status.store != store else { return }
    let isFirst = store.isEmpty
    store = writer.status.store
    engine.store = store
    guard !isFirst, run.bug != .blindFailover else { return }
    engine.storeReplaced()
  }

  private func settleBatches() {
    engine.isStoreReachable = writer.status.isWorthTrying
    while writer.takeCompletion({ batch, outcomes in engine.committed(batch, outcomes) }) {}
  }

  private func perform(_ request: ReadRequest) {
    readsInFlight += 1
    let incarnation = run.postgres.incarnation
    let arrival = run.postgres.arrival(typical: 250)
    // The reader's timeout.
    let isLate = arrival > 5_000_000
    run.agenda.after(microseconds: min(arrival, 5_000_000)) { [weak self] in
      guard let self, isAlive else { return }
      let isAnswered =
        !isLate && run.postgres.isUp && run.postgres.incarnation == incarnation
        && !run.dice.percent(run.postgres.faultRates.cutsBefore)
      let readStore = "e\(run.postgres.epoch)"
      let finish = Reader.answer(request, run, isAnswered: isAnswered)
      run.agenda.after(microseconds: run.dice.delay(typical: 150)) { [weak self] in
        guard let self, isAlive else { return }
        readsInFlight -= 1
        answers.append(
          readStore == store || run.bug == .blindFailover
            ? finish : Reader.answer(request, run, isAnswered: false))
        wake()
      }
    }
  }

  /// The call of a REST request that has changed a session.
  func changed(_ session: Identifier) {
    engine.now = run.agenda.now
    engine.changed(session)
    wake()
  }

  // MARK: Output

  private func applyPauses() {
    for connection in engine.connections.takePauseChanges() {
      sockets[connection]?.isPaused = engine.connections.isPaused(connection)
    }
  }

  private func flush() {
    var dirty: [ConnectionIndex] = []
    engine.connections.takeDirty(into: &dirty)
    for connection in dirty {
      guard let socket = sockets[connection] else { continue }
      var output: [UInt8] = []
      engine.collect(connection, into: &output)
      guard !socket.isClosed else { continue }
      guard !output.isEmpty else {
        engine.connections.flushed(connection, now: engine.now)
        continue
      }
      let count = socket.send(output)
      run.checker.leaving(Array(output[..<count]), socket)
      if run.bug == .doubleOutput, run.dice.onceIn(40) { _ = socket.send(output) }
      if count == output.count || run.bug == .cutOutput {
        engine.connections.flushed(connection, now: engine.now)
      } else {
        engine.connections.blocked(connection, rest: output[count...], now: engine.now)
      }
    }
    applyPauses()
  }

  private func closeDoomed() {
    for connection in engine.connections.takeDoomed() {
      _ = engine.release(connection)
      sockets.removeValue(forKey: connection)?.close()
    }
    for connection in sockets.keys.sorted() {
      guard let socket = sockets[connection], socket.isClosed else { continue }
      engine.connections.peerEnded(connection)
    }
  }
}
