public import Chat
public import Conversations
public import Directory
import OpenSSL
import Postgres
public import Primitives
import SharedSQL

/// A workspace for one test, with an operator, Mika, in the database that all tests share.
public struct Workplace: Sendable {
  public static let password = "correct horse battery staple"
  public static let passwordHash = (try? Password.hash(password)) ?? ""
  public static let now = WallTime(microseconds: 1_795_000_000_000_000)

  struct Missing: Error {}

  public let database: Workers
  public let sessions: RecordingSessions
  public let workspace: Workspace
  public let mika: Operator
  public var id: Identifier { workspace.id }

  /// Mika as the author of a change.
  public var actor: AuditActor { AuditActor(workspace: id, id: mika.id, kind: "operator") }

  public init() async throws { try await self.init(in: Workers.shared.get()) }

  public init(in database: Workers) async throws {
    self.database = database
    sessions = RecordingSessions(database)
    let id = Workplace.identifier()
    let made = try await database.ask(
      Workspace.create(id: id, name: "workspace \(id)", publicKey: "pk_\(id)"))
    guard let made else { throw Missing() }
    workspace = made
    mika = try await Workplace.addOperator("Mika", to: workspace, database)
  }

  public static func identifier() -> Identifier {
    Identifier(
      version7At: now, randomHigh: UInt16.random(in: 0...UInt16.max),
      randomLow: UInt64.random(in: 0...UInt64.max))
  }

  public static func randomBytes() -> [UInt8] { (0..<32).map { _ in UInt8.random(in: 0...255) } }

  public static func addOperator(
    _ name: String, to workspace: Workspace, _ database: Workers, as membership: String = "agent"
  ) async throws -> Operator {
    let id = identifier()
    let made = try await database.ask(
      Operator.create(
        id: id, email: "\(id)@example.com", name: name, passwordHash: passwordHash,
        workspace: workspace.id, membership: membership))
    guard let made else { throw Missing() }
    return made
  }

  public func operators(_ count: Int) async throws -> [Operator] {
    var all: [Operator] = []
    for number in 1...count {
      all.append(try await Workplace.addOperator("Operator \(number)", to: workspace, database))
    }
    return all
  }

  /// Seconds after `now`.
  public static func after(_ seconds: Int64) -> WallTime {
    WallTime(microseconds: now.microseconds + seconds * 1_000_000)
  }

  // MARK: Conversations

  /// A visitor's conversation, waiting, with `messages` in it.
  public func conversation(
    visitor: String = "Ada", title: String = "", messages: [String] = []
  ) async throws -> Identifier {
    let person = Workplace.identifier()
    let session = Workplace.identifier()
    _ = try await database.ask(Visitor.create(id: person, workspace: id, name: visitor))
    _ = try await database.ask(
      VisitorSession.create(
        id: session, workspace: id, visitor: person, context: Array("{}".utf8), title: title))
    for message in messages { await say(message, in: session, by: person) }
    return session
  }

  /// A visitor's message.
  @discardableResult
  public func say(
    _ body: String, in session: Identifier, by visitor: Identifier? = nil, payload: String? = nil
  ) async -> Outcome {
    await database.store(
      session: session, workspace: id, id: Workplace.identifier(), role: "visitor", kind: "text",
      sender: visitor, name: "", body: Array(body.utf8), payload: payload.map { Array($0.utf8) })
  }

  public func read(_ session: Identifier) async throws -> Conversation {
    let rows = try await database.run(conversationQuery(session, of: id))
    guard let found = decodeConversation(rows) else { throw Missing() }
    return found
  }

  public func log(_ session: Identifier) async throws -> [Entry] {
    let page = try await database.ask(
      MessageRange.after(0).page(of: session, workspace: id, limit: 200))
    guard let page else { throw Missing() }
    return page.entries
  }

  /// The payloads of the log's events as JSON texts.
  public func events(_ session: Identifier) async throws -> [String] {
    try await log(session).filter { $0.kind == .event }
      .map { String(decoding: $0.payload, as: UTF8.self) }
  }

  // MARK: The queue

  public func set(queue value: String) async throws { try await set("queue", value) }

  /// A setting as it may stand in an adopted table.
  public func set(_ key: String, _ value: String?) async throws {
    _ = try await database.run(
      Query(
        """
        INSERT INTO system_settings (workspace_id, key, value)
        VALUES ($1::uuid, $2::text, $3::text)
        ON CONFLICT (workspace_id, key) DO UPDATE SET value = excluded.value
        """, [.uuid(id), .text(key), .text(value)]))
  }

  /// Claims a conversation, or the next one of the queue. Nil if there is none.
  public func claim(
    _ session: Identifier? = nil, as member: Operator? = nil
  ) async throws -> Claim.Result? {
    try await database.ask(
      Claim(session: session, member: member ?? mika, line: Workplace.identifier()).statement)
  }

  @discardableResult
  public func change(
    _ change: StateChange, _ session: Identifier, as member: Operator? = nil, reason: String? = nil
  ) async throws -> StateChange.Result? {
    try await database.ask(
      change.statement(session: session, by: member ?? mika, reason: reason, Workplace.lines()))
  }

  @discardableResult
  public func transfer(
    _ session: Identifier, to receiver: Identifier?, as member: Operator? = nil,
    reason: String? = nil
  ) async throws -> Transfer.Verdict? {
    try await database.ask(
      Transfer(
        session: session, member: member ?? mika,
        to: receiver.map { .member($0) } ?? .queue, reason: reason,
        lines: Workplace.lines()
      ).statement)
  }

  private static func lines() -> StateChange.Lines {
    StateChange.Lines(event: identifier(), note: identifier())
  }

  /// The open conversations of each operator.
  public func loads() async throws -> [Identifier: Int64] {
    let rows = try await database.run(
      Query(
        """
        SELECT assigned_operator_id, count(*) FROM chat_sessions
        WHERE workspace_id = $1::uuid AND status = 'active' GROUP BY 1
        """, [.uuid(id)]))
    return (0..<rows.count).reduce(into: [:]) { loads, row in
      if let id = rows.uuid(row, 0) { loads[id] = rows.int(row, 1) }
    }
  }

  /// These operators were last seen so long ago; by default ten minutes in the future, so that a
  /// slow machine does not make them absent.
  public func present(_ operators: [Operator], secondsAgo: Int64 = -600) async throws {
    _ = try await database.ask(
      OperatorPresence.beat(operators.map { (workspace: id, operator: $0.id) }))
    _ = try await database.run(
      Query(
        """
        UPDATE operator_presence SET seen_at = now() - make_interval(secs => $3::bigint)
        WHERE workspace_id = $1::uuid AND operator_id = ANY ($2::uuid[])
        """, [.uuid(id), .uuids(operators.map(\.id)), .int(secondsAgo)]))
  }
}

extension OperatorSession.Client {
  /// The client of tests that are not about it.
  public static let unknown = OperatorSession.Client(device: "Unknown device", address: "192.0.2.1")
}
