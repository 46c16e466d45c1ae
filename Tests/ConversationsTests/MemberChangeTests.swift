import Conversations
import Directory
import DomainFixtures
import JSON
import Postgres
import Primitives
import Testing

@Suite struct MemberChangeTests {
  private func change(
    _ change: MemberChange, _ member: Operator, in place: Workplace, reach: String = "agent admin"
  ) async throws -> (word: String, freed: [Identifier])? {
    try await place.database.ask(
      change.statement(of: member.id, reachedRoles: reach, by: place.actor))
  }

  @Test(
    "conversations of a removed or disabled member return to their positions in the queue",
    arguments: [MemberChange(isDisabled: true), MemberChange(isRemoval: true)])
  func freed(leaving: MemberChange) async throws {
    let place = try await Workplace()
    let ivo = try await Workplace.addOperator("Ivo", to: place.workspace, place.database)
    var sessions: [Identifier] = []
    for number in 1...3 {
      sessions.append(try await place.conversation(messages: ["hello \(number)"]))
    }
    let silent = try await place.conversation()
    let before = try await place.read(sessions[1])
    for session in [sessions[1], silent] { _ = try await place.claim(session, as: ivo) }
    let closed = try await place.conversation(messages: ["done"])
    _ = try await place.claim(closed, as: ivo)
    try await place.change(.closed, closed, as: ivo)

    let result = try #require(try await change(leaving, ivo, in: place))
    #expect(result.word == "done")
    #expect(Set(result.freed) == [sessions[1], silent])
    let back = try await place.read(sessions[1])
    #expect(back.status == "waiting" && back.assignee == nil && back.assigneeName == "")
    #expect(back.claimedAt == nil && back.waitingSince == before.waitingSince)
    #expect(back.queuePosition == 2)
    let event = try #require(try await place.events(sessions[1]).last.flatMap { JSONValue($0) })
    #expect(event["event"]?.string == "unassigned")
    #expect(event["reason"]?.string == "operator_gone")
    #expect(event["from"]?["name"]?.string == "Ivo")
    #expect(try await place.read(silent).status == "waiting")
    #expect(try await place.read(closed).status == "closed")
    #expect(try await place.loads() == [:])
  }

  @Test("the last owner stays an owner; roles beyond the author's reach do not change")
  func refusals() async throws {
    let place = try await Workplace()
    let owner = try await Workplace.addOperator(
      "Ines", to: place.workspace, place.database, as: "owner")
    let all = "agent admin owner"
    for leaving in [
      MemberChange(role: "admin"), MemberChange(isDisabled: true), MemberChange(isRemoval: true),
    ] {
      #expect(try await change(leaving, owner, in: place, reach: all)?.word == "last_owner")
      #expect(try await change(leaving, owner, in: place)?.word == "beyond_reach")
    }
    #expect(try await change(MemberChange(role: "owner"), place.mika, in: place)?.word != "done")
    let other = try await Workplace()
    #expect(try await change(MemberChange(isRemoval: true), other.mika, in: place) == nil)
  }

  /// An assignment locks the memberships of all available operators at the same time.
  @Test("one of three owners who demote each other at once remains an owner", arguments: 1...20)
  func race(round: Int) async throws {
    let place = try await Workplace()
    var owners: [Operator] = []
    for name in ["Ines", "Olga", "Vera"] {
      owners.append(
        try await Workplace.addOperator(name, to: place.workspace, place.database, as: "owner"))
    }
    try await place.present(owners)
    let words = try await withThrowingTaskGroup(of: String?.self) { group in
      for owner in owners {
        group.addTask {
          try await change(
            MemberChange(role: "agent"), owner, in: place, reach: "agent admin owner")?.word
        }
        group.addTask {
          _ = try await place.database.run(Assignment.assignNext(in: place.id))
          return nil
        }
      }
      return try await group.reduce(into: [String]()) { if let word = $1 { $0.append(word) } }
    }
    #expect(words.sorted() == ["done", "done", "last_owner"])
  }

  @Test("an account of two workspaces: one changes its role there, not the account itself")
  func shared() async throws {
    let place = try await Workplace()
    let other = try await Workplace()
    try await place.database.ask(
      Operator.join(place.mika.id, workspace: other.id, membership: "agent"))
    for refused in [
      MemberChange(name: "Renamed"), MemberChange(isDisabled: true),
      MemberChange(passwordHash: "x"),
    ] {
      #expect(try await change(refused, place.mika, in: place)?.word == "shared")
    }
    #expect(try await change(MemberChange(role: "admin"), place.mika, in: place)?.word == "done")
    #expect(try await change(MemberChange(isRemoval: true), place.mika, in: place)?.word == "done")
    let left = try await place.database.ask(Operator.members(of: other.id, limit: 9))
    #expect(left.contains { $0.id == place.mika.id })
  }
}
