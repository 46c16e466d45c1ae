import Chat
import Primitives

/// A warm session on one loop: on the loop that owns it, and as a follower on every other loop that
/// has a subscriber (an operator). Both are the same: only where news comes from differs.
struct Session: ~Copyable {
  enum Phase: UInt8 { case loading, ready }

  var id: Identifier { snapshot.id }
  let isOwned: Bool
  var phase = Phase.loading
  /// Valid when `phase` is `.ready`. Its `head` is the highest committed seq that this loop knows.
  var snapshot: SessionSnapshot
  var log: RecentLog
  var subscribers = SubscriberList()
  /// Loops that follow, as bits. Only on the owner.
  var followers: UInt64 = 0
  private var loading: HeapBox<Loading>
  /// The database knows more than this loop; a read is under way.
  var isReading = false
  /// It changed again while it was read.
  var isStale = false
  /// The queue position that its visitor was sent last, 0 for none; see `QueuePositionSubscribers`.
  var queuePosition = Session.notInQueue
  /// Stands in the list of sessions whose subscribers have something to get.
  var isDirty = false
  /// The last seq that was mailed to the followers. Only on the owner.
  var postedSeq: Int64 = 0
  /// The operators' lists are told once the session has loaded.
  var isInboxPending = false
  var idleSince: Instant
  /// The furthest place a client asked for when the database was asked too: `mayBeBehind`.
  var askedSeq: Int64 = 0
  /// Its place among the sessions that nobody follows.
  var unfollowed: UnfollowedPlace?
  var unstoredMarks = UnstoredMarks()

  init(id: Identifier, workspaceHint: Identifier?, isOwned: Bool, now: Instant) {
    loading = HeapBox(Loading(workspaceHint: workspaceHint))
    self.isOwned = isOwned
    snapshot = SessionSnapshot(
      id: id, workspace: .zero, visitor: nil, epoch: [], head: 0, status: .waiting,
      assignee: nil, title: [], marks: [])
    log = RecentLog(head: 0)
    idleSince = now
  }

  static let notInQueue: Int32 = -2
  static let noPositionSent: Int32 = -1

  var head: Int64 { snapshot.head }

  var isUnfollowed: Bool { phase == .ready && subscribers.isEmpty && followers == 0 }

  /// Nobody misses it when it leaves memory.
  var isIdle: Bool {
    subscribers.isEmpty && followers == 0 && waiting.isEmpty && waitingFollowers == 0 && !isReading
      && unstoredMarks.areNone
  }
}

/// What a session needs until it has loaded.
private struct Loading {
  var workspaceHint: Identifier?
  var waiting: [WaitingSubscribe] = []
  var waitingFollowers: UInt64 = 0
}

extension Session {
  /// Where the session is looked for while it loads: the workspace of who asked. Only a hint, since
  /// anybody may ask for any session.
  var workspaceHint: Identifier? { loading.isEmpty ? nil : loading.value.workspaceHint }

  /// Subscribe commands that wait for the session to load.
  var waiting: [WaitingSubscribe] {
    get { loading.isEmpty ? [] : loading.value.waiting }
    _modify {
      if loading.isEmpty { beginLoading() }
      yield &loading.value.waiting
    }
  }

  /// Loops whose `follow` waits likewise.
  var waitingFollowers: UInt64 {
    get { loading.isEmpty ? 0 : loading.value.waitingFollowers }
    _modify {
      if loading.isEmpty { beginLoading() }
      yield &loading.value.waitingFollowers
    }
  }

  /// Apart from the path of messages.
  @inline(never)
  private mutating func beginLoading() { loading.put(Loading()) }

  /// Nothing waits any more.
  mutating func endLoading() { loading.remove() }
}

/// Who follows a session on one loop. Most sessions have one follower, a visitor, who needs no
/// array.
struct SubscriberList: RandomAccessCollection {
  private var only = Subscriber.nobody
  private var others: [Subscriber] = []

  var startIndex: Int { 0 }
  var endIndex: Int { only.isNobody ? 0 : 1 + others.count }

  @inline(__always)
  subscript(index: Int) -> Subscriber {
    get {
      if index > 0 { return others[index - 1] }
      precondition(!only.isNobody, "nobody follows the session")
      return only
    }
    _modify {
      if index > 0 {
        yield &others[index - 1]
      } else {
        precondition(!only.isNobody, "nobody follows the session")
        yield &only
      }
    }
  }

  mutating func append(_ subscriber: Subscriber) {
    if only.isNobody { only = subscriber } else { others.append(subscriber) }
  }

  mutating func removeLast() -> Subscriber {
    if let last = others.popLast() {
      if others.isEmpty { others = [] }
      return last
    }
    precondition(!only.isNobody, "nobody follows the session")
    defer { only = .nobody }
    return only
  }
}

struct Subscriber {
  /// On this loop.
  let connection: ConnectionIndex
  private var subscriptionIndex: UInt32

  init(connection: ConnectionIndex, subscription: Int) {
    self.connection = connection
    subscriptionIndex = UInt32(subscription)
  }

  static var nobody: Subscriber { Subscriber(connection: .none, subscription: 0) }
  var isNobody: Bool { connection == .none }

  /// Index in the connection's list of subscriptions.
  var subscription: Int {
    get { Int(subscriptionIndex) }
    set { subscriptionIndex = UInt32(newValue) }
  }
}

struct WaitingSubscribe {
  var connection: ConnectionID
  var request: SubscribeRequest
  /// Commands about the session that came behind the subscribe, at most `Limits.inFlight`.
  var held: [[UInt8]] = []
}

/// What `subscribe` asks for, without the bytes of the command.
struct SubscribeRequest {
  var ref: Reference
  var session: Identifier
  var after: Int64?
  var tail: Int64?
  /// The epoch the client knows; empty when it gave none.
  var epoch: [UInt8]
}
