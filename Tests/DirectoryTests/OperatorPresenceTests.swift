import Conversations
import DomainFixtures
import Postgres
import Primitives
import Testing

@testable import Directory

@Suite struct OperatorPresenceTests {
  private func beat(_ members: [Operator], _ place: Workplace) async throws -> [Identifier] {
    try await place.database.ask(
      OperatorPresence.beat(members.map { (workspace: place.id, operator: $0.id) }))
  }

  @Test("a beat reports the workspaces in which an operator came online, once")
  func arrival() async throws {
    let place = try await Workplace()
    let ivo = try await Workplace.addOperator("Ivo", to: place.workspace, place.database)
    #expect(try await beat([place.mika], place) == [place.id])
    try await place.present([place.mika])
    #expect(try await beat([place.mika], place) == [])
    try await place.present([place.mika])
    #expect(try await beat([place.mika, ivo], place) == [place.id])
    try await place.present([ivo], secondsAgo: 20)
    #expect(try await beat([ivo], place) == [place.id], "the operator was offline in between")
    #expect(try await beat([], place) == [])
  }

  @Test("an operator without a membership is not present")
  func stranger() async throws {
    let place = try await Workplace()
    let other = try await Workplace()
    #expect(try await beat([other.mika], place) == [])
    let members = try await place.database.ask(OperatorPresence.members(of: place.id))
    #expect(Set(members.keys) == [place.mika.id])
    #expect(members[place.mika.id] == OperatorPresence())
  }

  @Test("unavailable is kept while present and for an hour of absence")
  func availability() async throws {
    let place = try await Workplace()
    func presence() async throws -> OperatorPresence? {
      try await place.database.ask(OperatorPresence.members(of: place.id))[place.mika.id]
    }
    func isAnyoneAvailable() async throws -> Bool {
      try await place.database.ask(WidgetPresence.of(place.id)).isSomebodyAvailable
    }
    #expect(try await !isAnyoneAvailable())
    try await place.present([place.mika])
    #expect(try await presence() == OperatorPresence(isOnline: true, isAvailable: true, load: 0))
    #expect(try await isAnyoneAvailable())
    try await place.database.ask(
      OperatorPresence.setAvailable(place.mika.id, of: place.id, false))
    #expect(try await presence()?.isAvailable == false)
    #expect(try await !isAnyoneAvailable())
    for (absence, isAvailable) in [(3_500, false), (3_700, true)] as [(Int64, Bool)] {
      try await place.present([place.mika], secondsAgo: absence)
      #expect(try await presence()?.isOnline == false)
      _ = try await beat([place.mika], place)
      try await place.present([place.mika])
      #expect(try await presence()?.isAvailable == isAvailable)
    }
  }

  @Test("away is who left some seconds ago or was not seen for longer; nobody else")
  func away() async throws {
    let place = try await Workplace()
    let mika = [(workspace: place.id, operator: place.mika.id)]
    func isAway() async throws -> Bool {
      try await !place.database.ask(OperatorPresence.away(of: mika)).isEmpty
    }
    #expect(try await !isAway(), "there never was a console")
    try await place.present([place.mika], secondsAgo: 20)
    #expect(try await isAway())
    _ = try await beat([place.mika], place)
    #expect(try await !isAway())
    try await place.present([place.mika], secondsAgo: 3)
    try await place.database.ask(OperatorPresence.leave(mika))
    #expect(try await !isAway(), "another gateway, or a console that reloads, may report them yet")
    try await place.present([place.mika], secondsAgo: 10)
    _ = try await place.database.run(
      Query(
        """
        UPDATE operator_presence SET left_at = now() - interval '7 seconds'
        WHERE workspace_id = $1::uuid
        """, [.uuid(place.id)]))
    #expect(try await isAway())
    _ = try await beat([place.mika], place)
    #expect(try await !isAway(), "another gateway has seen them since")
  }

  @Test("the load counts the operator's open conversations of this workspace")
  func load() async throws {
    let place = try await Workplace()
    for number in 1...3 {
      let session = try await place.conversation(messages: ["\(number)"])
      _ = try await place.claim(session)
      if number == 3 { try await place.change(.closed, session) }
    }
    let members = try await place.database.ask(OperatorPresence.members(of: place.id))
    #expect(members[place.mika.id]?.load == 2)
    #expect(members[place.mika.id]?.isOnline == false)
  }
}
