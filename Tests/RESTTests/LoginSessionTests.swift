import Directory
import DomainFixtures
import Primitives
import Synchronization
import Testing

@testable import REST

private let sessions = "/api/v1/auth/sessions"

@Suite struct LoginSessionTests {
  private static let firefox =
    "Mozilla/5.0 (X11; Linux x86_64; rv:141.0) Gecko/20100101 Firefox/141.0"
  private static let iPhone =
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like "
    + "Gecko) Version/18.0 Mobile/15E148 Safari/604.1"

  private func login(
    _ world: World, _ userAgent: String, password: String = World.password,
    peer: String = "192.0.2.1", now: WallTime = World.now
  ) async -> Answer {
    await world.send(
      "POST", "/api/v1/auth/login",
      [("Content-Type", "application/json"), ("User-Agent", userAgent)],
      #"{"email":"\#(world.mika.email)","password":"\#(password)"}"#, peer: peer, now: now)
  }

  private func bearer(_ answer: Answer) throws -> [(String, String)] {
    [("Authorization", "Bearer \(try #require(answer.string("token")))")]
  }

  @Test("the list has device, address and times, and marks the login of the request")
  func list() async throws {
    let world = try await World()
    let first = await login(world, LoginSessionTests.firefox)
    let second = await login(
      world, LoginSessionTests.iPhone, peer: "192.0.2.7", now: Workplace.after(5))
    let answer = await world.send("GET", sessions, try bearer(first), now: Workplace.after(70))
    let found = answer.objects("sessions")
    #expect(found.count == 2)
    #expect(found.map { $0["device"] as? String } == ["Firefox on Linux", "Safari on iPhone"])
    #expect(found.map { $0["address"] as? String } == ["192.0.2.1", "192.0.2.7"])
    #expect(found.map { $0["current"] as? Bool } == [true, false])
    #expect(found[0]["created_at"] as? String == World.now.description)
    #expect(found[0]["last_seen_at"] as? String == Workplace.after(70).description)
    #expect(found[1]["last_seen_at"] as? String == Workplace.after(5).description)
    #expect(!answer.body.contains("token"))
    // By the cookie it is the same login.
    let cookie = String((second.header("Set-Cookie") ?? "").split(separator: ";").first ?? "")
    let other = await world.send("GET", sessions, [("Cookie", cookie)], now: Workplace.after(71))
    #expect(other.objects("sessions").first?["device"] as? String == "Safari on iPhone")
  }

  @Test("an ended login loses its token and its cookie; the other one stays")
  func end() async throws {
    let world = try await World()
    let stolen = await login(world, LoginSessionTests.firefox)
    let own = await login(world, LoginSessionTests.iPhone, now: Workplace.after(1))
    let list = await world.send("GET", sessions, try bearer(own))
    let id = try #require(list.objects("sessions").last?["id"] as? String)
    #expect(await world.send("DELETE", "\(sessions)/\(id)", try bearer(own)).status == 204)
    #expect(await world.send("GET", conversations, try bearer(stolen)).status == 401)
    let cookie = String((stolen.header("Set-Cookie") ?? "").split(separator: ";").first ?? "")
    #expect(await world.send("GET", conversations, [("Cookie", cookie)]).status == 401)
    #expect(await world.send("GET", conversations, try bearer(own)).status == 200)
    #expect(await world.send("DELETE", "\(sessions)/\(id)", try bearer(own)).status == 404)
    #expect(try await world.audit() == ["login.ended"])
  }

  @Test("nobody ends the login of another account")
  func foreign() async throws {
    let world = try await World()
    let mine = await login(world, LoginSessionTests.firefox)
    let list = await world.send("GET", sessions, try bearer(mine))
    let id = try #require(list.objects("sessions").first?["id"] as? String)
    let owner = try await world.member(.owner)
    #expect(try await world.call("DELETE", "\(sessions)/\(id)", as: owner).status == 404)
    #expect(try await world.call("GET", sessions, as: owner).objects("sessions").isEmpty)
    #expect(await world.send("GET", conversations, try bearer(mine)).status == 200)
    let key = try await world.key(KeyScope.allCases)
    let server = [("Authorization", "Bearer \(key)")]
    #expect(await world.send("GET", sessions, server).status == 403)
  }

  @Test("all other logins end at once, and the caller's stays")
  func others() async throws {
    let world = try await World()
    let answers = [
      await login(world, LoginSessionTests.firefox), await login(world, "curl/8.5.0"),
      await login(world, LoginSessionTests.iPhone),
    ]
    let ended = await world.send("POST", "\(sessions)/end-others", try bearer(answers[2]))
    #expect(ended.status == 200 && ended.int("ended") == 2)
    for answer in answers.prefix(2) {
      #expect(await world.send("GET", conversations, try bearer(answer)).status == 401)
    }
    #expect(await world.send("GET", conversations, try bearer(answers[2])).status == 200)
    let again = await world.send("POST", "\(sessions)/end-others", try bearer(answers[2]))
    #expect(again.int("ended") == 0)
    #expect(try await world.audit() == ["login.others_ended"])
  }

  @Test("logins, failures and refusals are log lines and entries, without secrets")
  func events() async throws {
    let box = Box()
    var options = APIOptions()
    options.onSecurityEvent = { event in box.add(event) }
    options.rates.loginsByAccount = APIOptions.Rate(burst: 2, perMinute: 1)
    let world = try await World(options)
    let right = await login(world, LoginSessionTests.firefox)
    for _ in 0..<4 {
      _ = await login(world, LoginSessionTests.iPhone, password: "wrong one", peer: "192.0.2.9")
    }
    _ = await world.send("POST", "/api/v1/auth/logout", try bearer(right))
    let owner = try await world.member(.owner)
    _ = try await world.call(
      "PATCH", "/api/v1/admin/members/\(world.mika.id)", as: owner, json: #"{"role":"admin"}"#)
    #expect(
      box.all.map(\.name) == [
        "login.succeeded", "login.failed", "login.failed", "login.limited", "login.ended",
        "member.changed",
      ])
    #expect(box.all.map(\.isRefusal) == [false, true, true, true, false, false])
    let failure = box.all[1].fields.map { "\($0.name)=\($0.value)" }
    #expect(failure.contains("peer=192.0.2.9") && failure.contains("reason=password"))
    #expect(failure.contains("operator=\(world.mika.id)"))
    let change = box.all[5].fields.map { "\($0.name)=\($0.value)" }
    #expect(change.contains("actor_id=\(owner.id)") && change.contains("target=\(world.mika.id)"))
    let token = try #require(right.string("token"))
    for event in box.all {
      for field in event.fields {
        #expect(!field.value.contains("wrong one") && !field.value.contains(token))
      }
    }
    #expect(
      try await world.audit() == ["login.failed", "login.failed", "login.ended", "member.changed"])
  }

  @Test(
    "a device is named by its User-Agent",
    arguments: [
      (firefox, "Firefox on Linux"), (iPhone, "Safari on iPhone"),
      (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
          + "Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0", "Edge on Windows"
      ),
      (
        "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) "
          + "Chrome/141.0.0.0 Mobile Safari/537.36", "Chrome on Android"
      ),
      (
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like "
          + "Gecko) Version/18.1 Safari/605.1.15", "Safari on macOS"
      ),
      ("curl/8.5.0", "curl"), ("python-requests/2.32", "python-requests"), ("", "Unknown device"),
      ("<script>alert(1)</script>", "Unknown device"), ("Mozilla/5.0", "Unknown device"),
      (String(repeating: "x", count: 5_000), "Unknown device"),
    ])
  func names(userAgent: String, words: String) {
    #expect(DeviceName.words(userAgent) == words)
  }
}

private final class Box: Sendable {
  private let kept = Mutex<[SecurityEvent]>([])

  var all: [SecurityEvent] { kept.withLock { $0 } }

  func add(_ event: SecurityEvent) { kept.withLock { $0.append(event) } }
}
