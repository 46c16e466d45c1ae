import Chat
import Conversations
import Directory
import EmbeddedPostgres
import Foundation
import Kernel
import Migrator
import OpenSSL
import Postgres
import Primitives
/// What the tests of the API share: one migrated database on a private server, and for each test a
/// workspace of its own with an operator in it.
import REST
import Synchronization
import Testing
import Tokens

/// The database of this process; nil where PostgreSQL is not installed.
enum TestDatabase {
  static let workers: Workers? = {
    do {
      let server = try ScratchCluster.url()
      let name = "api_\(getpid())"
      try BlockingConnection(server).execute(script: "CREATE DATABASE \(name)")
      let url = server.replacing("/chirrup?", with: "/\(name)?")
      try Migrator(BlockingConnection(url)).up()
      return Workers(url: url, count: 6)
    } catch {
      Issue.record("no database for the tests: \(error)")
      return nil
    }
  }()
}

/// Records which sessions changed; appends with plain statements what the loops append in batches.
final class RecordingSessions: Sessions {
  let hints = Mutex<[Identifier]>([])
  /// What `append` answers without storing anything, if set.
  let scripted = Mutex<Outcome?>(nil)
  let appended = Mutex<[Entry]>([])
  /// What `shutOut` answers.
  let isConfirming = Mutex(true)

  func shutOut(_ ids: Set<Identifier>, after calls: Countdown) async -> Bool {
    let isConfirmed = await calls.isConfirmed
    return isConfirming.withLock { $0 } && isConfirmed
  }

  func changed(session: Identifier) { hints.withLock { $0.append(session) } }

  func append(
    session: Identifier, workspace: Identifier, id: Identifier, role: Role, kind: EntryKind,
    sender: Identifier?, senderName: [UInt8], body: [UInt8], payload: [UInt8]
  ) async -> Outcome {
    appended.withLock {
      $0.append(
        Entry(
          seq: 0, id: id, role: role, kind: kind, sender: sender, senderName: senderName,
          body: body, payload: payload, at: WallTime(microseconds: 0)))
    }
    if let outcome = scripted.withLock({ $0 }) { return outcome }
    return await World.store(
      session: session, workspace: workspace, id: id, role: String(describing: role.text),
      kind: String(describing: kind.text), sender: sender,
      name: String(decoding: senderName, as: UTF8.self), body: body,
      payload: payload.isEmpty ? nil : payload)
  }
}

struct World {
  static let password = "correct horse battery staple"
  static let passwordHash = (try? Password.hash(password)) ?? ""
  static let now = WallTime(microseconds: 1_795_000_000_000_000)

  let api: API
  let database: Workers
  let sessions: RecordingSessions
  let workspace: Workspace
  let mika: Operator
  let tokens: TokenAuthority

  init(_ options: APIOptions = APIOptions(), origins: [String]? = nil) async throws {
    database = try #require(TestDatabase.workers)
    sessions = RecordingSessions()
    tokens = TokenAuthority(secret: Array(repeating: 7, count: 32))
    api = API(database: database, sessions: sessions, tokens: tokens, options: options)
    let id = World.identifier()
    let made = try await database.ask(
      Workspace.create(id: id, name: "workspace \(id)", publicKey: "pk_\(id)"))
    if let origins {
      _ = try await database.run(
        Query(
          """
          UPDATE workspaces SET allowed_origins = string_to_array($1::text, ' ')
          WHERE id = $2::uuid
          """,
          [.text(origins.joined(separator: " ")), .uuid(id)]))
    }
    workspace = try #require(made)
    mika = try await World.addOperator("Mika", to: workspace, database)
  }

  static func identifier() -> Identifier {
    Identifier(
      version7At: now, randomHigh: UInt16.random(in: 0...UInt16.max),
      randomLow: UInt64.random(in: 0...UInt64.max))
  }

  static func addOperator(
    _ name: String, to workspace: Workspace, _ database: Workers
  ) async throws -> Operator {
    let id = identifier()
    return try #require(
      try await database.ask(
        Operator.create(
          id: id, email: "\(id)@example.com", name: name, passwordHash: passwordHash,
          workspace: workspace.id, membership: "agent")))
  }

  func bearer(_ member: Operator, now: WallTime = World.now) throws -> String {
    let principal = Principal.operator(
      id: member.id, workspace: member.workspace, name: member.name, role: member.membership)
    return "Bearer " + (try tokens.issue(principal, lifetimeSeconds: 3600, now: now).token)
  }

  /// A request of an operator by bearer token; of Mika when nobody is named.
  func call(
    _ method: String, _ path: String, as member: Operator? = nil, json: String? = nil,
    now: WallTime = World.now
  ) async throws -> Answer {
    var headers = [("Authorization", try bearer(member ?? mika, now: now))]
    if json != nil { headers.append(("Content-Type", "application/json")) }
    return await send(method, path, headers, json, now: now)
  }

  /// A request as it stands.
  func send(
    _ method: String, _ path: String, _ headers: [(String, String)] = [], _ body: String? = nil,
    peer: String = "192.0.2.1", now: WallTime = World.now, isSecure: Bool = false
  ) async -> Answer {
    let parts = path.split(separator: "?", maxSplits: 1)
    let request = APIRequest(
      method: method, path: String(parts[0]), query: parts.count > 1 ? String(parts[1]) : "",
      headers: headers.map { (name: $0.0, value: $0.1) }, body: Array((body ?? "").utf8),
      peer: peer, now: now, isSecure: isSecure)
    let response = await api.handle(request)
    if let fault = Promises.fault(method, String(parts[0]), response) {
      Issue.record("\(method) \(path), \(response.status): \(fault)")
    }
    return Answer(response)
  }

  /// A visitor's conversation, waiting, with `messages` in it.
  func conversation(
    visitor: String = "Ada", title: String = "", messages: [String] = []
  ) async throws -> Identifier {
    let person = World.identifier()
    let session = World.identifier()
    _ = try await database.ask(
      Visitor.create(id: person, workspace: workspace.id, name: visitor))
    _ = try await database.ask(
      VisitorSession.create(
        id: session, workspace: workspace.id, visitor: person, context: Array("{}".utf8),
        title: title))
    for message in messages {
      _ = await World.store(
        session: session, workspace: workspace.id, id: World.identifier(), role: "visitor",
        kind: "text", sender: person, name: "", body: Array(message.utf8), payload: nil)
    }
    return session
  }

  /// What the journal does for a batch, for one message.
  static func store(
    session: Identifier, workspace: Identifier, id: Identifier, role: String, kind: String,
    sender: Identifier?, name: String, body: [UInt8], payload: [UInt8]?
  ) async -> Outcome {
    let query = Query(
      """
      WITH target AS (
        SELECT id, last_seq FROM chat_sessions WHERE id = $1::uuid AND workspace_id = $2::uuid
        FOR UPDATE
      ), line AS (
        INSERT INTO chats (id, workspace_id, session_id, seq, role, kind, content, payload,
          user_id, operator_id, operator_name, content_hash, created_at)
        SELECT $3::uuid, $2::uuid, t.id, t.last_seq + 1, $4::text, $5::text, $8::text, $9::jsonb,
          CASE WHEN $4::text = 'visitor' THEN $6::uuid END,
          CASE WHEN $4::text = 'operator' THEN $6::uuid END, nullif($7::text, ''), '\\x00'::bytea,
          clock_timestamp()
        FROM target t ON CONFLICT (id) DO NOTHING RETURNING seq, created_at
      ), changed AS (
        UPDATE chat_sessions s SET last_seq = line.seq, last_message_at = line.created_at,
          last_message_preview = left($8::text, 120), last_message_role = $4::text,
          waiting_since = CASE WHEN s.waiting_since IS NULL AND s.status = 'waiting'
            THEN line.created_at ELSE s.waiting_since END,
          message_count = s.message_count
            + CASE WHEN $5::text IN ('note', 'event') THEN 0 ELSE 1 END,
          first_response_at = CASE WHEN $4::text = 'operator' AND $5::text = 'text'
            THEN coalesce(s.first_response_at, line.created_at) ELSE s.first_response_at END
        FROM target t, line WHERE s.id = t.id
      )
      SELECT seq, created_at, false FROM line UNION ALL
      SELECT seq, created_at, true FROM chats WHERE id = $3::uuid
      """,
      [
        .uuid(session), .uuid(workspace), .uuid(id), .text(role), .text(kind), .uuid(sender),
        .text(name), .utf8(body), payload.map { .json($0) } ?? .null,
      ])
    // A twin that was committed after the statement had begun is neither stored nor seen by it, but
    // by the next one.
    for _ in 0..<2 {
      guard let rows = try? await TestDatabase.workers?.run(query) else { break }
      if rows.count > 0, let seq = rows.int(0, 0), let at = rows.time(0, 1) {
        let isDuplicate = rows.bool(0, 2) ?? false
        return Outcome(verdict: isDuplicate ? .duplicate : .stored, seq: seq, at: at)
      }
    }
    return Outcome(verdict: .rejected)
  }
}

extension Workers {
  func ask<Answer>(_ statement: Directory.Statement<Answer>) async throws -> Answer {
    statement.answer(try await run(statement.query))
  }
}

/// An answer of the API as a client sees it.
struct Answer: @unchecked Sendable {
  let response: APIResponse
  // SAFETY: only property-list values, never changed after `init`.
  let json: [String: Any]

  init(_ response: APIResponse) {
    self.response = response
    let object = try? JSONSerialization.jsonObject(with: Data(response.body))
    json = object as? [String: Any] ?? [:]
  }

  var status: Int { response.status }
  var body: String { String(decoding: response.body, as: UTF8.self) }

  func header(_ name: String) -> String? {
    response.headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }

  /// The last part of a problem's `type`.
  var problem: String? {
    string("type").map { String($0.split(separator: ":").last ?? "") }
  }

  /// A value by its path, such as `conversation.visitor.name`.
  subscript(_ path: String) -> Any? {
    var value: Any? = json
    for name in path.split(separator: ".") { value = (value as? [String: Any])?[String(name)] }
    return value is NSNull ? nil : value
  }

  func string(_ path: String) -> String? { self[path] as? String }
  func int(_ path: String) -> Int? { self[path] as? Int }
  func objects(_ path: String) -> [[String: Any]] { self[path] as? [[String: Any]] ?? [] }
}

let conversations = "/api/v1/admin/live-chat/conversations"
