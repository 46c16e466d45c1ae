import Primitives

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
