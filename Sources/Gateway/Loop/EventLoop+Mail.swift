import Chat
import Directory
import Engine
import Kernel
import OpenSSL
import Postgres
import Primitives

/// Mail in both directions, admission of connections after their hello, and their moves to other
/// loops.
extension EventLoop {
  /// Handles mail if the mailbox has signalled. A turn without mail costs no lock and no read.
  mutating func takeMail() {
    pulse.note(.mail)
    if mail.isEmpty {
      // Each sweep also looks into the mailbox. A mailbox with mail signals no more, so one lost
      // signal would otherwise keep the loop from its mail forever.
      guard turn.now >= periodic.nextSweep || poller.contains(Datum.mailbox) else { return }
      mail.fill(from: context.mailboxes[index])
    }
    while let item = mail.next() {
      take(item)
      if turn.isOver(.mail) { return }
    }
  }

  private mutating func take(_ item: LoopMail) {
    switch item {
    case .engine(let mail): engine.deliver(mail)
    case .arrival(let departure, let transfer):
      if let socket = transfer.take() { arrive(departure, socket) }
    case .certificates(let certificates): tls.use(certificates)
    case .step(let job):
      pulse.note(.task)
      // SAFETY: a job is enqueued once and run here once, and the executor lives as long as the
      // process.
      unsafe job.runSynchronously(on: context.executors[index].asUnownedTaskExecutor())
      pulse.note(.mail)
    case .query(let query, let continuation): store.enqueue(query, continuation, now: turn.now)
    case .append(let item, let continuation): engine.append(http.append(item, continuation))
    case .response(let socket, let response, let began):
      metrics.durations.requests.add(
        response, SystemClock.now().nanoseconds &- began.nanoseconds)
      respond(socket, response)
    case .responsePart(let socket, let bytes, let reader):
      http.answerOn(socket, bytes, reader, &sockets, turn)
    case .pieces(let socket, let hold, let byteCount):
      http.beginPieces(socket, hold, byteCount, &sockets, turn)
    case .piece(let socket, let bytes): http.takePiece(socket, bytes, &sockets, turn)
    case .changed(let session, let workspace):
      peers.noteChange(session, of: workspace, &engine)
    case .happened(let news): announce(news)
    case .queueMoved(let workspace): peers.noteQueueMoved(in: workspace, engine)
    case .catchUp: peers.requestScan(now: turn.now)
    case .revocation(let item): revocations.take(item, now: turn.now)
    case .connections(let item): journal.take(item, &engine, sockets, turn)
    case .endedKeys(let keys): engine.endKeys(keys)
    case .news(let news): pass(news)
    case .listeners(let workspaces): engine.listeners = workspaces
    case .origins(let origins): http.useLists(of: origins)
    case .rules(let rules, let countdown):
      rules.apply(to: &self)
      countdown.confirm()
    case .drain(let milliseconds): beginDrain(milliseconds)
    case .stop: drain.stop()
    }
  }

  /// After the end of the loop: answers mail that came too late, so that no task waits forever.
  mutating func endMail() {
    mail.fill(from: context.mailboxes[index])
    while let item = mail.next() {
      switch item {
      case .query(_, let continuation): continuation.resume(returning: PendingQueries.stopped)
      case .append(_, let continuation): continuation.resume(returning: .unavailable)
      case .revocation(let item): revocations.take(item, now: turn.now)
      case .rules(_, let countdown): countdown.confirm()
      default: continue
      }
    }
    revocations.end()
    journal.taps.end(turn)
    store.end()
    http.end()
  }

  /// Delivers the engine's output for other loops, background jobs and REST requests.
  mutating func postMail() {
    engine.settleSessions()
    for loop in 0..<context.loopCount where loop != index {
      let items = engine.effects.takeMail(for: loop)
      if !items.isEmpty { context.mailboxes[loop].post(items) }
    }
    for news in engine.effects.takeNews() { pass(news) }
    for outcome in engine.effects.takeRequestOutcomes() { http.finish(outcome) }
  }

  // MARK: News

  /// Gives news to the background jobs of this gateway.
  func pass(_ news: WorkspaceNews) {
    context.jobs.workspaceNews(news, loop: index, now: turn.now)
  }

  /// Gives news of a REST handler to the background jobs, and to the other gateways.
  private mutating func announce(_ news: WorkspaceNews) {
    pass(news)
    switch news.kind {
    case .waits, .taken, .closed: peers.noteQueueMoved(in: news.workspace, engine)
    case .wrote, .operators, .positionSubscribers, .queueMoved, .received, .sweep: break
    }
  }

  // MARK: Admission

  /// Continues the hellos of this turn: verifies tokens, and moves connections to the loop of their
  /// session.
  mutating func admitConnections() {
    pulse.note(.engine)
    engine.readInbox()
    verifyTokens()
    moveDepartures()
    revocations.enqueueChecks(engine, &store, now: turn.now)
  }

  /// At most one verification for each connection and hello. A visitor of another loop is confirmed
  /// there, so that no answer from before the move welcomes the connection.
  private mutating func verifyTokens() {
    for verification in engine.effects.takeVerifications() {
      let connection = verification.connection
      guard let socket = sockets.socket(ofConnection: connection.index) else { continue }
      switch TokenAdmission.admit(
        verification.token, of: &sockets[socket].caller, context, turn)
      {
      case .failure(let refusal): engine.verified(connection, .failure(refusal))
      case .success((let member, _))
      where engine.connections.moves(connection, as: member, engine.effects):
        engine.verified(connection, .success(member))
      case .success((let member, let subject)):
        if journal.taps.isOn {
          journal.taps.join(connection.index, as: member, engine.connections, turn)
        }
        revocations.add(
          Revocations.TokenCheck(
            socket: sockets.id(at: socket), connection: connection, subject: subject,
            step: .hello(member)))
      }
    }
  }

  // MARK: Moving connections

  /// Moves a visitor's connection to the loop of its session, once, after its hello.
  private mutating func moveDepartures() {
    for (id, loop) in engine.effects.takeDepartures() {
      guard let socket = sockets.socket(ofConnection: id.index), sockets.isAlive(socket),
        let departure = engine.connections.depart(id)
      else { continue }
      if journal.taps.isOn { journal.taps.leave(id.index) }
      try? poller.epoll.remove(sockets[socket].descriptor)
      sockets[socket].tls?.forget(tls.workspace)
      let transfer = SocketTransfer(sockets.remove(socket))
      context.mailboxes[loop].post(.arrival(departure, transfer))
    }
  }

  private mutating func arrive(_ departure: Departure, _ socket: consuming ClientSocket) {
    socket.interest = .read
    guard let id = acceptor.insert(socket, &sockets, poller.epoll) else { return }
    guard let connection = engine.connections.adopt(departure, now: engine.now) else {
      remove(id.index)
      return
    }
    sockets.bind(id, toConnection: connection.index)
    sockets[id.index].phase = .webSocket(connection.index)
    if journal.taps.isOn {
      journal.taps.join(connection.index, as: departure.member, engine.connections, turn)
    }
    revocations.add(
      Revocations.TokenCheck(
        socket: id, connection: connection,
        subject: .visitor(departure.member.person.id, workspace: departure.member.workspace),
        step: .arrival))
  }
}
