import Chat
import Primitives

/// What must hold between the tables of an engine, for the simulator and the fuzzer: walked after
/// every step there, never in the gateway.
extension Engine {
  /// What is wrong, or nil.
  package func inconsistency() -> String? {
    for slot in 0..<connections.endIndex where connections.isOccupied(slot) {
      if let text = inconsistency(ofConnection: slot) { return text }
    }
    var warm = 0
    for index in 0..<sessions.endIndex where sessions.isOccupied(index) {
      warm += 1
      if let text = inconsistency(ofSession: index) { return text }
    }
    guard sessionIndex.count == warm else { return "the index has another number of sessions" }
    guard warm <= configuration.sessionsMax else { return "more sessions than may be warm" }
    var recentBytes = 0
    for index in 0..<sessions.endIndex where sessions.isOccupied(index) {
      recentBytes += sessions[index].log.countedByteCount
    }
    guard recentBytes == recent.byteCount else { return "recent messages of another size" }
    return inconsistencyOfUnfollowed() ?? inconsistencyOfAudience()
  }

  private func inconsistencyOfAudience() -> String? {
    var found = 0
    for (workspace, members) in audience.sessions {
      guard members.count <= 2 * sessions.endIndex + 1 else { return "an audience that only grows" }
      for id in members where sessions.contains(id) {
        let index = Int(id.index)
        guard sessions[index].told != Session.notInAudience,
          sessions[index].snapshot.workspace == workspace
        else { return "a session in an audience that does not know it" }
        found += 1
      }
    }
    for index in 0..<sessions.endIndex
    where sessions.isOccupied(index) && sessions[index].told != Session.notInAudience {
      found -= 1
    }
    return found == 0 ? nil : "a session that is in no audience, or in two"
  }

  private func inconsistencyOfUnfollowed() -> String? {
    var listed = 0
    var (previous, index) = (-1, unfollowed.oldest)
    while index >= 0 {
      guard listed < sessions.count, sessions.isOccupied(index),
        let place = sessions[index].unfollowed, place.older == previous
      else { return "a broken list of unfollowed sessions" }
      listed += 1
      (previous, index) = (index, place.newer)
    }
    guard previous == unfollowed.newest else { return "unfollowed sessions that end elsewhere" }
    for index in 0..<sessions.endIndex where sessions.isOccupied(index) {
      if (sessions[index].unfollowed != nil) != sessions[index].isUnfollowed {
        return "a session that is listed and followed, or neither"
      }
      if sessions[index].isUnfollowed { listed -= 1 }
    }
    return listed == 0 ? nil : "unfollowed sessions that are not listed"
  }

  private func inconsistency(ofConnection slot: Int) -> String? {
    for (position, subscription) in connections[slot].subscriptions.enumerated() {
      guard sessions.isOccupied(subscription.session) else { return "a subscription of no session" }
      let subscribers = sessions[subscription.session].subscribers
      guard subscription.position < subscribers.count,
        subscribers[subscription.position].connection == slot,
        subscribers[subscription.position].subscription == position
      else { return "a subscription that its session does not know" }
      guard subscription.next >= 1, subscription.next <= sessions[subscription.session].head + 1
      else { return "a subscription past the head" }
    }
    if let text = inconsistencyOfNews(slot) { return text }
    return connections[slot].inFlight >= 0 ? nil : "fewer than no sends in flight"
  }

  private func inconsistencyOfNews(_ slot: Int) -> String? {
    guard !connections[slot].mustPumpAll else { return nil }
    let subscriptions = connections[slot].subscriptions
    let listed = subscriptions.count { $0.nextWithNews != Subscription.notListed }
    var walked = 0
    var index = connections[slot].firstWithNews
    while index != Subscription.noIndex {
      guard walked < listed, index >= 0, index < subscriptions.count else {
        return "a broken list of subscriptions with news"
      }
      walked += 1
      index = subscriptions[Int(index)].nextWithNews
    }
    return walked == listed ? nil : "subscriptions with news that are not listed"
  }

  private func inconsistency(ofSession index: Int) -> String? {
    guard sessionIndex[sessions[index].id] == index else { return "a session without its index" }
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
