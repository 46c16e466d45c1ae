import Chat
import Primitives

/// Which connection follows which session. A subscription stands in two lists, its connection's and
/// its session's, each with the index in the other: only the functions here change either.
extension ConnectionTable {
  /// The index of a connection's subscription of a session, looked for in the shorter of the two
  /// lists that know it: an operator follows many sessions, and a session may have many followers.
  func subscription(
    _ connection: ConnectionIndex, of session: SessionIndex, _ sessions: borrowing SessionTable
  ) -> Int? {
    let count = self[connection].subscriptions.count
    if count <= sessions[session].subscribers.count {
      for index in 0..<count where self[connection].subscriptions[index].session == session {
        return index
      }
    } else {
      for index in 0..<sessions[session].subscribers.count
      where sessions[session].subscribers[index].connection == connection {
        return sessions[session].subscribers[index].subscription
      }
    }
    return nil
  }

  /// Puts a subscription into both lists, or moves the one that is there. True when it is new.
  mutating func subscribe(
    _ connection: ConnectionIndex, to session: SessionIndex, next: Int64,
    _ sessions: inout SessionTable
  ) -> Bool {
    if let existing = subscription(connection, of: session, sessions) {
      self[connection].subscriptions[existing].next = next
      self[connection].subscriptions[existing].isLive = false
      // A page that is under way belongs to the old place; its entries no longer fit and are
      // dropped.
      markNews(connection, existing)
      return false
    }
    let subscription = Subscription(
      session: session, position: sessions[session].subscribers.count, next: next)
    let index = self[connection].subscriptions.count
    sessions[session].subscribers.append(Subscriber(connection: connection, subscription: index))
    self[connection].subscriptions.append(subscription)
    markNews(connection, index)
    return true
  }

  /// Takes a subscription out of both lists; the last ones move into the gaps.
  mutating func unsubscribe(
    _ connection: ConnectionIndex, _ subscription: Int, _ sessions: inout SessionTable
  ) -> Subscription {
    let gone = self[connection].subscriptions[subscription]
    let lastSubscriber = sessions[gone.session].subscribers.removeLast()
    if gone.position < sessions[gone.session].subscribers.count {
      sessions[gone.session].subscribers[gone.position] = lastSubscriber
      self[lastSubscriber.connection].subscriptions[lastSubscriber.subscription].position =
        gone.position
    }
    // The list of those with news goes by their indices.
    self[connection].mustPumpAll = true
    let lastSubscription = self[connection].subscriptions.removeLast()
    if subscription < self[connection].subscriptions.count {
      self[connection].subscriptions[subscription] = lastSubscription
      sessions[lastSubscription.session].subscribers[lastSubscription.position].subscription =
        subscription
    }
    return gone
  }

  /// A subscription has something to send.
  mutating func markNews(_ connection: ConnectionIndex, _ subscription: Int) {
    markDirty(connection)
    guard !self[connection].mustPumpAll,
      self[connection].subscriptions[subscription].nextWithNews == Subscription.notListed
    else { return }
    self[connection].subscriptions[subscription].nextWithNews = self[connection].firstWithNews
    self[connection].firstWithNews = Int32(subscription)
  }

  /// A connection whose backlog stands still because the store did not answer tries again.
  mutating func retryBacklog(_ connection: ConnectionIndex, _ sessions: borrowing SessionTable) {
    for subscription in self[connection].subscriptions
    where !subscription.isPageInFlight && subscription.next <= sessions[subscription.session].head {
      self[connection].mustPumpAll = true
      markDirty(connection)
      return
    }
  }

  /// Whether a visitor follows the session. A visitor's connections are all on the loop that owns
  /// the session.
  func hasVisitor(_ session: SessionIndex, _ sessions: borrowing SessionTable) -> Bool {
    for subscriber in sessions[session].subscribers where self[subscriber.connection].isVisitor {
      return true
    }
    return false
  }

  /// What a send that failed holds back: see `HeldSend`.
  mutating func suspend(
    _ connection: ConnectionIndex, _ session: Identifier, behind id: Identifier, ordinal: UInt32,
    _ sessions: borrowing SessionTable
  ) {
    guard let index = sessions.index(of: session),
      let subscription = subscription(connection, of: index, sessions)
    else { return }
    // The time to come again begins when the sender can have received the refusal: a slow network
    // may take longer for the answers before this one than the whole of it.
    self[connection].hasUntoldHold = true
    HeldSend.merge(
      &self[connection].subscriptions[subscription].heldSend,
      HeldSend(id: id, ordinal: ordinal, until: .never))
  }
}
