import Directory
import DomainFixtures
import JSON
import Postgres
import Primitives
import Testing

@testable import Conversations

extension Workplace {
  /// A team with these members.
  func team(
    _ name: String, _ members: [Operator] = [], assign: String? = nil, capacity: Int64? = nil,
    overflow: Int64? = nil, hours: String? = nil
  ) async throws -> Identifier {
    let id = Workplace.identifier()
    var change = Teams.Change()
    change.name = name
    change.assign = .some(assign)
    change.capacity = .some(capacity)
    change.overflowAfterMinutes = .some(overflow)
    change.hours = .some(hours.map { Array($0.utf8) })
    #expect(try await database.ask(Teams.add(id, change, by: actor)) == .done)
    try await set(members, of: id)
    return id
  }

  func set(_ members: [Operator], of team: Identifier) async throws {
    #expect(
      try await database.ask(Teams.setMembers(members.map(\.id), of: team, by: actor)) == true)
  }

  @discardableResult
  func transfer(
    _ session: Identifier, toTeam team: Identifier?, as member: Operator? = nil
  ) async throws -> Transfer.Verdict? {
    try await database.ask(
      Transfer(
        session: session, member: member ?? mika, to: .team(team), reason: nil,
        lines: StateChange.Lines(event: Workplace.identifier(), note: Workplace.identifier())
      ).statement)
  }

  /// A conversation that waits for the team.
  func conversation(of team: Identifier?) async throws -> Identifier {
    let session = try await conversation(messages: ["hello"])
    if let team { #expect(try await transfer(session, toTeam: team) == .applied) }
    return session
  }

  /// Moves the beginning of a wait into the past.
  func backdate(_ session: Identifier, minutes: Int64) async throws {
    try database.asOwner(
      Query(
        """
        UPDATE chat_sessions SET waiting_since = waiting_since - $2::bigint * interval '1 minute',
          team_since = team_since - $2::bigint * interval '1 minute' WHERE id = $1::uuid
        """, [.uuid(session), .int(minutes)]))
  }

  func given(_ session: Identifier, _ member: Operator) -> Assignment.Attempt {
    .assigned(Assignment.Assigned(session: session, operatorName: member.name))
  }
}

@Suite struct TeamTests {
  @Test func `a conversation of a team is assigned to its members only`() async throws {
    let place = try await Workplace()
    let (inside, outside) = (try await place.operators(1)[0], place.mika)
    try await place.set(queue: #"{"assign":"least_busy"}"#)
    try await place.present([outside])
    let team = try await place.team("Billing", [inside])
    let first = try await place.conversation(of: team)
    let second = try await place.conversation(of: nil)
    #expect(try await place.assignNext() == place.given(second, outside))
    #expect(try await place.assignNext() == .nothing, "no member is there")
    try await place.present([inside])
    #expect(try await place.assignNext() == place.given(first, inside))
    let event = try #require(try await place.events(first).first.flatMap { JSONValue($0) })
    #expect(event["team"]?["name"]?.string == "Billing")
    #expect(try await place.read(first).team == team)
  }

  @Test func `whoever joins gets the conversations that wait, and whoever leaves gets none`()
    async throws
  {
    let place = try await Workplace()
    let (early, late) = (try await place.operators(1)[0], place.mika)
    try await place.present([early, late])
    let team = try await place.team("Billing", [early], assign: "least_busy", capacity: 1)
    let sessions = [
      try await place.conversation(of: team), try await place.conversation(of: team),
      try await place.conversation(of: team),
    ]
    // Mika has transferred them, so the first two are not given back to Mika.
    try place.database.asOwner(
      Query(
        "UPDATE chat_sessions SET returned_by = NULL WHERE workspace_id = $1::uuid",
        [.uuid(place.id)]))
    #expect(try await place.assignNext() == place.given(sessions[0], early))
    #expect(try await place.assignNext() == .nothing, "the only member is at the team's capacity")
    try await place.set([late], of: team)
    #expect(try await place.assignNext() == place.given(sessions[1], late))
    try await place.change(.closed, sessions[0], as: early)
    #expect(try await place.assignNext() == .nothing, "the first one has left")
    #expect(try await place.read(sessions[0]).assignee == early.id)
  }

  @Test func `round robin takes turns within the team, whatever the members have open`()
    async throws
  {
    let place = try await Workplace()
    let members = try await place.operators(3)
    try await place.present(members)
    let team = try await place.team("Billing", members, assign: "round_robin")
    let busy = try await place.conversation(messages: ["hello"])
    _ = try await place.claim(busy, as: members[0])
    var turns: [String] = []
    for _ in 1...6 {
      let session = try await place.conversation(of: team)
      guard case .assigned(let given) = try await place.assignNext() else { continue }
      #expect(given.session == session)
      turns.append(given.operatorName)
    }
    #expect(Set(turns.prefix(3)) == Set(members.map(\.name)))
    #expect(turns.prefix(3) == turns.suffix(3))
  }

  @Test func `the team's own mode counts before the workspace's`() async throws {
    let place = try await Workplace()
    try await place.set(queue: #"{"assign":"least_busy"}"#)
    let member = try await place.operators(1)[0]
    try await place.present([member])
    let manual = try await place.team("By hand", [member], assign: "off")
    let session = try await place.conversation(of: manual)
    #expect(try await place.assignNext() == .nothing)
    #expect(try await place.claim(as: member)?.session == session)
  }

  @Test(
    "while no member is there, conversations that waited long enough are for everybody",
    arguments: [nil, 10, 0] as [Int64?])
  func overflow(minutes: Int64?) async throws {
    let place = try await Workplace()
    try await place.set(queue: #"{"assign":"least_busy"}"#)
    let (inside, outside) = (try await place.operators(2)[0], try await place.operators(1)[0])
    try await place.present([outside])
    let team = try await place.team("Billing", [inside], overflow: minutes)
    let session = try await place.conversation(of: team)
    let isAtOnce = minutes == 0
    #expect(try await place.lines().map(\.session) == (isAtOnce ? [session] : []))
    if !isAtOnce {
      #expect(try await place.assignNext() == .nothing)
      #expect(try await place.claim(as: outside) == nil, "the next conversation is of another team")
      try await place.backdate(session, minutes: 11)
    }
    let isForAll = minutes != nil
    #expect(
      try await place.lines() == (isForAll ? [.init(session: session, line: team)] : []))
    // A member who is there keeps it in the team, however long it waited.
    try await place.present([inside])
    try await place.database.ask(OperatorPresence.setAvailable(outside.id, of: place.id, false))
    #expect(try await place.claim(as: outside) == nil)
    try await place.present([inside], secondsAgo: 20)
    try await place.database.ask(OperatorPresence.setAvailable(outside.id, of: place.id, true))
    #expect(
      try await place.assignNext() == (isForAll ? place.given(session, outside) : .nothing))
    #expect(try await place.read(session).team == team)
  }

  @Test func `positions are those of the team's line, while it is open and a member is there`()
    async throws
  {
    let place = try await Workplace()
    let member = try await place.operators(1)[0]
    // Workplace.now is 2026-11-18, a Wednesday, at 11:06:40 UTC.
    let days = (1...5).map { #"{"day":\#($0),"from":"09:00","to":"17:00"}"# }
      .joined(separator: ",")
    let hours = #"{"always":false,"time_zone":"UTC","holidays":["2026-12-25"],"days":[\#(days)]}"#
    let team = try await place.team("Billing", [member], hours: hours)
    let (free, own) = (
      try await place.conversation(of: nil), try await place.conversation(of: team)
    )
    try await place.present([place.mika])
    #expect(try await place.lines() == [.init(session: free, line: place.id)])
    try await place.present([member])
    #expect(
      try await place.lines(isOpen: false) == [.init(session: own, line: team)],
      "the team has hours of its own")
    for (seconds, isOpen) in [
      (21_199, true), (21_200, false), (-7_601, false), (-7_600, true), (3 * 86_400, false),
      (37 * 86_400, false),
    ] as [(Int64, Bool)] {
      let lines = try await place.lines(now: Workplace.after(seconds)).map(\.line)
      #expect(lines.contains(team) == isOpen, "after \(seconds) s")
    }
    #expect(try await place.read(own).queuePosition == 1)
    #expect(try await place.read(free).queuePosition == 1)
  }

  @Test func `the next conversation of an operator is of their teams or of none`() async throws {
    let place = try await Workplace()
    let (inside, outside) = (try await place.operators(1)[0], place.mika)
    let team = try await place.team("Billing", [inside])
    let first = try await place.conversation(of: team)
    let second = try await place.conversation(of: nil)
    #expect(try await place.claim(as: outside)?.session == second)
    #expect(try await place.claim(as: outside) == nil)
    #expect(try await place.claim(as: inside)?.session == first)
    // By hand any operator may take it.
    let third = try await place.conversation(of: team)
    #expect(try await place.claim(third, as: outside)?.verdict == .applied)
  }

  @Test func `a transfer to a team keeps the place of a conversation that waits`() async throws {
    let place = try await Workplace()
    let member = try await place.operators(1)[0]
    let (one, two) = (try await place.team("One", [member]), try await place.team("Two", [member]))
    let session = try await place.conversation(of: one)
    try await place.backdate(session, minutes: 5)
    let since = try await place.read(session).waitingSince
    #expect(try await place.transfer(session, toTeam: one) == .held)
    #expect(try await place.transfer(session, toTeam: two) == .applied)
    #expect(try await place.read(session).waitingSince == since)
    #expect(try await place.read(session).team == two)
    #expect(try await place.transfer(session, toTeam: Workplace.identifier()) == .noTeam)
    _ = try await place.claim(session, as: member)
    // The operator gives it to another team, then it returns to that line.
    #expect(try await place.transfer(session, toTeam: one, as: member) == .applied)
    let back = try await place.read(session)
    #expect(back.status == "waiting" && back.assignee == nil && back.team == one)
    #expect(back.waitingSince == since)
    #expect(try await place.transfer(session, to: place.mika.id) == .applied)
    #expect(try await place.read(session).team == one, "an operator keeps its team")
    #expect(try await place.transfer(session, toTeam: nil) == .applied)
    #expect(try await place.read(session).team == nil)
    let other = try await Workplace()
    let foreign = try await other.team("Three")
    #expect(try await place.transfer(session, toTeam: foreign) == .noTeam)
  }

  @Test func `a deleted team leaves its conversations without one`() async throws {
    let place = try await Workplace()
    let team = try await place.team("Billing")
    let waiting = try await place.conversation(of: team)
    let closed = try await place.conversation(of: team)
    try await place.change(.closed, closed)
    let released = try await place.database.ask(Teams.release(team, in: place.id))
    #expect(released.count == 2 && released.open == [waiting])
    // One that came after the release.
    try await place.transfer(waiting, toTeam: team)
    #expect(try await place.database.ask(Teams.delete(team, by: place.actor)))
    #expect(try await !place.database.ask(Teams.delete(team, by: place.actor)))
    for session in [waiting, closed] { #expect(try await place.read(session).team == nil) }
    #expect(try await place.claim()?.session == waiting)
  }

  @Test(
    "members come and go while assignments and claims run: one owner each, nothing is lost",
    arguments: 1...3)
  func race(round: Int) async throws {
    let place = try await Workplace()
    let members = try await place.operators(4)
    try await place.present(members)
    let team = try await place.team("Billing", Array(members.prefix(2)), assign: "least_busy")
    var waiting: [Identifier] = []
    for _ in 1...12 { waiting.append(try await place.conversation(of: team)) }
    let sessions = waiting
    await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<24 {
        group.addTask {
          switch number % 6 {
          case 0: try await place.set(Array(members.dropFirst(number % 4).prefix(2)), of: team)
          case 1: _ = try await place.claim(as: members[number % 4])
          case 2: _ = try await place.claim(sessions[11 - number / 6], as: members[number % 4])
          default: _ = try await place.assignNext()
          }
        }
      }
    }
    try await place.set(members, of: team)
    while case .assigned = try await place.assignNext() {}
    let loads = try await place.loads()
    #expect(loads.values.reduce(0, +) == 12 && loads.values.allSatisfy { $0 <= 5 })
    for session in waiting {
      let events = try await place.events(session).compactMap { JSONValue($0)?["event"]?.string }
      #expect(events.count { ["assigned", "claimed"].contains($0) } == 1, "\(events)")
    }
  }
}
