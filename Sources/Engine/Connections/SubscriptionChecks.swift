import Chat
import Primitives

/// Invariants between connections and sessions, for the simulator and the fuzzer.
extension ConnectionTable {
  /// The first invariant that does not hold, or nil.
  func inconsistency(_ sessions: borrowing SessionTable) -> String? {
    for connection in indices where isOccupied(connection) {
      if let text = inconsistency(of: connection, sessions) { return text }
    }
    for session in sessions.indices where sessions.isOccupied(session) {
      for subscriber in sessions[session].subscribers {
        guard isOccupied(subscriber.connection),
          subscriber.subscription < self[subscriber.connection].subscriptions.endIndex,
          self[subscriber.connection].subscriptions[subscriber.subscription].session == session
        else { return "a subscriber without a subscription" }
      }
    }
    return nil
  }

  private func inconsistency(
    of connection: ConnectionIndex, _ sessions: borrowing SessionTable
  ) -> String? {
    for index in self[connection].subscriptions.indices {
      let subscription = self[connection].subscriptions[index]
      guard sessions.isOccupied(subscription.session) else { return "a subscription of no session" }
      let subscribers = sessions[subscription.session].subscribers
      guard subscription.subscriber < subscribers.endIndex,
        subscribers[subscription.subscriber].connection == connection,
        subscribers[subscription.subscriber].subscription == index
      else { return "a subscription without a subscriber" }
      guard subscription.next >= 1, subscription.next <= sessions[subscription.session].head + 1
      else { return "a subscription past the head" }
    }
    if let text = self[connection].inconsistencyOfNews() { return text }
    return self[connection].sends.inFlight >= 0 ? nil : "a negative number of sends in flight"
  }
}

extension Connection {
  fileprivate func inconsistencyOfNews() -> String? {
    guard !subscriptions.mustPumpAll else { return nil }
    let listed = subscriptions.count { $0.nextWithNews != .notListed }
    var visited = 0
    var link = subscriptions.firstWithNews
    while link != .end {
      guard visited < listed, let index = link.subscription, index < subscriptions.endIndex else {
        return "a broken list of subscriptions with news"
      }
      visited += 1
      link = subscriptions[index].nextWithNews
    }
    return visited == listed ? nil : "unlisted subscriptions with news"
  }
}
