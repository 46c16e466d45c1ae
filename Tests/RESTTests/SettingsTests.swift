import Directory
import DomainFixtures
import Primitives
import Testing

@testable import REST

@Suite struct SettingsCacheTests {
  @Test(
    "a saved setting is in effect at once on this gateway, and within two seconds on the others")
  func saved() async throws {
    let world = try await World()
    let chief = try #require(
      try await world.database.ask(
        Operator.create(
          id: World.identifier(), email: "\(World.identifier())@example.com", name: "Ines",
          passwordHash: "x", workspace: world.workspace.id, membership: "admin")))
    let other = API(
      database: world.database, sessions: world.sessions, tokens: world.tokens,
      options: APIOptions())
    func isAsked(_ api: API, after seconds: Int64 = 0) async -> Bool {
      let request = APIRequest(
        method: "GET", path: "/api/v1/widget/config",
        query: "workspace=\(world.workspace.publicKey)", headers: [], body: [],
        peer: "192.0.2.1",
        now: WallTime(microseconds: World.now.microseconds + seconds * 1_000_000),
        isSecure: false)
      let answer = Answer(await api.handle(request))
      return (answer.json["prechat"] as? [String: Any])?["enabled"] as? Bool == true
    }
    let before = [await isAsked(world.api), await isAsked(other)]
    #expect(before == [false, false])
    let answer = try await world.call(
      "PATCH", "/api/v1/admin/settings", as: chief,
      json: #"{"settings":{"prechat":{"enabled":true,"fields":[{"key":"name","label":"Name"}]}}}"#)
    #expect(answer.status == 200)
    let after = [await isAsked(world.api), await isAsked(other)]
    #expect(after == [true, false], "the other API still has the cached settings")
    #expect(await isAsked(other, after: SettingsCache.secondsMax))
  }
}
