import Chat
import Conversations
import Directory
import DomainFixtures
import JSON
import Postgres
import Primitives
import Testing

@Suite struct VisitorDataTests {
  /// A visitor with a conversation of three messages, an event and a rating.
  private func visitor(_ place: Workplace) async throws -> (id: Identifier, session: Identifier) {
    let session = try await place.conversation(visitor: "Ada", messages: ["my secret"])
    let rows = try await place.database.run(
      Query("SELECT user_id FROM chat_sessions WHERE id = $1::uuid", [.uuid(session)]))
    let id = try #require(rows.uuid(0, 0))
    _ = try await place.claim(session)
    await place.say("another secret", in: session, by: id, payload: #"{"note":"secret too"}"#)
    let rating = Rating(
      session: session, workspace: place.id, visitor: id, rating: 4, comment: "a secret comment",
      line: Workplace.identifier())
    #expect(try await place.database.ask(rating.statement) == true)
    return (id, session)
  }

  private func erase(_ id: Identifier, _ place: Workplace) async throws -> Int64? {
    let database = place.database
    let sessions = try await database.ask(
      VisitorData.lockOut(id, workspace: place.id, by: .command))
    guard let sessions else { return nil }
    var messages: Int64 = 0
    for session in sessions {
      messages += try await database.ask(VisitorData.eraseSession(session, workspace: place.id))
    }
    _ = try await database.ask(
      VisitorData.eraseRest(
        id, workspace: place.id, by: .command, sessions: Int64(sessions.count),
        messages: messages))
    return messages
  }

  @Test("an export contains all data of a visitor, and no others")
  func export() async throws {
    let place = try await Workplace()
    let (id, session) = try await visitor(place)
    _ = try await place.conversation(visitor: "Brok", messages: ["of somebody else"])
    let text = try #require(
      try await place.database.ask(VisitorData.export(id, workspace: place.id)))
    let copy = try #require(JSONValue(text))
    #expect(copy["visitor"]?["name"]?.string == "Ada")
    #expect(copy["sessions"]?.array?.count == 1)
    #expect(copy["sessions"]?.array?.first?["id"]?.string == session.description)
    #expect(copy["ratings"]?.array?.first?["comment"]?.string == "a secret comment")
    #expect(text.contains("another secret") && !text.contains("of somebody else"))
    let other = try await Workplace()
    #expect(try await place.database.ask(VisitorData.export(id, workspace: other.id)) == nil)
  }

  @Test("an erased visitor is in no table; the log keeps its sequence numbers")
  func erase() async throws {
    let place = try await Workplace()
    let (id, session) = try await visitor(place)
    let before = try await place.log(session)
    #expect(try await erase(id, place) == 2)
    let after = try await place.log(session)
    #expect(after.map(\.seq) == before.map(\.seq) && after.map(\.id) == before.map(\.id))
    let bodies = after.filter { $0.kind != .event }.map { String(decoding: $0.body, as: UTF8.self) }
    #expect(bodies == ["[erased]", "[erased]"])
    let row = try await place.read(session)
    #expect(row.status == "closed" && row.visitor == nil && row.lastPreview == "[erased]")
    #expect(row.rating == 4 && row.ratingComment == nil)
    // Any table with a text or JSON column that still holds the words or the visitor's id. The
    // audit log names the visitor by design.
    let columns = try await place.database.run(
      Query(
        """
        SELECT table_name::text, column_name::text FROM information_schema.columns
        WHERE table_schema = 'public' AND data_type IN ('text', 'jsonb', 'uuid')
          AND table_name NOT IN ('audit_log', 'revocations')
        """))
    for column in 0..<columns.count {
      let table = try #require(columns.text(column, 0))
      let name = try #require(columns.text(column, 1))
      let found = await place.database.perform { connection -> Int64? in
        try? connection.ask(
          script: """
            SELECT count(*) FROM \(table) WHERE "\(name)"::text LIKE '%\(id)%'
            """
        ).int(0, 0)
      }
      #expect(found == 0, "\(table).\(name)")
    }
    #expect(try await erase(id, place) == nil)
  }

  @Test("after an interrupted erasure the visitor cannot return and can be erased again")
  func interrupted() async throws {
    let place = try await Workplace()
    let (id, session) = try await visitor(place)
    let sessions = try await place.database.ask(
      VisitorData.lockOut(id, workspace: place.id, by: .command))
    #expect(sessions == [session])
    let known = try await place.database.ask(Visitor.ofToken(id, workspace: place.id))
    #expect(known?.isBanned == true)
    #expect(
      try await place.database.ask(VisitorData.eraseSession(session, workspace: place.id)) == 2)
    #expect(try await erase(id, place) == 2)
    #expect(try await place.database.ask(Visitor.find(id, workspace: place.id)) == nil)
  }

  @Test("data of another workspace are not exported, blocked or erased")
  func foreign() async throws {
    let place = try await Workplace()
    let other = try await Workplace()
    let (id, session) = try await visitor(place)
    #expect(try await erase(id, other) == nil)
    let erased = try await place.database.ask(
      VisitorData.eraseSession(session, workspace: other.id))
    #expect(erased == 0)
    _ = try await place.database.ask(
      VisitorData.eraseRest(id, workspace: other.id, by: .command, sessions: 0, messages: 0))
    let known = try await place.database.ask(Visitor.ofToken(id, workspace: place.id))
    #expect(known?.isBanned == false)
    let bodies = try await place.log(session).map { String(decoding: $0.body, as: UTF8.self) }
    #expect(bodies.contains("my secret"))
  }
}
