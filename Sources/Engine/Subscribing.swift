import Chat
import JSON
import Primitives
import Wire

/// Subscriptions. The first one loads the session, which stays in memory while it has any.
extension Engine {
  /// The command `subscribe`.
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
    // A visitor cannot find out whether a session exists that the token does not name.
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
    guard
      let index = sessions.loadCurrent(
        request.session, of: member.workspace, &presence, &effects, now: now)
    else {
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

  /// Answers a `subscribe` whose session has loaded.
  /// - Parameter isFresh: the session was read from the database after the command arrived.
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
      // Both share one copy of the name.
      connections[connection].member?.person.name = visitor.name
    }
    let head = snapshot.head
    let tail = min(request.tail ?? Int64(Limits.tailDefault), Int64(Limits.pageEntries))
    var from = request.after.map { $0 + 1 } ?? max(1, head - tail + 1)
    let isOtherEpoch = !request.epoch.isEmpty && request.epoch != snapshot.epoch
    if !isOtherEpoch, from > head + 1,
      !isStoreReachable || sessions.isBehind(index)
        || !isFresh && sessions.mayBeBehind(index, from, &effects)
    {
      connections.refuse(
        connection, request.ref, .unavailable,
        sentence: "This gateway may not know the newest messages yet. Subscribe again.",
        retryAfter: retryAfter(connection))
      return
    }
    if isOtherEpoch || from > head + 1 {
      // The log has gone back: the client must drop its copy and start from the tail.
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
    OperatorAbsence.show(of: index, sessions, to: connection, &connections)
    presence.announce(
      connection, session: index, isOnline: true, sessions, &connections, &effects)
    queuePositions.add(index, &sessions, &effects)
  }

  /// The command `unsubscribe`.
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
  mutating func leave(_ connection: ConnectionIndex, _ subscription: SubscriptionIndex) {
    let ended = connections.unsubscribe(connection, subscription, &sessions)
    sessions[ended.session].idleSince = now
    presence.end(connection, ended, sessions, &connections, &effects)
    sessions.followersChanged(ended.session)
  }

  /// The delay before a client should retry, in milliseconds.
  func retryAfter(_ connection: ConnectionIndex) -> Int64 {
    sending.retryAfter(salt: connections[connection].salt, now: now)
  }
}
