import Chat
import Postgres
import Primitives

/// PostgreSQL as the writer and the readers know it: rows, transactions that happen at one moment,
/// answers that may be late or lost, refusals by SQLSTATE, restarts, and a fail-over to a standby
/// that is behind.
final class SimulatedPostgres {
  struct Row {
    var snapshot: SessionSnapshot
    var entries: [Entry] = []
  }

  /// Which troubles come by chance now; all of them 0 when the run is to heal.
  struct Weather {
    /// Of a hundred transactions, so many are refused for a conflict.
    var conflicts = 0
    /// … for a store that cannot work (disk full, too many connections).
    var refusals = 0
    /// … end the connection before anything was done,
    var cutsBefore = 0
    /// … or after the commit, so that its answer is lost.
    var cutsAfter = 0
    /// Typical microseconds from sending to commit, and from commit to the answer.
    var latency = 300
  }

  private(set) var sessions: [Identifier: Row] = [:]
  private var places: [Identifier: (session: Identifier, seq: Int64)] = [:]
  var weather = Weather()
  /// No connection is possible, and those there were have broken.
  private(set) var isUp = true
  /// Nothing is answered (SIGSTOP, a frozen disk) until then.
  private(set) var stalledUntil: Int64 = 0
  /// Rises with every restart: what was sent to an older server never happens.
  private(set) var incarnation = 0
  private(set) var epoch = 1
  /// What the standby has; a fail-over makes it the truth.
  private var standby: (sessions: [Identifier: Row], places: [Identifier: (Identifier, Int64)])?

  unowned let run: Run
  private var connections: [WeakBackend] = []

  init(run: Run) { self.run = run }

  // MARK: What a test puts in and looks up

  func addSession(_ snapshot: SessionSnapshot) { sessions[snapshot.id] = Row(snapshot: snapshot) }

  func place(of id: Identifier) -> (session: Identifier, seq: Int64)? { places[id] }

  func entry(_ session: Identifier, _ seq: Int64) -> Entry? {
    guard let row = sessions[session], seq >= 1, seq <= row.entries.count else { return nil }
    return row.entries[Int(seq) - 1]
  }

  func head(_ session: Identifier) -> Int64 { sessions[session]?.snapshot.head ?? 0 }

  // MARK: Troubles

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

  /// The standby copies everything up to now.
  func replicate() { standby = (sessions, places.mapValues { ($0.session, $0.seq) }) }

  /// The standby takes over: what it had not copied never was.
  func failOver() {
    guard let standby else { return }
    stop()
    sessions = standby.sessions
    places = standby.places.mapValues { (session: $0.0, seq: $0.1) }
    epoch += 1
    for id in sessions.keys { sessions[id]?.snapshot.epoch = Array("e\(epoch)".utf8) }
    run.checker.historyLost()
  }

  /// Where a statement that arrives now is carried out.
  func arrival(typical: Int) -> Int {
    let wait =
      stalledUntil > run.agenda.microseconds ? Int(stalledUntil - run.agenda.microseconds) : 0
    return wait + run.dice.delay(typical: typical)
  }

  // MARK: Statements

  enum Verdict {
    case committed([Outcome])
    case refused(ServerRefusal)
  }

  /// One transaction of the writer, at this moment.
  func append(_ items: [AppendItem]) -> Verdict {
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
      case .stored: run.checker.committed(item, seq: outcome.seq)
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
    sessions[item.session] = nil  // the row's array is then changed in place
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

  /// What the REST API does: an event line and a new state, in a transaction of its own.
  func changeState(_ session: Identifier, _ status: Status, by person: Person?) {
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

/// One row of a transaction, apart from the batch it came in.
struct AppendItem {
  var session: Identifier
  var id: Identifier
  var role: Role
  var kind: Kind
  var sender: Identifier?
  var senderName: [UInt8]
  var body: [UInt8]
  var payload: [UInt8]
  /// PostgreSQL will never take it.
  var isPoison: Bool
}

struct WeakBackend {
  weak var backend: Backend?
}
