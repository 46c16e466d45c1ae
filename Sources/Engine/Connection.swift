import Chat
import Primitives
import Wire

/// One WebSocket as the engine sees it: no descriptor, no clock. Nothing on the heap while it is
/// idle, except its member and its subscriptions.
struct Connection {
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
  var member: Member?
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
  /// The hello while its token is verified, and what came behind it.
  var hello: [UInt8] = []
  var held: [UInt8] = []

  var subscriptions: [Subscription] = []
  var isWatching = false
  var inFlight = 0
  /// Sends that came so far; it wraps.
  var sendCount: UInt32 = 0
  var hasHistoryInFlight = false
  /// A send of some subscription is held, and its refusal has not left yet.
  var hasUntoldHold = false

  var commandBucket: TokenBucket
  var sendBucket: TokenBucket
  var badFrames = 0
  /// Commands refused for their rate, less those accepted since.
  var overRate = 0

  var openedAt: Instant
  var lastHeard: Instant
  var pingedAt = Instant.zero
  var closeDeadline = Instant.never
  var tokenExpires = Instant.never
  var isTokenWarned = false
  /// The `ref` of an `authenticate` that is being verified.
  var renewal: Reference?
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

  var isOpen: Bool { phase == .open }

  func subscription(of session: Int) -> Int? {
    subscriptions.firstIndex { $0.session == session }
  }
}

/// One connection's place in one session's log.
///
/// The only rule that sends: if the entry `next` is known, in memory or from the database, send it
/// and increment. Whatever a subscriber missed is simply still ahead of its `next`.
struct Subscription {
  /// Slot of the session on this loop.
  var session: Int
  /// Index in the session's list of subscribers.
  var position: Int
  var next: Int64
  /// `live` was sent: the backlog is finished.
  var isLive = false
  var isPageInFlight = false
  /// Entries that the next page asks for: as many as the last one could hand on, so that large
  /// messages are not read again and again for the few that fit into the output.
  var pageEntries = Limits.backlogPage
  var heldSend: HeldSend?
}
