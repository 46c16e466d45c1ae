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
