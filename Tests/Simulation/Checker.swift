import Chat
import Engine
import Primitives
import Wire

/// The promises of Sources/PROTOCOL.md, looked at after every step of a run.
final class Checker {
  unowned let run: Run
  private(set) var violation: String?
  private(set) var committedCount = 0
  private(set) var ackedCount = 0
  private(set) var receivedCount = 0

  /// Every commit of the present history, and the last number of each sender in each session.
  private var stored: Set<Identifier> = []
  private var lastOfSender: [Sender: Int] = [:]
  private var acked: [Identifier: (session: Identifier, seq: Int64)] = [:]
  /// What was true in the epochs before a fail-over.
  private var lostHistories: [String: [Identifier: SimulatedPostgres.Row]] = [:]
  /// Ids that a fail-over has forgotten, or that came while the session was closed, and whose
  /// sender may not have heard of it: said again, they come out of order.
  private var forgotten: Set<Identifier> = []
  private var resynced: Set<Reading> = []

  private struct Sender: Hashable {
    var client: Int
    var session: Identifier
  }
  private struct Reading: Hashable {
    var client: Int
    var session: Identifier
  }

  init(run: Run) { self.run = run }

  func fail(_ text: String) {
    guard violation == nil else { return }
    violation = "at \(Double(run.agenda.microseconds) / 1_000_000) s: \(text)"
  }

  // MARK: The table

  func committed(_ item: AppendItem, seq: Int64) {
    committedCount += 1
    run.tell(
      "commit \(item.session) \(seq) \(String(decoding: item.body.prefix(12), as: UTF8.self))")
    if !stored.insert(item.id).inserted { fail("\(item.id) was stored twice") }
    guard !forgotten.contains(item.id), let (client, number) = Checker.origin(item.body) else {
      return
    }
    let sender = Sender(client: client, session: item.session)
    if let last = lastOfSender[sender], last >= number {
      fail("client \(client): message #\(number) was stored behind #\(last)")
    }
    lastOfSender[sender] = number
  }

  /// The table refused it for good.
  func closed(_ id: Identifier) { forgotten.insert(id) }

  /// `c3 #17 …`: the client and the number of its message.
  private static func origin(_ body: [UInt8]) -> (Int, Int)? {
    let words = body.split(separator: UInt8(ascii: " "), maxSplits: 2)
    guard words.count >= 2, words[0].first == UInt8(ascii: "c"), words[1].first == 0x23,
      let client = Int(String(decoding: words[0].dropFirst(), as: UTF8.self)),
      let number = Int(String(decoding: words[1].dropFirst(), as: UTF8.self))
    else { return nil }
    return (client, number)
  }

  /// Whatever the standby had not copied is gone, and everything is judged by what is left.
  func historyLost() {
    lostHistories["e\(run.postgres.epoch - 1)"] = run.lostRows
    forgotten.formUnion(stored)
    stored = []
    lastOfSender = [:]
    for (session, row) in run.postgres.sessions {
      for entry in row.entries {
        stored.insert(entry.id)
        guard let (client, number) = Checker.origin(entry.body) else { continue }
        let sender = Sender(client: client, session: session)
        lastOfSender[sender] = max(lastOfSender[sender] ?? 0, number)
      }
    }
    acked = acked.filter { stored.contains($0.key) }
  }

  // MARK: On the wire

  /// Bytes on their way out: nothing uncommitted may be among them.
  func leaving(_ bytes: [UInt8], _ socket: Socket) {
    var bytes = bytes
    bytes.withMutableRawSpan { buffer in
      var offset = 0
      while offset < buffer.byteCount {
        guard let step = try? socket.auditor.next(&buffer, offset: &offset) else {
          fail("client \(socket.client.number): a broken frame leaves the gateway")
          return
        }
        switch step {
        case .needMoreBytes: return
        case .message(_, .inPlace(let range)):
          leaving(Event(buffer.bytes.extracting(range).string), socket)
        case .message(_, .assembled):
          leaving(Event(socket.auditor.withAssembled { $0.string }), socket)
        default: break
        }
      }
    }
  }

  private func leaving(_ event: Event, _ socket: Socket) {
    run.tell(
      "loop \(socket.loop?.index ?? -1) to \(socket.client.number): \(event.text.prefix(120))"
    )
    guard let session = event.session, let seq = event.integer("seq") else { return }
    switch event.type {
    case "ack":
      guard let id = event.id else { return fail("an ack without id") }
      let place = run.postgres.place(of: id)
      if place?.session == session, place?.seq == Int64(seq) { return }
      if !wasTrue(session, Int64(seq), id: id) {
        fail("ack of \(id) at \(seq), but \(place as Any)")
      }
    case "message":
      if event.string("kind") == "hidden" { return }
      guard let id = event.id else { return fail("a message without id") }
      if run.postgres.entry(session, Int64(seq))?.id != id, !wasTrue(session, Int64(seq), id: id) {
        fail("seq \(seq) leaves the gateway with \(id), which is not committed there")
      }
    default: break
    }
  }

  private func wasTrue(_ session: Identifier, _ seq: Int64, id: Identifier) -> Bool {
    lostHistories.values.contains { rows in
      guard let row = rows[session], seq >= 1, seq <= row.entries.count else { return false }
      return row.entries[Int(seq) - 1].id == id
    }
  }

  // MARK: At the client

  func acked(_ event: Event, _ client: Client) {
    guard let id = event.id, let session = event.session, let seq = event.integer("seq") else {
      return fail("client \(client.number): an ack without its fields")
    }
    ackedCount += 1
    if stored.contains(id) { acked[id] = (session, Int64(seq)) }
  }

  func subscribed(_ event: Event, _ client: Client, after: Int64?, from: Int64, head: Int64) {
    heard(event, client)
    guard let session = event.session else { return }
    let reading = Reading(client: client.number, session: session)
    let isResynced = resynced.remove(reading) != nil
    if from < 1 || from > head + 1 {
      fail("client \(client.number): subscribed from \(from) with the head at \(head)")
    }
    if let after, !isResynced, from != after + 1 {
      fail("client \(client.number): asked for what follows \(after), subscribed from \(from)")
    }
  }

  func resynced(_ event: Event, _ client: Client) {
    guard let session = event.session else { return }
    resynced.insert(Reading(client: client.number, session: session))
    if run.postgres.epoch == 1 {
      fail("client \(client.number): resync (\(event.text)) although nothing was lost")
    }
  }

  /// The next message of a view: the right number, the right content.
  func received(_ event: Event, _ client: Client, _ view: View) {
    heard(event, client)
    receivedCount += 1
    guard let session = event.session, let seq = event.integer("seq").map({ Int64($0) }) else {
      return
    }
    guard seq == view.next else {
      return fail("client \(client.number): seq \(seq) came where \(view.next) was due")
    }
    let rows = lostHistories[view.epoch] ?? run.postgres.sessions
    guard let row = rows[session], seq <= row.entries.count else {
      return fail("client \(client.number): seq \(seq) of epoch \(view.epoch) is not in the table")
    }
    compare(event, row.entries[Int(seq) - 1], client)
  }

  private func compare(_ event: Event, _ entry: Entry, _ client: Client) {
    if event.string("kind") == "hidden" {
      if entry.kind != .note || client.isOperator {
        fail("client \(client.number): seq \(entry.seq) is hidden without being a note")
      }
      return
    }
    if entry.kind == .note, !client.isOperator {
      fail("client \(client.number): a visitor sees a note")
    }
    let body = String(decoding: entry.body, as: UTF8.self)
    if event.id != entry.id || event.string("body") != body {
      fail("client \(client.number): seq \(entry.seq) is not what the table holds there")
    }
  }

  func unexpected(_ event: Event, _ client: Client) { heard(event, client) }

  /// Nobody hears of a session that is not his.
  func heard(_ event: Event, _ client: Client) {
    guard let session = event.session else { return }
    if !client.reach.contains(session) {
      fail("client \(client.number) hears of a foreign session: \(event.text.prefix(120))")
    }
  }

  func history(_ event: Event, _ client: Client) {
    if event.text.contains(#""kind":"note""#), !client.isOperator {
      fail("client \(client.number): a visitor reads a note in the history")
    }
  }

  func refused(_ pending: Pending, code: String, _ client: Client) {
    let isExpected =
      switch code {
      case "rejected": pending.body.hasPrefix(Body.poisonText)
      case "session_closed": !client.isOperator
      case "no_such_session": false
      default: false
      }
    if !isExpected { fail("client \(client.number): \(pending.body.prefix(20)) refused: \(code)") }
    if stored.contains(pending.id), code == "rejected" {
      fail("client \(client.number): \(pending.id) is refused and stored")
    }
  }

  // MARK: The engines

  func audit(_ loop: GatewayLoop) {
    if loop.engine.queuedRecords > Limits.queuedRecords {
      fail("\(loop.engine.queuedRecords) records wait")
    }
    if let text = loop.engine.inconsistency() { fail("loop \(loop.index): \(text)") }
  }

  /// What a client has read in the present epoch and PostgreSQL does not know.
  func unstoredMark(of client: Client) -> String? {
    for (session, view) in client.views where view.read > 0 {
      let marks = run.postgres.sessions[session]?.snapshot.marks ?? []
      let stored = marks.first { $0.person.id == client.person }?.read ?? 0
      if stored < view.read {
        return "client \(client.number) has read up to \(view.read), and \(stored) is stored"
      }
    }
    return nil
  }

  // MARK: The end

  /// After quiet: everything acked is there once, numbers are 1 to n, everybody is at the head.
  func finish(_ clients: [Client]) {
    for (session, row) in run.postgres.sessions {
      if row.snapshot.head != Int64(row.entries.count) { fail("the head of \(session) is wrong") }
      for (index, entry) in row.entries.enumerated() where entry.seq != Int64(index) + 1 {
        fail("entry \(index + 1) of \(session) has seq \(entry.seq)")
      }
    }
    for (id, place) in acked {
      guard let found = run.postgres.place(of: id) else {
        fail("\(id) was acked and is not in the table")
        continue
      }
      if found.session != place.session || found.seq != place.seq {
        fail("\(id) was acked at \(place.seq) and is at \(found.seq)")
      }
    }
    for client in clients {
      if let text = unstoredMark(of: client) { fail(text) }
      if !client.isCalm { fail("client \(client.number) still holds \(client.outbox.count)") }
      for session in client.own {
        let head = run.postgres.head(session)
        guard let view = client.views[session] else {
          fail("client \(client.number) is not subscribed at the end")
          continue
        }
        if view.next != head + 1 || !view.isLive {
          fail("client \(client.number) is before \(view.next), live \(view.isLive), head \(head)")
        }
      }
    }
  }
}
