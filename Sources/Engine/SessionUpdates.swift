public import Chat
public import Primitives
import Wire

/// Changes of a session's state: it has loaded, changed or been deleted.
extension Engine {
  /// The response to `ReadRequest.session` or `Mail.follow`.
  public mutating func sessionLoaded(
    _ id: Identifier, _ result: Result<SessionSnapshot, LoadFault>
  ) {
    guard let index = sessions.index(of: id) else { return }
    sessions[index].isReading = false
    switch result {
    case .success(let snapshot):
      if sessions[index].phase == .loading {
        becomeReady(index, snapshot)
      } else {
        refresh(index, snapshot)
      }
    case .failure(let fault):
      if sessions[index].phase == .loading {
        loadFailed(index, fault)
      } else if fault == .unavailable {
        // The state may be outdated. The sweep reads it again, since a retry at once could become a
        // busy loop.
        sessions[index].isStale = true
        return
      } else {
        dismiss(index)
      }
    }
    if let index = sessions.index(of: id), sessions[index].isStale {
      sessions.reread(index, &effects)
    }
  }

  /// Performs the commands that waited with a `subscribe`.
  private mutating func performHeld(_ item: WaitingSubscribe) {
    for command in item.held where connections.contains(item.connection) {
      command.withRawSpan { process(item.connection.index, $0) }
    }
  }

  private mutating func becomeReady(_ index: SessionIndex, _ snapshot: SessionSnapshot) {
    sessions.becomeReady(index, snapshot)
    if sessions[index].isInboxPending {
      sessions[index].isInboxPending = false
      inbox.touch(index, &sessions, now: now)
    }
    let followers = sessions[index].waitingFollowers
    let waiting = sessions[index].waiting
    sessions[index].endLoading()
    sessions[index].followers.formUnion(followers)
    effects.post(
      .snapshot(session: snapshot.id, .success(snapshot), store: store), toEach: followers)
    for item in waiting where connections.contains(item.connection) {
      finishSubscribe(
        item.connection.index, index, item.request, isFresh: sessions[index].isOwned)
    }
    sessions.followersChanged(index)
    for item in waiting { performHeld(item) }
  }

  /// The session was deleted: ends its subscriptions and removes it from the inbox.
  private mutating func dismiss(_ index: SessionIndex) {
    inbox.touch(index, &sessions, now: now)
    fanOut.sendToSubscribers(index, sessions, &connections) {
      EventEncoder.unsubscribed(session: $0.id, .noSuchSession, to: &$1)
    }
    while let subscriber = sessions[index].subscribers.last {
      leave(subscriber.connection, subscriber.subscription)
    }
    let session = sessions.remove(index, &presence)
    effects.post(
      .snapshot(session: session.id, .failure(.noSuchSession), store: store),
      toEach: session.followers)
  }

  /// Refuses everything that waits for the session.
  private mutating func loadFailed(_ index: SessionIndex, _ fault: LoadFault) {
    let session = sessions.remove(index, &presence)
    // It was deleted, and lists may show it.
    if fault == .noSuchSession, session.isInboxPending, let workspace = session.workspaceHint {
      inbox.touch(session.id, workspace, now: now)
    }
    for item in session.waiting where connections.contains(item.connection) {
      let connection = item.connection.index
      guard connections.isOpen(connection) else { continue }
      switch fault {
      case .noSuchSession: connections.refuse(connection, item.request.ref, .noSuchSession)
      case .unavailable:
        connections.refuse(
          connection, item.request.ref, .unavailable,
          retryAfter: retryAfter(connection))
      }
    }
    for item in session.waiting { performHeld(item) }
    effects.post(
      .snapshot(session: session.id, .failure(fault), store: store),
      toEach: session.waitingFollowers)
  }

  /// A session was read again: announces a changed state, and requests missing entries.
  private mutating func refresh(_ index: SessionIndex, _ snapshot: SessionSnapshot) {
    let old = sessions[index].snapshot
    // A lower head means nothing, since the read may be older than the writer's last commit.
    // `storeReplaced` handles a database that has gone back.
    if snapshot.epoch != old.epoch {
      startOver(index, snapshot)
      return
    }
    sessions[index].adoptState(of: snapshot)
    if snapshot.status != old.status || snapshot.assignee != old.assignee
      || snapshot.title != old.title
    {
      fanOut.announceState(index, sessions, &connections, &effects)
      if Presence.hasVisitor(index, sessions, connections) {
        queuePositions.add(index, &sessions, &effects)
      }
    }
    inbox.touch(index, &sessions, now: now)
    if snapshot.head > old.head { sessions.catchUp(index, &effects) }
    fanOut.adoptMarks(of: snapshot, index, &sessions, &connections, &effects)
  }

  /// The log has gone back (restore, fail-over to a stale standby): clients start again from the
  /// tail.
  mutating func startOver(_ index: SessionIndex, _ snapshot: SessionSnapshot) {
    sessions[index].snapshot = snapshot
    // They are indices of the old log's marks.
    sessions[index].unstoredMarks.removeAll()
    sessions.emptyLog(index)
    sessions[index].postedSeq = snapshot.head
    for subscriber in sessions[index].subscribers {
      FrameEncoder.appendFrame(.text, to: &connections[outbox: subscriber.connection]) {
        EventEncoder.resync(
          ref: .none, session: snapshot.id, epoch: snapshot.epoch, head: snapshot.head,
          reason: "epoch", to: &$0)
      }
      connections.markDirty(subscriber.connection)
    }
    while let subscriber = sessions[index].subscribers.last {
      leave(subscriber.connection, subscriber.subscription)
    }
    effects.post(
      .state(snapshot), toEach: sessions[index].followers)
    inbox.touch(index, &sessions, now: now)
  }
}
