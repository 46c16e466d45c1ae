import Chat
import Primitives

/// Which connection follows which session. A subscription is in two lists, its connection's and its
/// session's, and each entry holds its index in the other list. Only the functions here change the
/// lists.
extension ConnectionTable {
  /// A connection's subscription to a session, or nil. Searches the shorter list: an operator
  /// follows many sessions, and a session may have many followers.
  func subscription(
    _ connection: ConnectionIndex, of session: SessionIndex, _ sessions: borrowing SessionTable
  ) -> SubscriptionIndex? {
    let subscriptions = self[connection].subscriptions.indices
    if subscriptions.count <= sessions[session].subscribers.count {
      for index in subscriptions where self[connection].subscriptions[index].session == session {
        return index
      }
    } else {
      for index in sessions[session].subscribers.indices
      where sessions[session].subscribers[index].connection == connection {
        return sessions[session].subscribers[index].subscription
      }
    }
    return nil
  }

  /// Adds a subscription to both lists, or moves the existing one to `next`. Returns whether it is
  /// new.
  mutating func subscribe(
    _ connection: ConnectionIndex, to session: SessionIndex, next: Int64,
    _ sessions: inout SessionTable
  ) -> Bool {
    if let existing = subscription(connection, of: session, sessions) {
      self[connection].subscriptions[existing].next = next
      self[connection].subscriptions[existing].isLive = false
      // A page in flight was read for the old position. Its entries do not fit and are dropped.
      markNews(connection, existing)
      return false
    }
    let subscriber = sessions[session].subscribers.endIndex
    let subscription = self[connection].subscriptions.endIndex
    sessions[session].subscribers.append(
      Subscriber(connection: connection, subscription: subscription))
    self[connection].subscriptions.append(
      Subscription(session: session, subscriber: subscriber, next: next))
    markNews(connection, subscription)
    return true
  }

  /// Removes a subscription from both lists and returns it. The last element of each list moves
  /// into the gap.
  mutating func unsubscribe(
    _ connection: ConnectionIndex, _ subscription: SubscriptionIndex,
    _ sessions: inout SessionTable
  ) -> Subscription {
    let removed = self[connection].subscriptions[subscription]
    let lastSubscriber = sessions[removed.session].subscribers.removeLast()
    if removed.subscriber < sessions[removed.session].subscribers.endIndex {
      sessions[removed.session].subscribers[removed.subscriber] = lastSubscriber
      self[lastSubscriber.connection].subscriptions[lastSubscriber.subscription].subscriber =
        removed.subscriber
    }
    // The list of subscriptions with news links indices, which change here.
    self[connection].subscriptions.mustPumpAll = true
    let lastSubscription = self[connection].subscriptions.removeLast()
    if subscription < self[connection].subscriptions.endIndex {
      self[connection].subscriptions[subscription] = lastSubscription
      sessions[lastSubscription.session].subscribers[lastSubscription.subscriber].subscription =
        subscription
    }
    return removed
  }

  /// Records that a subscription has something to send.
  mutating func markNews(_ connection: ConnectionIndex, _ subscription: SubscriptionIndex) {
    markDirty(connection)
    guard !self[connection].subscriptions.mustPumpAll,
      self[connection].subscriptions[subscription].nextWithNews == .notListed
    else { return }
    self[connection].subscriptions[subscription].nextWithNews =
      self[connection].subscriptions.firstWithNews
    self[connection].subscriptions.firstWithNews = NewsLink(subscription)
  }

  /// Continues a backlog that stopped because the store did not answer.
  mutating func retryBacklog(_ connection: ConnectionIndex, _ sessions: borrowing SessionTable) {
    for subscription in self[connection].subscriptions
    where !subscription.isPageInFlight && subscription.next <= sessions[subscription.session].head {
      self[connection].subscriptions.mustPumpAll = true
      markDirty(connection)
      return
    }
  }
}
