import Directory
import DomainFixtures
import JSON
import Postgres
import Primitives
import Testing

@testable import Conversations

extension Workplace {
  func assignNext() async throws -> Assignment.Attempt {
    Assignment.decodeAttempt(try await database.run(Assignment.assignNext(in: id)))
  }

  func release(steadySeconds: Int64 = 1_000) async throws -> [Identifier] {
    Assignment.decodeIdentifiers(
      try await database.run(Assignment.release(in: id, steadySeconds: steadySeconds, limit: 50)))
  }

  func isAssignmentDue() async throws -> Bool {
    try await database.run(Assignment.isDue(in: id)).bool(0, 0) == true
  }

  /// Whether the walk over operators with open conversations, in pages of three, finds this one
  /// absent.
  func isAbsent(_ member: Operator) async throws -> Bool {
    var last = Assignment.Holder.start
    while true {
      let page = try await database.ask(Assignment.holders(after: last, limit: 3))
      if let found = page.first(where: { $0.workspace == id && $0.member == member.id }) {
        return found.isAbsent
      }
      guard page.count == 3, let end = page.last else { return false }
      last = end
    }
  }

  /// The queue as visitors' positions have it.
  func positions() async throws -> [Identifier] { try await lines().map(\.session) }

  /// The same with the lines, during or outside the workspace's business hours.
  func lines(
    isOpen: Bool = true, now: WallTime = Workplace.now
  ) async throws -> [QueuePositions.Entry] {
    try await database.ask(QueuePositions.statement(of: id, isOpen: isOpen, now: now))
  }
}

@Suite struct AssignmentTests {
  @Test(
    "without the setting nothing is given; with it, whoever has fewest gets the longest waiting")
  func leastBusy() async throws {
    let place = try await Workplace()
    let operators = try await place.operators(2)
    try await place.present(operators)
    var waiting: [Identifier] = []
    for number in 1...3 {
      waiting.append(try await place.conversation(messages: ["hello \(number)"]))
    }
    #expect(try await place.isAssignmentDue() == false)
    #expect(try await place.assignNext() == .nothing)
    try await place.set(queue: #"{"assign":"least_busy","capacity":2}"#)
    #expect(try await place.isAssignmentDue())
    // The first one is busy already.
    let own = try await place.conversation(messages: ["mine"])
    _ = try await place.claim(own, as: operators[0])
    #expect(
      try await place.assignNext()
        == .assigned(Assignment.Assigned(session: waiting[0], operatorName: operators[1].name)))
    let event = try #require(try await place.events(waiting[0]).last.flatMap { JSONValue($0) })
    #expect(event["event"]?.string == "assigned")
    #expect(event["operator"]?["id"]?.string == operators[1].id.description)
    // As busy as the other one, who was given nothing lately.
    #expect(
      try await place.assignNext()
        == .assigned(Assignment.Assigned(session: waiting[1], operatorName: operators[0].name)))
    _ = try await place.assignNext()
    #expect(try await place.loads() == [operators[0].id: 2, operators[1].id: 2])
    let late = try await place.conversation(messages: ["late"])
    #expect(try await place.assignNext() == .nothing)
    try await place.change(.closed, waiting[0], as: operators[1])
    #expect(
      try await place.assignNext()
        == .assigned(Assignment.Assigned(session: late, operatorName: operators[1].name)))
  }

  @Test(
    "20 concurrent attempts and claims: one owner each, oldest first, within the capacity",
    arguments: 1...3)
  func race(round: Int) async throws {
    let place = try await Workplace()
    let operators = try await place.operators(4)
    try await place.present(operators)
    try await place.set(queue: #"{"assign":"least_busy","capacity":2}"#)
    var waiting: [Identifier] = []
    for number in 1...12 {
      waiting.append(try await place.conversation(messages: ["hello \(number)"]))
    }
    await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<20 {
        let member = operators[number % 4]
        let last = waiting[11 - number % 4]
        group.addTask {
          switch number % 4 {
          case 0: _ = try await place.claim(as: member)
          case 1: _ = try await place.claim(last, as: member)
          default: _ = try await place.assignNext()
          }
        }
      }
    }
    let loads = try await place.loads()
    #expect(loads.values.allSatisfy { $0 == 2 } && loads.count == 4)
    var taken: [Int] = []
    for (number, session) in waiting.enumerated() {
      let events = try await place.events(session)
      #expect(events.count <= 1)
      if !events.isEmpty { taken.append(number) }
    }
    #expect(taken.count == 8)
    // Apart from those that were claimed by name, they went in order.
    let inOrder = taken.filter { $0 < 8 }
    #expect(inOrder == Array(0..<inOrder.count))
  }

  @Test(
    "an absent, disabled or unavailable operator gets nothing; nor does the one who returned it")
  func unavailable() async throws {
    let place = try await Workplace()
    let operators = try await place.operators(3)
    try await place.set(queue: #"{"assign":"least_busy"}"#)
    let session = try await place.conversation(messages: ["hello"])
    #expect(try await place.assignNext() == .nothing)
    try await place.present(operators)
    _ = try await place.database.ask(
      OperatorPresence.setAvailable(operators[0].id, of: place.id, false))
    _ = try await place.database.ask(Operator.setDisabled(operators[1].id, true))
    try await place.present([operators[2]], secondsAgo: 20)
    #expect(try await place.assignNext() == .nothing)
    let found = try await place.database.ask(OperatorPresence.members(of: place.id))
    #expect(found[operators[0].id]?.isOnline == true)
    #expect(found[operators[0].id]?.isAvailable == false)
    #expect(found[operators[2].id]?.isOnline == false)
    #expect(found[place.mika.id]?.isOnline == false)

    try await place.present([operators[2]])
    #expect(
      try await place.assignNext()
        == .assigned(Assignment.Assigned(session: session, operatorName: operators[2].name)))
    try await place.transfer(session, to: nil, as: operators[2])
    #expect(try await place.assignNext() == .nothing)
    let behind = try await place.conversation(messages: ["behind it"])
    #expect(
      try await place.assignNext()
        == .assigned(Assignment.Assigned(session: behind, operatorName: operators[2].name)))
    _ = try await place.database.ask(
      OperatorPresence.setAvailable(operators[0].id, of: place.id, true))
    #expect(
      try await place.assignNext()
        == .assigned(Assignment.Assigned(session: session, operatorName: operators[0].name)))
  }

  @Test("conversations of an absent operator return to their positions; a reconnect is no absence")
  func gone() async throws {
    let place = try await Workplace()
    let operators = try await place.operators(2)
    try await place.set(queue: #"{"assign":"least_busy","reassign_after_seconds":60}"#)
    try await place.present([operators[0]])
    let first = try await place.conversation(messages: ["one"])
    let second = try await place.conversation(messages: ["two"])
    let since = try await place.read(first).waitingSince
    _ = try await place.assignNext()
    // Claimed a moment ago, so nobody has been waited for long enough.
    try await place.present([operators[0]], secondsAgo: 300)
    #expect(try await place.release().isEmpty)
    _ = try await place.database.run(
      Query(
        "UPDATE chat_sessions SET claimed_at = now() - interval '1 hour' WHERE id = $1::uuid",
        [.uuid(first)]))
    try await place.present([operators[0]], secondsAgo: 50)
    #expect(try await place.release().isEmpty)
    try await place.present([operators[0]], secondsAgo: 300)
    // After an outage or a restart everybody was unseen.
    #expect(try await place.release(steadySeconds: 30).isEmpty)
    try await place.set(queue: #"{"assign":"least_busy","reassign_after_seconds":0}"#)
    #expect(try await place.release().isEmpty)
    // Also without automatic assignment.
    try await place.set(queue: #"{"assign":"off","reassign_after_seconds":60}"#)
    #expect(try await place.isAbsent(operators[0]))
    #expect(try await place.release() == [first])
    #expect(try await place.release().isEmpty)
    let back = try await place.read(first)
    #expect(back.status == "waiting" && back.assignee == nil)
    #expect(back.waitingSince == since)
    let event = try #require(try await place.events(first).last.flatMap { JSONValue($0) })
    #expect(event["event"]?.string == "unassigned")
    #expect(event["reason"]?.string == "operator_gone")
    #expect(try await !place.isAbsent(operators[0]), "no conversation is left")
    try await place.set(queue: #"{"assign":"least_busy"}"#)
    try await place.present([operators[1]])
    for session in [first, second] {
      #expect(
        try await place.assignNext()
          == .assigned(Assignment.Assigned(session: session, operatorName: operators[1].name)))
    }
  }

  @Test func `conversations that another application opened without an operator end no page`()
    async throws
  {
    let (place, other) = (try await Workplace(), try await Workplace())
    for workplace in [place, other] {
      let session = try await workplace.conversation(messages: ["one"])
      _ = try await workplace.database.run(
        Query("UPDATE chat_sessions SET status = 'active' WHERE id = $1::uuid", [.uuid(session)]))
    }
    let first = Assignment.Holder(workspace: min(place.id, other.id), member: nil)
    let second = Assignment.Holder(workspace: max(place.id, other.id), member: nil)
    let page = try await place.database.ask(Assignment.holders(after: first, limit: 1_000))
    #expect(page.contains(second) && !page.contains(first))
    let before = Assignment.Holder(
      workspace: Identifier(high: first.workspace.high, low: first.workspace.low - 1), member: .zero
    )
    #expect(try await place.database.ask(Assignment.holders(after: before, limit: 1)) == [first])
  }

  @Test("the queue has its order and positions while an operator is available")
  func line() async throws {
    let place = try await Workplace()
    var waiting: [Identifier] = []
    for number in 1...5 {
      waiting.append(try await place.conversation(messages: ["hello \(number)"]))
    }
    let silent = try await place.conversation()
    #expect(try await place.positions().isEmpty, "nobody is there")
    try await place.present([place.mika])
    #expect(try await place.positions() == waiting)
    _ = try await place.database.ask(
      OperatorPresence.setAvailable(place.mika.id, of: place.id, false))
    #expect(try await place.positions().isEmpty, "nobody takes conversations")
    _ = try await place.database.ask(
      OperatorPresence.setAvailable(place.mika.id, of: place.id, true))
    for (number, session) in waiting.enumerated() {
      #expect(try await place.read(session).queuePosition == Int64(number + 1))
    }
    #expect(try await place.read(silent).queuePosition == nil)
    for _ in 1...3 { _ = try await place.claim() }
    #expect(try await place.positions() == Array(waiting[3...]))
    #expect(try await place.read(waiting[0]).queuePosition == nil)
    #expect(try await place.read(waiting[3]).queuePosition == 1)
    try await place.set(queue: #"{"show_position":false}"#)
    #expect(try await place.positions().isEmpty)
  }

  @Test("the pace is what the last conversations waited, by position, however long ago that was")
  func pace() async throws {
    let place = try await Workplace()
    func pace() async throws -> Int64? {
      try await place.database.ask(QueuePositions.pace(of: place.id, in: place.id))
    }
    /// Entry and claim in seconds before now.
    func wait(from entry: Int64, to claim: Int64) async throws {
      let session = try await place.conversation(messages: ["hello"])
      _ = try await place.claim(session)
      _ = try await place.database.run(
        Query(
          """
          UPDATE chat_sessions SET queued_at = now() - make_interval(secs => $2::bigint),
            claimed_at = now() - make_interval(secs => $3::bigint) WHERE id = $1::uuid
          """, [.uuid(session), .int(entry), .int(claim)]))
    }
    // The second and the third have one and two before them.
    try await wait(from: 3_720, to: 3_660)
    try await wait(from: 3_720, to: 3_600)
    #expect(try await pace() == nil, "two are too few")
    try await wait(from: 3_720, to: 3_540)
    #expect(try await pace() == 60_000)
    // An hour without visitors changes nothing, nor does one that was forgotten.
    try await wait(from: 7_000, to: 60)
    #expect((59_000...61_000).contains(try await pace() ?? 0))
    // Claims from more than two hours ago are left out.
    _ = try await place.database.run(
      Query(
        """
        UPDATE chat_sessions SET claimed_at = claimed_at - interval '2 hours',
          queued_at = queued_at - interval '2 hours' WHERE workspace_id = $1::uuid
        """, [.uuid(place.id)]))
    #expect(try await pace() == nil)
  }
}
