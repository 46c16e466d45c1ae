import Chat
import Primitives

/// One connection's position in one session's log.
///
/// The only rule that sends: if the entry `next` is available, in memory or from the database, it
/// is sent and `next` is incremented. So no entry can be skipped.
struct Subscription {
  let session: SessionIndex
  /// In the session's list of subscribers.
  var subscriber: SubscriberIndex
  /// The seq of the next entry to send.
  var next: Int64
  /// The next one in the connection's list of subscriptions with news.
  var nextWithNews = NewsLink.notListed
  /// The backlog was sent, and `live` after it.
  var isLive = false
  var isPageInFlight = false
  /// The operator is viewing the session: see `Presence`.
  var isViewing = false
  var receivesPresence = false
  /// At most one. Most subscriptions have none, and an empty array takes less room than an
  /// optional.
  private var held: [HeldSend] = []

  init(session: SessionIndex, subscriber: SubscriberIndex, next: Int64) {
    self.session = session
    self.subscriber = subscriber
    self.next = next
  }

  var heldSend: HeldSend? {
    get { held.first }
    @inline(never) set { held = newValue.map { [$0] } ?? [] }
  }
}

/// A link of a connection's list of subscriptions with news.
struct NewsLink: Equatable {
  private let raw: Int32

  private init(raw: Int32) { self.raw = raw }

  init(_ subscription: SubscriptionIndex) { raw = Int32(subscription.value) }

  /// The end of the list.
  static let end = NewsLink(raw: -1)
  /// The subscription is not in the list.
  static let notListed = NewsLink(raw: -2)

  /// Nil at the end of the list.
  @inline(__always)
  var subscription: SubscriptionIndex? { raw < 0 ? nil : SubscriptionIndex(Int(raw)) }
}

/// The subscriptions of one connection.
struct SubscriptionList: RandomAccessCollection {
  private var items: [Subscription] = []
  /// The first subscription with something to send; `nextWithNews` links the others. An operator
  /// follows hundreds of sessions, of which few have news at once.
  var firstWithNews = NewsLink.end
  /// The list of subscriptions with news is void, and every subscription is checked instead.
  var mustPumpAll = false

  var startIndex: SubscriptionIndex { SubscriptionIndex(0) }
  @inline(__always) var endIndex: SubscriptionIndex { SubscriptionIndex(items.count) }
  @inline(__always) var count: Int { items.count }

  @inline(__always)
  subscript(index: SubscriptionIndex) -> Subscription {
    _read { yield items[index.value] }
    _modify { yield &items[index.value] }
  }

  mutating func append(_ subscription: Subscription) { items.append(subscription) }

  mutating func removeLast() -> Subscription { items.removeLast() }
}

/// The connections of one loop that follow a session. Most sessions have one, the visitor's, which
/// needs no array.
struct SubscriberList: RandomAccessCollection {
  private var first = Subscriber.none
  private var others: [Subscriber] = []

  var startIndex: SubscriberIndex { SubscriberIndex(0) }
  @inline(__always) var endIndex: SubscriberIndex { SubscriberIndex(count) }
  @inline(__always) var count: Int { first.isNone ? 0 : 1 + others.count }

  @inline(__always)
  subscript(index: SubscriberIndex) -> Subscriber {
    get {
      if index.value > 0 { return others[index.value - 1] }
      precondition(!first.isNone, "the session has no subscriber")
      return first
    }
    _modify {
      if index.value > 0 {
        yield &others[index.value - 1]
      } else {
        precondition(!first.isNone, "the session has no subscriber")
        yield &first
      }
    }
  }

  mutating func append(_ subscriber: Subscriber) {
    if first.isNone { first = subscriber } else { others.append(subscriber) }
  }

  mutating func removeLast() -> Subscriber {
    if let last = others.popLast() {
      if others.isEmpty { others = [] }
      return last
    }
    precondition(!first.isNone, "the session has no subscriber")
    defer { first = .none }
    return first
  }
}

/// One connection that follows a session.
struct Subscriber {
  let connection: ConnectionIndex
  /// In the connection's list of subscriptions.
  var subscription: SubscriptionIndex

  static var none: Subscriber {
    Subscriber(connection: .none, subscription: SubscriptionIndex(0))
  }
  var isNone: Bool { connection == .none }
}

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
