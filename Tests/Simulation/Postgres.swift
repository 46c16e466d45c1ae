import Chat
import Postgres
import Primitives

/// PostgreSQL as the writer and the readers see it: rows, atomic transactions, late and lost
/// responses, errors by SQLSTATE, restarts, and a fail-over to a standby that lags behind.
final class SimulatedPostgres {
  struct Row {
    var snapshot: SessionSnapshot
    var entries: [Entry] = []
  }

  /// The probability of random faults of a transaction, in percent.
  struct FaultRates {
    /// Refused with a conflict.
    var conflicts = 0
    /// Refused because the store cannot work (disk full, too many connections).
    var refusals = 0
    /// The connection ends before the transaction.
    var cutsBefore = 0
    /// The connection ends after the commit, so that the response is lost.
    var cutsAfter = 0
    /// Typical microseconds from sending to commit.
    var latency = 300
  }

  private(set) var sessions: [Identifier: Row] = [:]
  private var places: [Identifier: (session: Identifier, seq: Int64)] = [:]
  var faultRates = FaultRates()
  /// False while no connection is possible.
  private(set) var isUp = true
  /// The server hangs (SIGSTOP, a frozen disk) until this time.
  private(set) var stalledUntil: Int64 = 0
  /// Incremented by every restart. Transactions of earlier incarnations are not executed.
  private(set) var incarnation = 0
  private(set) var epoch = 1
  /// The rows that the standby has copied.
  private var standby: (sessions: [Identifier: Row], places: [Identifier: (Identifier, Int64)])?

  unowned let run: Run
  private var connections: [WeakBackend] = []

  init(run: Run) { self.run = run }

  // MARK: Setup and queries

  func addSession(_ snapshot: SessionSnapshot) { sessions[snapshot.id] = Row(snapshot: snapshot) }

  func place(of id: Identifier) -> (session: Identifier, seq: Int64)? { places[id] }

  func entry(_ session: Identifier, _ seq: Int64) -> Entry? {
    guard let row = sessions[session], seq >= 1, seq <= row.entries.count else { return nil }
    return row.entries[Int(seq) - 1]
  }

  func head(_ session: Identifier) -> Int64 { sessions[session]?.snapshot.head ?? 0 }

  // MARK: Faults

  func register(_ backend: Backend) {
    connections.removeAll { $0.backend == nil }
    connections.append(WeakBackend(backend: backend))
  }

  func stop() {
    guard isUp else { return }
    isUp = false
    incarnation += 1
    for connection in connections { connection.backend?.lose("terminating connection") }
    connections = []
  }

  func start() { isUp = true }

  func stall(milliseconds: Int) {
    stalledUntil = max(stalledUntil, run.agenda.microseconds + Int64(milliseconds) * 1000)
  }

  func endStall() { stalledUntil = 0 }

  /// The standby copies all rows.
  func replicate() { standby = (sessions, places.mapValues { ($0.session, $0.seq) }) }

  /// The standby takes over. Rows that it had not copied are lost.
  func failOver() {
    guard let standby else { return }
    stop()
    sessions = standby.sessions
    places = standby.places.mapValues { (session: $0.0, seq: $0.1) }
    epoch += 1
    for id in sessions.keys { sessions[id]?.snapshot.epoch = Array("e\(epoch)".utf8) }
    run.checker.historyLost()
  }

  /// The delay after which a statement sent now is executed, in microseconds.
  func arrival(typical: Int) -> Int {
    let wait =
      stalledUntil > run.agenda.microseconds ? Int(stalledUntil - run.agenda.microseconds) : 0
    return wait + run.dice.delay(typical: typical)
  }

  // MARK: Statements

  enum AppendResult {
    case committed([Outcome])
    case refused(ServerRefusal)
  }

  /// Transactions that stored all of their rows with the numbers they brought.
  private(set) var fencedCount = 0
  /// Those that left the rows of a session, or were refused because of a known id.
  private(set) var fenceRefusals = 0

  /// Executes one fenced transaction of the writer: the rows of a session are stored with the
  /// numbers after the head that the loop knows, or left.
  func appendFenced(_ items: [AppendItem]) -> AppendResult {
    if items.contains(where: { $0.isPoison }) {
      return .refused(ServerRefusal(state: SQLState("22021"), message: "invalid byte sequence"))
    }
    let passing = Set(items.map(\.session)).filter { passes($0, items) }
    if run.bug != .skipDedupe,
      items.contains(where: { passing.contains($0.session) && places[$0.id] != nil })
    {
      fenceRefusals += 1
      return .refused(ServerRefusal(state: .uniqueViolation, message: "known id"))
    }
    var counts: [Identifier: Int64] = [:]
    let outcomes = items.map { item in
      counts[item.session, default: 0] += 1
      let seq = item.head + (counts[item.session] ?? 0)
      guard passing.contains(item.session) else {
        return run.bug == .halfFence
          ? Outcome(verdict: .stored, seq: seq, at: run.agenda.wall)
          : Outcome(verdict: .unavailable)
      }
      store(item, at: seq, isFirst: counts[item.session] == 1)
      return Outcome(verdict: .stored, seq: seq, at: run.agenda.wall)
    }
    if outcomes.allSatisfy({ $0.verdict == .stored }) {
      fencedCount += 1
    } else {
      fenceRefusals += 1
    }
    return .committed(outcomes)
  }

  private func passes(_ session: Identifier, _ items: [AppendItem]) -> Bool {
    guard let row = sessions[session], let item = items.first(where: { $0.session == session })
    else { return false }
    if row.snapshot.status == .closed, run.bug != .closedFence { return false }
    return switch run.bug {
    case .uncheckedFence: true
    case .staleFence: row.snapshot.head >= item.head
    default: row.snapshot.head == item.head
    }
  }

  private func store(_ item: AppendItem, at seq: Int64, isFirst: Bool) {
    guard var row = sessions[item.session] else { return }
    sessions[item.session] = nil
    defer { sessions[item.session] = row }
    row.snapshot.head = run.bug == .staleFence ? row.snapshot.head + 1 : seq
    if run.bug == .splitFence, !isFirst { return }
    let entry = Entry(
      seq: seq, id: item.id, role: item.role, kind: item.kind, sender: item.sender,
      senderName: item.senderName, body: item.body, payload: item.payload, at: run.agenda.wall)
    // Only a planted bug writes elsewhere than at the end.
    if run.bug != .staleFence, seq <= row.entries.count {
      row.entries[Int(seq) - 1] = entry
    } else {
      row.entries.append(entry)
    }
    places[item.id] = (item.session, run.bug == .staleFence ? Int64(row.entries.count) : seq)
    run.checker.committed(item, seq: seq, isClosed: row.snapshot.status == .closed)
  }

  /// Executes one transaction of the writer.
  func append(_ items: [AppendItem]) -> AppendResult {
    let backup = (sessions, places)
    var outcomes: [Outcome] = []
    for item in items {
      if item.isPoison {
        (sessions, places) = backup
        if run.bug == .holeOnRefusal { sessions[item.session]?.snapshot.head += 1 }
        return .refused(ServerRefusal(state: SQLState("22021"), message: "invalid byte sequence"))
      }
      outcomes.append(append(item))
    }
    for (item, outcome) in zip(items, outcomes) {
      switch outcome.verdict {
      case .stored:
        run.checker.committed(
          item, seq: outcome.seq, isClosed: sessions[item.session]?.snapshot.status == .closed)
      case .closed: run.checker.closed(item.id)
      default: break
      }
    }
    return .committed(outcomes)
  }

  private func append(_ item: AppendItem) -> Outcome {
    if run.bug != .skipDedupe, let known = places[item.id] {
      let entry = entry(known.session, known.seq)
      let isSame =
        known.session == item.session && entry?.body == item.body && entry?.kind == item.kind
        && entry?.payload == item.payload
      return isSame
        ? Outcome(verdict: .duplicate, seq: known.seq, at: entry?.at ?? run.agenda.wall)
        : Outcome(verdict: .conflict)
    }
    guard var row = sessions[item.session] else { return Outcome(verdict: .noSuchSession) }
    if row.snapshot.status == .closed, item.role == .visitor { return Outcome(verdict: .closed) }
    // Without this reference, the row's array is changed in place.
    sessions[item.session] = nil
    row.snapshot.head += 1
    let seq = row.snapshot.head
    row.entries.append(
      Entry(
        seq: seq, id: item.id, role: item.role, kind: item.kind, sender: item.sender,
        senderName: item.senderName, body: item.body, payload: item.payload, at: run.agenda.wall))
    sessions[item.session] = row
    places[item.id] = (item.session, seq)
    return Outcome(verdict: .stored, seq: seq, at: run.agenda.wall)
  }

  /// A transaction of the REST API: a new status and an event.
  func changeState(_ session: Identifier, _ status: SessionStatus, by person: Person?) {
    guard sessions[session] != nil else { return }
    sessions[session]?.snapshot.status = status
    sessions[session]?.snapshot.assignee = person
    _ = append([
      AppendItem(
        session: session, id: run.dice.identifier(), role: .system, kind: .event, sender: nil,
        senderName: [], body: Array("now \(status.text)".utf8), payload: [], isPoison: false)
    ])
  }

  func store(_ mark: Mark, _ session: Identifier) {
    guard var row = sessions[session] else { return }
    if let index = row.snapshot.marks.firstIndex(where: { $0.person.id == mark.person.id }) {
      row.snapshot.marks[index].read = max(row.snapshot.marks[index].read, mark.read)
      row.snapshot.marks[index].delivered = max(
        row.snapshot.marks[index].delivered, mark.delivered)
    } else {
      row.snapshot.marks.append(mark)
    }
    sessions[session] = row
  }
}

/// One row of a transaction.
struct AppendItem {
  var session: Identifier
  var id: Identifier
  var role: Role
  var kind: EntryKind
  var sender: Identifier?
  var senderName: [UInt8]
  var body: [UInt8]
  var payload: [UInt8]
  /// PostgreSQL never accepts it.
  var isPoison: Bool
  /// The head of the session that the loop knows.
  var head = Batch.unknownHead
}

struct WeakBackend {
  weak var backend: Backend?
}
