public import Chat
public import Primitives
import Wire

/// What the database or a session's owner says about a session: loaded, changed, gone.
extension Engine {
  /// The answer to `ReadRequest.session`, and to `Mail.follow`.
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
        // The state on the screen may be old: the sweep reads it again once the store answers. Not
        // at once: a store that refuses at once would make this a loop.
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
    sessions[index].followers |= followers
    effects.post(
      .snapshot(session: snapshot.id, .success(snapshot), store: store), toEach: followers)
    for item in waiting where connections.contains(item.connection) {
      finishSubscribe(
        item.connection.index, index, item.request, isFresh: sessions[index].isOwned)
    }
    sessions.followersChanged(index)
    for item in waiting { performHeld(item) }
  }

  /// The session was deleted: whoever follows it is told, and it leaves the operators' lists.
  private mutating func dismiss(_ index: SessionIndex) {
    inbox.touch(index, &sessions, now: now)
    fanOut.sendToSubscribers(index, sessions, &connections) {
      EventEncoder.unsubscribed(session: $0.id, .noSuchSession, to: &$1)
    }
    while let subscriber = sessions[index].subscribers.last {
      leave(subscriber.connection, subscriber.subscription)
    }
    let session = forget(index)
    effects.post(
      .snapshot(session: session.id, .failure(.noSuchSession), store: store),
      toEach: session.followers)
  }

  private mutating func loadFailed(_ index: SessionIndex, _ fault: LoadFault) {
    let session = forget(index)
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

  /// A state that was read again: what changed is told, and what is missing is read.
  private mutating func refresh(_ index: SessionIndex, _ snapshot: SessionSnapshot) {
    let old = sessions[index].snapshot
    // A lower head proves nothing: the reader may have looked before the writer's last commit. A
    // database that went back is noticed by `storeReplaced`.
    if snapshot.epoch != old.epoch {
      startOver(index, snapshot)
      return
    }
    sessions[index].snapshot.status = snapshot.status
    sessions[index].snapshot.assignee = snapshot.assignee
    sessions[index].snapshot.title = snapshot.title
    if snapshot.status != old.status || snapshot.assignee != old.assignee
      || snapshot.title != old.title
    {
      announceState(index)
      if connections.hasVisitor(index, sessions) {
        queuePositions.add(index, &sessions, &effects)
      }
    }
    inbox.touch(index, &sessions, now: now)
    if snapshot.head > old.head { sessions.readNews(index, &effects) }
    adoptMarks(of: snapshot, index)
  }

  /// The log went back (restore, fail-over to a stale standby): everybody starts again from the
  /// tail.
  mutating func startOver(_ index: SessionIndex, _ snapshot: SessionSnapshot) {
    sessions[index].snapshot = snapshot
    // Positions in the old marks, which speak of a log that is gone.
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

  /// Tells subscribers and followers the state.
  mutating func announceState(_ index: SessionIndex) {
    fanOut.sendToSubscribers(index, sessions, &connections) { EventEncoder.session($0, to: &$1) }
    let snapshot = sessions[index].snapshot
    effects.post(
      .state(snapshot), toEach: sessions[index].followers)
  }
}
