import Chat
public import Primitives
import Wire

/// The whole state of one loop: connections, warm sessions, fan-out and the open batch, as one
/// deterministic state machine. It has no clock, no descriptor and no randomness of its own: the
/// driver sets `now`, gives it bytes, mail and answers, and takes what it wants done from its
/// queues (architecture: “A pure engine, a thin driver”). Each aspect has its file: Inbound, Hello,
/// Subscribing, Sending, Ephemeral, Inbox, Outbound, Deflating, Timers.
public struct Engine: ~Copyable {
  /// This loop's number, and how many there are.
  public let loop: Int
  public let loopCount: Int
  let configuration: Configuration

  public struct Configuration: Sendable {
    public var connectionsMax: Int
    /// Sessions in memory: see WarmSessions.
    public var sessionsMax: Int
    /// Bytes of recent messages in memory: see RecentLogs.
    public var recentBytesMax: Int
    /// Shown in `welcome.node`.
    public var node: StaticString
    public var compression: CompressionOptions

    public init(
      connectionsMax: Int, sessionsMax: Int, recentBytesMax: Int? = nil,
      node: StaticString, compression: CompressionOptions = CompressionOptions()
    ) {
      self.connectionsMax = connectionsMax
      self.sessionsMax = sessionsMax
      self.recentBytesMax = recentBytesMax ?? Limits.recentLogsBytes
      self.node = node
      self.compression = compression
    }
  }

  /// Set by the driver once an iteration.
  public var now: Instant
  public var wall: WallTime
  /// Whether the store answers, set by the driver before it tells outcomes; decides between waiting
  /// and `unavailable`.
  public var isStoreReachable = true
  /// Names the database that this loop's writer has reached, as its pages must; empty before that.
  public var store = ""

  var connections: Connections
  var sessions: Slab<Session>
  var sessionIndex: [Identifier: Int] = [:]
  var unfollowed = UnfollowedList()
  var recent = RecentLogs()
  /// The epoch of the session that was loaded last.
  var epoch: [UInt8] = []
  var queue = BatchQueue()
  var breaker = Breaker()
  /// Where `send` decodes a body, used again for the next one.
  var bodyStorage: [UInt8] = []
  /// Sends of other loops' connections that failed here.
  var remoteHeld: [RemoteSender: HeldSend] = [:]
  var inbox = Inbox()
  var audience = Audience()
  /// Operators who look at a session, by session. Only on its owner.
  var viewers: [Identifier: [Viewer]] = [:]
  var compressor: Compressor
  /// Workspaces that want to hear of every message of a visitor whom no operator serves: those with
  /// bots. Set by the driver.
  public var listeners: Set<Identifier> = []

  /// Whether other gateways write into the same database; set by the driver. See Peers.
  public var hasPeers = false

  // What the driver has to do, in the order of an iteration.
  var reads = Fifo<ReadRequest>()
  var verifications: [Verification] = []
  var departures: [(slot: SlotID, loop: Int)] = []
  var mail: [[Mail]]
  var requestOutcomes: [OutcomeMail] = []
  var news: [WorkspaceNews] = []
  var changes: [SessionChange] = []
  var dirtyConnections: [Int] = []
  /// Of each slot, until when the sweep need not look at it; see Timers.
  var rests: [Instant] = []
  /// Connections that the last sweep looked at.
  public internal(set) var sweepChecks = 0
  var doomed: [Int] = []
  var pauseChanges: [Int] = []

  var dirtySessions: [Int] = []
  var touchedSessions: [Int] = []
  public internal(set) var counters = Counters()

  public init(
    loop: Int, loopCount: Int, configuration: Configuration, now: Instant, wall: WallTime
  ) {
    precondition(loopCount > 0 && loopCount <= 64, "followers are a set of 64 bits")
    self.loop = loop
    self.loopCount = loopCount
    self.configuration = configuration
    self.now = now
    self.wall = wall
    connections = Connections(limit: configuration.connectionsMax)
    sessions = Slab(limit: configuration.sessionsMax)
    mail = Array(repeating: [], count: loopCount)
    compressor = Compressor(options: configuration.compression)
  }

  /// The loop that owns a session: the same on every loop, for ever the same for one count of
  /// loops.
  public func owner(of session: Identifier) -> Int {
    Engine.owner(of: session, loopCount: loopCount)
  }

  public static func owner(of session: Identifier, loopCount: Int) -> Int {
    // The low word of a version 7 id is random; multiplied, so that a poor client's ids spread too.
    let mixed = (session.low ^ session.high) &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: (mixed >> 33) % UInt64(loopCount))
  }

  public var connectionCount: Int { connections.count }

  mutating func post(_ item: Mail, to loop: Int) {
    precondition(loop != self.loop, "a loop does not write mail to itself")
    mail[loop].append(item)
  }

  // MARK: What the driver takes

  public mutating func takeMail(for loop: Int) -> [Mail] {
    guard !mail[loop].isEmpty else { return [] }
    var taken: [Mail] = []
    swap(&taken, &mail[loop])
    return taken
  }

  public mutating func nextRead() -> ReadRequest? { reads.popFirst() }
  /// Whether `nextRead` has something: also what a flush asked for, after the store was driven.
  public var hasReads: Bool { !reads.isEmpty }

  public mutating func takeVerifications() -> [Verification] {
    guard !verifications.isEmpty else { return [] }
    defer { verifications = [] }
    return verifications
  }

  public mutating func takeDepartures() -> [(slot: SlotID, loop: Int)] {
    guard !departures.isEmpty else { return [] }
    defer { departures = [] }
    return departures
  }

  /// Outcomes for REST requests that wait on this loop.
  public mutating func takeRequestOutcomes() -> [OutcomeMail] {
    guard !requestOutcomes.isEmpty else { return [] }
    defer { requestOutcomes = [] }
    return requestOutcomes
  }

  /// Slots whose reading has to be paused or resumed, see `isPaused`.
  public mutating func takePauseChanges() -> [Int] {
    guard !pauseChanges.isEmpty else { return [] }
    defer { pauseChanges = [] }
    return pauseChanges
  }
}

/// What the metrics show of an engine. Only its own loop writes it.
public struct Counters: Sendable {
  public var framesReceived: UInt64 = 0
  public var commandsReceived: UInt64 = 0
  public var sendsAccepted: UInt64 = 0
  public var committed: UInt64 = 0
  public var duplicates: UInt64 = 0
  public var delivered: UInt64 = 0
  public var refused: [UInt64] = Array(repeating: 0, count: Refusal.allCases.count)
  /// Connections closed for what the peer did.
  public var faults = FaultCounts()
  public var slowConsumers: UInt64 = 0
  /// Texts that were deflated: once for each fan-out, however many get it.
  public var deflated: UInt64 = 0
  public var batches: UInt64 = 0
  public var batchMessages: UInt64 = 0
  /// By size: element n counts batches of 2ⁿ to 2ⁿ⁺¹ - 1 messages, the last one larger ones too.
  public var batchSizes: [UInt64] = Array(repeating: 0, count: Counters.batchSizeCount)
  /// Sessions that were read into memory, and that left it because others needed the room.
  public var sessionLoads: UInt64 = 0
  public var sessionEvictions: UInt64 = 0
  /// Recent messages of a session that left memory because others needed the room.
  public var recentDrops: UInt64 = 0

  /// Enough for `Limits.batchRecords`.
  public static let batchSizeCount = 11

  public init() {}

  mutating func countBatch(_ size: Int) {
    batches += 1
    batchMessages += UInt64(size)
    let power = Int.bitWidth - 1 - max(1, size).leadingZeroBitCount
    batchSizes[min(power, Counters.batchSizeCount - 1)] += 1
  }
}

/// A queue that is filled at one end and emptied at the other.
struct Fifo<Element> {
  private var items: [Element] = []
  private var head = 0

  var isEmpty: Bool { head == items.count }
  var first: Element? { head < items.count ? items[head] : nil }

  mutating func append(_ item: Element) { items.append(item) }

  mutating func popFirst() -> Element? {
    guard head < items.count else { return nil }
    defer {
      head += 1
      if head == items.count {
        items.removeAll(keepingCapacity: items.count <= 1024)
        head = 0
      } else if head > 1024 && head > items.count / 2 {
        items.removeFirst(head)
        head = 0
      }
    }
    return items[head]
  }
}
