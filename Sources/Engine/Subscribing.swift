public import Chat
public import Primitives
import Wire

/// Subscriptions, and the sessions they keep warm.
extension Engine {
  mutating func subscribe(_ slot: Int, _ command: Command, _ text: RawSpan) {
    guard let session = command.session else {
      refuse(
        slot, command.ref, .badFrame, sentence: "The command needs a session.", field: "session")
      return
    }
    var epoch: [UInt8] = []
    if let token = command.epoch { epoch.append(text.extracting(token.range)) }
    subscribe(
      slot,
      SubscribeRequest(
        ref: command.ref, session: session, after: command.after, tail: command.tail, epoch: epoch))
  }

  mutating func subscribe(_ slot: Int, _ request: SubscribeRequest) {
    guard let member = connections[slot].member else { return }
    // A visitor learns nothing about a session that its token does not name, not even whether it
    // exists.
    guard member.mayName(request.session) else {
      refuse(slot, request.ref, .noSuchSession)
      return
    }
    let isKnown =
      sessionIndex[request.session].flatMap { subscription(slot, of: $0) } != nil
    guard isKnown || connections[slot].subscriptions.count < Limits.subscriptions else {
      refuse(slot, request.ref, .rateLimited, sentence: "Too many subscriptions on one connection.")
      return
    }
    guard let index = warmAnew(request.session, of: member.workspace) else {
      refuse(slot, request.ref, .unavailable, retryAfter: 1000)
      return
    }
    if sessions[index].phase == .ready {
      finishSubscribe(slot, index, request)
    } else if sessions[index].waiting.count < Limits.waitingSubscribes {
      sessions[index].waiting.append(
        WaitingSubscribe(connection: connections.id(at: slot), request: request))
    } else {
      refuse(slot, request.ref, .unavailable, retryAfter: 1000)
    }
  }

  /// A command behind a subscribe that waits for its session to load waits with it, so that a
  /// client may send both at once.
  mutating func hold(
    _ slot: Int, _ session: Identifier, _ ref: Reference, _ command: RawSpan
  ) -> Bool {
    guard let index = sessionIndex[session], sessions[index].phase == .loading else {
      return false
    }
    let id = connections.id(at: slot)
    guard let position = sessions[index].waiting.lastIndex(where: { $0.connection == id }) else {
      return false
    }
    if sessions[index].waiting[position].held.count < Limits.inFlight {
      var copy: [UInt8] = []
      copy.append(command)
      sessions[index].waiting[position].held.append(copy)
    } else {
      refuse(slot, ref, .rateLimited, retryAfter: 100)
    }
    return true
  }

  private mutating func performHeld(_ item: WaitingSubscribe) {
    for command in item.held where connections.contains(item.connection) {
      command.withRawSpan { process(Int(item.connection.index), $0) }
    }
  }

  /// The workspace of a session as far as it is known: the key by which the store finds its rows.
  public func workspace(of id: Identifier) -> Identifier? {
    guard let index = sessionIndex[id] else { return nil }
    return sessions[index].phase == .ready
      ? sessions[index].snapshot.workspace : sessions[index].workspaceHint
  }

  /// - Parameter isFresh: the database has just been asked, after the client had.
  private mutating func finishSubscribe(
    _ slot: Int, _ index: Int, _ request: SubscribeRequest, isFresh: Bool = false
  ) {
    guard isOpen(slot) else { return }
    let isOperator = connections[slot].isOperator
    let snapshot = sessions[index].snapshot
    guard connections[slot].member?.mayUse(snapshot) == true else {
      refuse(slot, request.ref, .noSuchSession)
      return
    }
    if let visitor = snapshot.visitor, visitor == connections[slot].member?.person {
      // One copy of the name for both.
      connections[slot].member?.person.name = visitor.name
    }
    let head = snapshot.head
    let tail = min(request.tail ?? Int64(Limits.tailDefault), Int64(Limits.pageEntries))
    var from = request.after.map { $0 + 1 } ?? max(1, head - tail + 1)
    let isOtherEpoch = !request.epoch.isEmpty && request.epoch != snapshot.epoch
    if !isOtherEpoch, from > head + 1,
      isBehind(index) || !isFresh && mayBeBehind(index, from)
    {
      refuse(
        slot, request.ref, .unavailable,
        sentence: "This gateway may not know the newest messages yet. Subscribe again.",
        retryAfter: breaker.wait(salt: name(slot), now: now))
      return
    }
    if isOtherEpoch || from > head + 1 {
      // The log went back behind what the client holds: it drops its copy and starts from the tail.
      FrameEncoder.appendFrame(.text, to: &connections[outbox: slot]) {
        EventEncoder.resync(
          ref: .none, session: request.session, epoch: snapshot.epoch, head: head,
          reason: isOtherEpoch ? "epoch" : "ahead", to: &$0)
      }
      from = max(1, head - Int64(Limits.tailDefault) + 1)
    }
    place(slot, index, next: from)
    FrameEncoder.appendFrame(.text, to: &connections[outbox: slot]) {
      EventEncoder.subscribed(
        ref: request.ref, snapshot, from: from, isOperator: isOperator, to: &$0)
    }
    markDirty(slot)
    if !isOperator { visitorBegins(slot, session: index) }
  }

  /// More may be committed than this loop has heard of: the answer to a commit was lost, or the
  /// store cannot be asked. Another loop may have read and shown it meanwhile, so that a client is
  /// ahead of this one without a sign that the log went back.
  private func isBehind(_ index: Int) -> Bool {
    !isStoreReachable || sessions[index].isStale || sessions[index].isReading
  }

  /// A client may know more although nothing says that this loop is behind: it was on another
  /// gateway, or another loop has read what was committed while the answer was on its way here, or
  /// lost, and the batch is tried once more. It is told to come again while the database is asked.
  /// Once for each place in the log: what is not there then has gone back.
  private mutating func mayBeBehind(_ index: Int, _ from: Int64) -> Bool {
    guard from > sessions[index].askedSeq else { return false }
    sessions[index].askedSeq = from
    reread(index)
    return true
  }

  /// Puts the subscription into both lists, or moves the one that is there.
  private mutating func place(_ slot: Int, _ index: Int, next: Int64) {
    if let existing = subscription(slot, of: index) {
      connections[slot].subscriptions[existing].next = next
      connections[slot].subscriptions[existing].isLive = false
      markNews(slot, existing)
      // A page that is under way belongs to the old place; its entries no longer fit and are
      // dropped.
      return
    }
    let subscription = Subscription(
      session: index, position: sessions[index].subscribers.count, next: next)
    sessions[index].subscribers.append(
      Subscriber(connection: slot, subscription: connections[slot].subscriptions.count))
    connections[slot].subscriptions.append(subscription)
    markNews(slot, connections[slot].subscriptions.count - 1)
    followersChanged(index)
  }

  mutating func unsubscribe(_ slot: Int, _ command: Command) {
    guard let id = command.session, let index = sessionIndex[id],
      let subscription = subscription(slot, of: index)
    else {
      refuse(slot, command.ref, .notSubscribed)
      return
    }
    leave(slot, subscription)
    FrameEncoder.appendFrame(.text, to: &connections[outbox: slot]) {
      EventEncoder.ok(ref: command.ref, to: &$0)
    }
    markDirty(slot)
  }

  /// Takes one subscription out of both lists; the last ones move into the gaps.
  mutating func leave(_ slot: Int, _ subscription: Int) {
    let gone = connections[slot].subscriptions[subscription]
    let lastSubscriber = sessions[gone.session].subscribers.removeLast()
    if gone.position < sessions[gone.session].subscribers.count {
      sessions[gone.session].subscribers[gone.position] = lastSubscriber
      connections[lastSubscriber.connection].subscriptions[lastSubscriber.subscription].position =
        gone.position
    }
    // The list of those with news goes by their indices.
    connections[slot].mustPumpAll = true
    let lastSubscription = connections[slot].subscriptions.removeLast()
    if subscription < connections[slot].subscriptions.count {
      connections[slot].subscriptions[subscription] = lastSubscription
      sessions[lastSubscription.session].subscribers[lastSubscription.position].subscription =
        subscription
    }
    sessions[gone.session].idleSince = now
    presenceEnds(slot, gone)
    followersChanged(gone.session)
  }

  mutating func leaveEverything(_ slot: Int) {
    while !connections[slot].subscriptions.isEmpty {
      leave(slot, connections[slot].subscriptions.count - 1)
    }
    stopWatching(slot)
  }

  // MARK: Answers of the database and of the owner

  /// The answer to `ReadRequest.session`, and to `Mail.follow`.
  public mutating func sessionLoaded(
    _ id: Identifier, _ result: Result<SessionSnapshot, LoadFault>
  ) {
    guard let index = sessionIndex[id] else { return }
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
    if let index = sessionIndex[id], sessions[index].isStale { reread(index) }
  }

  private mutating func becomeReady(_ index: Int, _ snapshot: SessionSnapshot) {
    sessions[index].phase = .ready
    sessions[index].snapshot = snapshot
    // The same for nearly all sessions of a database: one copy for all.
    if snapshot.epoch == epoch {
      sessions[index].snapshot.epoch = epoch
    } else {
      epoch = snapshot.epoch
    }
    emptyLog(index)
    sessions[index].postedSeq = snapshot.head
    if sessions[index].isInboxPending {
      sessions[index].isInboxPending = false
      touchInbox(index)
    }
    let followers = sessions[index].waitingFollowers
    let waiting = sessions[index].waiting
    sessions[index].endLoading()
    sessions[index].followers |= followers
    forEachLoop(followers) { engine, loop in
      engine.post(
        .snapshot(session: snapshot.id, .success(snapshot), store: engine.store), to: loop)
    }
    for item in waiting where connections.contains(item.connection) {
      finishSubscribe(
        Int(item.connection.index), index, item.request, isFresh: sessions[index].isOwned)
    }
    followersChanged(index)
    for item in waiting { performHeld(item) }
  }

  /// The session was deleted: whoever follows it is told, and it leaves the operators' lists.
  private mutating func dismiss(_ index: Int) {
    touchInbox(index)
    tellSubscribers(index) { EventEncoder.unsubscribed(session: $0.id, .noSuchSession, to: &$1) }
    while let subscriber = sessions[index].subscribers.last {
      leave(subscriber.connection, subscriber.subscription)
    }
    let session = forget(index)
    forEachLoop(session.followers) { engine, loop in
      engine.post(
        .snapshot(session: session.id, .failure(.noSuchSession), store: engine.store), to: loop)
    }
  }

  private mutating func loadFailed(_ index: Int, _ fault: LoadFault) {
    let session = forget(index)
    for item in session.waiting where connections.contains(item.connection) {
      let slot = Int(item.connection.index)
      guard isOpen(slot) else { continue }
      switch fault {
      case .noSuchSession: refuse(slot, item.request.ref, .noSuchSession)
      case .unavailable:
        refuse(
          slot, item.request.ref, .unavailable,
          retryAfter: breaker.wait(salt: name(slot), now: now))
      }
    }
    for item in session.waiting { performHeld(item) }
    forEachLoop(session.waitingFollowers) { engine, loop in
      engine.post(.snapshot(session: session.id, .failure(fault), store: engine.store), to: loop)
    }
  }

  /// Reads the state again, once at a time.
  mutating func reread(_ index: Int) {
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
    reads.append(.session(sessions[index].id))
  }

  /// Reads the state of every session in memory again: something was changed behind our back.
  public mutating func rereadAll() {
    for index in Array(sessionIndex.values) where sessions[index].isOwned {
      if sessions[index].phase == .ready { reread(index) }
    }
  }

  /// Reads the entries behind the head, once at a time.
  mutating func readNews(_ index: Int) {
    guard !sessions[index].isReading else {
      sessions[index].isStale = true
      return
    }
    sessions[index].isStale = false
    sessions[index].isReading = true
    reads.append(
      .entries(
        session: sessions[index].id, after: sessions[index].head, limit: Limits.backlogPage,
        .catchUp))
  }

  /// A state that was read again: what changed is told, and what is missing is read.
  private mutating func refresh(_ index: Int, _ snapshot: SessionSnapshot) {
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
  mutating func startOver(_ index: Int, _ snapshot: SessionSnapshot) {
    sessions[index].snapshot = snapshot
    // Positions in the old marks, which speak of a log that is gone.
    sessions[index].unstoredMarks.removeAll()
    emptyLog(index)
    sessions[index].postedSeq = snapshot.head
    for subscriber in sessions[index].subscribers {
      FrameEncoder.appendFrame(.text, to: &connections[outbox: subscriber.connection]) {
        EventEncoder.resync(
          ref: .none, session: snapshot.id, epoch: snapshot.epoch, head: snapshot.head,
          reason: "epoch", to: &$0)
      }
      markDirty(subscriber.connection)
    }
    while let subscriber = sessions[index].subscribers.last {
      leave(subscriber.connection, subscriber.subscription)
    }
    forEachLoop(sessions[index].followers) { engine, loop in
      engine.post(.state(snapshot), to: loop)
    }
    touchInbox(index)
  }

  /// Tells subscribers and followers the state.
  mutating func announceState(_ index: Int) {
    tellSubscribers(index) { EventEncoder.session($0, to: &$1) }
    let snapshot = sessions[index].snapshot
    forEachLoop(sessions[index].followers) { engine, loop in
      engine.post(.state(snapshot), to: loop)
    }
  }

  /// Encodes an event once and appends it for every subscriber that `includes` admits.
  mutating func tellSubscribers(
    _ index: Int, includes: (borrowing Engine, Int) -> Bool = { _, _ in true },
    _ encode: (SessionSnapshot, inout [UInt8]) -> Void
  ) {
    guard !sessions[index].subscribers.isEmpty else { return }
    var frame = SharedFrame()
    FrameEncoder.appendFrame(.text, to: &frame.plain) { encode(sessions[index].snapshot, &$0) }
    for position in 0..<sessions[index].subscribers.count {
      let slot = sessions[index].subscribers[position].connection
      guard includes(self, slot) else { continue }
      append(&frame, slot)
      markDirty(slot)
    }
  }

  mutating func forEachLoop(_ loops: UInt64, _ body: (inout Engine, Int) -> Void) {
    var rest = loops
    while rest != 0 {
      let loop = rest.trailingZeroBitCount
      rest &= rest - 1
      body(&self, loop)
    }
  }

  func name(_ slot: Int) -> UInt64 { connections[slot].name.low }
}
