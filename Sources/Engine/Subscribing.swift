public import Chat
public import Primitives
import Wire

/// Subscriptions, and the sessions they keep warm.
extension Engine {
  mutating func subscribe(_ connection: ConnectionIndex, _ command: Command, _ text: RawSpan) {
    guard let session = command.session else {
      connections.refuse(
        connection, command.ref, .badFrame, sentence: "The command needs a session.",
        field: "session")
      return
    }
    var epoch: [UInt8] = []
    if let token = command.epoch { epoch.append(text.extracting(token.range)) }
    subscribe(
      connection,
      SubscribeRequest(
        ref: command.ref, session: session, after: command.after, tail: command.tail, epoch: epoch))
  }

  mutating func subscribe(_ connection: ConnectionIndex, _ request: SubscribeRequest) {
    guard let member = connections[connection].member else { return }
    // A visitor learns nothing about a session that its token does not name, not even whether it
    // exists.
    guard member.mayName(request.session) else {
      connections.refuse(connection, request.ref, .noSuchSession)
      return
    }
    let isKnown =
      sessions.index(of: request.session).flatMap { subscription(connection, of: $0) } != nil
    guard isKnown || connections[connection].subscriptions.count < Limits.subscriptions else {
      connections.refuse(
        connection, request.ref, .rateLimited, sentence: "Too many subscriptions on one connection."
      )
      return
    }
    guard let index = loadAnew(request.session, of: member.workspace) else {
      connections.refuse(connection, request.ref, .unavailable, retryAfter: 1000)
      return
    }
    if sessions[index].phase == .ready {
      finishSubscribe(connection, index, request)
    } else if sessions[index].waiting.count < Limits.waitingSubscribes {
      sessions[index].waiting.append(
        WaitingSubscribe(connection: connections.id(at: connection), request: request))
    } else {
      connections.refuse(connection, request.ref, .unavailable, retryAfter: 1000)
    }
  }

  /// A command behind a subscribe that waits for its session to load waits with it, so that a
  /// client may send both at once.
  mutating func hold(
    _ connection: ConnectionIndex, _ session: Identifier, _ ref: Reference, _ command: RawSpan
  ) -> Bool {
    guard let index = sessions.index(of: session), sessions[index].phase == .loading else {
      return false
    }
    let id = connections.id(at: connection)
    guard let position = sessions[index].waiting.lastIndex(where: { $0.connection == id }) else {
      return false
    }
    if sessions[index].waiting[position].held.count < Limits.inFlight {
      var copy: [UInt8] = []
      copy.append(command)
      sessions[index].waiting[position].held.append(copy)
    } else {
      connections.refuse(connection, ref, .rateLimited, retryAfter: 100)
    }
    return true
  }

  private mutating func performHeld(_ item: WaitingSubscribe) {
    for command in item.held where connections.contains(item.connection) {
      command.withRawSpan { process(item.connection.index, $0) }
    }
  }

  /// The workspace of a session as far as it is known: the key by which the store finds its rows.
  public func workspace(of id: Identifier) -> Identifier? {
    guard let index = sessions.index(of: id) else { return nil }
    return sessions[index].phase == .ready
      ? sessions[index].snapshot.workspace : sessions[index].workspaceHint
  }

  /// - Parameter isFresh: the database has just been asked, after the client had.
  private mutating func finishSubscribe(
    _ connection: ConnectionIndex, _ index: SessionIndex, _ request: SubscribeRequest,
    isFresh: Bool = false
  ) {
    guard connections.isOpen(connection) else { return }
    let isOperator = connections[connection].isOperator
    let snapshot = sessions[index].snapshot
    guard connections[connection].member?.mayUse(snapshot) == true else {
      connections.refuse(connection, request.ref, .noSuchSession)
      return
    }
    if let visitor = snapshot.visitor, visitor == connections[connection].member?.person {
      // One copy of the name for both.
      connections[connection].member?.person.name = visitor.name
    }
    let head = snapshot.head
    let tail = min(request.tail ?? Int64(Limits.tailDefault), Int64(Limits.pageEntries))
    var from = request.after.map { $0 + 1 } ?? max(1, head - tail + 1)
    let isOtherEpoch = !request.epoch.isEmpty && request.epoch != snapshot.epoch
    if !isOtherEpoch, from > head + 1,
      isBehind(index) || !isFresh && mayBeBehind(index, from)
    {
      connections.refuse(
        connection, request.ref, .unavailable,
        sentence: "This gateway may not know the newest messages yet. Subscribe again.",
        retryAfter: breaker.wait(salt: connections[connection].salt, now: now))
      return
    }
    if isOtherEpoch || from > head + 1 {
      // The log went back behind what the client holds: it drops its copy and starts from the tail.
      FrameEncoder.appendFrame(.text, to: &connections[outbox: connection]) {
        EventEncoder.resync(
          ref: .none, session: request.session, epoch: snapshot.epoch, head: head,
          reason: isOtherEpoch ? "epoch" : "ahead", to: &$0)
      }
      from = max(1, head - Int64(Limits.tailDefault) + 1)
    }
    place(connection, index, next: from)
    FrameEncoder.appendFrame(.text, to: &connections[outbox: connection]) {
      EventEncoder.subscribed(
        ref: request.ref, snapshot, from: from, isOperator: isOperator, to: &$0)
    }
    connections.markDirty(connection)
    if !isOperator { visitorBegins(connection, session: index) }
  }

  /// More may be committed than this loop has heard of: the answer to a commit was lost, or the
  /// store cannot be asked. Another loop may have read and shown it meanwhile, so that a client is
  /// ahead of this one without a sign that the log went back.
  private func isBehind(_ index: SessionIndex) -> Bool {
    !isStoreReachable || sessions[index].isStale || sessions[index].isReading
  }

  /// A client may know more although nothing says that this loop is behind: it was on another
  /// gateway, or another loop has read what was committed while the answer was on its way here, or
  /// lost, and the batch is tried once more. It is told to come again while the database is asked.
  /// Once for each place in the log: what is not there then has gone back.
  private mutating func mayBeBehind(_ index: SessionIndex, _ from: Int64) -> Bool {
    guard from > sessions[index].askedSeq else { return false }
    sessions[index].askedSeq = from
    reread(index)
    return true
  }

  /// Puts the subscription into both lists, or moves the one that is there.
  private mutating func place(_ connection: ConnectionIndex, _ index: SessionIndex, next: Int64) {
    if let existing = subscription(connection, of: index) {
      connections[connection].subscriptions[existing].next = next
      connections[connection].subscriptions[existing].isLive = false
      markNews(connection, existing)
      // A page that is under way belongs to the old place; its entries no longer fit and are
      // dropped.
      return
    }
    let subscription = Subscription(
      session: index, position: sessions[index].subscribers.count, next: next)
    sessions[index].subscribers.append(
      Subscriber(connection: connection, subscription: connections[connection].subscriptions.count))
    connections[connection].subscriptions.append(subscription)
    markNews(connection, connections[connection].subscriptions.count - 1)
    sessions.followersChanged(index)
  }

  mutating func unsubscribe(_ connection: ConnectionIndex, _ command: Command) {
    guard let id = command.session, let index = sessions.index(of: id),
      let subscription = subscription(connection, of: index)
    else {
      connections.refuse(connection, command.ref, .notSubscribed)
      return
    }
    leave(connection, subscription)
    FrameEncoder.appendFrame(.text, to: &connections[outbox: connection]) {
      EventEncoder.ok(ref: command.ref, to: &$0)
    }
    connections.markDirty(connection)
  }

  /// Takes one subscription out of both lists; the last ones move into the gaps.
  mutating func leave(_ connection: ConnectionIndex, _ subscription: Int) {
    let gone = connections[connection].subscriptions[subscription]
    let lastSubscriber = sessions[gone.session].subscribers.removeLast()
    if gone.position < sessions[gone.session].subscribers.count {
      sessions[gone.session].subscribers[gone.position] = lastSubscriber
      connections[lastSubscriber.connection].subscriptions[lastSubscriber.subscription].position =
        gone.position
    }
    // The list of those with news goes by their indices.
    connections[connection].mustPumpAll = true
    let lastSubscription = connections[connection].subscriptions.removeLast()
    if subscription < connections[connection].subscriptions.count {
      connections[connection].subscriptions[subscription] = lastSubscription
      sessions[lastSubscription.session].subscribers[lastSubscription.position].subscription =
        subscription
    }
    sessions[gone.session].idleSince = now
    presenceEnds(connection, gone)
    sessions.followersChanged(gone.session)
  }

  mutating func leaveEverything(_ connection: ConnectionIndex) {
    while !connections[connection].subscriptions.isEmpty {
      leave(connection, connections[connection].subscriptions.count - 1)
    }
    stopWatching(connection)
  }

  // MARK: Answers of the database and of the owner

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
    if let index = sessions.index(of: id), sessions[index].isStale { reread(index) }
  }

  private mutating func becomeReady(_ index: SessionIndex, _ snapshot: SessionSnapshot) {
    sessions.becomeReady(index, snapshot)
    if sessions[index].isInboxPending {
      sessions[index].isInboxPending = false
      touchInbox(index)
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
    touchInbox(index)
    tellSubscribers(index) { EventEncoder.unsubscribed(session: $0.id, .noSuchSession, to: &$1) }
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
          retryAfter: breaker.wait(salt: connections[connection].salt, now: now))
      }
    }
    for item in session.waiting { performHeld(item) }
    effects.post(
      .snapshot(session: session.id, .failure(fault), store: store),
      toEach: session.waitingFollowers)
  }

  /// Reads the state again, once at a time.
  mutating func reread(_ index: SessionIndex) {
    guard sessions[index].isOwned else {
      readNews(index)
      return
    }
    guard !sessions[index].isReading else {
      sessions[index].isStale = true
      return
    }
    sessions[index].isStale = false
    sessions[index].isReading = true
    effects.read(.session(sessions[index].id))
  }

  /// Reads the state of every session in memory again: something was changed behind our back.
  public mutating func rereadAll() {
    for index in sessions.indices
    where sessions.isOccupied(index) && sessions[index].isOwned && sessions[index].phase == .ready {
      reread(index)
    }
  }

  /// Reads the entries behind the head, once at a time.
  mutating func readNews(_ index: SessionIndex) {
    guard !sessions[index].isReading else {
      sessions[index].isStale = true
      return
    }
    sessions[index].isStale = false
    sessions[index].isReading = true
    effects.read(
      .entries(
        session: sessions[index].id, after: sessions[index].head, limit: Limits.backlogPage,
        .catchUp))
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
      if hasVisitor(index) { joinAudience(index) }
    }
    touchInbox(index)
    if snapshot.head > old.head { readNews(index) }
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
    touchInbox(index)
  }

  /// Tells subscribers and followers the state.
  mutating func announceState(_ index: SessionIndex) {
    tellSubscribers(index) { EventEncoder.session($0, to: &$1) }
    let snapshot = sessions[index].snapshot
    effects.post(
      .state(snapshot), toEach: sessions[index].followers)
  }

  /// Encodes an event once and appends it for every subscriber that `includes` admits.
  mutating func tellSubscribers(
    _ index: SessionIndex, includes: (borrowing Engine, ConnectionIndex) -> Bool = { _, _ in true },
    _ encode: (SessionSnapshot, inout [UInt8]) -> Void
  ) {
    guard !sessions[index].subscribers.isEmpty else { return }
    var frame = SharedFrame()
    FrameEncoder.appendFrame(.text, to: &frame.plain) { encode(sessions[index].snapshot, &$0) }
    for position in 0..<sessions[index].subscribers.count {
      let connection = sessions[index].subscribers[position].connection
      guard includes(self, connection) else { continue }
      append(&frame, connection)
      connections.markDirty(connection)
    }
  }
}
