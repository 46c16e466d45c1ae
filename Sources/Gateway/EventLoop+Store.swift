import Chat
import Engine
import Kernel
import Logging
import Postgres
import Primitives

/// What PostgreSQL and the other gateways bring, and which component of the loop it is for.
extension EventLoop {
  mutating func driveStore() {
    store.write(&engine, epoll, &metrics, now: now)
    let isDue = store.receive(loop: index, now: now)
    takeAnswers()
    if store.sendQueries(&engine, isDue: isDue, now: now) {
      takeAnswers()
      store.watchReader(epoll)
    }
    // What the answers brought may be committed in this same turn.
    if store.canWrite && engine.hasBatch { store.write(&engine, epoll, &metrics, now: now) }
    if store.noteHealth(&engine, now: now) { postMetrics() }
  }

  private mutating func takeAnswers() {
    while let answer = store.takeAnswer(&engine, &metrics, now: now) {
      take(answer)
      if isOver(.store) { return }
    }
  }

  private mutating func take(_ answer: StoreAnswer) {
    switch answer {
    case .handled: break
    case .origins(let list): if let list { share(list.origins, list.hasOpenWorkspace) }
    case .presence(let workspaces):
      periodic.notePresenceStored()
      for workspace in workspaces ?? [] {
        pass(WorkspaceNews(workspace: workspace, kind: .operators))
      }
    case .tokenChecks(let shutOut):
      revocations.finishTokenChecks(shutOut, &engine, sockets, now: now)
      revocations.ask(engine, &store, now: now)
    case .recheck(let count, let shutOut):
      revocations.finishRecheck(of: count, shutOut, &engine, sockets, now: now)
      revocations.ask(engine, &store, now: now)
    case .revocations(let found):
      if let mail = revocationFeed.finish(found, &store, now: now) {
        for mailbox in context.mailboxes { mailbox.post(.revocation(mail)) }
      }
    case .notified(let isDone): peers.noteNotified(isDone, now: now)
    case .catchUp(let behind): peers.finishScan(behind, &engine)
    }
  }

  /// One loop reads the origins of all workspaces for all loops.
  private mutating func share(_ list: [String], _ hasOpenWorkspace: Bool) {
    if list.count >= Origins.listedMax {
      logger.error("more than \(Origins.listedMax) allowed origins: some are not admitted")
    }
    origins.load(list, hasOpenWorkspace: hasOpenWorkspace)
    for other in 0..<context.loopCount where other != index {
      context.mailboxes[other].post(.origins(origins))
    }
  }

  // MARK: Other gateways

  mutating func takePeerChanges() {
    for change in peers.takeChanges(&store) {
      switch change {
      case .hello: context.peers.note(true)
      case .everything: for mailbox in context.mailboxes { mailbox.post(.catchUp) }
      case .revocation: revocationFeed.announce(&store, now: now)
      case .session(let change): engine.changed(change.session, of: change.workspace)
      case .queue(let workspace): pass(WorkspaceNews(workspace: workspace, kind: .line))
      }
    }
  }

  // MARK: News

  /// To the background jobs of this gateway.
  func pass(_ news: WorkspaceNews) {
    context.jobs.workspaceNews(news, loop: index, now: now)
  }

  /// From a REST handler: for the background jobs, and for the other gateways.
  mutating func announce(_ news: WorkspaceNews) {
    pass(news)
    switch news.kind {
    case .waits, .taken, .closed: peers.noteQueueMoved(in: news.workspace, engine)
    case .wrote, .operators, .audience, .line, .sweep: break
    }
  }
}
