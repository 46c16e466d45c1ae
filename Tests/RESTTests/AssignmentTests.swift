import Directory
import Foundation
import Postgres
import Primitives
import Testing

@testable import Conversations
@testable import REST

extension World {
  /// The operators' inboxes are open, as of so many seconds ago; else for ten minutes from now on,
  /// so that a busy machine does not make them absent.
  func present(_ operators: [Operator], secondsAgo: Int64 = -600) async throws {
    _ = try await database.ask(
      OperatorPresence.beat(operators.map { (workspace: workspace.id, operator: $0.id) }))
    _ = try await database.run(
      Query(
        """
        UPDATE operator_presence SET seen_at = now() - make_interval(secs => $3::bigint)
        WHERE workspace_id = $1::uuid AND operator_id = ANY ($2::uuid[])
        """, [.uuid(workspace.id), .uuids(operators.map(\.id)), .int(secondsAgo)]))
  }

  func give() async throws -> Assignment.Attempt {
    Assignment.decodeAttempt(try await database.run(Assignment.giveNext(in: workspace.id)))
  }

  func takeBack(steadySeconds: Int64 = 1_000) async throws -> [Identifier] {
    Assignment.decodeTaken(
      try await database.run(
        Assignment.takeBack(in: workspace.id, steadySeconds: steadySeconds, limit: 50)))
  }

  func isAssignmentDue() async throws -> Bool {
    try await database.run(Assignment.isDue(in: workspace.id)).bool(0, 0) == true
  }
}

@Suite struct AssignmentTests {
  @Test(
    "without the setting nothing is given; with it, whoever has fewest gets the longest waiting")
  func leastBusy() async throws {
    let world = try await World()
    let operators = try await world.operators(2)
    try await world.present(operators)
    var waiting: [Identifier] = []
    for number in 1...3 {
      waiting.append(try await world.conversation(messages: ["hello \(number)"]))
    }
    #expect(try await world.isAssignmentDue() == false)
    #expect(try await world.give() == .nothing)
    try await world.set(queue: #"{"assign":"least_busy","capacity":2}"#)
    #expect(try await world.isAssignmentDue())
    // The first one is busy already.
    let own = try await world.conversation(messages: ["mine"])
    _ = try await world.call("POST", "\(conversations)/\(own)/claim", as: operators[0])
    #expect(
      try await world.give()
        == .given(Assignment.Given(session: waiting[0], operatorName: operators[1].name)))
    let event = try #require(try await world.events(waiting[0]).last)
    #expect(event["event"] as? String == "assigned")
    #expect((event["operator"] as? [String: Any])?["id"] as? String == operators[1].id.description)
    // As busy as the other one, who was given nothing lately.
    #expect(
      try await world.give()
        == .given(Assignment.Given(session: waiting[1], operatorName: operators[0].name)))
    _ = try await world.give()
    #expect(try await world.loads() == [operators[0].id: 2, operators[1].id: 2])
    let late = try await world.conversation(messages: ["late"])
    #expect(try await world.give() == .nothing)
    _ = try await world.call("POST", "\(conversations)/\(waiting[0])/close", as: operators[1])
    #expect(
      try await world.give()
        == .given(Assignment.Given(session: late, operatorName: operators[1].name)))
  }

  @Test(
    "twenty attempts at once, beside claims: one owner each, oldest first, nobody has too many",
    arguments: 1...3)
  func race(round: Int) async throws {
    let world = try await World()
    let operators = try await world.operators(4)
    try await world.present(operators)
    try await world.set(queue: #"{"assign":"least_busy","capacity":2}"#)
    var waiting: [Identifier] = []
    for number in 1...12 {
      waiting.append(try await world.conversation(messages: ["hello \(number)"]))
    }
    await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<20 {
        let member = operators[number % 4]
        let last = waiting[11 - number % 4]
        group.addTask {
          switch number % 4 {
          case 0: _ = try await world.call("POST", nextInLine, as: member)
          case 1: _ = try await world.call("POST", "\(conversations)/\(last)/claim", as: member)
          default: _ = try await world.give()
          }
        }
      }
    }
    let loads = try await world.loads()
    #expect(loads.values.allSatisfy { $0 == 2 } && loads.count == 4)
    var taken: [Int] = []
    for (number, session) in waiting.enumerated() {
      let events = try await world.events(session)
      #expect(events.count <= 1)
      if !events.isEmpty { taken.append(number) }
    }
    #expect(taken.count == 8)
    // Apart from those that were claimed by name, they went in order.
    let inOrder = taken.filter { $0 < 8 }
    #expect(inOrder == Array(0..<inOrder.count))
  }

  @Test("who is away, disabled, or not there gets nothing; who gave it back does not get it again")
  func unavailable() async throws {
    let world = try await World()
    let operators = try await world.operators(3)
    try await world.set(queue: #"{"assign":"least_busy"}"#)
    let session = try await world.conversation(messages: ["hello"])
    #expect(try await world.give() == .nothing)
    try await world.present(operators)
    _ = try await world.database.ask(
      OperatorPresence.setAvailable(operators[0].id, of: world.workspace.id, false))
    _ = try await world.database.ask(Operator.setDisabled(operators[1].id, true))
    try await world.present([operators[2]], secondsAgo: 20)
    #expect(try await world.give() == .nothing)
    let found = try await world.database.ask(OperatorPresence.members(of: world.workspace.id))
    #expect(found[operators[0].id]?.isOnline == true)
    #expect(found[operators[0].id]?.isAvailable == false)
    #expect(found[operators[2].id]?.isOnline == false)
    #expect(found[world.mika.id]?.isOnline == false)

    try await world.present([operators[2]])
    #expect(
      try await world.give()
        == .given(Assignment.Given(session: session, operatorName: operators[2].name)))
    _ = try await world.call(
      "POST", "\(conversations)/\(session)/transfer", as: operators[2], json: #"{"to":null}"#)
    #expect(try await world.give() == .nothing)
    let behind = try await world.conversation(messages: ["behind it"])
    #expect(
      try await world.give()
        == .given(Assignment.Given(session: behind, operatorName: operators[2].name)))
    _ = try await world.database.ask(
      OperatorPresence.setAvailable(operators[0].id, of: world.workspace.id, true))
    #expect(
      try await world.give()
        == .given(Assignment.Given(session: session, operatorName: operators[0].name)))
  }

  @Test("what an operator had who is gone waits again at its old place; reconnecting is not gone")
  func gone() async throws {
    let world = try await World()
    let operators = try await world.operators(2)
    try await world.set(queue: #"{"assign":"least_busy","reassign_after_seconds":60}"#)
    try await world.present([operators[0]])
    let first = try await world.conversation(messages: ["one"])
    let second = try await world.conversation(messages: ["two"])
    let since = try await world.call("GET", "\(conversations)/\(first)")
      .string("conversation.waiting_since")
    _ = try await world.give()
    // Claimed a moment ago, so nobody has been waited for long enough.
    try await world.present([operators[0]], secondsAgo: 300)
    #expect(try await world.takeBack().isEmpty)
    _ = try await world.database.run(
      Query(
        "UPDATE chat_sessions SET claimed_at = now() - interval '1 hour' WHERE id = $1::uuid",
        [.uuid(first)]))
    try await world.present([operators[0]], secondsAgo: 50)
    #expect(try await world.takeBack().isEmpty)
    try await world.present([operators[0]], secondsAgo: 300)
    // After an outage or a restart everybody was unseen.
    #expect(try await world.takeBack(steadySeconds: 30).isEmpty)
    for off in [#"{"assign":"off"}"#, #"{"assign":"least_busy","reassign_after_seconds":0}"#] {
      try await world.set(queue: off)
      #expect(try await world.takeBack().isEmpty)
    }
    try await world.set(queue: #"{"assign":"least_busy","reassign_after_seconds":60}"#)
    let due = try await world.database.run(Assignment.workspaces(after: .zero, limit: 1_000))
    #expect(Assignment.decodeTaken(due).contains(world.workspace.id))
    #expect(try await world.takeBack() == [first])
    #expect(try await world.takeBack().isEmpty)
    let back = try await world.call("GET", "\(conversations)/\(first)")
    #expect(back.string("conversation.status") == "waiting")
    #expect(back["conversation.assignee"] == nil)
    #expect(back.string("conversation.waiting_since") == since)
    let event = try #require(try await world.events(first).last)
    #expect(event["event"] as? String == "unassigned")
    #expect(event["reason"] as? String == "operator_gone")
    try await world.present([operators[1]])
    for session in [first, second] {
      #expect(
        try await world.give()
          == .given(Assignment.Given(session: session, operatorName: operators[1].name)))
    }
  }

  @Test("the line in order, its positions in the conversations, and how quickly it moves")
  func line() async throws {
    let world = try await World()
    var waiting: [Identifier] = []
    for number in 1...5 {
      waiting.append(try await world.conversation(messages: ["hello \(number)"]))
    }
    let silent = try await world.conversation()
    func order() async throws -> QueuePositions.Order {
      QueuePositions.decode(
        try await world.database.run(QueuePositions.query(of: world.workspace.id)))
    }
    #expect(try await order() == QueuePositions.Order(sessions: waiting, placeMilliseconds: nil))
    let list = try await world.call("GET", "\(conversations)?status=waiting")
    #expect(
      list.objects("conversations").map { $0["queue_position"] as? Int } == [1, 2, 3, 4, 5, nil])
    for _ in 1...3 { _ = try await world.call("POST", nextInLine) }
    _ = try await world.database.run(
      Query(
        """
        UPDATE chat_sessions SET claimed_at = now() - interval '1 minute'
        WHERE workspace_id = $1::uuid AND claimed_at IS NOT NULL
        """, [.uuid(world.workspace.id)]))
    let moved = try await order()
    #expect(moved.sessions == Array(waiting[3...]))
    #expect((20_000..<30_000).contains(moved.placeMilliseconds ?? 0))
    let active = try await world.call("GET", "\(conversations)/\(waiting[0])")
    #expect(active["conversation.queue_position"] == nil)
    let front = try await world.call("GET", "\(conversations)/\(waiting[3])")
    #expect(front.int("conversation.queue_position") == 1)
    #expect(try await world.call("GET", "\(conversations)/\(silent)").status == 200)
    try await world.set(queue: #"{"show_position":false}"#)
    #expect(try await order().sessions.isEmpty)
  }
}
