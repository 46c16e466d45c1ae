import Directory
import DomainFixtures
import Postgres
import Testing

/// Beside a gateway of a release that knows no merges.
extension VisitorMergeTests {
  @Test("a conversation that an older gateway opened for the merged visitor goes to the survivor")
  func olderGateway() async throws {
    let place = try await Workplace()
    var phone = try await begin(place)
    let laptop = try await begin(place)
    try await merge(phone.id, into: laptop.id, place)
    // As a release without merges writes it.
    let session = Workplace.identifier()
    _ = try await place.database.ask(
      VisitorSession.create(
        id: session, workspace: place.id, visitor: phone.id, context: Array("{}".utf8), title: ""))
    #expect(try await owner(session, place) == phone.id)
    #expect(try await resume(&phone, place, wanted: session).session.id == session)
    #expect(try await owner(session, place) == laptop.id)
    let from = try await place.database.run(
      Query("SELECT merged_from FROM chat_sessions WHERE id = $1::uuid", [.uuid(session)]))
    #expect(from.uuid(0, 0) == phone.id)
    // The browser goes on with it, and the survivor's browsers do not get it.
    #expect(try await resume(&phone, place, wanted: session).session.id == session)
    var other = laptop
    #expect(try await resume(&other, place, wanted: session).session.id == laptop.session)
  }
}
