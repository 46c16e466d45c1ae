import Chat
import Primitives

/// A session in the memory of one loop: of the loop that owns it, or of a loop that follows it
/// because it has a subscriber (an operator). They differ only in the source of news: the database
/// or the owner.
struct Session: ~Copyable {
  enum Phase: UInt8 { case loading, ready }

  var id: Identifier { snapshot.id }
  let isOwned: Bool
  var phase = Phase.loading
  /// Valid in phase `.ready`. Its `head` is the highest committed seq that this loop knows.
  var snapshot: SessionSnapshot
  var log: RecentLog
  var subscribers = SubscriberList()
  /// The loops that follow the session. Only on the owner.
  var followers = LoopSet()
  private var loading: HeapBox<Loading>
  /// A read of the session is in flight.
  var isReading = false
  /// The session must be read again: it changed during a read, or the read failed.
  var isStale = false
  /// The queue position last sent to the visitor, 0 after the last one; see
  /// `QueuePositionSubscribers`.
  var queuePosition = Session.notInQueue
  /// The visitor was sent that the operator is away; see `OperatorAbsence`.
  var isAssigneeAway = false
  /// The session is in the table's list of sessions with news.
  var isDirty = false
  /// The last seq that was mailed to the following loops. Only on the owner.
  var postedSeq: Int64 = 0
  /// `Inbox.touch` must be called once the session has loaded.
  var isInboxPending = false
  var idleSince: Instant
  /// The highest position of a client for which the database was read: see `mayBeBehind`.
  var checkedSeq: Int64 = 0
  /// The links in the list of sessions without followers.
  var unfollowed: UnfollowedLinks?
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

  /// Takes over the part of a state that subscribers see.
  mutating func adoptState(of read: SessionSnapshot) {
    if snapshot.assignee?.id != read.assignee?.id { isAssigneeAway = false }
    snapshot.status = read.status
    snapshot.assignee = read.assignee
    snapshot.title = read.title
  }

  var isUnfollowed: Bool { phase == .ready && subscribers.isEmpty && followers.isEmpty }

  /// Whether the session may leave memory.
  var isIdle: Bool {
    subscribers.isEmpty && followers.isEmpty && waiting.isEmpty && waitingFollowers.isEmpty
      && !isReading
      && unstoredMarks.isEmpty
  }
}

/// State that a session needs only until it has loaded.
private struct Loading {
  var workspaceHint: Identifier?
  var waiting: [WaitingSubscribe] = []
  var waitingFollowers = LoopSet()
}

extension Session {
  /// The workspace of the client that requested the session, in which it is looked up. Only a hint,
  /// since a client may request any id.
  var workspaceHint: Identifier? { loading.isEmpty ? nil : loading.value.workspaceHint }

  /// Subscribe commands that wait for the session to load.
  var waiting: [WaitingSubscribe] {
    get { loading.isEmpty ? [] : loading.value.waiting }
    _modify {
      if loading.isEmpty { beginLoading() }
      yield &loading.value.waiting
    }
  }

  /// Loops whose `Mail.follow` waits for the session to load.
  var waitingFollowers: LoopSet {
    get { loading.isEmpty ? LoopSet() : loading.value.waitingFollowers }
    _modify {
      if loading.isEmpty { beginLoading() }
      yield &loading.value.waitingFollowers
    }
  }

  /// Not inlined, to keep the allocation out of the path of messages.
  @inline(never)
  private mutating func beginLoading() { loading.put(Loading()) }

  /// Frees the state once the session has loaded.
  mutating func endLoading() { loading.remove() }
}

/// A `subscribe` that waits for its session to load.
struct WaitingSubscribe {
  var connection: ConnectionID
  var request: SubscribeRequest
  /// Later commands of the connection about the session, at most `Limits.inFlight`.
  var held: [[UInt8]] = []
}

/// The fields of `subscribe`, independent of the message's bytes.
struct SubscribeRequest {
  var ref: Reference
  var session: Identifier
  var after: Int64?
  var tail: Int64?
  /// The epoch that the client knows; empty when it sent none.
  var epoch: [UInt8]
}
