import Directory
import DomainFixtures
import Postgres
import Primitives
import Testing

/// The secrets that sign visitors' identities: encrypted, with an overlap.
@Suite struct IdentitySecretTests {
  private let box = SecretBox(configured: ["a key of the configuration"], signingKey: [1])

  private func add(_ text: String, to place: Workplace, overlapHours: Int64) async throws -> Bool {
    let id = Workplace.identifier()
    let sealed = box.seal(Array(text.utf8), place: IdentitySecrets.place(id, in: place.id))
    let actor = AuditActor.command(in: place.id)
    let rows = try await place.database.run(
      IdentitySecrets.add(id, sealed, overlapHours: overlapHours, by: actor))
    return !rows.isEmpty
  }

  private func accepted(_ place: Workplace, by box: SecretBox) async throws -> Set<String> {
    let stored = try await place.database.ask(IdentitySecrets.accepted(in: place.id))
    return Set(
      stored.compactMap { $0.open(by: box, in: place.id) }.map {
        String(decoding: $0, as: UTF8.self)
      })
  }

  @Test("a new workspace has none; a new one is accepted beside the old ones for the overlap")
  func overlap() async throws {
    let place = try await Workplace()
    #expect(try await accepted(place, by: box) == [])
    #expect(try await add("one", to: place, overlapHours: 24))
    #expect(try await add("two", to: place, overlapHours: 24))
    #expect(try await accepted(place, by: box) == ["one", "two"])
    _ = try await place.database.run(
      Query(
        "UPDATE identity_secrets SET ends_at = ends_at - interval '1 day' WHERE workspace_id = $1",
        [.uuid(place.id)]))
    #expect(try await accepted(place, by: box) == ["two"])
    #expect(try await add("three", to: place, overlapHours: 0))
    #expect(try await accepted(place, by: box) == ["three"])
  }

  @Test("another key of the configuration, or another workspace, opens none")
  func sealed() async throws {
    let (place, other) = try await (Workplace(), Workplace())
    _ = try await add("one", to: place, overlapHours: 1)
    let foreign = SecretBox(configured: ["another key"], signingKey: [1])
    #expect(try await accepted(place, by: foreign) == [])
    try Workers.shared.get().asOwner(
      Query(
        "UPDATE identity_secrets SET workspace_id = $2 WHERE workspace_id = $1",
        [.uuid(place.id), .uuid(other.id)]))
    #expect(try await accepted(other, by: box) == [])
  }

  @Test("at most eight are accepted, and one can be ended")
  func bound() async throws {
    let place = try await Workplace()
    for number in 0..<IdentitySecrets.acceptedMax {
      #expect(try await add("\(number)", to: place, overlapHours: 1))
    }
    #expect(try await !add("more", to: place, overlapHours: 1))
    let rows = try await place.database.run(
      IdentitySecrets.page(of: place.id, after: nil, limit: 1))
    let newest = try #require(rows.uuid(0, 0))
    let end = IdentitySecrets.end(newest, by: .command(in: place.id))
    #expect(try await place.database.ask(end))
    #expect(try await !place.database.ask(end), "it has ended")
    #expect(try await accepted(place, by: box).count == Int(IdentitySecrets.acceptedMax) - 1)
    #expect(try await add("more", to: place, overlapHours: 1))
  }

  @Test("a secret in clear is accepted, and moved once")
  func clear() async throws {
    let place = try await Workplace()
    _ = try await place.database.run(
      Query(
        "UPDATE workspaces SET identity_secret = 'in clear' WHERE id = $1", [.uuid(place.id)]))
    #expect(try await accepted(place, by: box) == ["in clear"])
    let found = try await place.database.ask(IdentitySecrets.inClear(in: place.id, limit: 9))
    #expect(found.map(\.secret) == ["in clear"])
    for _ in 0..<2 {
      let id = Workplace.identifier()
      let sealed = box.seal(
        Array("in clear".utf8), place: IdentitySecrets.place(id, in: place.id))
      try await place.database.ask(
        IdentitySecrets.move("in clear", of: place.id, to: id, sealed))
    }
    #expect(try await accepted(place, by: box) == ["in clear"])
    #expect(try await place.database.ask(IdentitySecrets.accepted(in: place.id)).count == 1)
    #expect(try await place.database.ask(IdentitySecrets.inClear(in: place.id, limit: 9)).isEmpty)
  }
}
