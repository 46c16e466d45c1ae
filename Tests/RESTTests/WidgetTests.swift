import Directory
import DomainFixtures
import Foundation
import Postgres
import Primitives
import Synchronization
import Testing
import Tokens

@testable import REST

@Suite struct WidgetTests {
  func token(
    _ world: World, _ members: String = "", headers: [(String, String)] = [],
    now: WallTime = World.now, peer: String = "192.0.2.1"
  ) async -> Answer {
    await world.send(
      "POST", "/api/v1/widget/token", headers,
      #"{"workspace":"\#(world.workspace.publicKey)"\#(members)}"#, peer: peer, now: now)
  }

  func after(_ seconds: Int64) -> WallTime {
    WallTime(microseconds: World.now.microseconds + seconds * 1_000_000)
  }

  @Test("a new visitor gets a token and a conversation")
  func fresh() async throws {
    let world = try await World()
    let answer = await token(world)
    #expect(answer.status == 200)
    #expect(
      Set(answer.json.keys) == ["token", "refresh", "session", "visitor", "expires_at", "status"])
    #expect(answer.string("status") == "waiting")
    #expect(answer.string("expires_at") == "2026-11-18T11:21:40.000Z")
    #expect(answer.string("visitor.name") == "")
    let text = try #require(answer.string("token"))
    let principal = try world.tokens.verify(Array(text.utf8), now: World.now).principal
    let session = try #require(answer.string("session").flatMap { Identifier($0) })
    let visitor = try #require(answer.string("visitor.id").flatMap { Identifier($0) })
    #expect(
      principal
        == .visitor(
          id: visitor, workspace: world.workspace.id, sessions: [session], name: ""))
    #expect(world.sessions.hints.withLock { $0 } == [session])
    let list = try await world.call("GET", conversations)
    #expect(list.objects("conversations").first?["id"] as? String == session.description)
  }

  @Test("a refresh secret returns the visitor and conversation, with a new secret")
  func rotation() async throws {
    let world = try await World()
    let first = await token(world)
    var refresh = try #require(first.string("refresh"))
    for round in 1...4 {
      let next = await token(
        world, #","refresh":"\#(refresh)""#, now: after(Int64(round) * 900))
      #expect(next.status == 200)
      #expect(next.string("visitor.id") == first.string("visitor.id"))
      #expect(next.string("session") == first.string("session"))
      #expect(next.string("refresh") != refresh)
      #expect(next["fresh"] == nil)
      refresh = try #require(next.string("refresh"))
    }
    #expect(world.sessions.hints.withLock { $0.count } == 1)
  }

  @Test("two tabs may use one secret within a minute")
  func grace() async throws {
    let world = try await World()
    let first = await token(world)
    let shared = try #require(first.string("refresh"))
    let left = await token(world, #","refresh":"\#(shared)""#, now: after(10))
    let right = await token(world, #","refresh":"\#(shared)""#, now: after(69))
    for (tab, seconds) in [(left, Int64(900)), (right, 910)] {
      #expect(tab.string("visitor.id") == first.string("visitor.id"))
      let next = await token(
        world, #","refresh":"\#(tab.string("refresh") ?? "")""#, now: after(seconds))
      #expect(next.string("visitor.id") == first.string("visitor.id"))
      #expect(next["fresh"] == nil)
    }
  }

  @Test("two simultaneous tabs are one visitor")
  func simultaneous() async throws {
    let world = try await World()
    let first = await token(world)
    let shared = #","refresh":"\#(first.string("refresh") ?? "")""#
    let answers = await withTaskGroup(of: Answer.self) { group in
      for _ in 1...4 { group.addTask { await self.token(world, shared, now: self.after(5)) } }
      return await group.reduce(into: [Answer]()) { $0.append($1) }
    }
    #expect(Set(answers.compactMap { $0.string("visitor.id") }) == [first.string("visitor.id")])
    #expect(Set(answers.compactMap { $0.string("session") }).count == 1)
    #expect(Set(answers.compactMap { $0.string("refresh") }).count == 4)
  }

  @Test("reuse of a secret after a minute revokes its family")
  func replay() async throws {
    let world = try await World()
    let first = await token(world)
    let stolen = #","refresh":"\#(first.string("refresh") ?? "")""#
    let second = await token(world, stolen, now: after(0))
    let thief = await token(world, stolen, now: after(61))
    #expect(thief.status == 200)
    #expect(thief["fresh"] as? Bool == true)
    #expect(thief.string("visitor.id") != first.string("visitor.id"))
    #expect(thief.string("session") != first.string("session"))
    let owner = await token(
      world, #","refresh":"\#(second.string("refresh") ?? "")""#, now: after(62))
    #expect(owner["fresh"] as? Bool == true)
    #expect(owner.string("visitor.id") != first.string("visitor.id"))
  }

  @Test("an expired, unknown, empty or foreign secret gives a new visitor, not an error")
  func invalid() async throws {
    let world = try await World()
    let other = try await World()
    let mine = await token(world)
    let foreign = await token(other)
    for (refresh, seconds) in [
      (mine.string("refresh") ?? "", Int64(91 * 86_400)), (foreign.string("refresh") ?? "", 0),
      ("unknown", 0), ("", 0), ("'; DROP TABLE refresh_tokens; --", 0),
    ] {
      let answer = await token(world, #","refresh":"\#(refresh)""#, now: after(seconds))
      #expect(answer.status == 200)
      #expect(answer["fresh"] as? Bool == true)
      #expect(answer.string("visitor.id") != mine.string("visitor.id"))
      #expect(answer.string("visitor.id") != foreign.string("visitor.id"))
    }
  }

  @Test("the newest or the requested conversation is found, never another visitor's")
  func sessions() async throws {
    let world = try await World()
    let first = await token(world)
    let old = try #require(first.string("session"))
    func again(_ previous: Answer, _ members: String) async -> Answer {
      await token(world, #","refresh":"\#(previous.string("refresh") ?? "")"\#(members)"#)
    }
    let second = await again(first, #","new_session":true"#)
    let new = try #require(second.string("session"))
    #expect(new != old)
    #expect(second.string("visitor.id") == first.string("visitor.id"))
    let third = await again(second, "")
    #expect(third.string("session") == new)
    let fourth = await again(third, #","session":"\#(old)""#)
    #expect(fourth.string("session") == old)
    let foreign = try #require((await token(world)).string("session"))
    let fifth = await again(fourth, #","session":"\#(foreign)""#)
    #expect(fifth.string("session") == new)
    _ = try await world.call("POST", "\(conversations)/\(new)/close")
    let sixth = await again(fifth, "")
    #expect(sixth.string("session") == new)
    #expect(sixth.string("status") == "closed")
  }

  @Test("operators see the visitor's context: known texts, cut to their limits, up to date")
  func context() async throws {
    let world = try await World()
    let long = String(repeating: "é", count: 3_000)
    let first = await token(
      world,
      #","context":{"page":"https://a.ex/?q=\#(long)","locale":"th","evil":{"a":[]},"title":"<b>"}"#
    )
    let session = try #require(first.string("session"))
    let row = try await world.call("GET", "\(conversations)/\(session)")
    let context = try #require(row["conversation.context"] as? [String: Any])
    #expect(Set(context.keys) == ["page", "locale", "title"])
    #expect((context["page"] as? String)?.utf8.count == 2_048)
    #expect(context["title"] as? String == "<b>")
    let second = await token(
      world, #","refresh":"\#(first.string("refresh") ?? "")","context":{"page":"/next"}"#)
    #expect(second.string("session") == session)
    let moved = try await world.call("GET", "\(conversations)/\(session)")
    #expect(moved.string("conversation.context.page") == "/next")
    #expect(moved.string("conversation.context.locale") == "th")
    #expect(world.sessions.hints.withLock { $0.count } == 2)
    _ = await token(
      world, #","refresh":"\#(second.string("refresh") ?? "")","context":{"page":"/next"}"#)
    #expect(world.sessions.hints.withLock { $0.count } == 2)
  }

  @Test("a text of the context is omitted if it cannot be stored")
  func oddContext() async throws {
    let world = try await World()
    let answer = await token(
      world,
      #","context":{"title":"\ud83d","page":"\u0000","referrer":1.5,"locale":null,"screen":"1x1"}"#
    )
    let session = try #require(answer.string("session"))
    let row = try await world.call("GET", "\(conversations)/\(session)")
    #expect(row["conversation.context"] as? [String: String] == ["screen": "1x1"])
  }

  @Test("a blocked visitor gets no token")
  func banned() async throws {
    let world = try await World()
    let first = await token(world)
    let visitor = try #require(first.string("visitor.id").flatMap { Identifier($0) })
    _ = try await world.database.run(
      Query("UPDATE visitors SET banned_at = now() WHERE id = $1::uuid", [.uuid(visitor)]))
    let answer = await token(world, #","refresh":"\#(first.string("refresh") ?? "")""#)
    #expect(answer.status == 403)
    #expect(answer.problem == "banned")
  }

  @Test("an unknown workspace is not found, a missing one is invalid")
  func workspaces() async throws {
    let world = try await World()
    let unknown = await world.send("POST", "/api/v1/widget/token", [], #"{"workspace":"pk_none"}"#)
    #expect(unknown.status == 404)
    #expect(unknown.problem == "no_such_workspace")
    #expect(await world.send("POST", "/api/v1/widget/token", [], "{}").status == 400)
    #expect(await world.send("GET", "/api/v1/widget/config").status == 400)
    #expect(await world.send("GET", "/api/v1/widget/config?workspace=pk_none").status == 404)
  }

  @Test(
    "only listed origins may use the widget (A02, A03, A05)",
    arguments: [
      ("https://good.com", true), ("HTTPS://GOOD.COM", true), ("https://good.com:443", true),
      ("https://shop.example:8443", true), ("https://good.com.evil.com", false),
      ("https://evilgood.com", false), ("http://good.com", false), ("https://good.com:444", false),
      ("https://shop.example", false), ("https://www.good.com", false), ("null", false),
      ("", false), ("https://good.com/", false), (nil, false),
    ] as [(String?, Bool)])
  func origins(origin: String?, isAllowed: Bool) async throws {
    let world = try await World(
      origins: ["https://good.com", "https://Shop.example:8443", "null"])
    let headers = origin.map { [("Origin", $0)] } ?? []
    let answer = await token(world, headers: headers)
    #expect(answer.status == (isAllowed ? 200 : 403))
    if !isAllowed { #expect(answer.problem == "origin") }
    let config = await world.send(
      "GET", "/api/v1/widget/config?workspace=\(world.workspace.publicKey)", headers)
    #expect(config.status == (isAllowed || origin == nil ? 200 : 403))
  }

  @Test("any page may call the widget's routes, without credentials (CORS)")
  func cors() async throws {
    let world = try await World()
    let page = [("Origin", "https://shop.example")]
    let preflight = await world.send(
      "OPTIONS", "/api/v1/widget/token",
      page + [
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "content-type"),
      ])
    #expect(preflight.status == 204)
    #expect(preflight.header("Access-Control-Allow-Origin") == "https://shop.example")
    #expect(preflight.header("Access-Control-Allow-Methods") == "POST")
    #expect(
      preflight.header("Access-Control-Allow-Headers")
        == "Authorization, Content-Type, Idempotency-Key")
    #expect(preflight.header("Vary") == "Origin")
    for answer in [
      await token(world, headers: page), await world.send("GET", "/api/v1/widget/config", page),
    ] {
      #expect(answer.header("Access-Control-Allow-Origin") == "https://shop.example")
      #expect(answer.header("Access-Control-Allow-Credentials") == nil)
      #expect(answer.header("Vary") == "Origin")
    }
    let split = await token(world, headers: [("Origin", "https://a.example\r\nX-Evil: 1")])
    #expect(split.header("Access-Control-Allow-Origin") == nil)
    let login = await world.send("OPTIONS", "/api/v1/auth/login", page)
    #expect(login.status == 405)
    #expect(login.header("Access-Control-Allow-Origin") == nil)
  }

  @Test("tokens are rate limited by address (A18)")
  func rate() async throws {
    var options = APIOptions()
    options.rates.widgetTokens = APIOptions.Rate(burst: 2, perMinute: 60)
    let world = try await World(options)
    for _ in 1...2 { #expect(await token(world).status == 200) }
    let third = await token(world)
    #expect(third.status == 429)
    #expect(third.header("Retry-After") == "1")
    #expect(await token(world, peer: "192.0.2.9").status == 200)
    #expect(await token(world, now: after(1)).status == 200)
  }

  @Test("the appearance comes from the workspace's settings, even invalid ones")
  func config() async throws {
    let world = try await World()
    let path = "/api/v1/widget/config?workspace=\(world.workspace.publicKey)"
    let plain = await world.send("GET", path)
    #expect(plain.string("workspace.name") == world.workspace.name)
    #expect(plain.json["greeting"] is NSNull)
    #expect(plain.json["accent"] is NSNull)
    #expect(plain.string("locale") == "auto")
    func with(_ settings: String) async throws -> Answer {
      try world.database.asOwner(
        Query(
          "UPDATE workspaces SET settings = $1::jsonb WHERE id = $2::uuid",
          [.json(Array(settings.utf8)), .uuid(world.workspace.id)]))
      world.api.cachedSettings.forget(world.workspace.id)
      let answer = await world.send("GET", path)
      #expect(answer.status == 200)
      return answer
    }
    let full = try await with(
      ##"{"name":"Shop","greeting":{"title":"Hi \"there\"","text":"<i>"},"##
        + ##""accent":"#A1b2C3","locale":"ar"}"##
    )
    #expect(full.string("workspace.name") == "Shop")
    #expect(full.string("greeting.title") == "Hi \"there\"")
    #expect(full.string("greeting.text") == "<i>")
    #expect(full.string("accent") == "#A1b2C3")
    #expect(full.string("locale") == "ar")
    for settings in [
      "[]", "1", ##"{"greeting":[],"accent":"red;}","locale":7}"##,
      ##"{"greeting":{"title":1},"accent":"#12345"}"##,
    ] {
      let odd = try await with(settings)
      #expect(odd.json["accent"] is NSNull)
      #expect(odd.string("locale") == "auto")
    }
  }

  @Test(
    "an invalid request for a token is refused by the name of the member",
    arguments: [
      #","refresh":1"#, #","session":"x""#, #","session":7"#, #","new_session":"yes""#,
      #","context":[]"#, #","context":"x""#,
      #","refresh":"\#(String(repeating: "r", count: 129))""#,
    ])
  func refused(members: String) async throws {
    let world = try await World()
    let answer = await token(world, members)
    #expect([400, 413, 422].contains(answer.status))
    #expect(answer.header("Content-Type") == "application/problem+json")
    #expect(world.sessions.hints.withLock { $0.isEmpty })
  }
}
