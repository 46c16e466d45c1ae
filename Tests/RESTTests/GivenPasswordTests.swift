import Chat
import Directory
import DomainFixtures
import Postgres
import Primitives
import Testing
import Tokens

@testable import REST

/// A password that an administrator has set allows only to replace it.
@Suite struct GivenPasswordTests {
  private let given = "given by somebody"
  private let own = "chosen by themselves"

  private func login(_ world: World, _ email: String, _ password: String) async -> Answer {
    await world.send(
      "POST", "/api/v1/auth/login", [("Content-Type", "application/json")],
      #"{"email":"\#(email)","password":"\#(password)"}"#)
  }

  private func headers(_ login: Answer) throws -> [(String, String)] {
    [
      ("Authorization", "Bearer " + (try #require(login.string("token")))),
      ("Content-Type", "application/json"),
    ]
  }

  /// The first login of a new member, or after a reset of the password.
  private func firstLogin(_ world: World, _ email: String) async throws {
    let first = await login(world, email, given)
    #expect(first.status == 200)
    #expect(first["must_change_password"] as? Bool == true)
    let token = try #require(first.string("token"))
    let principal = try world.tokens.verify(Array(token.utf8), now: World.now).principal
    if case .operator(_, _, _, let role) = principal {
      #expect(role == Operator.roleBeforeOwnPassword)
    } else {
      Issue.record("the token is not an operator's")
    }
    for route in API.routes where route.path != API.passwordPath {
      guard case .forMembers = route.handler else { continue }
      let answer = await world.send(
        route.method, AccessTests.path(route), try headers(first), "{}")
      let name = "\(AccessTests.name(route)) answered \(answer.status)"
      #expect(answer.status == 403 && answer.problem == "password_change_required", "\(name)")
    }
    let same = await world.send(
      "POST", API.passwordPath, try headers(first), #"{"current":"\#(given)","new":"\#(given)"}"#)
    #expect(same.problem == "same_password")
    let changed = await world.send(
      "POST", API.passwordPath, try headers(first), #"{"current":"\#(given)","new":"\#(own)"}"#)
    #expect(changed.status == 204)
    let second = await login(world, email, own)
    #expect(second["must_change_password"] as? Bool == false)
    let me = await world.send("GET", "/api/v1/auth/me", try headers(second))
    #expect(me.status == 200)
  }

  @Test("a new member must change the password first")
  func added() async throws {
    let world = try await World()
    let owner = try await world.member(.owner)
    let email = "\(World.identifier())@example.com"
    let made = try await world.call(
      "POST", "/api/v1/admin/members", as: owner,
      json: #"{"email":"\#(email)","name":"New","password":"\#(given)"}"#)
    #expect(made.string("member.password") == "given")
    try await firstLogin(world, email)
    let list = try await world.call("GET", "/api/v1/admin/members", as: owner)
    let row = list.objects("members").first { $0["email"] as? String == email }
    #expect(row?["password"] as? String == "own")
  }

  @Test("after a reset the password must be changed first, and former logins have ended")
  func reset() async throws {
    let world = try await World()
    let owner = try await world.member(.owner)
    let old = await login(world, world.mika.email, World.password)
    #expect(old["must_change_password"] as? Bool == false)
    let reset = try await world.call(
      "PATCH", "/api/v1/admin/members/\(world.mika.id)", as: owner,
      json: #"{"password":"\#(given)"}"#)
    #expect(reset.status == 200)
    #expect(await world.send("GET", "/api/v1/auth/me", try headers(old)).status == 401)
    try await firstLogin(world, world.mika.email)
  }

  @Test(
    "the console's cookie allows no more than the token, and its new token requires the change too")
  func cookie() async throws {
    let world = try await World()
    _ = try await world.database.ask(
      Operator.setPassword(world.mika.id, hash: World.passwordHash, mustChange: true))
    let first = await login(world, world.mika.email, World.password)
    let cookie = try #require(first.header("Set-Cookie")?.split(separator: ";").first)
    let headers = [
      ("Cookie", String(cookie)), ("Sec-Fetch-Site", "same-origin"),
      ("Content-Type", "application/json"),
    ]
    let list = await world.send("GET", conversations, headers)
    #expect(list.problem == "password_change_required")
    let renewed = await world.send("POST", "/api/v1/auth/token", headers)
    #expect(renewed["must_change_password"] as? Bool == true)
    let changed = await world.send(
      "POST", API.passwordPath, headers, #"{"current":"\#(World.password)","new":"\#(own)"}"#)
    #expect(changed.status == 204)
    #expect(await world.send("GET", conversations, headers).status == 200)
    let again = await world.send("POST", "/api/v1/auth/token", headers)
    #expect(again["must_change_password"] as? Bool == false)
  }

  @Test("every route requires passwords of ten characters")
  func short() async throws {
    let world = try await World()
    let owner = try await world.member(.owner)
    for (method, path, body) in [
      ("POST", API.passwordPath, #"{"current":"\#(World.password)","new":"123456789"}"#),
      ("PATCH", "/api/v1/admin/members/\(world.mika.id)", #"{"password":"123456789"}"#),
      (
        "POST", "/api/v1/admin/members",
        #"{"email":"x@example.com","name":"X","password":"123456789"}"#
      ),
    ] {
      #expect(try await world.call(method, path, as: owner, json: body).status == 400, "\(path)")
    }
  }
}
