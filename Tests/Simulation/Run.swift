import Chat
import Primitives

/// One seed: a small company on a bad day. Visitors and operators write while connections break,
/// PostgreSQL refuses, restarts, freezes or loses its last moments, and the gateway is killed. Then
/// the weather clears, and after quiet everything must be right.
final class Run {
  let seed: UInt64
  let bug: Bug?
  /// Says what happens, for a seed that is looked at.
  let isTold: Bool
  let agenda = Agenda()
  var dice: Dice
  private(set) lazy var postgres = SimulatedPostgres(run: self)
  private(set) lazy var checker = Checker(run: self)
  private lazy var node = GatewayNode(run: self, loopCount: loopCount)
  private var clients: [Client] = []
  private var workspaces: [[Identifier]] = []
  /// Sessions that operators look into for a moment, so that there are more than memory holds.
  private(set) var quiet: [[Identifier]] = []
  private(set) var isHealing = false
  /// Sessions that left the memory of a loop for others.
  var evictions: UInt64 = 0
  private(set) var networkDelay = 200
  private let loopCount: Int
  /// The rows as they were when a fail-over forgot some of them.
  private(set) var lostRows: [Identifier: SimulatedPostgres.Row] = [:]

  init(seed: UInt64, bug: Bug? = nil, isTold: Bool = false) {
    self.isTold = isTold
    self.seed = seed
    self.bug = bug
    dice = Dice(seed: seed)
    loopCount = dice.between(1...3)
    networkDelay = [50, 300, 5_000][dice.below(3)]
    makeCast()
  }

  /// The sessions that somebody follows all the time.
  var sessions: [Identifier] { Array(workspaces.joined()) }

  /// What one loop may hold in memory: those that are followed, and hardly more, so that sessions
  /// leave and are loaded again all day.
  var warmSessionsMax: Int { sessions.count + 2 }

  private func addSession(_ session: Identifier, _ workspace: Identifier) {
    postgres.addSession(
      SessionSnapshot(
        id: session, workspace: workspace, visitor: nil, epoch: Array("e1".utf8), head: 0,
        status: .waiting, assignee: nil, title: [], marks: []))
  }

  private func makeCast() {
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

  func tell(_ text: @autoclosure () -> String) {
    guard isTold else { return }
    print("\(Double(agenda.microseconds) / 1_000_000) \(text())")
  }

  // MARK: What the others ask

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

  /// A socket with its upgrade done; nil when nobody answers.
  func connect(_ client: Client) -> Socket? {
    guard node.isAlive else { return nil }
    let socket = Socket(run: self, client: client)
    return node.loops[dice.below(loopCount)].accept(socket) ? socket : nil
  }

  /// An operator claims or closes by REST: written by another connection, then told to a loop.
  func postgresChange(_ session: Identifier, _ status: Status, by client: Client) {
    guard postgres.isUp else { return }
    let person = Person(
      role: .operator_, id: Identifier(high: 0xC, low: UInt64(client.number)),
      name: Array("n".utf8))
    postgres.changeState(session, status, by: status == .active ? person : nil)
    announce(session)
  }

  /// Somebody else has written into a session.
  func announce(_ session: Identifier) {
    let loop = node.loops[dice.below(loopCount)]
    if node.isAlive { loop.changed(session) }
  }

  // MARK: The day

  private static let troubleMilliseconds = 12_000
  private static let healMilliseconds = 90_000

  /// The first violation, or nil.
  func play() -> String? {
    for client in clients { client.live() }
    scheduleTrouble()
    let end = Int64(4_000 + dice.below(Run.troubleMilliseconds)) * 1000
    while agenda.microseconds < end, checker.violation == nil, agenda.step() {}
    heal()
    let last = agenda.microseconds + Int64(Run.healMilliseconds) * 1000
    while agenda.microseconds < last, checker.violation == nil, agenda.step() {
      if agenda.steps % 512 == 0, isQuiet { break }
    }
    if checker.violation == nil { checker.finish(clients) }
    for client in clients { client.leave() }
    // Loops and sockets know each other, and what was to come knows everybody.
    node.kill()
    agenda.removeAll()
    return checker.violation
  }

  private var isQuiet: Bool {
    clients.allSatisfy { client in
      client.isCalm && checker.unstoredMark(of: client) == nil
        && client.own.allSatisfy {
          client.views[$0]?.isLive == true && client.views[$0]?.next == postgres.head($0) + 1
        }
    }
  }

  private func heal() {
    isHealing = true
    networkDelay = 300
    postgres.weather = SimulatedPostgres.Weather()
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

  private func scheduleTrouble() {
    agenda.after(milliseconds: 50 + dice.below(1_500)) { [self] in
      guard !isHealing else { return }
      trouble()
      scheduleTrouble()
    }
  }

  private func trouble() {
    let kind = dice.below(12)
    tell("trouble \(kind)")
    switch kind {
    case 0, 1, 2, 3:
      postgres.weather = SimulatedPostgres.Weather(
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
