/// Expensive statements have connections of their own, with a time limit (issue 17.1).
import EmbeddedPostgres
import Fixtures
import Kernel
import Logging
import Postgres
import Primitives
import Settings
import Testing

@testable import Gateway

@Suite struct ExpensiveReaderTests {
  private func readers(_ url: String? = nil, count: Int = 2, seconds: Int = 10) throws
    -> ExpensiveReaders
  {
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    return try ExpensiveReaders(
      url: url ?? ScratchCluster.url(), count: count, seconds: seconds, logger: logger)
  }

  private func code(_ result: Result<Rows, QueryFailure>) -> String? {
    guard case .failure(.refused(let state, _)) = result else { return nil }
    return state.code
  }

  @Test("a hundred statements at once are answered, over at most so many connections")
  func many() async throws {
    let readers = try readers()
    defer { readers.stop() }
    let processes = try await withThrowingTaskGroup(of: (Int64?, Int64?).self) { group in
      for number in 0..<100 as Range<Int64> {
        group.addTask {
          let rows = try await readers.run(
            Query("SELECT $1::bigint, pg_backend_pid()", [.int(number)])
          ).get()
          #expect(rows.int(0, 0) == number)
          return (rows.int(0, 0), rows.int(0, 1))
        }
      }
      var processes: Set<Int64> = []
      for try await (_, process) in group { if let process { processes.insert(process) } }
      return processes
    }
    #expect((1...2).contains(processes.count))
  }

  @Test("a statement above the limit is cancelled, and the connection serves the next one")
  func timeout() async throws {
    let readers = try readers(count: 1, seconds: 1)
    defer { readers.stop() }
    #expect(code(await readers.run(Query("SELECT pg_sleep(20)"))) == "57014")
    #expect(code(await readers.run(Query("SELECT 1 / 0"))) == "22012")
    #expect(try await readers.run(Query("SELECT 7")).get().int(0, 0) == 7)
  }

  @Test("another address and another limit apply to the next statement")
  func changed() async throws {
    let readers = try readers(count: 1, seconds: 600)
    defer { readers.stop() }
    let name = Query("SELECT current_setting('application_name')")
    #expect(try await readers.run(name).get().text(0, 0) != "second")
    readers.use(url: try ScratchCluster.url() + "&application_name=second", seconds: 1)
    #expect(try await readers.run(name).get().text(0, 0) == "second")
    #expect(code(await readers.run(Query("SELECT pg_sleep(20)"))) == "57014")
  }

  @Test("a long statement delays none on another connection, and a waiting one comes next")
  func beside() async throws {
    // A limit that a loaded machine does not reach.
    let readers = try readers(count: 2, seconds: 600)
    defer { readers.stop() }
    let lock = try BlockingConnection(ScratchCluster.url())
    try lock.run(Query("SELECT pg_advisory_lock(170001)"))
    let held = Task {
      await readers.run(Query("SELECT pg_advisory_lock(170001), pg_advisory_unlock(170001)"))
    }
    for number in 0..<20 as Range<Int64> {
      let rows = try await readers.run(Query("SELECT $1::bigint", [.int(number)])).get()
      #expect(rows.int(0, 0) == number)
    }
    try lock.run(Query("SELECT pg_advisory_unlock(170001)"))
    _ = try await held.value.get()
  }

  @Test("the metrics say how many run and wait, and how long they have waited")
  func figures() async throws {
    let readers = try readers(count: 1, seconds: 600)
    defer { readers.stop() }
    let lock = try BlockingConnection(ScratchCluster.url())
    try lock.run(Query("SELECT pg_advisory_lock(170002)"))
    let held = Task {
      await readers.run(Query("SELECT pg_advisory_lock(170002), pg_advisory_unlock(170002)"))
    }
    try await eventually("a busy connection") { readers.figures.busy == 1 }
    let others = (0..<2).map { _ in Task { await readers.run(Query("SELECT 1")) } }
    try await eventually("two that wait") { readers.figures.waiting == 2 }
    #expect(readers.figures.connectionsMax == 1 && readers.figures.busy == 1)
    #expect(readers.figures.waits.count == 1)
    try lock.run(Query("SELECT pg_advisory_unlock(170002)"))
    _ = try await held.value.get()
    for other in others { _ = try await other.value.get() }
    try await eventually("a free connection") { readers.figures.busy == 0 }
    #expect(readers.figures.waiting == 0 && readers.figures.waits.count == 3)
  }

  @Test("without a database, and after the end, the answer is “unavailable”")
  func unavailable() async throws {
    let readers = try readers("postgresql:///x?host=/nowhere&user=chirrup")
    guard case .failure(.unavailable) = await readers.run(Query("SELECT 1")) else {
      Issue.record("there is no such database")
      return
    }
    let waiting = Task { await readers.run(Query("SELECT 1")) }
    readers.stop()
    for result in [await waiting.value, await readers.run(Query("SELECT 1"))] {
      guard case .failure(.unavailable) = result else {
        Issue.record("the readers have stopped")
        continue
      }
    }
  }

  @Test("requests of the API use these connections")
  func api() async throws {
    let gateway = try await RunningGateway { $0.limits.expensiveSeconds = 1 }
    defer { gateway.stop() }
    let token = try gateway.operatorToken()
    // The statement of the list waits for the lock until its time is over.
    try gateway.run(Query("BEGIN"))
    try gateway.run(Query("LOCK TABLE chat_sessions IN ACCESS EXCLUSIVE MODE"))
    let client = try RawClient(port: gateway.port)
    try client.send(
      "GET /api/v1/admin/live-chat/conversations HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        + "Connection: close\r\nAuthorization: Bearer \(token)\r\n\r\n")
    let text = try client.readToEnd()
    #expect(text.hasPrefix("HTTP/1.1 503 "))
    #expect(text.contains("urn:chirrup:problem:took_too_long"))
    #expect(text.contains("\r\nRateLimit: \"member\";r="))
    try gateway.run(Query("ROLLBACK"))
  }
}
