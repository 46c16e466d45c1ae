/// The clients of a torture on one thread: they send at a constant rate in spite of all faults,
/// some disconnect and return late with an old `after`, and between faults all reports are compared
/// with the table.
import Kernel
import Postgres
import Primitives

final class TortureLoop {
  private let loop: LoadLoop
  private let control: TortureControl
  /// PostgreSQL's socket, without a proxy.
  private let databaseURL: String
  private var check: TableCheck
  private var arrivals: Arrivals?
  /// The time at which each absent client returns.
  private var away: [Instant]
  private var nextDeparture = Instant.zero
  private var mark: Mark?
  private var failedChecks = 0
  private var problems: [String] = []

  /// The positions that must be acknowledged and delivered before a cycle counts as recovered.
  private struct Mark {
    var made: [Int]
    var heads: [Int]
  }

  /// Messages that one sender makes at once, so that a fault affects several in flight.
  private static let burst = 1...9
  private static let burstMean = 5.0
  private static let departureGap: ClosedRange<Int64> = 300...2_000
  private static let awayRange: ClosedRange<Int64> = 300...6_000
  /// The largest number of messages that a returning client reads again, unless it reads all.
  private static let rereadMax = 2_000
  private static let forgetfulShare = 0.5
  private static let checksMax = 50
  private static let stepMilliseconds: Int64 = 5

  init(_ loop: LoadLoop, control: TortureControl, databaseURL: String) {
    self.loop = loop
    self.control = control
    self.databaseURL = databaseURL
    away = Array(repeating: .zero, count: loop.clients.count)
    check = TableCheck(
      stamp: loop.plan.stamp, bodies: Bodies(byteCount: loop.plan.bodyBytes),
      sessions: loop.measured.ledger.logs.count)
  }

  func run() throws(Errno) {
    try loop.startAll()
    while true {
      let request = control.request
      if request == .end { break }
      if let request { consider(request) }
      let now = SystemClock.now()
      try sendDue(now)
      try depart(now)
      let wake = now.advanced(byMilliseconds: TortureLoop.stepMilliseconds)
      try loop.turn(until: min(wake, min(loop.nextDeadline, arrivals?.next ?? .never)))
      loop.publishProgress()
    }
    try loop.closeAll()
    let goodbye = SystemClock.now().advanced(byMilliseconds: 2_000)
    while loop.openCount > 0, SystemClock.now() < goodbye { try loop.turn(until: goodbye) }
  }

  private func sendDue(_ now: Instant) throws(Errno) {
    while let due = arrivals?.take(now) {
      let (client, subscription) = loop.pickSender()
      for _ in 0..<Int.random(in: TortureLoop.burst, using: &loop.measured.random) {
        try loop.compose(client, subscription: subscription, due: due)
      }
    }
  }

  // MARK: Requests

  private func consider(_ request: TortureRequest) {
    switch request {
    case .settle:
      guard loop.clients.allSatisfy({ $0.isSettled }) else { return }
      let now = SystemClock.now()
      arrivals = Arrivals(
        perSecond: loop.plan.ratePerSecond / TortureLoop.burstMean, spacing: .constant, from: now,
        seconds: loop.plan.seconds, seed: loop.plan.seed)
      nextDeparture = now.advanced(byMilliseconds: 1_000)
      reply(request)
    case .recover(let isFull, let tamper):
      let mark = self.mark ?? begin(tamper)
      guard isRecovered(mark) else { return }
      self.mark = nil
      if compare(request, isFull: isFull, isFinal: false, tamper) { reply(request) }
    case .finish:
      arrivals = nil
      nextDeparture = .never
      guard loop.isQuiet else { return }
      if compare(request, isFull: true, isFinal: true, nil) { reply(request) }
    case .giveUp:
      problems += stragglers()
      reply(request)
    case .end: break
    }
  }

  private func begin(_ tamper: Tamper?) -> Mark {
    let mark = Mark(
      made: loop.clients.map { $0.outbox.made }, heads: loop.measured.ledger.logs.map { $0.head })
    self.mark = mark
    if tamper == .doubleDelivery || tamper == .dropDelivery { loop.tamper = tamper }
    return mark
  }

  private func isRecovered(_ mark: Mark) -> Bool {
    let now = SystemClock.now()
    return loop.tamper == nil
      && loop.clients.indices.allSatisfy { index in
        let client = loop.clients[index]
        return away[index] > now || isRecovered(client, index, mark)
      }
  }

  private func isRecovered(_ client: Client, _ index: Int, _ mark: Mark) -> Bool {
    client.isSettled && client.outbox.oldestUnsettled >= mark.made[index]
      && client.subscriptions.allSatisfy { $0.next > mark.heads[$0.log] }
  }

  /// False when the database does not answer yet; the caller retries.
  private func compare(
    _ request: TortureRequest, isFull: Bool, isFinal: Bool, _ tamper: Tamper?
  ) -> Bool {
    do {
      let connection = try BlockingConnection(databaseURL)
      try tamper?.play(on: connection, &loop.measured.ledger)
      if isFull { check.startOver() }
      let numbers = Dictionary(
        uniqueKeysWithValues: loop.clients.map { ($0.number, $0.outbox.made) })
      try check.read(loop.measured.ledger.logs, on: connection, isFinal: isFinal) {
        numbers[$0] ?? 0
      }
      return true
    } catch {
      failedChecks += 1
      guard failedChecks > TortureLoop.checksMax else { return false }
      problems.append("the table could not be compared: \(error)")
      return true
    }
  }

  private func reply(_ request: TortureRequest) {
    failedChecks = 0
    var answer = TortureAnswer(request: request)
    answer.counters = loop.measured.counters
    answer.latencies = loop.measured.latencies
    answer.violations = loop.measured.ledger.violations
    answer.violations.add(check.violations)
    answer.rowsCompared = check.rowCount
    answer.rowsStored = loop.measured.ledger.logs.indices.reduce(0) { $0 + check.verified($1) }
    let counters = loop.measured.counters
    for (code, count) in counters.refusals.sorted(by: { $0.key < $1.key }) {
      answer.problems.append("\(count) messages or subscriptions were refused: \(code)")
    }
    if counters.resyncs > 0 {
      answer.problems.append("\(counters.resyncs) sessions were read again from the start (resync)")
    }
    for (label, count) in counters.closes.sorted(by: { $0.key < $1.key })
    where label.hasPrefix("broken") {
      answer.problems.append(
        "\(count) connections ended because of malformed data from the gateway: \(label)")
    }
    for client in loop.clients where client.stage == .stopped {
      answer.problems.append("client \(client.number) stopped: \(counters.closes)")
    }
    answer.problems += problems
    control.reply(answer)
  }

  /// Descriptions of the clients that delay the recovery.
  private func stragglers() -> [String] {
    let logs = loop.measured.ledger.logs
    let mark =
      mark
      ?? Mark(
        made: loop.clients.map { $0.outbox.made }, heads: logs.map { $0.head })
    var lines: [String] = []
    for (index, client) in loop.clients.enumerated()
    where !isRecovered(client, index, mark) && lines.count < 10 {
      let behind = client.subscriptions.filter { $0.next <= mark.heads[$0.log] || !$0.isLive }
        .prefix(3).map {
          "\($0.session) \($0.state) at \($0.next - 1) of \(logs[$0.log].head)"
        }
      lines.append(
        "client \(client.number) is \(client.stage), \(client.outbox.unsettled) messages without "
          + "an answer from number \(client.outbox.oldestUnsettled) on; "
          + behind.joined(separator: ", "))
    }
    return lines
  }

  // MARK: Departures

  /// At times a client disconnects for some seconds. Half of them return with an older position,
  /// and read that part of the session again.
  private func depart(_ now: Instant) throws(Errno) {
    guard now >= nextDeparture, arrivals != nil else { return }
    nextDeparture = now.advanced(
      byMilliseconds: Int64.random(in: TortureLoop.departureGap, using: &loop.measured.random))
    let wanderers = loop.clients.indices.filter {
      loop.behaviours[$0] == .wandering && loop.clients[$0].stage == .online && away[$0] <= now
    }
    guard let client = wanderers.randomElement(using: &loop.measured.random) else { return }
    let until = now.advanced(
      byMilliseconds: Int64.random(in: TortureLoop.awayRange, using: &loop.measured.random))
    try loop.sendAway(client, until: until)
    away[client] = until
    guard Double.random(in: 0..<1, using: &loop.measured.random) < TortureLoop.forgetfulShare else {
      return
    }
    let subscriptions = loop.clients[client].subscriptions.indices
    guard let index = subscriptions.randomElement(using: &loop.measured.random) else { return }
    let next = loop.clients[client].subscriptions[index].next
    loop.clients[client].subscriptions[index].next = Int.random(
      in: max(1, next - TortureLoop.rereadMax)...next, using: &loop.measured.random)
  }
}
