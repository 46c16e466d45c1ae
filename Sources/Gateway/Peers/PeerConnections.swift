/// The connections of all gateways of one database: this gateway asks the others by NOTIFY, waits
/// a limited time, merges the answers, and names the gateways that did not answer.
import JSON
import Kernel
import Postgres
import Primitives
import REST
import SharedSQL
import Synchronization

final class PeerConnections: Connections {
  /// Questions of this gateway that wait for answers. A further one gets none.
  static let askedMax = 16
  /// Questions of other gateways that are answered at once. Further ones get no answer.
  static let answeringMax = 8
  static let waitMilliseconds: Int64 = 2_000

  /// A question of this gateway.
  final class Asked: Sendable {
    struct State {
      var records: [Identifier: [ConnectionRecord]] = [:]
      var silent: Set<Identifier>
      var isDone = false
    }

    let countdown: Countdown
    let state: Mutex<State>

    init(_ gateways: [Identifier]) {
      countdown = Countdown(gateways.count)
      state = Mutex(State(silent: Set(gateways)))
    }

    /// - Parameter rowsMax: of one gateway.
    func take(
      _ rows: [JSONValue], isDone: Bool?, isLast: Bool, from gateway: Identifier, rowsMax: Int
    ) {
      let isComplete = state.withLock { state in
        guard state.silent.contains(gateway) else { return false }
        let known = state.records[gateway]?.count ?? 0
        state.records[gateway, default: []] += rows.prefix(rowsMax - known)
          .compactMap { ConnectionRecord($0) }
        if isDone == true { state.isDone = true }
        return isLast && state.silent.remove(gateway) != nil
      }
      if isComplete { countdown.confirm() }
    }
  }

  private let local: LoopServices
  private let peers: Peers
  private let asked = Mutex<[Identifier: Asked]>([:])
  private let answering = Mutex(0)

  init(local: LoopServices, peers: Peers) {
    self.local = local
    self.peers = peers
  }

  // MARK: To the other gateways

  func find(_ filter: ConnectionFilter) async -> [ConnectionRecord]? { await local.find(filter) }

  func trace(_ trace: ConnectionTrace) async -> Bool? { await local.trace(trace) }

  func findEverywhere(_ filter: ConnectionFilter) async -> FoundConnections? {
    guard let own = await local.find(filter) else { return nil }
    guard peers.exist else { return FoundConnections(records: own) }
    let others = await running()
    let (records, silent, _) = await ask(.find(filter.json), others)
    // An answer that is not complete would hide records between those of the others.
    let all = own + records.filter { filter.accepts($0) }
    return FoundConnections(records: filter.newest(of: all), silentGateways: silent)
  }

  func disconnect(
    _ record: ConnectionRecord, of workspace: Identifier?, reason: String
  ) async -> Bool? {
    guard record.gateway != peers.id else {
      return await local.disconnect(record.id, of: workspace, reason: reason)
    }
    let (_, silent, isDone) = await ask(
      .kick(
        connection: record.id, workspace: workspace, reason: reason, gateway: record.gateway),
      [record.gateway])
    return silent.isEmpty ? isDone : nil
  }

  /// The other gateways that run; none if the database does not answer.
  private func running() async -> [Identifier] {
    guard let rows = try? await local.run(peers.running()) else { return [] }
    return GatewayProcess.all(rows).map(\.id)
  }

  private func ask(
    _ question: PeerQuestion, _ gateways: [Identifier]
  ) async -> (records: [ConnectionRecord], silent: [Identifier], isDone: Bool) {
    let all = (records: [ConnectionRecord](), silent: gateways.sorted(), isDone: false)
    guard !gateways.isEmpty else { return all }
    guard let (id, waiting) = begin(gateways) else { return all }
    defer { asked.withLock { _ = $0.removeValue(forKey: id) } }
    let payload = peers.seal.payload(.question(id: id, question), as: peers.id)
    guard (try? await local.run(Peers.notify([payload]))) != nil else { return all }
    await local.wait(for: waiting.countdown, milliseconds: PeerConnections.waitMilliseconds)
    return waiting.state.withLock { state in
      let complete = state.records.filter { !state.silent.contains($0.key) }
      return (complete.values.flatMap(\.self), state.silent.sorted(), state.isDone)
    }
  }

  /// Nil: `askedMax` questions wait.
  func begin(_ gateways: [Identifier]) -> (id: Identifier, question: Asked)? {
    let id = Identifier.random()
    let question = Asked(gateways)
    let isTaken = asked.withLock { asked in
      guard asked.count < PeerConnections.askedMax else { return false }
      asked[id] = question
      return true
    }
    return isTaken ? (id, question) : nil
  }

  // MARK: From the other gateways

  /// The first loop calls it with each notification. Questions are answered by a task on it.
  func receive(_ sealed: String, from gateway: Identifier, on executor: LoopExecutor) {
    switch peers.seal.message(in: sealed, from: gateway) {
    case nil: return
    case .answer(let id, let rows, let isDone, let isLast):
      asked.withLock { $0[id] }?.take(
        rows, isDone: isDone, isLast: isLast, from: gateway,
        rowsMax: ConnectionFilter.limitMax)
    case .question(_, .kick(_, _, _, let holder)) where holder != peers.id: return
    case .question(let id, let question):
      guard beginAnswer() else { return }
      Task(executorPreference: executor) {
        await CurrentLoop.$index.withValue(0) { await self.respond(to: id, question) }
      }
    }
  }

  private func respond(to id: Identifier, _ question: PeerQuestion) async {
    defer { answering.withLock { $0 -= 1 } }
    let payloads = await answer(question, to: id).map { peers.seal.payload($0, as: peers.id) }
    guard !payloads.isEmpty else { return }
    // Without it this gateway is one of the silent ones.
    _ = try? await local.run(Peers.notify(payloads))
  }

  /// False: `answeringMax` questions are being answered.
  func beginAnswer() -> Bool {
    answering.withLock { answering in
      guard answering < PeerConnections.answeringMax else { return false }
      answering += 1
      return true
    }
  }

  /// Empty if a loop does not answer: then this gateway is one of the silent ones.
  private func answer(_ question: PeerQuestion, to id: Identifier) async -> [PeerMessage] {
    switch question {
    case .find(let json):
      guard let filter = ConnectionFilter(json), let found = await local.find(filter) else {
        return []
      }
      return PeerMessage.answers(to: id, found.map(\.json))
    case .kick(let connection, let workspace, let reason, _):
      guard
        let isDone = await local.disconnect(connection, of: workspace, reason: reason)
      else { return [] }
      return [.answer(id: id, rows: [], isDone: isDone, isLast: true)]
    }
  }
}
