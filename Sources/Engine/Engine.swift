import Chat
public import Primitives
import Wire

/// The whole state of one loop as one deterministic state machine. It has no clock, no descriptor
/// and no randomness of its own: the driver sets `now`, gives it bytes, mail and answers, and takes
/// what it wants done from its queues (architecture: “A pure engine, a thin driver”).
///
/// The engine coordinates components, each of which owns its state: a component's functions change
/// it alone, and get the others that they need as arguments. What concerns several components at
/// once (a hello, a subscription, a commit, the end of a connection) is done here, one file for
/// each.
public struct Engine: ~Copyable {
  let configuration: Configuration

  // Set by the driver.
  /// With each iteration.
  public var now: Instant
  public var wall: WallTime
  /// Names the database that this loop's writer has reached, as its pages must; empty before that.
  public var store = ""
  /// Workspaces that want news of every message of a visitor without an operator: those with bots.
  public var listeners: Set<Identifier> = []
  /// Whether other gateways write into the same database.
  public var hasPeers = false

  public var connections: ConnectionTable
  var sessions: SessionTable
  public var effects: Effects
  var sending = SendPipeline()
  var fanOut: FanOut
  var presence = Presence()
  var inbox = Inbox()
  var queuePositions = QueuePositionSubscribers()
  /// Those of the counters that no component keeps.
  var counts = Counters()
  /// Connections that the last sweep looked at.
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
    fanOut = FanOut(options: configuration.compression)
  }

  /// This loop's number.
  public var loop: Int { effects.loop }

  /// Whether the store answers, set by the driver before it gives outcomes.
  public var isStoreReachable: Bool {
    get { sending.isStoreReachable }
    set { sending.isStoreReachable = newValue }
  }

  /// The loop that owns a session: the same on every loop, for ever the same for one count of
  /// loops.
  public func owner(of session: Identifier) -> Int { effects.owner(of: session) }

  public static func owner(of session: Identifier, loopCount: Int) -> Int {
    // The low word of a version 7 id is random; multiplied, so that a poor client's ids spread too.
    let mixed = (session.low ^ session.high) &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: (mixed >> 33) % UInt64(loopCount))
  }

  // MARK: The driver's view

  public var hasDirty: Bool { connections.hasDirty || sessions.hasDirty }
  /// Sessions that are held in memory now; at most `Configuration.sessionsMax`.
  public var sessionCount: Int { sessions.count }
  /// Bytes of recent messages of this loop's sessions.
  public var recentByteCount: Int { sessions.recentByteCount }
  public var hasBatch: Bool { sending.hasBatch }
  public var queuedRecords: Int { sending.queuedRecords }
  /// When the oldest record came that waits for the journal.
  public var oldestQueued: Instant? { sending.oldestQueued }

  /// What the engine has counted so far.
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

  /// Spreads what happened in this iteration: subscribers of changed sessions become dirty, their
  /// followers get mail. Call it before `takeMail` and `takeDirty`.
  public mutating func settleSessions() { fanOut.settle(&sessions, &connections, &effects) }

  /// Appends what the connection may send now. Call it only while the socket takes bytes.
  public mutating func collect(_ connection: ConnectionIndex, into output: inout [UInt8]) {
    fanOut.collect(connection, into: &output, &sessions, &connections, &effects)
  }
}

extension Engine {
  public struct Configuration: Sendable {
    public var connectionsMax: Int
    /// Sessions in memory: see SessionTable.
    public var sessionsMax: Int
    /// Bytes of recent messages in memory: see SessionTable.
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
}
