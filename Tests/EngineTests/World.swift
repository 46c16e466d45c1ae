import Chat
import Engine
import Primitives
import Synchronization
import Testing
import Wire

/// A gateway without I/O: engines, the mail between them, and a dictionary as database. Time
/// advances only in `advance`.
final class World {
  final class Loop {
    var engine: Engine
    init(_ engine: consuming Engine) { self.engine = engine }
  }

  private final class Ledger: Sendable {
    let value: Mutex<QuotaLedger>
    init(_ quotas: QuotaTable.Configuration, loops: Int) {
      value = Mutex(QuotaLedger(quotas, loopCount: loops, accountsMax: 1_000))
    }
  }

  struct Stored {
    var snapshot: SessionSnapshot
    var entries: [Entry] = []
  }

  var loops: [Loop] = []
  var database: [Identifier: Stored] = [:]
  /// Entries read from the database in pages.
  var entriesRead = 0
  var availability: [Identifier: Bool] = [:]
  var storedMarks: [(session: Identifier, mark: Mark)] = []
  /// Writes of marks fail, though the database answers.
  var failsMarks = false
  /// Whether the database answers.
  var isStoreUp = true
  var now = Instant(nanoseconds: 1_000_000_000)
  var wall = WallTime(microseconds: 1_795_000_000_000_000)
  /// The members of valid tokens.
  var members: [String: Member] = [:]
  private var lastID: UInt64 = 0

  let workspace = Identifier(high: 0xA, low: 1)
  let visitor = Person(role: .visitor, id: Identifier(high: 0xB, low: 1), name: Array("Ada".utf8))
  let clerk = Person(role: .operator_, id: Identifier(high: 0xC, low: 1), name: Array("Mika".utf8))

  init(
    loops count: Int = 1, sessionsMax: Int = 1000, recentBytesMax: Int? = nil,
    quotas: QuotaTable.Configuration = QuotaTable.Configuration()
  ) {
    let ledger = Ledger(quotas, loops: count)
    let shared = SharedQuotas(quotas) { body in ledger.value.withLock { body(&$0) } }
    for index in 0..<count {
      loops.append(
        Loop(
          Engine(
            loop: index, loopCount: count,
            configuration: Engine.Configuration(
              connectionsMax: 1000, sessionsMax: sessionsMax, recentBytesMax: recentBytesMax,
              node: "test", quotas: shared), now: now, wall: wall)))
    }
    members["operator"] = Member(
      person: clerk, workspace: workspace, sessions: [],
      expiresAt: WallTime(microseconds: wall.microseconds + 3_600_000_000))
  }

  func makeID() -> Identifier {
    lastID += 1
    return Identifier(high: 0xD, low: lastID)
  }

  /// Adds a session with `count` messages of the visitor, and lets the token `visitor` use it.
  func makeSession(entries count: Int = 0, ownedBy loop: Int = 0) -> Identifier {
    var id = makeID()
    while loops[0].engine.effects.owner(of: id) != loop { id = makeID() }
    var stored = Stored(
      snapshot: SessionSnapshot(
        id: id, workspace: workspace, visitor: visitor, epoch: Array("e1".utf8),
        head: Int64(count), status: .waiting, assignee: nil, title: [], marks: []))
    for seq in 0..<count {
      stored.entries.append(entry(Int64(seq) + 1, "old \(seq + 1)"))
    }
    database[id] = stored
    members["visitor"] = Member(
      person: visitor, workspace: workspace, sessions: [id],
      expiresAt: WallTime(microseconds: wall.microseconds + 900_000_000))
    return id
  }

  func entry(_ seq: Int64, _ body: String, kind: EntryKind = .text) -> Entry {
    Entry(
      seq: seq, id: makeID(), role: .visitor, kind: kind, sender: visitor.id,
      senderName: visitor.name, body: Array(body.utf8), payload: [], at: wall)
  }

  /// A client after its upgrade. With its hello, a visitor moves to the loop of its session.
  func connect(
    loop: Int = 0, isEcho: Bool = false, deflate: DeflateAgreement? = nil
  ) -> Client {
    guard
      let id = loops[loop].engine.connections.accept(
        name: makeID(), isEcho: isEcho, deflate: deflate, now: loops[loop].engine.now)
    else { preconditionFailure("the test's engine is full") }
    return Client(world: self, loop: loop, connection: id, deflate: deflate)
  }

  /// A client that has sent hello and, with `session`, is subscribed.
  func member(
    _ token: String, _ session: Identifier? = nil, after: Int64? = nil, loop: Int = 0,
    deflate: DeflateAgreement? = nil
  ) -> Client {
    let client = connect(loop: loop, deflate: deflate)
    client.send(#"{"type":"hello","ref":"h","token":"\#(token)"}"#)
    settle()
    if let session {
      let position = after.map { #","after":\#($0)"# } ?? ""
      client.send(#"{"type":"subscribe","ref":"s","session":"\#(session)"\#(position)}"#)
      settle()
    }
    return client
  }

  func advance(milliseconds: Int64) {
    now = now.advanced(byMilliseconds: milliseconds)
    wall = WallTime(microseconds: wall.microseconds + milliseconds * 1000)
    for loop in loops {
      loop.engine.now = now
      loop.engine.wall = wall
      loop.engine.sweep()
      loop.engine.readInbox()
    }
  }

  /// Performs verifications, moves, reads and mail until none is left. Batches stay queued.
  func settle() {
    for _ in 0..<100 {
      var isQuiet = true
      for index in loops.indices where step(index) { isQuiet = false }
      if isQuiet { return }
    }
    Issue.record("the engines do not settle")
  }

  private var clients: [Client] = []

  func register(_ client: Client) { clients.append(client) }

  private func step(_ index: Int) -> Bool {
    let loop = loops[index]
    loop.engine.now = now
    loop.engine.wall = wall
    loop.engine.isStoreReachable = isStoreUp
    var didWork = false
    for verification in loop.engine.effects.takeVerifications() {
      didWork = true
      let member = members[String(decoding: verification.token, as: UTF8.self)]
      loop.engine.verified(
        verification.connection,
        member.map { .success($0) } ?? .failure(.invalid))
    }
    for (connection, target) in loop.engine.effects.takeDepartures() {
      didWork = true
      guard let departure = loop.engine.connections.depart(connection),
        let arrived = loops[target].engine.connections.adopt(
          departure, now: loops[target].engine.now)
      else { continue }
      for client in clients where client.loop == index && client.connection == connection {
        client.loop = target
        client.connection = arrived
      }
      loops[target].engine.settle(arrived)
    }
    while let read = loop.engine.effects.nextRead() {
      didWork = true
      answer(read, loop)
    }
    loop.engine.settleSessions()
    for target in loops.indices where target != index {
      for mail in loop.engine.effects.takeMail(for: target) {
        didWork = true
        loops[target].engine.deliver(mail)
      }
    }
    _ = loop.engine.connections.takePauseChanges()
    return didWork
  }

  /// Limits a page like `History.entriesQuery`.
  private func page(of entries: [Entry], _ limit: Int, _ bytesMax: Int) -> LogPage {
    var page = LogPage(entries: [], isFull: false)
    var bytes = 0
    for entry in entries where !page.isFull {
      page.entries.append(entry)
      bytes += entry.body.count + entry.payload.count
      page.isFull = page.entries.count == limit || bytes >= bytesMax
    }
    return page
  }

  private func answer(_ read: ReadRequest, _ loop: Loop) {
    switch read {
    case .session(let id):
      guard isStoreUp else {
        loop.engine.sessionLoaded(id, .failure(.unavailable))
        return
      }
      loop.engine.sessionLoaded(
        id, database[id].map { .success($0.snapshot) } ?? .failure(.noSuchSession))
    case .entries(let id, let after, let limit, let purpose):
      let all = (database[id]?.entries ?? []).filter { $0.seq > after }
      let page = page(of: all, limit, purpose.bytesMax)
      entriesRead += page.entries.count
      loop.engine.entriesLoaded(read, isStoreUp ? page : nil)
    case .entriesBefore(let id, let before, let limit, let purpose):
      let all = (database[id]?.entries ?? []).filter { $0.seq < before }
      var page = page(of: all.reversed(), limit, purpose.bytesMax)
      page.entries.reverse()
      loop.engine.entriesLoaded(read, isStoreUp ? page : nil)
    case .conversation(let session, let workspace):
      loop.engine.conversationLoaded(
        session, workspace, .success(Array(#"{"id":"\#(session)"}"#.utf8)))
    case .storeMark(_, let session, _, let mark):
      let isStored = isStoreUp && !failsMarks
      if isStored { storedMarks.append((session, mark)) }
      loop.engine.stored(read, isStored: isStored)
    case .storeAvailability(_, _, let member, _, let isAvailable):
      if isStoreUp { availability[member] = isAvailable }
      loop.engine.stored(read, isStored: isStoreUp)
    }
  }

  /// Commits all batches, or fails them.
  func commit(failing: Bool = false) {
    for loop in loops {
      while loop.engine.hasBatch {
        var taken = Batch()
        loop.engine.submitBatch { swap(&taken, &$0) }
        var outcomes: [Outcome] = []
        for index in 0..<taken.count {
          outcomes.append(failing ? Outcome(verdict: .unavailable) : store(taken, index))
        }
        loop.engine.committed(taken, outcomes)
      }
    }
    settle()
  }

  private func store(_ batch: borrowing Batch, _ index: Int) -> Outcome {
    let record = batch.record(index)
    for stored in database.values {
      guard let known = stored.entries.first(where: { $0.id == record.id }) else { continue }
      let isSame =
        stored.snapshot.id == record.session
        && batch.withBody(index) { $0.string }
          == String(decoding: known.body, as: UTF8.self)
      return Outcome(verdict: isSame ? .duplicate : .conflict, seq: known.seq, at: known.at)
    }
    guard var stored = database[record.session] else { return Outcome(verdict: .noSuchSession) }
    let seq = stored.snapshot.head + 1
    stored.snapshot.head = seq
    stored.entries.append(
      Entry(
        seq: seq, id: record.id, role: record.role, kind: record.kind, sender: record.sender,
        senderName: Array(batch.withSenderName(index) { $0.string }.utf8),
        body: Array(batch.withBody(index) { $0.string }.utf8),
        payload: Array(batch.withPayload(index) { $0.string }.utf8), at: wall))
    database[record.session] = stored
    return Outcome(verdict: .stored, seq: seq, at: wall)
  }
}
