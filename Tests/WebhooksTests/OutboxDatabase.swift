import EmbeddedPostgres
import Glibc
import Migrator
import Postgres
import Primitives
import Testing

@testable import Webhooks

/// A migrated database for one test, with a workspace, a visitor and sessions.
struct OutboxDatabase {
  let url: String
  let connection: BlockingConnection
  let workspace = OutboxDatabase.identifier()
  let visitor = OutboxDatabase.identifier()

  init(_ name: String) throws {
    let server = try ScratchCluster.url()
    let database = "webhooks_\(name)_\(getpid())"
    try BlockingConnection(server).execute(script: "CREATE DATABASE \(database)")
    url = server.replacing("/chirrup?", with: "/\(database)?")
    connection = try BlockingConnection(url)
    try Migrator(connection).up()
    try connection.run(
      Query(
        "INSERT INTO workspaces (id, name, public_key) VALUES ($1, 'w', 'pk')",
        [.uuid(workspace)]))
    try connection.run(
      Query(
        "INSERT INTO visitors (id, workspace_id, name) VALUES ($1, $2, 'Vera')",
        [.uuid(visitor), .uuid(workspace)]))
  }

  static func identifier() -> Identifier {
    Identifier(
      high: UInt64.random(in: 0...UInt64.max), low: UInt64.random(in: 0...UInt64.max))
  }

  func webhook(_ events: String = "") throws -> Identifier {
    let id = OutboxDatabase.identifier()
    try connection.run(
      Query(
        """
        INSERT INTO webhooks (workspace_id, id, url, events, secret_ciphertext, secret_key_id)
        VALUES ($1, $2, 'https://example.com/', string_to_array($3, ' '),
          decode(repeat('00', 28), 'hex'), 'k')
        """, [.uuid(workspace), .uuid(id), .text(events)]))
    return id
  }

  func session() throws -> Identifier {
    let id = OutboxDatabase.identifier()
    try connection.run(
      Query(
        "INSERT INTO chat_sessions (id, workspace_id, user_id) VALUES ($1, $2, $3)",
        [.uuid(id), .uuid(workspace), .uuid(visitor)]))
    return id
  }

  /// Appends an entry to a session's log as the gateway does: under the lock of the session's row,
  /// with the next seq.
  func line(_ session: Identifier, kind: String = "text", event: String? = nil) throws {
    try connection.run(
      Query(
        """
        WITH s AS (UPDATE chat_sessions SET last_seq = last_seq + 1
          WHERE workspace_id = $1 AND id = $2 RETURNING last_seq)
        INSERT INTO chats (id, workspace_id, session_id, seq, role, kind, content, payload,
          user_id, content_hash, created_at)
        SELECT gen_random_uuid(), $1, $2, last_seq, 'visitor', $3, 'hello',
          CASE WHEN $4::text IS NOT NULL THEN jsonb_build_object('event', $4::text) END,
          $5, sha256('x'), now() FROM s
        """,
        [.uuid(workspace), .uuid(session), .text(kind), .text(event), .uuid(visitor)]))
  }

  /// One column of all rows as texts.
  func texts(_ sql: StaticString, _ parameters: [Parameter] = []) throws -> [String] {
    let rows = try connection.run(Query(sql, parameters))
    return (0..<rows.count).map { rows.text($0, 0) ?? "" }
  }

  func number(_ sql: StaticString) throws -> Int {
    Int(try connection.run(Query(sql)).int(0, 0) ?? -1)
  }
}

/// The steps of a gateway's worker, without HTTP requests.
struct Node {
  let connection: BlockingConnection
  let lease = OutboxDatabase.identifier()
  var taken: [Delivery] = []

  init(_ database: OutboxDatabase) throws { connection = try BlockingConnection(database.url) }

  mutating func take(room: Int = 64, milliseconds: Int64 = 60_000) throws {
    let busy = taken.map(\.webhook)
    let (lease, connection) = (lease, connection)
    taken += try connection.transaction { connection in
      let rows = try connection.run(DeliveryQueue.lock(busy: []))
      let locked = (0..<rows.count).compactMap { row in
        rows.uuid(row, 0).flatMap { workspace in rows.uuid(row, 1).map { (workspace, $0) } }
      }
      return DeliveryQueue.deliveries(
        try connection.run(
          DeliveryQueue.take(
            locked, lease: lease, leaseMilliseconds: milliseconds, room: room, busy: busy)))
    }
  }

  /// The new status; nil if another node has taken the delivery.
  @discardableResult
  mutating func finish(_ index: Int, _ failure: String?, pause: Int64? = 0) throws -> String? {
    let delivery = taken.remove(at: index)
    let rows = try connection.run(
      DeliveryQueue.finish(delivery, lease: lease, failure: failure, pause: pause))
    try connection.run(DeliveryQueue.wake(behind: delivery))
    return rows.isEmpty ? nil : rows.text(0, 0)
  }
}
