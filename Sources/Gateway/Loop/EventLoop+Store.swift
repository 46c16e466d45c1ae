import Chat
import Directory
import Engine
import Kernel
import Logging
import Postgres
import Primitives

/// Gives answers of PostgreSQL and changes of other gateways to the component of the loop that
/// handles them.
extension EventLoop {
  mutating func take(_ answer: StoreAnswer) {
    switch answer {
    case .handled: break
    case .origins(let list): if let list { share(list.origins, list.hasOpenWorkspace) }
    case .presence(let workspaces):
      periodic.notePresenceStored()
      for workspace in workspaces ?? [] {
        pass(WorkspaceNews(workspace: workspace, kind: .operators))
      }
    case .absences(let away):
      periodic.noteAbsencesRead()
      if let away { OperatorAbsence.show(away, in: &engine) }
    case .tokenChecks(let shutOut):
      revocations.finishTokenChecks(shutOut, &engine, sockets, now: turn.now)
      revocations.enqueueChecks(engine, &store, now: turn.now)
    case .recheck(let count, let shutOut):
      revocations.finishRecheck(of: count, shutOut, &engine, sockets, now: turn.now)
      revocations.enqueueChecks(engine, &store, now: turn.now)
    case .revocations(let found):
      if let mail = revocations.feed.finish(found, &store, now: turn.now) {
        for mailbox in context.mailboxes { mailbox.post(.revocation(mail)) }
      }
    case .notified(let isDone): peers.noteNotified(isDone, now: turn.now)
    case .catchUp(let behind): peers.finishScan(behind, &engine)
    }
  }

  /// The first loop reads the origins of all workspaces for all loops.
  private mutating func share(_ list: [String], _ hasOpenWorkspace: Bool) {
    if list.count >= Origins.listedMax {
      logger.error("more than \(Origins.listedMax) allowed origins: some are not admitted")
    }
    var origins = http.origins
    origins.load(list, hasOpenWorkspace: hasOpenWorkspace)
    http.useLists(of: origins)
    for other in 0..<context.loopCount where other != index {
      context.mailboxes[other].post(.origins(origins))
    }
  }

  // MARK: Other gateways

  /// The first loop receives the other gateways' notifications for all; each loop sends its own.
  mutating func exchangeWithPeers() {
    pulse.note(.peers)
    if index == 0 { takePeerChanges() }
    peers.announce(&engine, &store, now: turn.now)
  }

  private mutating func takePeerChanges() {
    repeat {
      guard let changes = peers.nextChanges(&store) else { return }
      for change in changes {
        switch change {
        case .hello: context.peers.noteOne()
        case .everything: for mailbox in context.mailboxes { mailbox.post(.catchUp) }
        case .revocation: revocations.feed.announce(&store, now: turn.now)
        case .session(let change): engine.changed(change.session, of: change.workspace)
        case .signals(let sealed, let gateway):
          for signal in context.peers.seal.signals(in: sealed, from: gateway) {
            signal.deliver(to: &engine, from: gateway)
          }
        case .connections(let sealed, let gateway):
          context.connections.receive(sealed, from: gateway, on: context.executors[index])
        case .queue(let workspace): pass(WorkspaceNews(workspace: workspace, kind: .queueMoved))
        }
      }
    } while !turn.isOver(.store)
  }
}
