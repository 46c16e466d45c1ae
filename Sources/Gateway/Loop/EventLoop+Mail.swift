import Chat
import Directory
import Engine
import Kernel
import OpenSSL
import Postgres
import Primitives

/// Mail in both directions, and connections on the move.
extension EventLoop {
  /// When the mailbox has signalled: a turn without mail costs no lock and no read.
  mutating func takeMail() {
    pulse.note(.mail)
    if mail.isEmpty {
      // With each sweep all the same: an eventfd that the kernel did not signal must not keep a
      // loop from its mail for ever, since a mailbox that holds mail already signals no more.
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
    case .arrival(let departure, let parcel):
      if let socket = parcel.take() { arrive(departure, socket) }
    case .certificates(let certificates): tls.use(certificates)
    case .step(let job):
      pulse.note(.task)
      // SAFETY: a job is enqueued once and run here once, and the executor lives as long as the
      // process.
      unsafe job.runSynchronously(on: context.executors[index].asUnownedTaskExecutor())
      pulse.note(.mail)
    case .query(let query, let continuation): store.ask(query, continuation, now: turn.now)
    case .append(let item, let continuation): engine.append(http.append(item, continuation))
    case .response(let socket, let response): respond(socket, response)
    case .changed(let session): peers.noteChange(session, &engine)
    case .happened(let news): announce(news)
    case .queueMoved(let workspace): peers.noteQueueMoved(in: workspace, engine)
    case .catchUp: peers.requestScan(now: turn.now)
    case .revocation(let item): revocations.take(item, now: turn.now)
    case .news(let news): pass(news)
    case .listeners(let workspaces): engine.listeners = workspaces
    case .origins(let origins): http.use(origins)
    case .drain(let milliseconds): beginDrain(milliseconds)
    case .stop: drain.stop()
    }
  }

  /// The loop has ended: what was posted too late is taken, so that nobody waits for ever.
  mutating func endMail() {
    mail.fill(from: context.mailboxes[index])
    while let item = mail.next() {
      switch item {
      case .query(_, let continuation): continuation.resume(returning: PendingQueries.stopped)
      case .append(_, let continuation): continuation.resume(returning: .unavailable)
      case .revocation(let item): revocations.take(item, now: turn.now)
      default: continue
      }
    }
    revocations.end()
    store.end()
    http.end()
  }

  /// What the engine has for the other loops, for the background jobs and for REST requests.
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

  /// To the background jobs of this gateway.
  func pass(_ news: WorkspaceNews) {
    context.jobs.workspaceNews(news, loop: index, now: turn.now)
  }

  /// From a REST handler: for the background jobs, and for the other gateways.
  private mutating func announce(_ news: WorkspaceNews) {
    pass(news)
    switch news.kind {
    case .waits, .taken, .closed: peers.noteQueueMoved(in: news.workspace, engine)
    case .wrote, .operators, .audience, .line, .sweep: break
    }
  }

  // MARK: Admission

  /// Hellos that came in this turn: their tokens, and the loop to which a connection belongs.
  mutating func admitConnections() {
    pulse.note(.engine)
    engine.readInbox()
    verifyTokens()
    moveDepartures()
    revocations.ask(engine, &store, now: turn.now)
  }

  /// At most one for each connection and `hello`. A visitor who belongs to another loop is
  /// confirmed there: no answer from before its move welcomes a connection.
  private mutating func verifyTokens() {
    for verification in engine.effects.takeVerifications() {
      let connection = verification.connection
      guard let socket = sockets.socket(ofConnection: connection.index) else { continue }
      switch TokenAdmission.admit(
        verification.token, of: &sockets[socket].caller, context, turn)
      {
      case .failure(let refusal): engine.verified(connection, .failure(refusal))
      case .success((let member, _)) where engine.leaves(connection, as: member):
        engine.verified(connection, .success(member))
      case .success((let member, let subject)):
        revocations.add(
          Revocations.TokenCheck(
            socket: sockets.id(at: socket), connection: connection, subject: subject,
            step: .hello(member)))
      }
    }
  }

  // MARK: Connections on the move

  /// A visitor's connection goes to the loop of its session, once, after its hello.
  private mutating func moveDepartures() {
    for (id, loop) in engine.effects.takeDepartures() {
      guard let socket = sockets.socket(ofConnection: id.index), sockets.isAlive(socket),
        let departure = engine.connections.depart(id)
      else { continue }
      try? poller.epoll.remove(sockets[socket].descriptor)
      sockets[socket].tls?.forget(tls.workspace)
      let parcel = SocketTransfer(sockets.remove(socket))
      context.mailboxes[loop].post(.arrival(departure, parcel))
    }
  }

  private mutating func arrive(_ departure: Departure, _ socket: consuming ClientSocket) {
    socket.interest = .read
    guard let id = acceptor.insert(socket, &sockets, poller.epoll) else { return }
    guard let connection = engine.adopt(departure) else {
      remove(id.index)
      return
    }
    sockets.bind(id, toConnection: connection.index)
    sockets[id.index].phase = .webSocket(connection.index)
    revocations.add(
      Revocations.TokenCheck(
        socket: id, connection: connection,
        subject: .visitor(departure.member.person.id, workspace: departure.member.workspace),
        step: .arrival))
  }
}
