import Chat
import JSON
import Primitives
import Wire

/// Subscriptions: a session is loaded for the first one, and stays in memory while it has any.
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
      sessions.index(of: request.session).flatMap {
        connections.subscription(connection, of: $0, sessions)
      } != nil
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

  /// - Parameter isFresh: the database has just been asked, after the client had.
  mutating func finishSubscribe(
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
      isBehind(index) || !isFresh && sessions.mayBeBehind(index, from, &effects)
    {
      connections.refuse(
        connection, request.ref, .unavailable,
        sentence: "This gateway may not know the newest messages yet. Subscribe again.",
        retryAfter: retryAfter(connection))
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
    if connections.subscribe(connection, to: index, next: from, &sessions) {
      sessions.followersChanged(index)
    }
    connections.send(connection) {
      EventEncoder.subscribed(
        ref: request.ref, snapshot, from: from, isOperator: isOperator, to: &$0)
    }
    guard !isOperator else { return }
    presence.announce(
      connection, session: index, isOnline: true, sessions, &connections, &effects)
    queuePositions.add(index, &sessions, &effects)
  }

  /// More may be committed than this loop knows: the answer to a commit was lost, or the
  /// store cannot be asked. Another loop may have read and shown it meanwhile, so that a client is
  /// ahead of this one without a sign that the log went back.
  private func isBehind(_ index: SessionIndex) -> Bool {
    !isStoreReachable || sessions[index].isStale || sessions[index].isReading
  }

  mutating func unsubscribe(_ connection: ConnectionIndex, _ command: Command) {
    guard let id = command.session, let index = sessions.index(of: id),
      let subscription = connections.subscription(connection, of: index, sessions)
    else {
      connections.refuse(connection, command.ref, .notSubscribed)
      return
    }
    leave(connection, subscription)
    connections.confirm(connection, command.ref)
  }

  /// Ends one subscription.
  mutating func leave(_ connection: ConnectionIndex, _ subscription: Int) {
    let gone = connections.unsubscribe(connection, subscription, &sessions)
    sessions[gone.session].idleSince = now
    presence.end(connection, gone, sessions, &connections, &effects)
    sessions.followersChanged(gone.session)
  }

  /// When a client may try again what could not be done now, in milliseconds.
  func retryAfter(_ connection: ConnectionIndex) -> Int64 {
    sending.retryAfter(salt: connections[connection].salt, now: now)
  }
}
