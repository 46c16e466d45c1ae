import Directory
import DomainFixtures
import OpenSSL
import Postgres
import Primitives
import Testing
import WebPush

@testable import REST

private let path = "/api/v1/auth/push"

/// Push messages to the browser of a login (faults X25).
@Suite struct PushTests {
  private func login(_ world: World) async throws -> [(String, String)] {
    let answer = await world.send(
      "POST", "/api/v1/auth/login", [("Content-Type", "application/json")],
      #"{"email":"\#(world.mika.email)","password":"\#(World.password)"}"#)
    return [
      ("Authorization", "Bearer \(try #require(answer.string("token")))"),
      ("Content-Type", "application/json"),
    ]
  }

  private static let point = Base64.url.encode(P256Key().point)

  private func subscription(
    _ endpoint: String = "https://push.example.net/s/1", point: String = PushTests.point,
    auth: String = "BTBZMqHH6r4Tts7J_aSIgg", more: String = ""
  ) -> String {
    #"{"endpoint":"\#(endpoint)","keys":{"p256dh":"\#(point)","auth":"\#(auth)"}\#(more)}"#
  }

  private func stored(_ world: World) async throws -> [[UInt8]] {
    let rows = try await world.place.database.run(
      Query(
        """
        SELECT p.ciphertext FROM push_subscriptions p JOIN operator_sessions l ON l.id = p.login_id
        WHERE l.workspace_id = $1::uuid
        """, [.uuid(world.place.id)]))
    return (0..<rows.count).compactMap { rows.bytes($0, 0) }
  }

  @Test("a login subscribes, chooses and ends; each has its own, encrypted; a log-out ends it")
  func life() async throws {
    let world = try await World()
    let (first, second) = (try await login(world), try await login(world))
    let before = await world.send("GET", path, first)
    let key = try #require(Base64.url.decode((before.string("public_key") ?? "").utf8))
    #expect(P256Key.isPoint(key))
    #expect(before["subscribed"] as? Bool == false && before["waiting"] as? Bool == true)
    #expect(await world.send("PUT", path, first, subscription()).status == 204)
    #expect(
      await world.send(
        "PUT", path, first, subscription(more: #","expirationTime":null,"messages":false"#)
      ).status == 204)
    let after = await world.send("GET", path, first)
    #expect(after["subscribed"] as? Bool == true && after["messages"] as? Bool == false)
    #expect(before["texts"] as? Bool == false && after["texts"] as? Bool == false)
    let choice = subscription(more: #","texts":true"#)
    #expect(await world.send("PUT", path, first, choice).status == 204)
    #expect(await world.send("PUT", path, first, subscription()).status == 204)
    let chosen = await world.send("GET", path, first)
    #expect(chosen["texts"] as? Bool == true && chosen["messages"] as? Bool == false)
    #expect(after.string("public_key") == before.string("public_key"))
    #expect(await world.send("GET", path, second)["subscribed"] as? Bool == false)
    #expect(await world.send("DELETE", path, second).status == 204)
    let bytes = try await stored(world)
    #expect(bytes.count == 1)
    #expect(!String(decoding: bytes[0], as: UTF8.self).contains("push.example.net"))
    #expect(await world.send("PUT", path, second, subscription()).status == 204)
    #expect(await world.send("DELETE", path, second).status == 204)
    #expect(await world.send("POST", "/api/v1/auth/logout", first, "{}").status == 204)
    #expect(try await stored(world).isEmpty)
    let audit = try await world.audit()
    #expect(audit.filter { $0.hasPrefix("push.") } == ["push.added", "push.added", "push.removed"])
  }

  @Test(
    "private addresses, addresses without TLS, and wrong keys are refused, with the member",
    arguments: [
      ("https://127.0.0.1/x", nil, nil, "/endpoint"),
      ("https://169.254.169.254/latest", nil, nil, "/endpoint"),
      ("https://localhost/x", nil, nil, "/endpoint"),
      ("https://[::1]/x", nil, nil, "/endpoint"),
      ("http://push.example.net/x", nil, nil, "/endpoint"),
      ("https://push.example.net:22/x", nil, nil, "/endpoint"),
      ("https://me:secret@push.example.net/x", nil, nil, "/endpoint"),
      ("ftp://push.example.net/x", nil, nil, "/endpoint"),
      (nil, "AAAA", nil, "/keys/p256dh"),
      (nil, Base64.url.encode([4] + [UInt8](repeating: 7, count: 64)), nil, "/keys/p256dh"),
      (nil, nil, "AAAA", "/keys/auth"),
      (nil, nil, "BTBZMqHH6r4Tts7J_aSIg!", "/keys/auth"),
    ] as [(String?, String?, String?, String)])
  func refused(endpoint: String?, point: String?, auth: String?, pointer: String) async throws {
    let world = try await World()
    let mine = try await login(world)
    let answer = await world.send(
      "PUT", path, mine,
      subscription(
        endpoint ?? "https://push.example.net/s/1", point: point ?? PushTests.point,
        auth: auth ?? "BTBZMqHH6r4Tts7J_aSIgg"))
    #expect(answer.status == 400 && answer.string("pointer") == pointer, "\(answer.body)")
    #expect(try await stored(world).isEmpty)
  }

  @Test("a token without a login has no browser")
  func withoutLogin() async throws {
    let world = try await World()
    #expect(try await world.call("GET", path)["subscribed"] as? Bool == false)
    #expect(try await world.call("PUT", path, json: subscription()).status == 409)
    #expect(try await world.call("DELETE", path).status == 409)
    #expect(await world.send("GET", path).status == 401)
  }

  @Test("the key is made once, and opens only with the gateway's secrets")
  func key() async throws {
    let world = try await World()
    let mine = try await login(world)
    var points: Set<String?> = []
    for _ in 0..<3 { points.insert(await world.send("GET", path, mine).string("public_key")) }
    #expect(points.count == 1)
    let stored = try #require(try await world.place.database.ask(PushKey.find))
    #expect(stored.open(by: SecretBox(configured: ["another"], signingKey: [7])) == nil)
  }
}
