/// One thread and one epoll for a share of the clients: connect, load at an open rate, drain,
/// close.
///
/// The clients are pure state machines; only this class owns sockets and reads the clock.
import Kernel
import OpenSSL
import Primitives
import Synchronization

struct LoadPlan: Sendable, Codable {
  var target: Target
  /// The target of clients with `.slow` behaviour.
  var slowTarget: Target?
  /// The gateways that clients use in turn; empty for `target` alone.
  var gateways: [Target] = []
  var stamp: Stamp
  var bodyBytes: Int
  var ratePerSecond: Double
  var spacing: Arrivals.Spacing
  /// Messages of the warm-up are verified, but not measured.
  var warmUpSeconds = 0
  var seconds: Int
  /// The share of the messages that operators send, 0 to 1.
  var operatorShare: Double
  var settleSeconds: Int
  var drainSeconds: Int
  var backoffMaxMilliseconds: Int
  var seed: UInt64
  /// Simultaneous connection attempts of one loop.
  var connectingMax = 256
  /// Sessions speak in turn instead of at random, so that each does.
  var isInTurn = false

  func target(of client: Int, _ behaviour: ClientGroup.Behaviour) -> Target {
    if behaviour == .slow, let slowTarget { return slowTarget }
    return gateways.isEmpty ? target : gateways[client % gateways.count]
  }
}

final class LoadLoop {
  let plan: LoadPlan
  let shared: RunState
  let index: Int
  var clients: [Client]
  var connections: [Connection?]
  var measured: Measurements
  var phase = RunState.Phase.connecting {
    didSet { nextProgress = .zero }
  }
  var nextProgress = Instant.zero
  /// The senders: for each session its visitors, and its operators with their subscription.
  let visitors: [[Int]]
  let operators: [[(client: Int, subscription: Int)]]
  let behaviours: [ClientGroup.Behaviour]
  /// Falsifies one delivery, to test the verifier.
  var tamper: Tamper?
  /// Becomes `tamper` when all clients are sending.
  var plannedTamper: Tamper?
  /// Due times of background traffic, which goes to the first `talkingSessions` sessions.
  var traffic: Arrivals?
  var talkingSessions: Int
  /// The next one, with `LoadPlan.isInTurn`.
  var talkingTurn = 0
  /// Clients that were cut off, until all have recovered.
  var recovery: Recovery?
  /// The current phase and the previous ones.
  var phases: [LoopPhase] = []
  /// Problems that are no broken promises.
  var problems: [String] = []
  private(set) var stepCount = 0
  /// The number of clients that take part; the others have not connected yet.
  private(set) var activeCount = 0

  private let epoll: Epoll
  private let workspace = TLSWorkspace()
  private var events = Events(capacity: 1024)
  private var buffer = [UInt8](repeating: 0, count: 262_144)
  private var commands = CommandBuffer()
  private var deadlines: Deadlines
  /// Distinguishes a client's new connection from stale events of the old one.
  private var generations: [UInt32]
  private var connectingCount = 0
  private var connectQueue: [Int] = []

  init(plan: LoadPlan, group: ClientGroup, shared: RunState, index: Int) throws(Errno) {
    self.plan = plan
    self.shared = shared
    self.index = index
    epoll = try Epoll()
    var visitors = Array(repeating: [Int](), count: group.sessions.count)
    var operators = Array(
      repeating: [(client: Int, subscription: Int)](), count: group.sessions.count)
    clients = group.members.enumerated().map { position, member in
      for (subscription, session) in member.sessions.enumerated() {
        if member.behaviour == .stopping { continue }
        if member.role == .visitor {
          visitors[session].append(position)
        } else {
          operators[session].append((position, subscription))
        }
      }
      var client = Client(
        number: member.number, role: member.role, token: member.token,
        sessions: member.sessions.map { ($0, group.sessions[$0]) },
        backoffMaxMilliseconds: plan.backoffMaxMilliseconds)
      client.isTimed = member.behaviour != .stopping
      return client
    }
    talkingSessions = group.sessions.count
    self.visitors = visitors
    self.operators = operators
    behaviours = group.members.map(\.behaviour)
    connections = Array(repeating: nil, count: clients.count)
    generations = Array(repeating: 0, count: clients.count)
    deadlines = Deadlines(clients: clients.count)
    measured = Measurements(
      stamp: plan.stamp, bodies: Bodies(byteCount: plan.bodyBytes),
      random: RandomStream(seed: plan.seed &+ UInt64(index)),
      ledger: Ledger(sessions: group.sessions))
  }

  /// Waits until `wake` at the latest, and handles the events.
  func turn(until wake: Instant) throws(Errno) {
    let wait = max(0, wake.nanoseconds - SystemClock.now().nanoseconds)
    try epoll.wait(into: &events, timeoutNanoseconds: min(wait, 100_000_000))
    for position in 0..<events.count {
      let event = events[position]
      let client = Int(event.datum & 0xFFFF_FFFF)
      guard UInt32(event.datum >> 32) == generations[client] else { continue }
      if event.isWritable || event.isHungUp { try writable(client) }
      if event.isReadable || event.isHungUp { try readable(client) }
    }
    let now = SystemClock.now()
    while let client = deadlines.pop(now) {
      if clients[client].deadline <= now { try tick(client, now) }
      deadlines.schedule(client, clients[client].deadline)
    }
  }

  var nextDeadline: Instant { deadlines.next }

  /// A message of `client` is due.
  func compose(_ client: Int, subscription: Int, due: Instant) throws(Errno) {
    clients[client].compose(subscription: subscription, due: due, &measured, &commands)
    try transmit(client)
  }

  func startAll() throws(Errno) { start(clients.count) }

  /// Lets the first `count` clients take part.
  func start(_ count: Int) {
    for client in activeCount..<max(activeCount, count) {
      deadlines.schedule(client, clients[client].deadline)
    }
    activeCount = max(activeCount, count)
  }

  /// Continues until every loop of every process has reached this step. Returns the common moment
  /// of the step; nil when the run was stopped.
  func meet() throws(Errno) -> Instant? {
    shared.arrive()
    defer { stepCount += 1 }
    while !isStopped {
      if let moment = shared.moment(of: stepCount) { return moment }
      try step(until: SystemClock.now().advanced(byMilliseconds: 2))
    }
    return nil
  }

  var isStopped: Bool { shared.stop.load(ordering: .relaxed) }

  // MARK: Connections

  private func tick(_ client: Int, _ now: Instant) throws(Errno) {
    switch clients[client].tick(now: now, &measured, &commands) {
    case .none: try transmit(client)
    case .connect: try connect(client)
    case .close(let code): try close(client, code: code)
    }
  }

  private func connect(_ client: Int) throws(Errno) {
    let now = SystemClock.now()
    clients[client].connecting(now: now)
    if connectingCount >= plan.connectingMax {
      connectQueue.append(client)
      return
    }
    do throws(Errno) {
      let behaviour = behaviours[client]
      let connection = try Connection(
        client: client, target: plan.target(of: client, behaviour),
        offersDeflate: behaviour == .deflating, workspace, random: &measured.random)
      generations[client] &+= 1
      if behaviour == .stopping { try connection.keepLittle() }
      try connection.register(in: epoll, datum: datum(client))
      connections[client] = connection
      connectingCount += 1
    } catch {
      ended(client, ConnectionEnd(code: nil, label: error.name))
    }
  }

  private func connectNext() throws(Errno) {
    connectingCount -= 1
    if !connectQueue.isEmpty { try connect(connectQueue.removeFirst()) }
  }

  private func datum(_ client: Int) -> UInt64 { UInt64(generations[client]) << 32 | UInt64(client) }

  private func writable(_ client: Int) throws(Errno) {
    guard let connection = connections[client] else { return }
    try follow(connection, connection.writable())
  }

  private func readable(_ client: Int) throws(Errno) {
    guard let connection = connections[client] else { return }
    var closing: UInt16?
    let inflated = connection.inflatedCount
    defer { measured.counters.inflated += connection.inflatedCount - inflated }
    let outcome = connection.readable(&buffer) { text in
      let action = receive(client, text)
      if case .close(let code) = action { closing = code }
      return action == .none
    }
    if let closing { return try close(client, code: closing) }
    if case .ended = outcome {
      commands.removeAll()
      return try follow(connection, outcome)
    }
    if outcome == .opened { clients[client].opened(now: SystemClock.now(), &commands) }
    try transmit(client)
    if outcome == .opened { try connectNext() }
  }

  /// Handles all objects of one message.
  private func receive(_ client: Int, _ text: RawSpan) -> Client.Action {
    let now = SystemClock.now()
    var cursor = JSONCursor()
    while cursor.skipBlanks(text) {
      do throws(JSONFault) {
        let event = try ServerEvent(text, &cursor)
        if event.kind == .message, isSwallowed(client, event, text, now) { continue }
        let action = clients[client].receive(event, text, now: now, &measured, &commands)
        if action != .none { return action }
        if event.kind == .live, recovery != nil, clients[client].isSettled {
          recovery?.cameBack(client, at: now)
        }
      } catch {
        measured.ledger.violations.note(.mismatched, "not JSON: \(text.string.prefix(200))")
        return .close(1007)
      }
    }
    deadlines.schedule(client, clients[client].deadline)
    return .none
  }

  /// Falsifies this delivery if `tamper` is set: drops it, or delivers it twice. Returns whether it
  /// was dropped.
  private func isSwallowed(
    _ client: Int, _ event: ServerEvent, _ text: RawSpan, _ now: Instant
  ) -> Bool {
    guard let lie = tamper.take() else { return false }
    if lie == .doubleDelivery {
      _ = clients[client].receive(event, text, now: now, &measured, &commands)
    }
    return lie == .dropDelivery
  }

  /// Closes the client's connection with a RST.
  func cutOff(_ client: Int) throws(Errno) {
    guard let connection = connections[client] else { return }
    connection.reset()
    try follow(connection, .ended(ConnectionEnd(code: nil, label: "own reset")))
  }

  /// Stops or resumes reading. Without reading, missing pings are no reason to reconnect.
  func setReading(_ client: Int, _ reads: Bool) throws(Errno) {
    try connections[client]?.setReading(reads, in: epoll, datum: datum(client))
    clients[client].silenceEnds =
      reads
      ? SystemClock.now().advanced(byMilliseconds: clients[client].silenceMilliseconds) : .never
    deadlines.schedule(client, clients[client].deadline)
  }

  /// Disconnects the client until `until`.
  func sendAway(_ client: Int, until: Instant) throws(Errno) {
    try close(client, code: 1000)
    clients[client].stage = .offline(until: until)
    clients[client].attempt = 0
    deadlines.schedule(client, until)
  }

  private func transmit(_ client: Int) throws(Errno) {
    guard let connection = connections[client] else {
      commands.removeAll()
      return
    }
    if !commands.isEmpty {
      connection.queue(commands, random: &measured.random)
      commands.removeAll()
    }
    try follow(connection, connection.flush())
    deadlines.schedule(client, clients[client].deadline)
  }

  private func follow(_ connection: Connection, _ outcome: Connection.Outcome) throws(Errno) {
    let client = connection.client
    guard connections[client] === connection else { return }
    if case .ended(let end) = outcome {
      let wasConnecting = connection.phase != .open
      connections[client] = nil
      generations[client] &+= 1
      ended(client, end)
      if wasConnecting { try connectNext() }
    } else {
      try connection.updateInterest(in: epoll, datum: datum(client))
    }
  }

  private func ended(_ client: Int, _ end: ConnectionEnd) {
    if phase != .closing {
      clients[client].closed(code: end.code, label: end.label, now: SystemClock.now(), &measured)
      deadlines.schedule(client, clients[client].deadline)
    }
  }

  /// Sends a close frame without waiting for the answer; the client continues with a new
  /// connection.
  private func close(_ client: Int, code: UInt16) throws(Errno) {
    guard let connection = connections[client] else { return }
    commands.removeAll()
    if connection.phase == .open {
      connection.queueClose(code, random: &measured.random)
      _ = connection.flush()
    }
    try follow(connection, .ended(ConnectionEnd(code: code, label: "own \(code)")))
  }

  /// Closes all connections and waits for the gateway's close frames.
  func closeAll() throws(Errno) {
    phase = .closing
    for client in clients.indices {
      guard let connection = connections[client] else { continue }
      guard connection.phase == .open else {
        connections[client] = nil
        generations[client] &+= 1
        continue
      }
      connection.queueClose(1000, random: &measured.random)
      try follow(connection, connection.flush())
    }
  }

  var openCount: Int { connections.count { $0 != nil } }
}
