import Directory
import DomainFixtures
import Postgres
import Primitives
import Testing

@Suite struct APIKeyTests {
  private func add(_ hash: [UInt8], _ place: Workplace) async throws {
    _ = try await place.database.run(
      Query(
        """
        INSERT INTO api_keys (workspace_id, id, name, token_hash, scopes, expires_at)
        VALUES ($1::uuid, gen_random_uuid(), 'import', $2::bytea,
          ARRAY['conversations:read', 'visitors:write'], $3::timestamptz)
        """, [.uuid(place.id), .bytes(hash), .time(Workplace.after(600))]))
  }

  @Test("a key is found by its hash until it expires or is revoked")
  func life() async throws {
    let place = try await Workplace()
    let hash = Workplace.randomBytes()
    try await add(hash, place)
    func find(_ seconds: Int64) async throws -> APIKey? {
      try await place.database.ask(
        APIKey.find(tokenHash: hash, now: Workplace.after(seconds)))
    }
    let key = try #require(try await find(0))
    #expect(key.workspace == place.id && key.name == "import")
    #expect(key.scopes == ["conversations:read", "visitors:write"])
    #expect(try await find(600) == nil)
    _ = try await place.database.run(
      Query(
        "UPDATE api_keys SET revoked_at = now() WHERE workspace_id = $1::uuid", [.uuid(place.id)]))
    #expect(try await find(0) == nil)
    let unknown = APIKey.find(tokenHash: Workplace.randomBytes(), now: Workplace.now)
    #expect(try await place.database.ask(unknown) == nil)
  }

  @Test("the last use of a key is written at most once a minute")
  func lastUse() async throws {
    let place = try await Workplace()
    let hash = Workplace.randomBytes()
    try await add(hash, place)
    for (seconds, written) in [(0, 0), (60, 0), (61, 61)] as [(Int64, Int64)] {
      _ = try await place.database.ask(
        APIKey.find(tokenHash: hash, now: Workplace.after(seconds)))
      let rows = try await place.database.run(
        Query(
          "SELECT last_used_at FROM api_keys WHERE workspace_id = $1::uuid", [.uuid(place.id)]))
      #expect(rows.time(0, 0) == Workplace.after(written))
    }
  }
}
