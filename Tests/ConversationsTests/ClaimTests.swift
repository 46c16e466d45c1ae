import Chat
import Conversations
import Directory
import DomainFixtures
import Postgres
import Primitives
import Testing

@Suite struct ClaimTests {
  @Test(
    "the next conversation is the one that has waited longest; those without a message come last")
  func firstInFirstOut() async throws {
    let place = try await Workplace()
    let silent = try await place.conversation()
    var waiting: [Identifier] = []
    for number in 1...3 {
      waiting.append(try await place.conversation(messages: ["hello \(number)"]))
    }
    for session in waiting + [silent] {
      let claimed = try #require(try await place.claim())
      #expect(claimed.session == session)
      #expect(claimed.verdict == .applied)
      let row = try await place.read(session)
      #expect(row.status == "active" && row.assignee == place.mika.id)
      #expect(row.waitingSince == nil && row.claimedAt != nil)
    }
    #expect(try await place.claim() == nil)
  }

  @Test(
    "twenty concurrent claims of the next conversation take different ones, in order",
    arguments: 1...5)
  func race(round: Int) async throws {
    let place = try await Workplace()
    let operators = try await place.operators(10)
    try await place.set(queue: #"{"capacity":1}"#)
    var waiting: [Identifier] = []
    for number in 1...12 {
      waiting.append(try await place.conversation(messages: ["hello \(number)"]))
    }
    // Two claims of each operator, who may have one conversation.
    let results = try await withThrowingTaskGroup(of: Claim.Result?.self) { group in
      for member in operators + operators {
        group.addTask { try await place.claim(as: member) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    let taken = results.compactMap { $0?.verdict == .applied ? $0?.session : nil }
    #expect(taken.count == 10)
    #expect(Set(taken) == Set(waiting.prefix(10)))
    #expect(results.filter { $0?.verdict == .full && $0?.capacity == 1 }.count == 10)
    #expect(
      try await place.loads() == Dictionary(uniqueKeysWithValues: operators.map { ($0.id, 1) }))
    for session in waiting.prefix(10) {
      #expect(try await place.events(session).count == 1)
    }
  }

  @Test(
    "concurrent claims by id and of the next: one owner each, no operator above the capacity",
    arguments: 1...5)
  func mixedRace(round: Int) async throws {
    let place = try await Workplace()
    let operators = try await place.operators(4)
    try await place.set(queue: #"{"capacity":2}"#)
    var waiting: [Identifier] = []
    for number in 1...12 {
      waiting.append(try await place.conversation(messages: ["hello \(number)"]))
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<20 {
        let member = operators[number % 4]
        let session = number % 2 == 0 ? nil : waiting[number % 12]
        group.addTask { _ = try await place.claim(session, as: member) }
      }
      try await group.waitForAll()
    }
    let loads = try await place.loads()
    #expect(loads.values.allSatisfy { $0 <= 2 })
    #expect(loads.values.reduce(0, +) == 8)
    for session in waiting { #expect(try await place.events(session).count <= 1) }
  }

  @Test("one of three concurrent claims wins; the others get the winner's name")
  func winner() async throws {
    let place = try await Workplace()
    let operators = [place.mika] + (try await place.operators(2))
    let session = try await place.conversation(messages: ["hello"])
    let results = try await withThrowingTaskGroup(of: (Operator, Claim.Result?).self) { group in
      for member in operators {
        group.addTask { (member, try await place.claim(session, as: member)) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    let winners = results.filter { $0.1?.verdict == .applied }.map(\.0)
    try #require(winners.count == 1)
    for (member, result) in results where member != winners[0] {
      #expect(result?.verdict == .claimed)
      #expect(result?.assignee == winners[0].id)
      #expect(result?.assigneeName == winners[0].name)
    }
    let log = try await place.log(session)
    #expect(log.map(\.seq) == [1, 2])
    #expect(
      log.last.map { String(decoding: $0.body, as: UTF8.self) } == "\(winners[0].name) joined")
  }

  @Test("a statement that waited for a row's lock reads the row again")
  func waitingRace() async throws {
    let place = try await Workplace()
    let ivo = try await Workplace.addOperator("Ivo", to: place.workspace, place.database)
    let session = try await place.conversation()
    // The holder has the lock while the others arrive; their snapshots are older than each other's
    // changes.
    async let holder: Void = place.database.perform { connection in
      try? connection.execute(
        script: """
          BEGIN; SELECT FROM chat_sessions WHERE id = '\(session)' FOR UPDATE; SELECT pg_sleep(0.4);
          UPDATE chat_sessions SET title = 'held' WHERE id = '\(session)'; COMMIT
          """)
    }
    try await Task.sleep(for: .milliseconds(100))
    async let first = place.claim(session)
    async let second = place.claim(session, as: ivo)
    async let closed = place.change(.closed, session, as: ivo)
    let claims = try await [first, second].filter { $0?.verdict == .applied }
    #expect(try await closed?.isApplied == true)
    await holder
    #expect(claims.count <= 1)
    let log = try await place.log(session)
    #expect(log.map(\.seq) == Array(1...Int64(log.count)))
    #expect(log.count == claims.count + 1)
    let row = try await place.read(session)
    #expect(row.status == "closed" && row.title == "held")
    #expect(row.lastSeq == Int64(log.count))
  }

  @Test("an operator at the capacity claims nothing more, and keeps the conversation they have")
  func capacity() async throws {
    let place = try await Workplace()
    try await place.set(queue: #"{"capacity":1}"#)
    let first = try await place.conversation(messages: ["one"])
    let second = try await place.conversation(messages: ["two"])
    #expect(try await place.claim(first)?.verdict == .applied)
    #expect(try await place.claim(second)?.verdict == .full)
    #expect(try await place.claim()?.verdict == .full)
    #expect(try await place.claim(first)?.verdict == .held)
    try await place.change(.closed, first)
    #expect(try await place.claim(first)?.verdict == .closed)
    #expect(try await place.claim()?.session == second)
  }

  @Test("an invalid setting counts as its default")
  func invalidSettings() async throws {
    let place = try await Workplace()
    let waiting = try await place.conversation(messages: ["one"])
    for (value, capacity) in [
      ("not JSON", 5), ("[]", 5), (#"{"capacity":"many"}"#, 5), (#"{"capacity":0}"#, 5),
      (#"{"capacity":17}"#, 17),
    ] {
      try await place.set(queue: value)
      let rows = try await place.database.run(
        Query("SELECT capacity::bigint FROM chirrup_queue($1::uuid)", [.uuid(place.id)]))
      #expect(rows.int(0, 0) == Int64(capacity))
    }
    #expect(try await place.claim(waiting)?.verdict == .applied)
  }

  @Test("a conversation of another workspace, or a deleted one, is not found")
  func foreign() async throws {
    let place = try await Workplace()
    let other = try await Workplace()
    let session = try await place.conversation(messages: ["hello"])
    #expect(try await other.claim(session) == nil)
    #expect(try await other.claim() == nil)
    _ = try await place.database.run(
      Query("UPDATE chat_sessions SET deleted_at = now() WHERE id = $1::uuid", [.uuid(session)]))
    #expect(try await place.claim(session) == nil)
    #expect(try await place.claim() == nil)
  }
}
