import Directory
import DomainFixtures
import JSON
import Postgres
import Primitives
import Testing

@Suite struct VisitorProfileTests {
  private func visitor(_ place: Workplace) async throws -> Identifier {
    let id = Workplace.identifier()
    _ = try await place.database.ask(Visitor.create(id: id, workspace: place.id, name: ""))
    return id
  }

  private func update(
    _ id: Identifier, _ place: Workplace, name: String? = nil, email: String? = nil,
    attributes: String? = nil
  ) async throws -> VisitorProfile? {
    try await place.database.ask(
      VisitorProfile.update(
        id, workspace: place.id, name: name, email: email,
        attributes: attributes.map { Array($0.utf8) }))
  }

  private func adopt(
    _ id: Identifier, _ externalID: String, _ place: Workplace, name: String? = nil
  ) async throws -> VisitorProfile? {
    try await place.database.ask(
      VisitorProfile.adopt(
        id, SignedIdentity(externalID: externalID, name: name, email: nil), workspace: place.id))
  }

  @Test("attributes are merged up to their limit, and stay as they were beyond it")
  func attributes() async throws {
    let place = try await Workplace()
    let id = try await visitor(place)
    let first = try await update(id, place, name: "Ada", attributes: #"{"plan":"pro","seats":3}"#)
    #expect(first?.name == "Ada")
    let second = try await update(id, place, attributes: #"{"seats":4}"#)
    let merged = second.flatMap { JSONValue($0.attributes) }
    #expect(merged?["plan"]?.string == "pro" && merged?["seats"]?.int == 4)
    func members(_ count: Int) -> String {
      "{" + (1...count).map { #""k\#($0)":\#($0)"# }.joined(separator: ",") + "}"
    }
    let fits = try await update(
      id, place, attributes: members(VisitorProfile.attributesMax - 2))
    let full = fits.flatMap { JSONValue($0.attributes) }
    #expect(full?.object?.count == VisitorProfile.attributesMax)
    let beyond = try await update(id, place, attributes: #"{"one_more":1}"#)
    #expect(beyond?.attributes == fits?.attributes)
  }

  @Test("visitors cannot change the name and address of a signed identity")
  func signed() async throws {
    let place = try await Workplace()
    let id = try await visitor(place)
    #expect(try await adopt(id, "user-1", place, name: "Ada")?.externalID == "user-1")
    let renamed = try await update(id, place, name: "Eve", email: "eve@example.com")
    #expect(renamed?.name == "Ada" && renamed?.email == nil)
  }

  @Test("an identity belongs to one visitor of a workspace, and a visitor has one identity")
  func adoption() async throws {
    let place = try await Workplace()
    let (first, second) = (try await visitor(place), try await visitor(place))
    #expect(try await adopt(first, "user-1", place) != nil)
    #expect(try await adopt(first, "user-1", place) != nil)
    #expect(try await adopt(first, "user-2", place) == nil)
    #expect(try await adopt(second, "user-1", place) == nil)
    let other = try await Workplace()
    #expect(try await adopt(second, "user-2", other) == nil)
    #expect(try await adopt(try await visitor(other), "user-1", other) != nil)
  }

  @Test("a blocked visitor's profile does not change")
  func blocked() async throws {
    let place = try await Workplace()
    let id = try await visitor(place)
    _ = try await place.database.ask(
      Visitor.setBlocked(id, true, by: place.actor, now: Workplace.now))
    #expect(try await update(id, place, name: "Eve") == nil)
    #expect(try await adopt(id, "user-1", place) == nil)
  }
}
