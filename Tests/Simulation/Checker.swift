import Chat
import Engine
import Primitives
import Wire

/// Checks the promises of Sources/PROTOCOL.md after every step of a run.
final class Checker {
  unowned let run: Run
  private(set) var violation: String?
  private(set) var committedCount = 0
  private(set) var ackedCount = 0
  private(set) var receivedCount = 0

  /// The ids committed in the current history, and each sender's last number in each session.
  private var stored: Set<Identifier> = []
  private var places: Set<Place> = []
  private var lastOfSender: [Sender: Int] = [:]
  private var acked: [Identifier: (session: Identifier, seq: Int64)] = [:]
  /// The rows of the epochs before a fail-over.
  private var lostHistories: [String: [Identifier: SimulatedPostgres.Row]] = [:]
  /// Ids lost in a fail-over or refused because the session was closed. The sender may not know, so
  /// when repeated they may be out of order.
  private var forgotten: Set<Identifier> = []
  private var resynced: Set<Subscription> = []

  private struct Place: Hashable {
    var session: Identifier
    var seq: Int64
  }
  private struct Sender: Hashable {
    var client: Int
    var session: Identifier
  }
  private struct Subscription: Hashable {
    var client: Int
    var session: Identifier
  }

  init(run: Run) { self.run = run }

  func fail(_ text: String) {
    guard violation == nil else { return }
    violation = "at \(Double(run.agenda.microseconds) / 1_000_000) s: \(text)"
  }

  // MARK: The table

  func committed(_ item: AppendItem, seq: Int64, isClosed: Bool) {
    committedCount += 1
    if isClosed, item.role == .visitor { fail("\(item.id) of a visitor is in a closed session") }
    run.log(
      "commit \(item.session) \(seq) \(String(decoding: item.body.prefix(12), as: UTF8.self))")
    if !stored.insert(item.id).inserted { fail("\(item.id) was stored twice") }
    if !places.insert(Place(session: item.session, seq: seq)).inserted {
      fail("seq \(seq) of \(item.session) was given twice")
    }
    guard !forgotten.contains(item.id), let (client, number) = Checker.origin(item.body) else {
      return
    }
    let sender = Sender(client: client, session: item.session)
    if let last = lastOfSender[sender], last >= number {
      fail("client \(client): message #\(number) was stored after #\(last)")
    }
    lastOfSender[sender] = number
  }

  /// A message was refused because its session is closed.
  func closed(_ id: Identifier) { forgotten.insert(id) }

  /// The client and the message's number, from `c3 #17 …`.
  private static func origin(_ body: [UInt8]) -> (Int, Int)? {
    let words = body.split(separator: UInt8(ascii: " "), maxSplits: 2)
    guard words.count >= 2, words[0].first == UInt8(ascii: "c"), words[1].first == 0x23,
      let client = Int(String(decoding: words[0].dropFirst(), as: UTF8.self)),
      let number = Int(String(decoding: words[1].dropFirst(), as: UTF8.self))
    else { return nil }
    return (client, number)
  }

  /// Entries that the standby had not copied are gone; later checks compare with the remaining
  /// ones.
  func historyLost() {
    lostHistories["e\(run.postgres.epoch - 1)"] = run.lostRows
    forgotten.formUnion(stored)
    stored = []
    places = []
    lastOfSender = [:]
    for (session, row) in run.postgres.sessions {
      for entry in row.entries {
        stored.insert(entry.id)
        places.insert(Place(session: session, seq: entry.seq))
        guard let (client, number) = Checker.origin(entry.body) else { continue }
        let sender = Sender(client: client, session: session)
        lastOfSender[sender] = max(lastOfSender[sender] ?? 0, number)
      }
    }
    acked = acked.filter { stored.contains($0.key) }
  }

  // MARK: Output of the gateway

  /// Checks that output has no uncommitted entry.
  func leaving(_ bytes: [UInt8], _ socket: Socket) {
    var bytes = bytes
    bytes.withMutableRawSpan { buffer in
      var offset = 0
      while offset < buffer.byteCount {
        guard let step = try? socket.auditor.next(&buffer, offset: &offset) else {
          fail("client \(socket.client.number): the gateway sent an invalid frame")
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
    run.log(
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
        fail("seq \(seq) was sent with \(id), which is not committed there")
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

  // MARK: Events at a client

  func acked(_ event: Event, _ client: Client) {
    guard let id = event.id, let session = event.session, let seq = event.integer("seq") else {
      return fail("client \(client.number): an ack without its fields")
    }
    ackedCount += 1
    if stored.contains(id) { acked[id] = (session, Int64(seq)) }
  }

  func subscribed(_ event: Event, _ client: Client, after: Int64?, from: Int64, head: Int64) {
    checkVisible(event, client)
    guard let session = event.session else { return }
    let subscription = Subscription(client: client.number, session: session)
    let isResynced = resynced.remove(subscription) != nil
    if from < 1 || from > head + 1 {
      fail("client \(client.number): subscribed from \(from) with the head at \(head)")
    }
    if let after, !isResynced, from != after + 1 {
      fail("client \(client.number): requested entries after \(after), subscribed from \(from)")
    }
  }

  func resynced(_ event: Event, _ client: Client) {
    guard let session = event.session else { return }
    resynced.insert(Subscription(client: client.number, session: session))
    if run.postgres.epoch == 1 {
      fail("client \(client.number): resync (\(event.text)) without a fail-over")
    }
  }

  /// Checks that an entry is the next one of its view and equals the stored one.
  func received(_ event: Event, _ client: Client, _ view: View) {
    checkVisible(event, client)
    receivedCount += 1
    guard let session = event.session, let seq = event.integer("seq").map({ Int64($0) }) else {
      return
    }
    guard seq == view.next else {
      return fail("client \(client.number): received seq \(seq) instead of \(view.next)")
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
        fail("client \(client.number): seq \(entry.seq) is hidden but not a note")
      }
      return
    }
    if entry.kind == .note, !client.isOperator {
      fail("client \(client.number): a visitor sees a note")
    }
    let body = String(decoding: entry.body, as: UTF8.self)
    if event.id != entry.id || event.string("body") != body {
      fail("client \(client.number): seq \(entry.seq) differs from the stored entry")
    }
  }

  func unexpected(_ event: Event, _ client: Client) { checkVisible(event, client) }

  /// Checks that the event's session is visible to the client.
  func checkVisible(_ event: Event, _ client: Client) {
    guard let session = event.session else { return }
    if !client.visibleSessions.contains(session) {
      fail(
        "client \(client.number) received an event of a foreign session: \(event.text.prefix(120))")
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

  // MARK: State of the engines

  func audit(_ loop: GatewayLoop) {
    if loop.engine.queuedRecords > Limits.queuedRecords {
      fail("\(loop.engine.queuedRecords) records wait")
    }
    if let text = loop.engine.inconsistency() { fail("loop \(loop.index): \(text)") }
  }

  /// A mark of the current epoch that is higher than the stored one, as text.
  func unstoredMark(of client: Client) -> String? {
    for (session, view) in client.views where view.read > 0 {
      let marks = run.postgres.sessions[session]?.snapshot.marks ?? []
      let stored = marks.first { $0.person.id == client.person }?.read ?? 0
      if stored < view.read {
        return "client \(client.number) has read up to \(view.read), but \(stored) is stored"
      }
    }
    return nil
  }

  // MARK: The end

  /// Checks the final state: seqs are 1 to n, every acked message is stored, every client is at the
  /// head.
  func finish(_ clients: [Client]) {
    for (session, row) in run.postgres.sessions {
      if row.snapshot.head != Int64(row.entries.count) { fail("the head of \(session) is wrong") }
      for (index, entry) in row.entries.enumerated() where entry.seq != Int64(index) + 1 {
        fail("entry \(index + 1) of \(session) has seq \(entry.seq)")
      }
    }
    for (id, place) in acked {
      guard let found = run.postgres.place(of: id) else {
        fail("\(id) was acked but is not stored")
        continue
      }
      if found.session != place.session || found.seq != place.seq {
        fail("\(id) was acked at \(place.seq) but is at \(found.seq)")
      }
    }
    for client in clients {
      if let text = unstoredMark(of: client) { fail(text) }
      if !client.isIdle {
        fail("client \(client.number) still has \(client.outbox.count) messages to send")
      }
      for session in client.own {
        let head = run.postgres.head(session)
        guard let view = client.views[session] else {
          fail("client \(client.number) is not subscribed at the end")
          continue
        }
        if view.next != head + 1 || !view.isLive {
          fail("client \(client.number) expects \(view.next), live \(view.isLive), head \(head)")
        }
      }
    }
  }
}
