import Chat
import Primitives

/// Presence in a session on several gateways. The owners of the session on each of them exchange
/// it: see `PresenceElsewhere`.
extension Presence {
  /// Whether an operator of this gateway may receive the session's presence. Of other loops it is
  /// only known that they follow the session.
  private static func hasReceiver(
    _ index: SessionIndex, _ sessions: borrowing SessionTable,
    _ connections: borrowing ConnectionTable
  ) -> Bool {
    guard sessions[index].followers.isEmpty else { return true }
    for position in sessions[index].subscribers.indices {
      let subscriber = sessions[index].subscribers[position]
      let subscriptions = connections[subscriber.connection].subscriptions
      if subscriptions[subscriber.subscription].receivesPresence { return true }
    }
    return false
  }

  /// With each sweep: queries the other gateways again, and lets the state of silent ones expire.
  mutating func sweep(
    _ sessions: borrowing SessionTable, _ connections: inout ConnectionTable,
    _ effects: inout Effects, now: Instant
  ) {
    let isQueryDue = elsewhere.beginQueryIfDue(now: now)
    for session in elsewhere.sessions {
      guard let index = sessions.ready(session),
        Presence.hasReceiver(index, sessions, connections)
      else {
        elsewhere.forget(session)
        continue
      }
      if elsewhere.hasExpired(session, now: now) {
        change(session, index, sessions, &connections, &effects) { $0.expire(session, now: now) }
      }
      if isQueryDue { effects.send(.presenceQuery(session: session)) }
    }
  }

  /// Another gateway watches the session.
  mutating func answerPeers(
    _ session: Identifier, _ sessions: borrowing SessionTable,
    _ connections: borrowing ConnectionTable, _ effects: inout Effects, now: Instant
  ) {
    elsewhere.noteQuery(session, now: now)
    if let index = sessions.ready(session) { send(index, sessions, connections, &effects) }
  }

  /// Sends the state on this gateway to the others.
  func send(
    _ index: SessionIndex, _ sessions: borrowing SessionTable,
    _ connections: borrowing ConnectionTable, _ effects: inout Effects
  ) {
    let session = sessions[index].id
    effects.send(
      .presence(
        PeerPresence(
          session: session, hasVisitor: Presence.hasVisitor(index, sessions, connections),
          viewers: viewersHere(session))))
  }

  /// Another gateway's state of a session.
  mutating func adopt(
    _ state: PeerPresence, from gateway: Identifier, _ sessions: borrowing SessionTable,
    _ connections: inout ConnectionTable, _ effects: inout Effects, now: Instant
  ) {
    guard let index = sessions.ready(state.session) else { return }
    change(state.session, index, sessions, &connections, &effects) {
      $0.take(state, from: gateway, now: now)
    }
  }

  /// Changes the state of other gateways, and sends the operators here what differs then.
  private mutating func change(
    _ session: Identifier, _ index: SessionIndex, _ sessions: borrowing SessionTable,
    _ connections: inout ConnectionTable, _ effects: inout Effects,
    _ body: (inout PresenceElsewhere) -> Void
  ) {
    let hadVisitor = elsewhere.hasVisitor(session)
    let before = elsewhere.viewers(of: session)
    body(&elsewhere)
    let hasVisitor = elsewhere.hasVisitor(session)
    let after = elsewhere.viewers(of: session)
    if hadVisitor != hasVisitor, !Presence.hasVisitor(index, sessions, connections),
      let visitor = sessions[index].snapshot.visitor
    {
      announce(visitor, isOnline: hasVisitor, index, sessions, &connections, &effects)
    }
    let here = Set(viewersHere(session).map(\.id))
    var known = here.union(before.map(\.id))
    for person in after where known.insert(person.id).inserted {
      announce(person, isViewing: true, index, sessions, &connections, &effects)
    }
    var stay = here.union(after.map(\.id))
    for person in before where stay.insert(person.id).inserted {
      announce(person, isViewing: false, index, sessions, &connections, &effects)
    }
  }

  /// Sends a change on another gateway to subscribers and following loops.
  private func announce(
    _ person: Person, isOnline: Bool? = nil, isViewing: Bool? = nil, _ index: SessionIndex,
    _ sessions: borrowing SessionTable, _ connections: inout ConnectionTable,
    _ effects: inout Effects
  ) {
    let item = PresenceMail(
      session: sessions[index].id, person: person, isOnline: isOnline, isViewing: isViewing,
      loop: -1, connection: ConnectionID(index: 0, generation: 0))
    show(item, loop: effects.loop, sessions, &connections)
    effects.post(.presence(item), toEach: sessions[index].followers)
  }
}
