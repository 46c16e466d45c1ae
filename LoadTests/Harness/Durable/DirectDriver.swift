/// The gateway's batches without a gateway: the journal's writer, driven at its full rate.
import Chat
import Glibc
import Journal
import Kernel
import Postgres
import Primitives
import Synchronization

/// As many writers as the gateway has loops, each on a thread with its own sessions. A batch has
/// the mean number of rows and sessions of the gateway's batches; the next one is built while one
/// is in flight.
final class DirectDriver {
  private let local: LocalGateway
  private let shares: [DirectShare]
  private(set) var stored = 0
  private var runs: UInt64 = 0

  init(_ local: LocalGateway, bodyBytes: Int, like credentials: [Credential]) throws {
    self.local = local
    let sessions = try OwnSessions(local, like: credentials)
    shares = (0..<local.loops).map { loop in
      DirectShare(
        database: local.database, loop: loop, sessions: sessions.share(loop, of: local.loops),
        workspace: sessions.workspace, visitor: sessions.visitor, bodyBytes: bodyBytes)
    }
  }

  /// Returns the number of rows committed per second.
  func run(rows: Double, sessions: Double, seconds: Int) throws -> Double {
    runs += 1
    let shape = BatchShape(
      rows: max(1, Int(rows.rounded())), sessions: max(1, Int(sessions.rounded())))
    let meeting = Meeting(shares.count)
    let run = runs
    var threads: [ThreadBox] = []
    for share in shares {
      let thread = try Kernel.Thread.spawn(name: "direct \(share.loop)") {
        meeting.leave(share.drive(shape, seconds: seconds, run: run, meeting))
      }
      threads.append(ThreadBox(thread))
    }
    for thread in threads { thread.join() }
    let all = meeting.results
    if let failure = all.compactMap(\.failure).first { throw DirectFailure(reason: failure) }
    stored += all.reduce(0) { $0 + $1.stored }
    return all.reduce(0) { $0 + $1.perSecond }
  }

  /// Counts the stored rows, and the sessions whose numbers have a hole.
  func verify() throws -> (rows: Int, holes: Int) {
    try OwnSessions.count(shares.flatMap(\.sessions), local)
  }
}

/// A barrier at which the writers wait for each other before they begin; it also collects their
/// results.
final class Meeting: Sendable {
  private let count: Int
  private let ready = Atomic(0)
  private let found = Mutex<[DirectShare.Result]>([])

  init(_ count: Int) { self.count = count }

  var results: [DirectShare.Result] { found.withLock { $0 } }

  /// Each writer connects within 10 s or reports a failure; no writer waits much longer.
  static let waitMilliseconds: Int64 = 15_000

  /// False when a writer did not arrive in time.
  func wait(milliseconds: Int64 = Meeting.waitMilliseconds) -> Bool {
    ready.add(1, ordering: .sequentiallyConsistent)
    let limit = SystemClock.now().advanced(byMilliseconds: milliseconds)
    while ready.load(ordering: .sequentiallyConsistent) < count {
      guard SystemClock.now() < limit else { return false }
      usleep(100)
    }
    return true
  }

  func leave(_ result: DirectShare.Result) { found.withLock { $0.append(result) } }
}

struct DirectFailure: Error, CustomStringConvertible {
  var reason: String
  var description: String { "the direct writer failed: \(reason)" }
}

struct BatchShape: Sendable {
  var rows: Int
  var sessions: Int
}

/// Sessions without clients, like those of the senders.
struct OwnSessions {
  let workspace: Identifier
  let visitor: Identifier?
  let ids: [Identifier]

  init(_ local: LocalGateway, like credentials: [Credential]) throws {
    let like = credentials.compactMap(\.session)
    let rows = try local.run(
      Query(
        """
        INSERT INTO chat_sessions (workspace_id, user_id)
        SELECT workspace_id, user_id FROM chat_sessions WHERE id = ANY($1)
        RETURNING id, workspace_id, user_id
        """, [.uuids(like)]))
    workspace = rows.uuid(0, 1) ?? .zero
    visitor = rows.uuid(0, 2)
    ids = (0..<rows.count).compactMap { rows.uuid($0, 0) }
  }

  func share(_ index: Int, of count: Int) -> [Identifier] {
    ids.enumerated().filter { $0.offset % count == index }.map(\.element)
  }

  static func count(_ ids: [Identifier], _ local: LocalGateway) throws -> (rows: Int, holes: Int) {
    let rows = try local.run(
      Query(
        """
        SELECT coalesce(sum(n), 0)::bigint, count(*) FILTER (WHERE n <> last) FROM (
          SELECT count(*) AS n, max(seq) AS last FROM chats WHERE session_id = ANY($1)
          GROUP BY session_id) AS sessions
        """, [.uuids(ids)]))
    return (Int(rows.int(0, 0) ?? 0), Int(rows.int(0, 1) ?? 0))
  }
}

/// The part of one writer, on its own thread.
struct DirectShare: Sendable {
  struct Result: Sendable {
    var perSecond = 0.0
    var stored = 0
    var failure: String?
  }

  let database: String
  let loop: Int
  let sessions: [Identifier]
  let workspace: Identifier
  let visitor: Identifier?
  let bodyBytes: Int

  func drive(_ shape: BatchShape, seconds: Int, run: UInt64, _ meeting: Meeting) -> Result {
    var writer = Writer(url: database, seed: UInt64(loop))
    var source = BatchSource(self, shape, run)
    var batch = Batch()
    source.fill(&batch)
    var result = Result()
    let limit = SystemClock.now().advanced(byMilliseconds: 10_000)
    while !writer.status.isReady, SystemClock.now() < limit { turn(&writer) }
    let isReady = writer.status.isReady
    let isWhole = meeting.wait()
    guard isReady else { return Result(failure: "no connection in 10 s") }
    guard isWhole else { return Result(failure: "another writer did not begin") }
    let begin = SystemClock.now()
    let warm = begin.advanced(byMilliseconds: SenderPool.warmMilliseconds)
    let end = begin.advanced(byMilliseconds: Int64(seconds) * 1000)
    var (start, counted, now) = (begin, 0, begin)
    while now < end {
      writer.submit(&batch, now: now)
      source.fill(&batch)
      var count = 0
      while !writer.takeCompletion({ _, outcomes in
        count = outcomes.count { $0.verdict == .stored }
      }) {
        turn(&writer)
        now = SystemClock.now()
        if case .down(let reason) = writer.status.health { return Result(failure: reason) }
      }
      guard count == shape.rows else { return Result(failure: "\(count) rows were stored") }
      result.stored += count
      if start == begin, now >= warm { (start, counted) = (now, 0) } else { counted += count }
    }
    result.perSecond = Double(counted) * 1e9 / Double(max(1, now.nanoseconds - start.nanoseconds))
    return result
  }

  private func turn(_ writer: inout Writer) {
    let events = Int16(writer.status.wantsWrite ? POLLIN | POLLOUT : POLLIN)
    var interest = pollfd(fd: writer.status.descriptor, events: events, revents: 0)
    // SAFETY: one descriptor; a negative one is ignored.
    unsafe _ = poll(&interest, 1, 10)
    writer.advance(now: SystemClock.now())
  }
}

/// Makes batches of one shape: a session's rows are adjacent, as with a sender's pipeline.
private struct BatchSource {
  private let share: DirectShare
  private let shape: BatchShape
  private let stamp: Stamp
  private let bodies: [[UInt8]]
  private let name = Array("Visitor".utf8)
  private let payload: [UInt8] = []
  private var made = 0
  private var nextSession = 0

  init(_ share: DirectShare, _ shape: BatchShape, _ run: UInt64) {
    self.share = share
    self.shape = shape
    let bodies = Bodies(byteCount: share.bodyBytes)
    self.bodies = (0..<64).map { bodies.body(of: Identifier(high: 0, low: $0)) }
    stamp = Stamp(
      nonce: Random.uint64(), wall: SystemClock.wallTime(), now: SystemClock.now())
  }

  mutating func fill(_ batch: inout Batch) {
    let now = SystemClock.now()
    let sessions = min(shape.sessions, shape.rows, share.sessions.count)
    for part in 0..<sessions {
      let session = share.sessions[(nextSession + part) % share.sessions.count]
      let rows = shape.rows * (part + 1) / sessions - shape.rows * part / sessions
      for _ in 0..<rows {
        let id = stamp.identifier(due: now, client: share.loop, number: made)
        made += 1
        let record = Record(
          workspace: share.workspace, session: session, id: id, role: .visitor, kind: .text,
          sender: share.visitor,
          origin: Origin(loop: 0, index: 0, generation: 0, isRequest: false, ref: .none))
        name.withRawSpan { name in
          bodies[made & 63].withRawSpan { body in
            payload.withRawSpan { payload in
              batch.append(
                record, senderName: name, body: body, payload: payload, cameAt: now)
            }
          }
        }
      }
    }
    nextSession = (nextSession + sessions) % share.sessions.count
  }
}
