import API
import Chat
import Directory
import Engine
import Kernel
import OpenSSL
import Primitives
import Wire

/// REST requests that wait for the outcome of a message.
struct PendingAppends {
  private var waiting: [UInt32: CheckedContinuation<OutcomeMail, Never>] = [:]
  private var last: UInt32 = 0

  mutating func add(_ continuation: CheckedContinuation<OutcomeMail, Never>) -> UInt32 {
    last &+= 1
    waiting[last] = continuation
    return last
  }

  mutating func take(_ number: UInt32) -> CheckedContinuation<OutcomeMail, Never>? {
    waiting.removeValue(forKey: number)
  }

  /// Nothing is committed any more: the requests that wait are told so.
  mutating func end() {
    for continuation in waiting.values { continuation.resume(returning: .unavailable) }
    waiting = [:]
  }
}

/// Mail in both directions, and connections on the move.
extension EventLoop {
  /// When the mailbox has signalled: an iteration without mail costs no lock and no read.
  mutating func takeMail() {
    // With each sweep all the same: a bell that the kernel did not ring must not make a loop deaf
    // for ever, since a mailbox that holds mail already rings no more.
    if mailTaken == mail.count {
      guard now >= nextSweep || (0..<events.count).contains(where: { isMail(events[$0]) }) else {
        return
      }
      mail.removeAll(keepingCapacity: true)
      mailTaken = 0
      context.mailboxes[index].drain(into: &mail)
    }
    var items: [LoopMail] = []
    swap(&items, &mail)
    while mailTaken < items.count {
      take(items[mailTaken])
      mailTaken += 1
      if isOver(.mail) { break }
    }
    if mailTaken == items.count {
      items.removeAll(keepingCapacity: true)
      mailTaken = 0
    }
    swap(&items, &mail)
  }

  private func isMail(_ event: Event) -> Bool { event.datum == Datum.mailbox }

  private mutating func take(_ item: LoopMail) {
    switch item {
    case .engine(let mail): engine.deliver(mail)
    case .arrival(let departure, let parcel):
      if let socket = parcel.take() { arrive(departure, socket) }
    case .certificates(let certificates): tlsContext = certificates
    case .step(let job):
      pulse.note(.task)
      // SAFETY: a job is enqueued once and run here once, and the executor lives as long as the
      // process.
      unsafe job.runSynchronously(on: context.executors[index].asUnownedTaskExecutor())
      pulse.note(.mail)
    case .query(let query, let continuation): store.ask(query, continuation, now: now)
    case .append(var item, let continuation):
      item.record.origin.loop = UInt16(index)
      item.record.origin.slot = appends.add(continuation)
      engine.append(item)
    case .response(let socket, let response): respond(socket, response)
    case .changed(let session): peers.noteChange(session, &engine)
    case .happened(let news): announce(news)
    case .queueMoved(let workspace): peers.noteQueueMoved(in: workspace, engine)
    case .catchUp: peers.requestScan(now: now)
    case .revocation(let item): revocations.take(item, now: now)
    case .news(let news): pass(news)
    case .listeners(let workspaces): engine.listeners = workspaces
    case .origins(let new): origins = new
    case .drain(let milliseconds): beginDrain(milliseconds)
    case .stop: drain.isOver = true
    }
  }

  /// The loop has ended: what was posted too late is taken, so that nobody waits for ever.
  mutating func endMail() {
    let left = Array(mail[mailTaken...])
    mail = []
    mailTaken = 0
    context.mailboxes[index].drain(into: &mail)
    for item in left + mail {
      switch item {
      case .query(_, let continuation): continuation.resume(returning: PendingQueries.stopped)
      case .append(_, let continuation): _ = appends.add(continuation)
      case .revocation(let item): revocations.take(item, now: now)
      default: continue
      }
    }
    mail = []
    revocations.end()
    store.end()
    appends.end()
  }

  mutating func postMail() {
    for loop in 0..<context.loopCount where loop != index {
      let items = engine.effects.takeMail(for: loop)
      if !items.isEmpty { context.mailboxes[loop].post(items) }
    }
  }

  mutating func passNews() {
    for item in engine.effects.takeNews() { pass(item) }
  }

  mutating func answerRequests() {
    for outcome in engine.effects.takeRequestOutcomes() {
      appends.take(outcome.origin.slot)?.resume(returning: outcome)
    }
  }

  // MARK: Connections on the move

  /// A visitor's connection goes to the loop of its session, once, after its hello.
  mutating func moveDepartures() {
    for (id, loop) in engine.effects.takeDepartures() {
      guard let socket = sockets.socket(ofConnection: id.index), sockets.isAlive(socket),
        let departure = engine.connections.depart(id)
      else { continue }
      try? epoll.remove(sockets[socket].descriptor)
      sockets[socket].tls?.forget(tlsWorkspace)
      let parcel = SocketParcel(sockets.remove(socket))
      context.mailboxes[loop].post(.arrival(departure, parcel))
    }
  }

  private mutating func arrive(_ departure: Departure, _ socket: consuming ClientSocket) {
    socket.interest = .read
    guard let id = register(socket) else { return }
    guard let connection = engine.adopt(departure) else {
      remove(id)
      return
    }
    sockets.bind(id, toConnection: connection.index)
    sockets[id.index].phase = .webSocket(connection.index)
    revocations.add(
      RevocationChecks.TokenCheck(
        socket: id, connection: connection,
        subject: .visitor(departure.member.person.id, workspace: departure.member.workspace),
        step: .arrival))
  }
}
