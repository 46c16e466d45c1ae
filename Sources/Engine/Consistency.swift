import Chat
import Primitives

/// What must hold between the tables of an engine, for the simulator and the fuzzer: walked after
/// every step there, never in the gateway.
extension Engine {
  /// What is wrong, or nil.
  package func inconsistency() -> String? {
    for connection in connections.indices where connections.isOccupied(connection) {
      if let text = inconsistency(ofConnection: connection) { return text }
    }
    for index in sessions.indices where sessions.isOccupied(index) {
      if let text = inconsistency(ofSession: index) { return text }
    }
    return sessions.inconsistency() ?? inconsistencyOfAudience()
  }

  private func inconsistencyOfAudience() -> String? {
    var found = 0
    for (workspace, members) in audience.sessions {
      guard members.count <= 2 * sessions.indices.count + 1 else {
        return "an audience that only grows"
      }
      for id in members where sessions.contains(id) {
        let index = id.index
        guard sessions[index].told != Session.notInAudience,
          sessions[index].snapshot.workspace == workspace
        else { return "a session in an audience that does not know it" }
        found += 1
      }
    }
    for index in sessions.indices
    where sessions.isOccupied(index) && sessions[index].told != Session.notInAudience {
      found -= 1
    }
    return found == 0 ? nil : "a session that is in no audience, or in two"
  }

  private func inconsistency(ofConnection connection: ConnectionIndex) -> String? {
    for (position, subscription) in connections[connection].subscriptions.enumerated() {
      guard sessions.isOccupied(subscription.session) else { return "a subscription of no session" }
      let subscribers = sessions[subscription.session].subscribers
      guard subscription.position < subscribers.count,
        subscribers[subscription.position].connection == connection,
        subscribers[subscription.position].subscription == position
      else { return "a subscription that its session does not know" }
      guard subscription.next >= 1, subscription.next <= sessions[subscription.session].head + 1
      else { return "a subscription past the head" }
    }
    if let text = inconsistencyOfNews(connection) { return text }
    return connections[connection].inFlight >= 0 ? nil : "fewer than no sends in flight"
  }

  private func inconsistencyOfNews(_ connection: ConnectionIndex) -> String? {
    guard !connections[connection].mustPumpAll else { return nil }
    let subscriptions = connections[connection].subscriptions
    let listed = subscriptions.count { $0.nextWithNews != Subscription.notListed }
    var walked = 0
    var index = connections[connection].firstWithNews
    while index != Subscription.noIndex {
      guard walked < listed, index >= 0, index < subscriptions.count else {
        return "a broken list of subscriptions with news"
      }
      walked += 1
      index = subscriptions[Int(index)].nextWithNews
    }
    return walked == listed ? nil : "subscriptions with news that are not listed"
  }

  private func inconsistency(ofSession index: SessionIndex) -> String? {
    for subscriber in sessions[index].subscribers {
      guard connections.isOccupied(subscriber.connection),
        subscriber.subscription < connections[subscriber.connection].subscriptions.count,
        connections[subscriber.connection].subscriptions[subscriber.subscription].session == index
      else { return "a subscriber that does not know it" }
    }
    guard sessions[index].phase == .loading || sessions[index].log.last == sessions[index].head
    else { return "recent entries that do not end at the head" }
    return nil
  }
}
