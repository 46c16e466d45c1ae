import Chat
import Primitives
import Wire

/// One WebSocket as the engine sees it: no descriptor, no clock. Nothing on the heap while it is
/// idle, except its member and its subscriptions.
struct Connection: ~Copyable {
  enum Purpose: UInt8 { case chat, echo }

  enum Phase: UInt8 {
    /// The first command must be `hello`.
    case awaitingHello
    /// The token is being verified; input waits in `held`.
    case authenticating
    case open
    /// A close frame was sent; the peer's is awaited until `closeDeadline`.
    case closing
    /// The socket is closed once the outbox is empty.
    case finished
  }

  /// The random name by which the connection appears in `welcome` and in the log.
  var name: Identifier
  var purpose: Purpose
  var phase: Phase
  var decoder: MessageDecoder
  var member: Member? {
    didSet {
      isOperator = member?.isOperator ?? false
      isVisitor = member != nil && !isOperator
    }
  }
  /// Ephemeral events are not sent to a connection whose output waits.
  var isBehind: Bool { isBlocked || outbox.count >= Limits.outputSoftBytes }
  /// Spreads the times at which clients come again.
  var salt: UInt64 { name.low }
  /// Of the member, kept beside it: to ask it would copy it with all its references.
  private(set) var isVisitor = false
  private(set) var isOperator = false
  /// permessage-deflate as it was agreed, and the contexts where it is with takeover.
  var deflate: DeflateAgreement?
  var contexts: DeflateContexts?

  /// Bytes that the socket has not taken yet.
  var outbox: [UInt8] = []
  /// The socket is full: the driver waits until it is writable.
  var isBlocked = false
  /// When the socket last took a byte, while it is blocked.
  var blockedSince = Instant.zero
  /// Stands in the engine's list of connections to flush.
  var isDirty = false
  /// Input is not read: a token is verified, or the peer does not read its answers.
  var isPaused = false
  /// What few connections have, and only for a moment.
  private var passing = HeapBox<Passing>()

  var subscriptions: [Subscription] = []
  /// The first of the subscriptions that have something to send; the others follow it by
  /// `nextWithNews`. An operator follows hundreds of sessions, and few have news at once.
  var firstWithNews = Subscription.noIndex
  /// All subscriptions have to be looked at instead, and the list is void.
  var mustPumpAll = false
  var isWatching = false
  var inFlight: Int32 = 0
  /// Sends that came so far; it wraps.
  var sendCount: UInt32 = 0
  var hasHistoryInFlight = false
  /// A send of some subscription is held, and its refusal has not left yet.
  var hasUntoldHold = false

  var commandBucket: TokenBucket
  var sendBucket: TokenBucket
  var badFrames: Int32 = 0
  /// Commands refused for their rate, less those accepted since.
  var overRate: Int32 = 0

  var openedAt: Instant
  var lastHeard: Instant
  var pingedAt = Instant.zero
  var tokenExpires = Instant.never
  var isTokenWarned = false
  /// The code of the close frame that was sent or received, for the log.
  var closeCode: CloseCode?

  init(
    name: Identifier, purpose: Purpose, limits: MessageLimits, deflate: DeflateAgreement?,
    now: Instant
  ) {
    self.name = name
    self.purpose = purpose
    phase = purpose == .echo ? .open : .awaitingHello
    decoder = MessageDecoder(role: .server, limits: limits, allowsDeflated: deflate != nil)
    self.deflate = deflate
    if let deflate, !deflate.serverForgets || !deflate.clientForgets {
      contexts = DeflateContexts()
    }
    commandBucket = TokenBucket(burst: Limits.commandsBurst, now: now)
    sendBucket = TokenBucket(burst: Limits.sendsBurst, now: now)
    openedAt = now
    lastHeard = now
  }
}

/// The parts of a connection that wait for an answer.
private struct Passing {
  /// The hello while its token is verified, and what came behind it.
  var hello: [UInt8] = []
  var held: [UInt8] = []
  /// The `ref` of an `authenticate` that is being verified.
  var renewal: Reference?
  var closeDeadline = Instant.never
}

extension Connection {
  var hello: [UInt8] {
    get { passing.isEmpty ? [] : passing.value.hello }
    _modify {
      if passing.isEmpty { beginPassing() }
      yield &passing.value.hello
    }
  }

  var held: [UInt8] {
    get { passing.isEmpty ? [] : passing.value.held }
    _modify {
      if passing.isEmpty { beginPassing() }
      yield &passing.value.held
    }
  }

  var renewal: Reference? {
    get { passing.isEmpty ? nil : passing.value.renewal }
    _modify {
      if passing.isEmpty { beginPassing() }
      yield &passing.value.renewal
    }
  }

  /// When a peer that was told to close is cut off.
  var closeDeadline: Instant {
    get { passing.isEmpty ? .never : passing.value.closeDeadline }
    _modify {
      if passing.isEmpty { beginPassing() }
      yield &passing.value.closeDeadline
    }
  }

  /// Apart from the path of messages.
  @inline(never)
  private mutating func beginPassing() { passing.put(Passing()) }

  /// The token is verified, and what waited for that is taken.
  mutating func endPassing() { passing.remove() }
}

/// One connection's place in one session's log.
///
/// The only rule that sends: if the entry `next` is known, in memory or from the database, send it
/// and increment. Whatever a subscriber missed is simply still ahead of its `next`.
struct Subscription {
  /// On this loop.
  let session: SessionIndex
  private var subscriberIndex: UInt32
  var next: Int64
  /// The next one in the connection's list of those with news.
  var nextWithNews = Subscription.notListed
  /// `live` was sent: the backlog is finished.
  var isLive = false
  var isPageInFlight = false
  /// An operator looks at the session, and hears who else does: see Presence.
  var isViewing = false
  var hearsPresence = false
  /// One at most; few have one.
  private var held: [HeldSend] = []

  init(session: SessionIndex, position: Int, next: Int64) {
    self.session = session
    subscriberIndex = UInt32(position)
    self.next = next
  }

  /// Index in the session's list of subscribers.
  var position: Int {
    get { Int(subscriberIndex) }
    set { subscriberIndex = UInt32(newValue) }
  }
  var heldSend: HeldSend? {
    get { held.first }
    @inline(never) set { held = newValue.map { [$0] } ?? [] }
  }

  static let noIndex: Int32 = -1
  static let notListed: Int32 = -2
}
