import Chat
import Primitives
import Wire

/// The state of one WebSocket connection, without its descriptor. An idle one has nothing on the
/// heap but its member and its subscriptions.
struct Connection: ~Copyable {
  enum Purpose: UInt8 { case chat, echo }

  enum Phase: UInt8 {
    /// The first command must be `hello`.
    case awaitingHello
    /// The token is being verified; input is kept in `held`.
    case authenticating
    case open
    /// A close frame was sent; the peer's is awaited until `closeDeadline`.
    case closing
    /// The socket is closed once the outbox is empty.
    case finished
  }

  /// A random id, shown in `welcome` and in the log.
  var name: Identifier
  var purpose: Purpose
  var phase: Phase
  var decoder: MessageDecoder
  /// Nil until the token is verified.
  var member: Member? {
    didSet {
      isOperator = member?.isOperator ?? false
      isVisitor = member != nil && !isOperator
    }
  }
  /// Copies of the member's role. Reading it from the member would retain everything in it.
  private(set) var isVisitor = false
  private(set) var isOperator = false
  /// The negotiated permessage-deflate.
  var deflate: DeflateAgreement?
  /// The contexts of both directions; nil without context takeover.
  var contexts: DeflateContexts?

  /// Bytes that the socket has not taken yet.
  var outbox: [UInt8] = []
  var socket = SocketState()
  private var handshake = HeapBox<HandshakeState>()

  var subscriptions = SubscriptionList()
  /// The operator receives the inbox: see `Inbox`.
  var isWatching = false
  /// The operator sees the console that watches.
  var isVisible = false
  var hasHistoryInFlight = false
  var sends = SendState()
  var rates: RateState
  var timing: Timing
  var traffic = Traffic()

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
    rates = RateState(now: now)
    timing = Timing(openedAt: now, lastReceivedAt: now)
  }

  /// Ephemeral events are not sent to a connection with this much waiting output.
  var isBehind: Bool { socket.isBlocked || outbox.count >= Limits.outputSoftBytes }
  /// Spreads the retries of clients over time.
  var salt: UInt64 { name.low }
}

extension Connection {
  /// The socket as the driver sees it.
  struct SocketState {
    /// When the socket last took a byte; valid while it is blocked.
    var blockedSince = Instant.zero
    /// The socket is full: the driver waits until it is writable.
    var isBlocked = false
    /// The connection is in the table's list of connections to flush.
    var isDirty = false
    /// The driver does not read the socket: a token is being verified, or output is waiting.
    var isPaused = false
  }

  struct SendState {
    /// Accepted sends without an outcome.
    var inFlight: Int32 = 0
    /// Sends received so far; it wraps.
    var count: UInt32 = 0
    /// A held send's deadline has not started, since its refusal is still in the outbox.
    var hasUnstartedHold = false
  }

  struct RateState {
    var commands: TokenBucket
    var sends: TokenBucket
    /// Unreadable commands so far.
    var badFrames: Int16 = 0
    /// Commands refused for their rate, less those accepted since.
    var excess: Int16 = 0
    /// Where the messages of the visitor are counted, see `QuotaTable`.
    var quota = QuotaTable.Slot()

    init(now: Instant) {
      commands = TokenBucket(burst: Limits.commandsBurst, now: now)
      sends = TokenBucket(burst: Limits.sendsBurst, now: now)
    }
  }

  struct Timing {
    var openedAt: Instant
    var lastReceivedAt: Instant
    var pingedAt = Instant.zero
    var tokenExpires = Instant.never
    var isTokenWarned = false
  }
}

/// State that few connections have, and only while something is pending: a token's verification,
/// the peer's close frame, or the end.
private struct HandshakeState {
  /// The message with the hello, while its token is being verified.
  var hello: [UInt8] = []
  /// Input received after the hello.
  var held: [UInt8] = []
  /// The `ref` of an `authenticate` that is being verified.
  var renewal: Reference?
  var closeDeadline = Instant.never
  var ending: Ending?
  var followed: FollowedSessions?
}

extension Connection {
  var hello: [UInt8] {
    get { handshake.isEmpty ? [] : handshake.value.hello }
    _modify {
      if handshake.isEmpty { beginHandshake() }
      yield &handshake.value.hello
    }
  }

  var held: [UInt8] {
    get { handshake.isEmpty ? [] : handshake.value.held }
    _modify {
      if handshake.isEmpty { beginHandshake() }
      yield &handshake.value.held
    }
  }

  var renewal: Reference? {
    get { handshake.isEmpty ? nil : handshake.value.renewal }
    _modify {
      if handshake.isEmpty { beginHandshake() }
      yield &handshake.value.renewal
    }
  }

  /// When the socket is closed without the peer's close frame.
  var closeDeadline: Instant {
    get { handshake.isEmpty ? .never : handshake.value.closeDeadline }
    _modify {
      if handshake.isEmpty { beginHandshake() }
      yield &handshake.value.closeDeadline
    }
  }

  /// Why the connection ended: the first reason counts. For the journal.
  var ending: Ending? {
    get { handshake.isEmpty ? nil : handshake.value.ending }
    set {
      if handshake.isEmpty { beginHandshake() }
      handshake.value.ending = newValue
    }
  }

  /// The sessions before the connection left them, for the journal.
  var followed: FollowedSessions? {
    get { handshake.isEmpty ? nil : handshake.value.followed }
    set {
      if handshake.isEmpty { beginHandshake() }
      handshake.value.followed = newValue
    }
  }

  /// Not inlined, to keep the allocation out of the path of messages.
  @inline(never)
  private mutating func beginHandshake() { handshake.put(HandshakeState()) }

  /// Frees the state once the token is verified and the held input was taken.
  mutating func endHandshake() { handshake.remove() }
}
