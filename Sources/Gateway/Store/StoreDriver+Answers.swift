import API
import Chat
import Directory
import Engine
import Journal
import Postgres
import Primitives

/// An answer of PostgreSQL to another component of the loop. Nil where it did not answer, or
/// refused.
enum StoreAnswer {
  /// It was the store's own, the engine's or a task's, and is dealt with.
  case handled
  case origins((origins: [String], hasOpenWorkspace: Bool)?)
  /// The workspaces in which an operator came.
  case presence([Identifier]?)
  /// Which of the people behind waiting tokens are shut out.
  case tokenChecks(Set<Standing.Subject>?)
  /// Which of so many connected people are shut out.
  case recheck(count: Int, Set<Standing.Subject>?)
  case revocations(Standing.Revoked?)
  /// The other gateways were notified.
  case notified(Bool)
  /// Sessions that are further in the database than in memory.
  case catchUp([Identifier]?)
}

/// Questions and answers of the reader.
extension StoreDriver {
  /// Puts a question of the loop's own into the reader's queue, unless that is full.
  mutating func ask(_ query: Query, for asker: PendingQueries.Asker, now: Instant) -> Bool {
    let ticket = queries.add(asker)
    queries.hasNew = true
    if reader.enqueue(query, ticket: ticket, now: now) { return true }
    _ = queries.take(ticket)
    return false
  }

  /// A question of a task on this loop.
  mutating func ask(
    _ query: Query, _ continuation: CheckedContinuation<Result<Rows, QueryFailure>, Never>,
    now: Instant
  ) {
    if !ask(query, for: .task(continuation), now: now) {
      continuation.resume(returning: .failure(.overloaded))
    }
  }

  mutating func ask(_ request: ReadRequest, _ engine: inout Engine, _ now: Instant) {
    if !ask(query(for: request, engine), for: .engine(request), now: now) {
      finish(request, .failure(.overloaded), &engine, now)
    }
  }

  private func query(for request: ReadRequest, _ engine: borrowing Engine) -> Query {
    switch request {
    case .session(let id):
      let hint = engine.workspace(of: id)
      return hint.map { History.sessionQuery(id, of: $0) } ?? History.sessionQuery(id)
    case .entries(let session, let after, let limit, let purpose):
      return History.entriesQuery(
        session, of: engine.workspace(of: session) ?? .zero, after: after, limit: limit,
        bytes: purpose.bytesMax)
    case .entriesBefore(let session, let before, let limit, let purpose):
      return History.entriesQuery(
        session, of: engine.workspace(of: session) ?? .zero, before: before, limit: limit,
        bytes: purpose.bytesMax)
    case .conversation(let session, let workspace):
      return conversationQuery(session, of: workspace)
    case .storeMark(_, let session, let workspace, let mark):
      return History.markQuery(
        session, of: workspace, mark.person, read: mark.read, delivered: mark.delivered)
    case .storeAvailability(_, _, let member, let workspace, let isAvailable):
      return OperatorPresence.setAvailable(member, of: workspace, isAvailable).query
    }
  }

  /// The next answer; those that are for other components are the caller's to deal with.
  mutating func takeAnswer(
    _ engine: inout Engine, _ metrics: inout LoopMetrics, now: Instant
  ) -> StoreAnswer? {
    guard let (ticket, result) = reader.takeAnswer() else { return nil }
    guard let asker = queries.take(ticket) else {
      preconditionFailure("the reader answered a question that nobody asked")
    }
    if let purpose = asker.purpose { health.note(result, of: purpose) }
    let rows = try? result.get()
    switch asker {
    case .task(let continuation): continuation.resume(returning: result)
    case .engine(let request): finish(request, result, &engine, now)
    case .otherWorkspaces(let id):
      health.note(result)
      load(id, rows, mayBeElsewhere: false, &engine, now)
    case .housekeeping: break
    case .quarantine:
      // No row was touched: the workspace has its share in the table already.
      if let rows, rows.affected > 0 {
        metrics.quarantined &+= 1
      } else {
        metrics.quarantineDropped &+= 1
      }
    case .generation: noteGeneration(result, &engine)
    case .origins:
      return .origins(rows.map(Workspace.allOrigins(limit: Origins.listedMax).answer))
    case .presence: return .presence(rows.map(OperatorPresence.beat([]).answer))
    case .tokenChecks(let statement): return .tokenChecks(rows.map(statement.answer))
    case .recheck(let statement, let count):
      return .recheck(count: count, rows.map(statement.answer))
    case .revocations(let statement): return .revocations(rows.map(statement.answer))
    case .notification: return .notified(rows != nil)
    case .catchUp:
      return .catchUp(rows.map { rows in (0..<rows.count).compactMap { rows.uuid($0, 0) } })
    }
    return .handled
  }

  // MARK: The engine's reads

  private mutating func finish(
    _ request: ReadRequest, _ result: Result<Rows, QueryFailure>, _ engine: inout Engine,
    _ now: Instant
  ) {
    health.note(result)
    // What the reader says of another database than the writer's is no answer.
    let isSameStore = name.isEmpty || reader.store == name
    if !isSameStore { reader.reconnect(now: now) }
    let rows = isSameStore ? try? result.get() : nil
    switch request {
    case .session(let id):
      load(id, rows, mayBeElsewhere: engine.workspace(of: id) != nil, &engine, now)
    case .entries(_, _, let limit, let purpose), .entriesBefore(_, _, let limit, let purpose):
      engine.entriesLoaded(
        request, rows.map { History.decodePage($0, limit: limit, bytes: purpose.bytesMax) })
    case .conversation(let session, let workspace):
      guard let rows else {
        engine.conversationLoaded(session, workspace, .failure(.unavailable))
        return
      }
      let json = decodeConversation(rows).map { conversation in
        var json: [UInt8] = []
        appendConversationJSON(conversation, to: &json)
        return json
      }
      engine.conversationLoaded(session, workspace, .success(json))
    case .storeMark:
      engine.markStored(request, isStored: StoreDriver.isSettled(result, isSameStore))
    case .storeAvailability:
      engine.availabilityStored(request, isStored: StoreDriver.isSettled(result, isSameStore))
    }
  }

  /// Stored, or refused for good: a statement that PostgreSQL refuses it would refuse again.
  private static func isSettled(
    _ result: Result<Rows, QueryFailure>, _ isSameStore: Bool
  ) -> Bool {
    switch result {
    case .success: isSameStore
    case .failure(.refused(let state, _)): ["22", "23", "42"].contains(state.errorClass)
    case .failure: false
    }
  }

  private mutating func load(
    _ id: Identifier, _ rows: Rows?, mayBeElsewhere: Bool, _ engine: inout Engine, _ now: Instant
  ) {
    guard let rows else {
      engine.sessionLoaded(id, .failure(.unavailable))
      return
    }
    if let snapshot = History.decodeSession(rows) {
      engine.sessionLoaded(id, .success(snapshot))
    } else if mayBeElsewhere {
      loadFromAnyWorkspace(id, &engine, now)
    } else {
      engine.sessionLoaded(id, .failure(.noSuchSession))
    }
  }

  /// The first to ask for a session may belong to another workspace than the session; others who
  /// wait for it must get it all the same. The only statement that looks in all workspaces.
  private mutating func loadFromAnyWorkspace(
    _ id: Identifier, _ engine: inout Engine, _ now: Instant
  ) {
    if !ask(History.sessionQuery(id), for: .otherWorkspaces(id), now: now) {
      engine.sessionLoaded(id, .failure(.unavailable))
    }
  }
}
