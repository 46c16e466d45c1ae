import Chat
import Primitives

/// One run of the simulation, determined by its seed. Visitors and operators write while
/// connections break, PostgreSQL refuses, restarts, hangs or loses its newest entries, and the
/// gateway is killed. Then the faults end, and once all is settled the final state is checked.
final class Run {
  let seed: UInt64
  let bug: Bug?
  /// Whether events are printed.
  let isLogged: Bool
  let agenda = Agenda()
  var dice: Dice
  private(set) lazy var postgres = SimulatedPostgres(run: self)
  private(set) lazy var checker = Checker(run: self)
  private lazy var node = GatewayNode(run: self, loopCount: loopCount)
  private var clients: [Client] = []
  private var workspaces: [[Identifier]] = []
  /// Sessions that operators follow for a moment, so that there are more than fit in memory.
  private(set) var quiet: [[Identifier]] = []
  private(set) var isRecovering = false
  /// Sessions evicted from the memory of a loop.
  var evictions: UInt64 = 0
  private(set) var networkDelay = 200
  private let loopCount: Int
  /// All rows before a fail-over that has lost some of them.
  private(set) var lostRows: [Identifier: SimulatedPostgres.Row] = [:]

  init(seed: UInt64, bug: Bug? = nil, isLogged: Bool = false) {
    self.isLogged = isLogged
    self.seed = seed
    self.bug = bug
    dice = Dice(seed: seed)
    loopCount = dice.between(1...3)
    networkDelay = [50, 300, 5_000][dice.below(3)]
    makeClients()
  }

  /// The sessions that clients follow all the time.
  var sessions: [Identifier] { Array(workspaces.joined()) }

  /// The sessions in the memory of one loop: hardly more than are followed, so that sessions are
  /// evicted and loaded again all the time.
  var loadedSessionsMax: Int { sessions.count + 2 }

  private func addSession(_ session: Identifier, _ workspace: Identifier) {
    postgres.addSession(
      SessionSnapshot(
        id: session, workspace: workspace, visitor: nil, epoch: Array("e1".utf8), head: 0,
        status: .waiting, assignee: nil, title: [], marks: []))
  }

  private func makeClients() {
    for workspace in 0..<2 {
      let id = workspaceID(workspace)
      var sessions: [Identifier] = []
      for _ in 0..<dice.between(1...3) {
        let session = dice.identifier()
        sessions.append(session)
        addSession(session, id)
        for _ in 0..<dice.between(1...2) {
          addClient(isOperator: false, workspace, [session])
        }
      }
      for _ in 0..<dice.between(1...2) { addClient(isOperator: true, workspace, sessions) }
      workspaces.append(sessions)
      quiet.append((0..<8).map { _ in dice.identifier() })
      for session in quiet[workspace] { addSession(session, id) }
    }
  }

  private func addClient(isOperator: Bool, _ workspace: Int, _ own: [Identifier]) {
    clients.append(
      Client(
        run: self, number: clients.count, isOperator: isOperator, workspace: workspace, own: own))
  }

  private func workspaceID(_ workspace: Int) -> Identifier {
    Identifier(high: 0xA, low: UInt64(workspace) + 1)
  }

  func log(_ text: @autoclosure () -> String) {
    guard isLogged else { return }
    print("\(Double(agenda.microseconds) / 1_000_000) \(text())")
  }

  // MARK: Services for the other parts

  func member(_ token: String) -> Member? {
    guard let client = clients.first(where: { $0.token == token }) else { return nil }
    let workspace =
      bug == .foreignSession && dice.onceIn(3) ? 1 - client.workspace : client.workspace
    return Member(
      person: Person(
        role: client.isOperator ? .operator_ : .visitor,
        id: Identifier(high: 0xC, low: UInt64(client.number)), name: Array("n".utf8)),
      workspace: workspaceID(workspace), sessions: client.isOperator ? [] : client.own,
      expiresAt: WallTime(microseconds: agenda.wall.microseconds + 3_600_000_000))
  }

  func foreignSession(of workspace: Int) -> Identifier? { workspaces[1 - workspace].first }

  /// An upgraded socket, or nil when the gateway is down or full.
  func connect(_ client: Client) -> Socket? {
    guard node.isAlive else { return nil }
    let socket = Socket(run: self, client: client)
    return node.loops[dice.below(loopCount)].accept(socket) ? socket : nil
  }

  /// An operator claims or closes a conversation over REST.
  func postgresChange(_ session: Identifier, _ status: SessionStatus, by client: Client) {
    guard postgres.isUp else { return }
    let person = Person(
      role: .operator_, id: Identifier(high: 0xC, low: UInt64(client.number)),
      name: Array("n".utf8))
    postgres.changeState(session, status, by: status == .active ? person : nil)
    announce(session)
  }

  /// Reports to a loop that another writer has changed a session.
  func announce(_ session: Identifier) {
    let loop = node.loops[dice.below(loopCount)]
    if node.isAlive { loop.changed(session) }
  }

  // MARK: The run

  private static let faultMilliseconds = 12_000
  private static let recoveryMilliseconds = 90_000

  /// The first violation, or nil.
  func play() -> String? {
    for client in clients { client.live() }
    scheduleFault()
    let end = Int64(4_000 + dice.below(Run.faultMilliseconds)) * 1000
    while agenda.microseconds < end, checker.violation == nil, agenda.step() {}
    recover()
    let last = agenda.microseconds + Int64(Run.recoveryMilliseconds) * 1000
    while agenda.microseconds < last, checker.violation == nil, agenda.step() {
      if agenda.steps % 512 == 0, isQuiet { break }
    }
    if checker.violation == nil { checker.finish(clients) }
    for client in clients { client.leave() }
    // Breaks the reference cycles through loops, sockets and scheduled events.
    node.kill()
    agenda.removeAll()
    return checker.violation
  }

  private var isQuiet: Bool {
    clients.allSatisfy { client in
      client.isIdle && checker.unstoredMark(of: client) == nil
        && client.own.allSatisfy {
          client.views[$0]?.isLive == true && client.views[$0]?.next == postgres.head($0) + 1
        }
    }
  }

  private func recover() {
    isRecovering = true
    networkDelay = 300
    postgres.faultRates = SimulatedPostgres.FaultRates()
    postgres.endStall()
    postgres.start()
    for session in workspaces.joined() {
      if postgres.sessions[session]?.snapshot.status == .closed {
        postgres.changeState(session, .active, by: nil)
        if node.isAlive { node.loops[0].changed(session) }
      }
    }
    if !node.isAlive { restart() }
    for client in clients { client.readAgain() }
  }

  private func restart() { node = GatewayNode(run: self, loopCount: loopCount) }

  private func scheduleFault() {
    agenda.after(milliseconds: 50 + dice.below(1_500)) { [self] in
      guard !isRecovering else { return }
      injectFault()
      scheduleFault()
    }
  }

  private func injectFault() {
    let fault = dice.below(12)
    log("fault \(fault)")
    switch fault {
    case 0, 1, 2, 3:
      postgres.faultRates = SimulatedPostgres.FaultRates(
        conflicts: dice.onceIn(2) ? dice.below(40) : 0,
        refusals: dice.onceIn(3) ? dice.below(60) : 0,
        cutsBefore: dice.onceIn(3) ? dice.below(30) : 0,
        cutsAfter: dice.onceIn(2) ? dice.below(30) : 0,
        latency: [200, 1_000, 20_000, 200_000][dice.below(4)])
    case 4, 5:
      postgres.stop()
      agenda.after(milliseconds: dice.below(7_000)) { [self] in postgres.start() }
    case 6: postgres.stall(milliseconds: dice.below(7_000))
    case 7:
      guard node.isAlive else { return }
      node.kill()
      agenda.after(milliseconds: dice.below(2_000)) { [self] in
        if !node.isAlive { restart() }
      }
    case 8: postgres.replicate()
    case 9:
      lostRows = postgres.sessions
      postgres.failOver()
      agenda.after(milliseconds: dice.below(3_000)) { [self] in postgres.start() }
    case 10: networkDelay = [50, 300, 5_000, 200_000][dice.below(4)]
    default: for client in clients where dice.onceIn(2) { client.leave() }
    }
  }
}
