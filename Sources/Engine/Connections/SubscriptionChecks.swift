import Chat
import Primitives

/// What must hold between connections and sessions, for the simulator and the fuzzer.
extension ConnectionTable {
  /// What is wrong, or nil.
  func inconsistency(_ sessions: borrowing SessionTable) -> String? {
    for connection in indices where isOccupied(connection) {
      if let text = inconsistency(of: connection, sessions) { return text }
    }
    for session in sessions.indices where sessions.isOccupied(session) {
      for subscriber in sessions[session].subscribers {
        guard isOccupied(subscriber.connection),
          subscriber.subscription < self[subscriber.connection].subscriptions.count,
          self[subscriber.connection].subscriptions[subscriber.subscription].session == session
        else { return "a subscriber that does not know it" }
      }
    }
    return nil
  }

  private func inconsistency(
    of connection: ConnectionIndex, _ sessions: borrowing SessionTable
  ) -> String? {
    for (position, subscription) in self[connection].subscriptions.enumerated() {
      guard sessions.isOccupied(subscription.session) else { return "a subscription of no session" }
      let subscribers = sessions[subscription.session].subscribers
      guard subscription.position < subscribers.count,
        subscribers[subscription.position].connection == connection,
        subscribers[subscription.position].subscription == position
      else { return "a subscription that its session does not know" }
      guard subscription.next >= 1, subscription.next <= sessions[subscription.session].head + 1
      else { return "a subscription past the head" }
    }
    if let text = self[connection].inconsistencyOfNews() { return text }
    return self[connection].inFlight >= 0 ? nil : "fewer than no sends in flight"
  }
}

extension Connection {
  fileprivate func inconsistencyOfNews() -> String? {
    guard !mustPumpAll else { return nil }
    let listed = subscriptions.count { $0.nextWithNews != Subscription.notListed }
    var walked = 0
    var index = firstWithNews
    while index != Subscription.noIndex {
      guard walked < listed, index >= 0, index < subscriptions.count else {
        return "a broken list of subscriptions with news"
      }
      walked += 1
      index = subscriptions[Int(index)].nextWithNews
    }
    return walked == listed ? nil : "subscriptions with news that are not listed"
  }
}
