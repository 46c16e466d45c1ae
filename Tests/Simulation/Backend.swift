import Chat
import Journal
import Postgres
import Primitives

/// The server's side of a writer's connection.
final class Backend {
  private let postgres: SimulatedPostgres
  private let incarnation: Int
  /// Wakes the loop when there is something to read.
  private let wake: () -> Void
  private(set) var events: [(event: AppendEvent, outcomes: [Outcome])] = []
  private var isLost = false

  private var run: Run { postgres.run }

  init(_ postgres: SimulatedPostgres, wake: @escaping () -> Void) {
    self.postgres = postgres
    self.wake = wake
    incarnation = postgres.incarnation
    postgres.register(self)
    guard postgres.isUp else {
      run.agenda.after(microseconds: 50) { [weak self] in self?.lose("connection refused") }
      return
    }
    run.agenda.after(microseconds: postgres.arrival(typical: 800)) { [weak self] in
      guard let self else { return }
      answer(.ready(store: "e\(self.postgres.epoch)"), [])
    }
  }

  func take() -> (event: AppendEvent, outcomes: [Outcome])? {
    events.isEmpty ? nil : events.removeFirst()
  }

  func lose(_ reason: String) {
    guard !isLost else { return }
    isLost = true
    events.append((.lost(reason: reason), []))
    wake()
  }

  private func answer(_ event: AppendEvent, _ outcomes: [Outcome]) {
    run.log("answer \(event)")
    guard !isLost else { return }
    events.append((event, outcomes))
    wake()
  }

  /// The transaction is executed some time later, even if the writer has gone by then. Its response
  /// comes later still, or never.
  func send(_ items: [AppendItem], isFenced: Bool) {
    run.log("transaction \(items.map { String(decoding: $0.body.prefix(7), as: UTF8.self) })")
    guard !isLost else { return }
    let faultRates = postgres.faultRates
    if run.dice.percent(faultRates.cutsBefore) {
      run.agenda.after(microseconds: run.dice.delay(typical: faultRates.latency)) { [weak self] in
        self?.lose("server closed the connection unexpectedly")
      }
      return
    }
    if run.bug == .ackBeforeCommit, run.dice.percent(20) {
      var seqs: [Identifier: Int64] = [:]
      let outcomes = items.map { item in
        let seq = (seqs[item.session] ?? postgres.head(item.session)) + 1
        seqs[item.session] = seq
        return Outcome(verdict: .stored, seq: seq, at: run.agenda.wall)
      }
      answer(.committed, outcomes)
    }
    let isAnswerLost = run.dice.percent(faultRates.cutsAfter)
    let transaction = Transaction(
      postgres: postgres, incarnation: incarnation, items: items, isFenced: isFenced,
      isConflict: run.dice.percent(faultRates.conflicts),
      isRefused: run.dice.percent(faultRates.refusals))
    run.agenda.after(microseconds: postgres.arrival(typical: faultRates.latency)) { [weak self] in
      guard let (event, outcomes) = transaction.execute() else { return }
      guard let self else { return transaction.announce() }
      deliver(event, outcomes, isLost: isAnswerLost)
    }
  }

  private func deliver(_ event: AppendEvent, _ outcomes: [Outcome], isLost: Bool) {
    run.agenda.after(microseconds: postgres.arrival(typical: postgres.faultRates.latency / 2)) {
      [weak self] in
      if isLost {
        self?.lose("server closed the connection unexpectedly")
      } else {
        self?.answer(event, outcomes)
      }
    }
  }
}

/// A transaction on the server, independent of the connection that sent it.
struct Transaction {
  let postgres: SimulatedPostgres
  let incarnation: Int
  let items: [AppendItem]
  let isFenced: Bool
  let isConflict: Bool
  let isRefused: Bool

  /// Returns nil when the server has stopped or restarted since it was sent.
  func execute() -> (AppendEvent, [Outcome])? {
    guard postgres.isUp, postgres.incarnation == incarnation else { return nil }
    if isConflict {
      let states = ["40001", "40P01", "55P03", "57014"]
      return (refusal(states[postgres.run.dice.below(4)], "conflict"), [])
    }
    if isRefused {
      return (refusal(postgres.run.dice.onceIn(2) ? "53100" : "53300", "cannot now"), [])
    }
    switch isFenced ? postgres.appendFenced(items) : postgres.append(items) {
    case .committed(let outcomes): return (.committed, outcomes)
    case .refused(let refusal): return (.refused(refusal), [])
    }
  }

  /// Reports the changed sessions when no writer waits for the response: its gateway was killed, or
  /// has given the connection up. To the new gateway it is like a change by another node, unless
  /// the senders repeat the messages first.
  func announce() {
    for session in Set(items.map(\.session)).sorted() { postgres.run.announce(session) }
  }

  private func refusal(_ state: String, _ message: String) -> AppendEvent {
    .refused(ServerRefusal(state: SQLState(state), message: message))
  }
}

/// The writer's side, in place of `PipelinedConnection` over libpq.
struct SimulatedConnection: ~Copyable, AppendConnection {
  private let backend: Backend
  private let bug: Bug?
  private(set) var outcomes: [Outcome] = []
  private var dropped: AppendItem?

  init(_ backend: Backend, bug: Bug?) {
    self.backend = backend
    self.bug = bug
  }

  var descriptor: Int32 { 0 }
  var wantsWrite: Bool { false }

  mutating func append(_ batch: borrowing Batch, _ rows: [Int], isFenced: Bool) -> Bool {
    var items = rows.map { row in
      let record = batch.record(row)
      let body = batch.withBody(row) { Array($0.string.utf8) }
      return AppendItem(
        session: record.session, id: record.id, role: record.role, kind: record.kind,
        sender: record.sender, senderName: batch.withSenderName(row) { Array($0.string.utf8) },
        body: body, payload: batch.withPayload(row) { Array($0.string.utf8) },
        isPoison: body.starts(with: Body.poison), head: batch.head(row))
    }
    // The batch's last row is dropped, and reported as stored.
    if bug == .loseRecord, items.count > 1 { dropped = items.removeLast() }
    if bug == .swapRecords, items.count > 1 { items.swapAt(items.count - 2, items.count - 1) }
    backend.send(items, isFenced: isFenced)
    return true
  }

  mutating func probe(spilling: Bool) -> Bool {
    backend.send([], isFenced: false)
    return true
  }

  mutating func exchange() {}

  mutating func next() -> AppendEvent? {
    guard let (event, results) = backend.take() else { return nil }
    outcomes = results
    if bug == .swapAnswers, outcomes.count > 1 {
      outcomes.swapAt(outcomes.count - 2, outcomes.count - 1)
    }
    if case .committed = event, dropped != nil, let last = outcomes.last {
      outcomes.append(Outcome(verdict: .stored, seq: last.seq + 1, at: last.at))
      dropped = nil
    }
    return event
  }
}
