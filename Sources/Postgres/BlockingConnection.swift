/// A connection that blocks until each answer: for the command line, migrations and tests. Event
/// loops never use it.
public final class BlockingConnection {
  private let pq: PQConnection
  private let notices = NoticeCollector()
  private var parameters = ParameterBuffer()

  /// Connects; throws after at most 10 seconds (`connect_timeout` in the URL overrides it).
  public init(_ url: String) throws(QueryFailure) {
    pq = try PQConnection.connect(url: url)
    pq.sendNotices(to: notices)
    // Through a pooler other clients share the session, so it keeps its settings.
    guard try !isPooled() else { return }
    try perform(Query(BlockingConnection.settings, [.bool(false)]))
  }

  private static let settings: SQL = "SELECT \(SessionSettings.meaning)"

  /// Whether the connection goes through a pooler, see `PQConnection.isPooled`.
  public func isPooled() throws(QueryFailure) -> Bool {
    pq.isPooled(answeredBy: try perform(Query("SELECT pg_backend_pid()")).int(0, 0))
  }

  /// Runs `body` and returns the server's notices (`RAISE NOTICE`), which are otherwise dropped.
  public func collectingNotices<Result>(_ body: () -> Result) -> (notices: [String], Result) {
    notices.texts = []
    let result = body()
    defer { notices.texts = nil }
    return (notices.texts ?? [], result)
  }

  @discardableResult
  public func run(_ query: Query) throws(QueryFailure) -> Rows {
    var scope = query.scope
    if scope != nil, try perform(Query(Scope.isPossible)).bool(0, 0) != true { scope = nil }
    guard scope != nil || !query.locks.isEmpty else { return try perform(query) }
    try perform(Query("BEGIN"))
    do throws(QueryFailure) {
      if let scope { try perform(Query(Scope.enter, scope.parameters)) }
      for lock in query.locks { try perform(Query(lock.sql, lock.parameters)) }
      let rows = try perform(query)
      try perform(Query("COMMIT"))
      return rows
    } catch {
      _ = try? perform(Query("ROLLBACK"))
      throw error
    }
  }

  @discardableResult
  private func perform(_ query: Query) throws(QueryFailure) -> Rows {
    parameters.removeAll()
    for parameter in query.parameters { parameters.append(parameter) }
    guard let answer = pq.runWaiting(query.sql, parameters) else {
      throw .unavailable(reason: pq.errorMessage)
    }
    guard answer.form == .refused else { return answer.rows() }
    if pq.isBroken { throw .unavailable(reason: pq.errorMessage) }
    let refusal = answer.refusal
    throw .refused(refusal.state, message: refusal.message)
  }

  /// Runs several statements; they are one transaction unless the script contains others.
  public func execute(script: String) throws(ScriptFailure) {
    guard let answer = pq.runWaiting(script: script) else {
      throw .unavailable(reason: pq.errorMessage)
    }
    guard answer.form == .refused else { return }
    if pq.isBroken { throw .unavailable(reason: pq.errorMessage) }
    let refusal = answer.refusal
    throw .refused(refusal, line: refusal.line(in: script))
  }

  /// Runs one statement whose text is not a constant of the source, and returns its rows.
  public func ask(script: String) throws(ScriptFailure) -> Rows {
    guard let answer = pq.runWaiting(statement: script) else {
      throw .unavailable(reason: pq.errorMessage)
    }
    guard answer.form == .refused else { return answer.rows() }
    if pq.isBroken { throw .unavailable(reason: pq.errorMessage) }
    let refusal = answer.refusal
    throw .refused(refusal, line: refusal.line(in: script))
  }

  /// Runs `body` between BEGIN and COMMIT; an error rolls back and is rethrown.
  public func transaction<Result>(_ body: (BlockingConnection) throws -> Result) throws -> Result {
    try execute(script: "BEGIN")
    do {
      let result = try body(self)
      try execute(script: "COMMIT")
      return result
    } catch {
      // The first error is reported; a broken connection has rolled back already.
      try? execute(script: "ROLLBACK")
      throw error
    }
  }
}
