import Chat
import EmbeddedPostgres
import Fixtures
import Glibc
import Migrator
import Postgres
import Primitives
import Synchronization

@testable import Journal

/// A separate migrated database for one test, on the server that all tests of the process share.
struct TestDatabase {
  /// As a gateway connects: its user owns nothing.
  let url: String
  /// As the owner of the tables.
  let sql: BlockingConnection
  let workspace: Identifier

  /// Each database has one workspace, with the same id.
  static let workspace = Identifier(high: 0x1000_0000_0000_4000, low: 0x8000_0000_0000_0001)

  private static let count = Atomic<Int>(0)
  private static let template = Mutex<Bool>(false)

  init() throws {
    try self.init(on: ScratchCluster.url(), isShared: true)
  }

  /// Uses a server that belongs to this test alone, unless `isShared`.
  init(on base: String, isShared: Bool = false) throws {
    let server = try BlockingConnection(base)
    try Roles.prepared.get()
    guard isShared else {
      url = base.replacing("user=chirrup", with: "user=chirrup_gateway")
      sql = server
      try Migrator(server).up()
      try DatabaseRoles(Migrator(server)).openGatewayLogin()
      workspace = try TestDatabase.makeWorkspace(sql)
      return
    }
    try TestDatabase.template.withLock { isMade in
      guard !isMade else { return }
      try server.execute(script: "CREATE DATABASE journal_template")
      try Migrator(BlockingConnection(base.replacing("/chirrup?", with: "/journal_template?"))).up()
      isMade = true
    }
    let name = "journal_\(TestDatabase.count.add(1, ordering: .relaxed).newValue)"
    // One at a time: CREATE DATABASE needs exclusive access to its template.
    try TestDatabase.template.withLock { _ in
      try server.execute(script: "CREATE DATABASE \(name) TEMPLATE journal_template")
    }
    let owner = base.replacing("/chirrup?", with: "/\(name)?")
    url = try Roles.gateway(owner)
    sql = try BlockingConnection(owner)
    workspace = try TestDatabase.makeWorkspace(sql)
  }

  private static func makeWorkspace(_ sql: BlockingConnection) throws -> Identifier {
    let id = TestDatabase.workspace
    try sql.run(Query("INSERT INTO workspaces (id, name) VALUES ($1, 'test')", [.uuid(id)]))
    return id
  }

  func session(status: String = "active") throws -> Identifier {
    let rows = try sql.run(
      Query(
        "INSERT INTO chat_sessions (workspace_id, status) VALUES ($1, $2) RETURNING id",
        [.uuid(workspace), .text(status)]))
    return rows.uuid(0, 0) ?? .zero
  }

  func count(_ sql: StaticString, _ parameters: [Parameter] = []) throws -> Int64 {
    try self.sql.run(Query(sql, parameters)).int(0, 0) ?? -1
  }

  /// Ends all other connections to this database, as an administrator or a crash does.
  func terminateOthers() throws {
    try sql.run(
      Query(
        """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()
        """))
  }

  /// The sequence numbers of a session's log, in order.
  func seqs(_ session: Identifier) throws -> [Int64] {
    let rows = try sql.run(
      Query("SELECT seq FROM chats WHERE session_id = $1 ORDER BY seq", [.uuid(session)]))
    return (0..<rows.count).compactMap { rows.int($0, 0) }
  }

  func page(
    _ session: Identifier, after: Int64, limit: Int, bytes: Int = 1_000_000
  ) throws -> LogPage {
    let query = History.entriesQuery(
      session, of: workspace, after: after, limit: limit, bytes: bytes)
    return History.decodePage(try sql.run(query), limit: limit, bytes: bytes)
  }

  func page(
    _ session: Identifier, before: Int64, limit: Int, bytes: Int = 1_000_000
  ) throws -> LogPage {
    let query = History.entriesQuery(
      session, of: workspace, before: before, limit: limit, bytes: bytes)
    return History.decodePage(try sql.run(query), limit: limit, bytes: bytes)
  }
}

/// A clock at a quarter of the real speed, so that a busy machine does not exceed the writer's time
/// limits.
func monotonicNow() -> Instant {
  var time = timespec()
  // SAFETY: `time` is filled during the call.
  unsafe _ = clock_gettime(CLOCK_MONOTONIC, &time)
  return Instant(nanoseconds: (Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)) / 4)
}

/// Waits like the event loop: for the socket or for the deadline.
func waitFor(_ descriptor: Int32, wantsWrite: Bool, until deadline: Instant) {
  let left = min(max(0, deadline.milliseconds(since: monotonicNow()) + 1), 50)
  var interest = pollfd(
    fd: descriptor, events: Int16(POLLIN | (wantsWrite ? POLLOUT : 0)), revents: 0)
  // SAFETY: one descriptor; poll ignores a negative one.
  unsafe _ = poll(&interest, 1, Int32(left))
}

struct TookTooLong: Error {}

/// Drives a writer until `isDone`, at most two minutes of real time.
func drive(_ writer: inout Writer, until isDone: (borrowing Writer) -> Bool) throws {
  let end = monotonicNow().advanced(byMilliseconds: 30_000)
  while monotonicNow() < end {
    writer.advance(now: monotonicNow())
    if isDone(writer) { return }
    waitFor(
      writer.status.descriptor, wantsWrite: writer.status.wantsWrite,
      until: writer.status.nextDeadline)
  }
  throw TookTooLong()
}

/// Drives a writer until its batch is complete.
func complete(_ writer: inout Writer) throws -> [Outcome] {
  var outcomes: [Outcome] = []
  let end = monotonicNow().advanced(byMilliseconds: 30_000)
  while monotonicNow() < end {
    writer.advance(now: monotonicNow())
    if writer.takeCompletion({ outcomes = $1 }) { return outcomes }
    waitFor(
      writer.status.descriptor, wantsWrite: writer.status.wantsWrite,
      until: writer.status.nextDeadline)
  }
  throw TookTooLong()
}

func makeReady(_ writer: inout Writer) throws { try drive(&writer) { $0.status.isReady } }

func freshIdentifier() -> Identifier {
  Identifier(
    version7At: WallTime(microseconds: 1_795_269_787_042_000),
    randomHigh: UInt16.random(in: 0...UInt16.max), randomLow: UInt64.random(in: 0...UInt64.max))
}

extension Batch {
  /// Adds a row with defaults for the fields that a test does not set, and returns its id.
  @discardableResult
  mutating func add(
    _ session: Identifier, id: Identifier = freshIdentifier(), role: Role = .visitor,
    kind: EntryKind = .text, sender: Identifier? = nil, name: String = "", body: [UInt8],
    payload: String = ""
  ) -> Identifier {
    let origin = Origin(loop: 0, index: 0, generation: 0, isRequest: false, ref: .none)
    let record = Record(
      workspace: TestDatabase.workspace, session: session, id: id, role: role, kind: kind,
      sender: sender, origin: origin)
    Array(name.utf8).withRawSpan { name in
      body.withRawSpan { body in
        Array(payload.utf8).withRawSpan { payload in
          append(record, senderName: name, body: body, payload: payload, cameAt: .zero)
        }
      }
    }
    return id
  }

  @discardableResult
  mutating func add(
    _ session: Identifier, _ text: String, id: Identifier = freshIdentifier(),
    role: Role = .visitor, kind: EntryKind = .text
  ) -> Identifier {
    add(session, id: id, role: role, kind: kind, body: Array(text.utf8))
  }
}
