import Glibc
import Primitives
import Testing

@testable import Postgres

@Suite struct QueryConnectionTests {
  let database: TestDatabase
  init() throws { database = try TestDatabase() }

  private struct TookTooLong: Error {}
  private typealias Answers = [UInt64: Result<Rows, QueryFailure>]

  /// A clock at a quarter of the speed, so that a busy machine does not exceed the connection's
  /// time limits.
  private func now() -> Instant {
    var time = timespec()
    // SAFETY: `time` is filled during the call.
    unsafe _ = clock_gettime(CLOCK_MONOTONIC, &time)
    return Instant(nanoseconds: (Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)) / 4)
  }

  /// Drives the connection as the event loop would, at most two minutes of real time.
  private func drive(
    _ connection: inout QueryConnection, until isDone: (borrowing QueryConnection, Answers) -> Bool
  ) throws -> Answers {
    var answers: Answers = [:]
    let end = now().advanced(byMilliseconds: 30_000)
    while now() < end {
      connection.advance(now: now())
      while let (ticket, result) = connection.takeAnswer() {
        let earlier = answers.updateValue(result, forKey: ticket)
        #expect(earlier == nil, "ticket \(ticket) was returned twice")
      }
      if isDone(connection, answers) { return answers }
      let left = min(max(0, connection.nextDeadline.milliseconds(since: now()) + 1), 50)
      var interest = pollfd(
        fd: connection.descriptor, events: Int16(POLLIN | (connection.wantsWrite ? POLLOUT : 0)),
        revents: 0)
      // SAFETY: one descriptor; poll ignores a negative one.
      unsafe _ = poll(&interest, 1, Int32(left))
    }
    throw TookTooLong()
  }

  private func code(_ result: Result<Rows, QueryFailure>?) -> String? {
    guard case .failure(.refused(let state, _)) = result else { return nil }
    return state.code
  }

  @Test
  func `a connection fault is reported without a query, and cleared when the server responds`()
    throws
  {
    let limited = "limited_\(getpid())"
    let admin = try database.connect()
    try admin.execute(script: "CREATE ROLE \(limited) LOGIN CONNECTION LIMIT 0")
    defer { _ = try? admin.execute(script: "DROP ROLE \(limited)") }
    var connection = QueryConnection(
      url: database.url.replacing("user=chirrup", with: "user=\(limited)"))
    let atFirst = connection.fault
    #expect(atFirst == nil)
    _ = try drive(&connection) { connection, _ in
      connection.fault?.contains("too many connections for role") == true
    }
    try admin.execute(script: "ALTER ROLE \(limited) CONNECTION LIMIT 1")
    _ = try drive(&connection) { connection, _ in connection.isReady }
    let atLast = connection.fault
    #expect(atLast == nil)
  }

  @Test func `another address replaces the connection between queries, and loses none`() throws {
    var connection = QueryConnection(url: database.url)
    let name = Query("SELECT current_setting('application_name'), pg_sleep(0.1)::text")
    _ = try drive(&connection) { connection, _ in connection.isReady }
    _ = connection.enqueue(name, ticket: 1, now: now())
    connection.use(url: database.url + "&application_name=second", now: now())
    _ = connection.enqueue(name, ticket: 2, now: now())
    let wasReady = connection.isReady
    #expect(wasReady, "a planned replacement is no outage")
    let answers = try drive(&connection) { $1.count == 2 }
    #expect(try answers[1]?.get().text(0, 0) != "second")
    #expect(try answers[2]?.get().text(0, 0) == "second")
    // The server does not know this user: that is an outage with its reason.
    connection.use(
      url: database.url.replacing("user=chirrup", with: "user=nobody_at_all"), now: now())
    _ = try drive(&connection) { connection, _ in connection.fault?.contains("nobody") == true }
    let isReady = connection.isReady
    #expect(!isReady)
    connection.use(url: database.url, now: now())
    _ = connection.enqueue(name, ticket: 3, now: now())
    #expect(try drive(&connection) { $1.count == 1 }[3]?.get().isEmpty == false)
  }

  @Test func `queries wait for the connection, and each result has its ticket`() throws {
    var connection = QueryConnection(url: database.url)
    for ticket in 0..<300 as Range<UInt64> {
      let accepted = connection.enqueue(
        Query("SELECT $1, $2", [.int(Int64(ticket)), .text("t")]), ticket: ticket, now: now())
      #expect(accepted)
    }
    let answers = try drive(&connection) { $1.count == 300 }
    for (ticket, result) in answers {
      #expect(try result.get().int(0, 0) == Int64(ticket))
    }
    let isReady = connection.isReady
    #expect(isReady)
  }

  @Test func `an error affects only its own query`() throws {
    var connection = QueryConnection(url: database.url)
    let queries: [Query] = [
      Query("SELECT 1"), Query("SELECT 1 / 0"), Query("SELECT no_such_column"), Query("SELECT 2"),
      Query("SELECT no_such_column"), Query("SELECT 1"),
    ]
    for round in 0..<2 as Range<UInt64> {
      for (index, query) in queries.enumerated() {
        _ = connection.enqueue(query, ticket: round * 10 + UInt64(index), now: now())
      }
      let answers = try drive(&connection) { $1.count == queries.count }
      #expect(try answers[round * 10]?.get().int(0, 0) == 1)
      #expect(code(answers[round * 10 + 1]) == "22012")
      #expect(code(answers[round * 10 + 2]) == "42703")
      #expect(try answers[round * 10 + 3]?.get().int(0, 0) == 2)
      #expect(code(answers[round * 10 + 4]) == "42703")
      #expect(try answers[round * 10 + 5]?.get().int(0, 0) == 1)
    }
  }

  @Test func `the same text with a NULL instead of a value is prepared separately`() throws {
    var connection = QueryConnection(url: database.url)
    for (ticket, value) in [Parameter.null, .int(5), .null, .int(6)].enumerated() {
      _ = connection.enqueue(
        Query("SELECT coalesce($1::int8, -1)", [value]), ticket: UInt64(ticket), now: now())
    }
    let answers = try drive(&connection) { $1.count == 4 }
    #expect(try (0..<4).map { try answers[$0]?.get().int(0, 0) } == [-1, 5, -1, 6])
  }

  @Test func `each text is prepared once per connection`() throws {
    var connection = QueryConnection(url: database.url)
    for ticket in 0..<10 as Range<UInt64> {
      _ = connection.enqueue(Query("SELECT 42"), ticket: ticket, now: now())
    }
    _ = connection.enqueue(
      Query("SELECT count(*) FROM pg_prepared_statements WHERE statement = 'SELECT 42'"),
      ticket: 99, now: now())
    let answers = try drive(&connection) { $1.count == 11 }
    #expect(try answers[99]?.get().int(0, 0) == 1)
  }

  @Test func `the queue is bounded`() throws {
    var connection = QueryConnection(url: "postgresql:///x?host=/nowhere")
    for ticket in 0..<UInt64(QueryConnection.queriesMax) {
      let accepted = connection.enqueue(Query("SELECT 1"), ticket: ticket, now: now())
      #expect(accepted)
    }
    let accepted = connection.enqueue(Query("SELECT 1"), ticket: 5_000, now: now())
    #expect(!accepted)
  }

  @Test func `without a server, every query fails as unavailable after its timeout`() throws {
    var connection = QueryConnection(url: "postgresql:///x?host=/nowhere&user=chirrup")
    let start = Instant.zero
    for ticket in 0..<3 as Range<UInt64> {
      _ = connection.enqueue(Query("SELECT 1"), ticket: ticket, now: start)
    }
    connection.advance(now: start)
    let early = connection.takeAnswer()
    #expect(early == nil)
    connection.advance(now: start.advanced(byMilliseconds: QueryConnection.waitMilliseconds))
    for ticket in 0..<3 as Range<UInt64> {
      let answer = connection.takeAnswer()
      #expect(answer?.ticket == ticket)
      guard case .failure(.unavailable(let reason)) = answer?.result else {
        Issue.record("\(String(describing: answer))")
        continue
      }
      #expect(reason.contains("/nowhere"))
    }
  }

  @Test func `a killed connection fails the sent queries, reconnects and continues`() throws {
    var connection = QueryConnection(url: database.url)
    _ = connection.enqueue(Query("SELECT pg_backend_pid()"), ticket: 1, now: now())
    let first = try drive(&connection) { $1.count == 1 }
    let process = try #require(try first[1]?.get().int(0, 0))
    let before = connection.registration
    _ = connection.enqueue(Query("SELECT pg_sleep(20)"), ticket: 2, now: now())
    _ = connection.enqueue(Query("SELECT 2"), ticket: 3, now: now())
    connection.advance(now: now())
    try database.connect().run(Query("SELECT pg_terminate_backend($1::int4)", [.int(process)]))
    let lost = try drive(&connection) { $1.count == 2 }
    for ticket in [2, 3] as [UInt64] {
      guard case .failure(.unavailable) = lost[ticket] else {
        Issue.record("\(String(describing: lost[ticket]))")
        continue
      }
    }
    _ = connection.enqueue(Query("SELECT pg_backend_pid()"), ticket: 4, now: now())
    let again = try drive(&connection) { $1.count == 1 }
    #expect(try again[4]?.get().int(0, 0) != process)
    let after = connection.registration
    #expect(after != before)
  }

  @Test func `a result larger than any socket buffer arrives complete`() throws {
    var connection = QueryConnection(url: database.url)
    _ = connection.enqueue(
      Query("SELECT repeat('x', 16000) FROM generate_series(1, 400)"), ticket: 1, now: now())
    _ = connection.enqueue(
      Query("SELECT length($1)", [.text(String(repeating: "y", count: 4_000_000))]), ticket: 2,
      now: now())
    let answers = try drive(&connection) { $1.count == 2 }
    #expect(try answers[1]?.get().count == 400)
    #expect(try answers[2]?.get().int(0, 0) == 4_000_000)
  }

  @Test func `notifications that nobody takes are bounded, and the loss is a new subscription`()
    throws
  {
    var connection = QueryConnection(url: database.url, listen: "LISTEN waiting")
    _ = try drive(&connection) { connection, _ in connection.listens == 1 }
    let count = Int64(Notifications.waitingMax)
    let announce = Query(
      "SELECT count(pg_notify('waiting', n::text)::text) FROM generate_series(1, $1::bigint) AS n",
      [.int(count)])
    let other = try database.connect()
    try other.run(announce)
    try other.run(Query("SELECT pg_notify('waiting', 'last')::text"))
    _ = try drive(&connection) { connection, _ in connection.listens == 2 }
    let isEmpty = !connection.hasNotifications
    #expect(isEmpty, "all are dropped, the last one too")
    try other.run(Query("SELECT pg_notify('waiting', 'next')::text"))
    _ = try drive(&connection) { connection, _ in connection.hasNotifications }
    let next = connection.takeNotification()
    #expect(next == "next")
    let listens = connection.listens
    #expect(listens == 2)
  }
}
