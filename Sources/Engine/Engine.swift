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

  public var connections: ConnectionTable
  var sessions: SessionTable
  public var effects: Effects
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

  /// Connections that the last sweep looked at.
  public internal(set) var sweepChecks = 0
  /// Those of the counters that no component keeps.
  var counts = Counters()

  public init(
    loop: Int, loopCount: Int, configuration: Configuration, now: Instant, wall: WallTime
  ) {
    self.loop = loop
    self.loopCount = loopCount
    self.configuration = configuration
    self.now = now
    self.wall = wall
    connections = ConnectionTable(limit: configuration.connectionsMax)
    sessions = SessionTable(
      limit: configuration.sessionsMax, recentBytesMax: configuration.recentBytesMax)
    effects = Effects(loop: loop, loopCount: loopCount)
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

  /// What the engine has counted so far.
  public var counters: Counters {
    var counters = counts
    counters.refused = connections.refused
    counters.slowConsumers = connections.slowConsumers
    counters.sessionLoads = sessions.loads
    counters.sessionEvictions = sessions.evictions
    counters.recentDrops = sessions.recentDrops
    return counters
  }

}
