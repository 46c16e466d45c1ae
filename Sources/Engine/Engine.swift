import Chat
public import Primitives
import Wire

/// The whole state of one loop as one deterministic state machine. It has no clock, no descriptor
/// and no source of randomness: the driver sets `now`, passes in bytes, mail and responses, and
/// takes the results from `connections` and `effects`.
///
/// The engine coordinates components, each of which owns its state. A component's functions change
/// its own state and get the other components as arguments. The engine itself has the functions
/// that concern several components at once (a hello, a subscription, a commit, the end of a
/// connection), in one file each.
public struct Engine: ~Copyable {
  let configuration: Configuration

  /// The time of this iteration, set by the driver.
  public var now: Instant
  public var wall: WallTime
  /// The identity of the database that this loop's writer is connected to, set by the driver; empty
  /// before the first connection. Pages of another database are refused.
  public var store = ""

  public var connections: ConnectionTable
  public var sessions: SessionTable
  public var effects: Effects
  public var inbox = Inbox()
  var sending: SendPipeline
  var fanOut: FanOut
  var presence = Presence()
  var queuePositions = QueuePositionSubscribers()
  /// The counters that no component keeps.
  var counts = Counters()
  /// Connections checked by the last sweep.
  public internal(set) var sweepChecks = 0

  public init(
    loop: Int, loopCount: Int, configuration: Configuration, now: Instant, wall: WallTime
  ) {
    self.configuration = configuration
    self.now = now
    self.wall = wall
    connections = ConnectionTable(limit: configuration.connectionsMax)
    sessions = SessionTable(
      limit: configuration.sessionsMax, recentBytesMax: configuration.recentBytesMax)
    effects = Effects(loop: loop, loopCount: loopCount)
    sending = SendPipeline(quotas: configuration.quotas)
    fanOut = FanOut(options: configuration.compression)
  }

  /// The quotas of visitors over all loops, as this one has taken them over.
  public var quotas: SharedQuotas {
    get { sending.quotas.table.shared }
    set { sending.quotas.use(newValue, now: now) }
  }

  /// This loop's number.
  public var loop: Int { effects.loop }

  /// Whether the store answers, set by the driver before it passes in outcomes.
  public var isStoreReachable: Bool {
    get { sending.isStoreReachable }
    set { sending.isStoreReachable = newValue }
  }

  /// Workspaces whose news include every message of a visitor without an operator: those with bots.
  public var listeners: Set<Identifier> {
    get { effects.listeners }
    set { effects.listeners = newValue }
  }

  /// Whether other gateways use the same database.
  public var hasPeers: Bool {
    get { effects.hasPeers }
    set { effects.hasPeers = newValue }
  }

  /// The loop that owns a session. It depends only on the id and the number of loops.
  public static func owner(of session: Identifier, loopCount: Int) -> Int {
    // The low word of a version 7 id is random. The multiplication spreads poorly made ids too.
    let mixed = (session.low ^ session.high) &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: (mixed >> 33) % UInt64(loopCount))
  }

  // MARK: The driver's view

  /// Whether `settleSessions` or `ConnectionTable.takeDirty` has work.
  public var hasDirty: Bool { connections.hasDirty || sessions.hasDirty }
  public var hasBatch: Bool { sending.hasBatch }
  public var queuedRecords: Int { sending.queuedRecords }
  /// When the oldest record that waits for the journal was added.
  public var oldestQueued: Instant? { sending.oldestQueued }

  /// The counters since the start.
  public var counters: Counters {
    var counters = counts
    counters.refused = connections.refused
    counters.slowConsumers = connections.slowConsumers
    counters.sessionLoads = sessions.loads
    counters.sessionEvictions = sessions.evictions
    counters.recentDrops = sessions.recentDrops
    counters.delivered = fanOut.delivered
    counters.deflated = fanOut.deflated
    return counters
  }

  /// Distributes the changes of this iteration: subscribers of changed sessions become dirty, and
  /// following loops get mail. Call it before `takeMail` and `takeDirty`.
  public mutating func settleSessions() { fanOut.settle(&sessions, &connections, &effects) }

  /// Appends the output of a connection, up to one iteration's share. Call it only while the socket
  /// takes bytes.
  public mutating func collect(_ connection: ConnectionIndex, into output: inout [UInt8]) {
    fanOut.collect(connection, into: &output, &sessions, &connections, &effects)
  }
}

extension Engine {
  public struct Configuration: Sendable {
    public var connectionsMax: Int
    /// Sessions in memory: see `SessionTable`.
    public var sessionsMax: Int
    /// Bytes of recent entries in memory: see `SessionTable`.
    public var recentBytesMax: Int
    /// Shown in `welcome.node`.
    public var node: StaticString
    public var compression: CompressionOptions
    /// The quotas of visitors over all loops.
    public var quotas: SharedQuotas

    public init(
      connectionsMax: Int, sessionsMax: Int, recentBytesMax: Int? = nil,
      node: StaticString, compression: CompressionOptions = CompressionOptions(),
      quotas: SharedQuotas = .unlimited
    ) {
      self.connectionsMax = connectionsMax
      self.sessionsMax = sessionsMax
      self.recentBytesMax = recentBytesMax ?? Limits.recentLogsBytes
      self.node = node
      self.compression = compression
      self.quotas = quotas
    }
  }
}

/// An engine's counters for the metrics.
public struct Counters: Sendable {
  public var framesReceived: UInt64 = 0
  public var commandsReceived: UInt64 = 0
  public var sendsAccepted: UInt64 = 0
  public var committed: UInt64 = 0
  public var duplicates: UInt64 = 0
  public var delivered: UInt64 = 0
  public var refused: [UInt64] = Array(repeating: 0, count: Refusal.allCases.count)
  /// Connections closed because of the peer's input.
  public var faults = FaultCounts()
  public var slowConsumers: UInt64 = 0
  /// Deflated texts; one that many connections share counts once.
  public var deflated: UInt64 = 0
  public var batches: UInt64 = 0
  public var batchMessages: UInt64 = 0
  /// Batches by size: element n counts those of 2ⁿ to 2ⁿ⁺¹ − 1 messages, the last also larger ones.
  public var batchSizes: [UInt64] = Array(repeating: 0, count: Counters.batchSizeCount)
  /// From a message's arrival until its batch was submitted.
  public var queueTimes = DurationHistogram()
  /// Sessions read into memory, and sessions evicted to make room for others.
  public var sessionLoads: UInt64 = 0
  public var sessionEvictions: UInt64 = 0
  /// Sessions whose recent entries were dropped to make room for others.
  public var recentDrops: UInt64 = 0

  /// Covers `Limits.batchRecords`.
  public static let batchSizeCount = 11

  public init() {}

  mutating func countBatch(_ size: Int) {
    batches += 1
    batchMessages += UInt64(size)
    let power = Int.bitWidth - 1 - max(1, size).leadingZeroBitCount
    batchSizes[min(power, Counters.batchSizeCount - 1)] += 1
  }
}
