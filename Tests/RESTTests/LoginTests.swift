import Directory
import DomainFixtures
import Foundation
import Kernel
import Postgres
import Primitives
import Synchronization
import Testing
import Tokens

@testable import REST

@Suite struct LoginTests {
  func login(
    _ world: World, email: String? = nil, password: String = World.password,
    workspace: String? = nil, peer: String = "192.0.2.1", headers: [(String, String)] = [],
    isSecure: Bool = false
  ) async -> Answer {
    let name = workspace.map { #","workspace":"\#($0)""# } ?? ""
    return await world.send(
      "POST", "/api/v1/auth/login", [("Content-Type", "application/json; charset=utf-8")] + headers,
      #"{"email":"\#(email ?? world.mika.email)","password":"\#(password)"\#(name)}"#, peer: peer,
      isSecure: isSecure)
  }

  /// The `name=value` of the cookie.
  func cookie(_ answer: Answer) -> String {
    String((answer.header("Set-Cookie") ?? "").split(separator: ";").first ?? "")
  }

  @Test("a login returns a token, the account, and a cookie that scripts cannot read")
  func login() async throws {
    let world = try await World()
    let answer = await login(world)
    #expect(answer.status == 200)
    #expect(answer.string("operator.id") == world.mika.id.description)
    #expect(answer.string("operator.name") == "Mika")
    #expect(answer.string("operator.email") == world.mika.email)
    #expect(answer.string("operator.role") == "agent")
    #expect(answer.string("workspace.id") == world.workspace.id.description)
    #expect(answer.string("workspace.name") == world.workspace.name)
    #expect(answer.string("workspace.public_key") == world.workspace.publicKey)
    #expect(answer.string("expires_at") == "2026-11-18T12:06:40.000Z")
    let token = try #require(answer.string("token"))
    let principal = try world.tokens.verify(Array(token.utf8), now: World.now).principal
    #expect(principal.id == world.mika.id)
    #expect(principal.workspace == world.workspace.id)
    let attributes = try #require(answer.header("Set-Cookie"))
    for attribute in ["; HttpOnly", "; SameSite=Strict", "; Path=/", "; Max-Age=604800"] {
      #expect(attributes.contains(attribute))
    }
    #expect(!attributes.contains("Secure"))
    let list = await world.send("GET", conversations, [("Authorization", "bearer \(token)")])
    #expect(list.status == 200)
  }

  @Test("over HTTPS the cookie is Secure")
  func secure() async throws {
    var options = APIOptions()
    let direct = await login(try await World(options), isSecure: true)
    #expect(direct.header("Set-Cookie")?.hasSuffix("; Secure") == true)
    options.publicURL = "https://chat.example.com"
    let proxied = await login(try await World(options))
    #expect(proxied.header("Set-Cookie")?.hasSuffix("; Secure") == true)
  }

  @Test("e-mail addresses ignore case, and the login may name a workspace")
  func named() async throws {
    let world = try await World()
    let other = try await World()
    _ = try await world.database.ask(
      Operator.join(world.mika.id, workspace: other.workspace.id, membership: "admin"))
    let first = await login(world, email: world.mika.email.uppercased())
    #expect(first.string("workspace.name") == world.workspace.name)
    let second = await login(world, workspace: other.workspace.name)
    #expect(second.string("workspace.name") == other.workspace.name)
    #expect(second.string("operator.role") == "admin")
    let third = await login(other, workspace: world.workspace.name)
    #expect(third.status == 401)
  }

  @Test("an unknown address and a wrong password have equal responses after equal times (A19)")
  func enumeration() async throws {
    let world = try await World()
    let clock = ContinuousClock()
    var answers = [await login(world, email: world.mika.email, password: "")]
    // The shortest of several: a busy machine makes every try longer and none shorter. Without the
    // same work the unknown address would take a hundredth of the known one, in every round. Eight
    // rounds are what the limits of address and account allow.
    var known = Duration.seconds(60)
    var unknown = Duration.seconds(60)
    for _ in 1...8 {
      var start = clock.now
      answers.append(await login(world, email: world.mika.email, password: "wrong"))
      known = min(known, clock.now - start)
      start = clock.now
      answers.append(await login(world, email: "nobody@example.com", password: "wrong"))
      unknown = min(unknown, clock.now - start)
      if unknown > known / 4 && unknown < known * 4 { break }
    }
    for answer in answers {
      #expect(answer.status == 401)
      #expect(answer.response.body == answers[0].response.body)
      #expect(answer.header("Set-Cookie") == nil)
    }
    #expect(unknown > known / 4)
    #expect(unknown < known * 4)
  }

  @Test("a disabled account cannot log in, and its logins end at once (A16)")
  func disabled() async throws {
    let world = try await World()
    let session = cookie(await login(world))
    #expect(await world.send("GET", conversations, [("Cookie", session)]).status == 200)
    #expect(try await world.call("GET", conversations).status == 200)
    _ = try await world.database.run(
      Query("UPDATE operators SET disabled_at = now() WHERE id = $1::uuid", [.uuid(world.mika.id)]))
    #expect(await login(world).status == 401)
    #expect(await world.send("GET", conversations, [("Cookie", session)]).status == 401)
    #expect(try await world.call("GET", conversations).status == 401)
  }

  @Test("a login responds 429 while the queue of passwords is full")
  func manyPasswords() async throws {
    let world = try await World()
    let (api, gate) = (world.api, Semaphore())
    let most = APILimits.passwordThreads + APILimits.passwordsWaiting
    async let held: Void = withTaskGroup { group in
      for _ in 0..<most { group.addTask { _ = await api.passwords.threads.run { gate.wait() } } }
    }
    while api.passwords.threads.count < most { try await Task.sleep(for: .milliseconds(2)) }
    let refused = await login(world)
    #expect(refused.status == 429)
    #expect(refused.header("Retry-After") == "1")
    // One has finished, so that one more fits.
    gate.signal()
    while api.passwords.threads.count == most { try await Task.sleep(for: .milliseconds(2)) }
    async let admitted = login(world)
    while api.passwords.threads.count < most { try await Task.sleep(for: .milliseconds(2)) }
    for _ in 1..<most { gate.signal() }
    await held
    #expect(await admitted.status == 200)
    #expect(await login(world, password: "wrong").status == 401)
    #expect(api.passwords.threads.count == 0)
  }

  @Test(
    "an invalid login request is refused by the name of the member",
    arguments: [
      ("{}", 400), (#"{"email":"a@b"}"#, 400), (#"{"email":1,"password":"x"}"#, 400),
      (#"{"email":"a@b","password":null}"#, 400), ("[]", 400), ("", 400),
      (#"{"email":"a\u0000@b","password":"x"}"#, 422),
      (#"{"email":"a@b","password":"\#(String(repeating: "x", count: 1_025))"}"#, 413),
    ])
  func refused(body: String, status: Int) async throws {
    let world = try await World()
    let answer = await world.send(
      "POST", "/api/v1/auth/login", [("Content-Type", "application/json")], body)
    #expect(answer.status == status)
  }

  @Test("a page of another website cannot log its visitors in")
  func loginFromElsewhere() async throws {
    let world = try await World()
    let foreign = await login(
      world, headers: [("Host", "chat.example.com"), ("Origin", "https://evil.example")])
    #expect(foreign.status == 403)
    #expect(foreign.header("Set-Cookie") == nil)
    let form = await world.send(
      "POST", "/api/v1/auth/login", [("Content-Type", "text/plain")],
      #"{"email":"\#(world.mika.email)","password":"\#(World.password)"}"#)
    #expect(form.status == 415)
  }

  @Test("the cookie gives new tokens until logout or expiry")
  func cookies() async throws {
    let world = try await World()
    let session = cookie(await login(world))
    let here = [("Cookie", "a=b; \(session); c=d"), ("Sec-Fetch-Site", "same-origin")]
    let renewed = await world.send("POST", "/api/v1/auth/token", here)
    #expect(renewed.status == 200)
    #expect(renewed.string("operator.name") == "Mika")
    #expect(renewed.string("workspace.public_key") == world.workspace.publicKey)
    #expect(renewed.string("token") != nil)
    let later = WallTime(microseconds: World.now.microseconds + 8 * 86_400_000_000)
    #expect(await world.send("POST", "/api/v1/auth/token", here, now: later).status == 401)
    let logout = await world.send("POST", "/api/v1/auth/logout", here)
    #expect(logout.status == 204)
    #expect(logout.header("Set-Cookie")?.contains("Max-Age=0") == true)
    #expect(await world.send("POST", "/api/v1/auth/token", here).status == 401)
    #expect(await world.send("GET", conversations, here).status == 401)
    #expect(await world.send("POST", "/api/v1/auth/logout", here).status == 204)
    #expect(await world.send("POST", "/api/v1/auth/logout").status == 204)
    #expect(await world.send("POST", "/api/v1/auth/token").status == 401)
  }

  @Test("a logout with a bearer token ends only the login of the token")
  func bearersLogout() async throws {
    let world = try await World()
    let (first, second) = (await login(world), await login(world))
    func headers(_ answer: Answer) throws -> [(String, String)] {
      [("Authorization", "Bearer \(try #require(answer.string("token")))")]
    }
    #expect(await world.send("POST", "/api/v1/auth/logout", try headers(first)).status == 204)
    #expect(await world.send("GET", conversations, try headers(first)).status == 401)
    let here = [("Cookie", cookie(first)), ("Sec-Fetch-Site", "same-origin")]
    #expect(await world.send("POST", "/api/v1/auth/token", here).status == 401)
    #expect(await world.send("GET", conversations, try headers(second)).status == 200)
    let program = [("Authorization", try world.bearer(world.mika))]
    #expect(await world.send("POST", "/api/v1/auth/logout", program).status == 409)
    let broken = [("Authorization", "Bearer x")]
    #expect(await world.send("POST", "/api/v1/auth/logout", broken).status == 401)
  }

  @Test("a login during a change of the password is invalid, whichever commits first")
  func race() async throws {
    let world = try await World()
    func enter(_ secret: String) async throws -> Bool {
      try await world.database.ask(
        OperatorSession.create(
          tokenHash: secretHash(secret), operator: world.mika.id,
          workspace: world.workspace.id, passwordHash: World.passwordHash,
          from: .unknown, now: World.now,
          expiresAt: WallTime(microseconds: World.now.microseconds + 60_000_000)))
    }
    func find(_ secret: String) async throws -> Operator? {
      try await world.database.ask(
        OperatorSession.find(tokenHash: secretHash(secret), now: World.now))
    }
    #expect(try await enter("a"))
    #expect(try await find("a") != nil)
    // The change does not see the login, whose transaction has not committed yet.
    _ = try await world.database.run(
      Query("UPDATE operators SET password_hash = 'x' WHERE id = $1", [.uuid(world.mika.id)]))
    #expect(try await find("a") == nil)
    #expect(try await !enter("b"))
  }

  @Test("a disconnection that is not confirmed in time responds 503, and the change remains")
  func notConfirmed() async throws {
    let world = try await World()
    let owner = try await world.member(.owner)
    world.sessions.isConfirming.withLock { $0 = false }
    let path = "/api/v1/admin/members/\(world.mika.id)"
    let answer = try await world.call("PATCH", path, as: owner, json: #"{"disabled":true}"#)
    #expect(answer.status == 503)
    #expect(answer.problem == "not_confirmed")
    #expect(try await world.call("GET", conversations).status == 401)
  }

  @Test("a disconnection waits for a call until it ends or is another caller's")
  func underWay() async throws {
    let calls = CallsInFlight()
    let (ada, eve) = (World.identifier(), World.identifier())
    let (first, second, third) = (calls.begin(), calls.begin(), calls.begin())
    calls.identify(first, as: ada)
    let wait = calls.end(of: [ada])
    let later = calls.begin()
    calls.identify(second, as: eve)
    calls.end(third)
    #expect(!wait.isOver)
    calls.end(first)
    #expect(await wait.isConfirmed)
    calls.identify(later, as: ada)
    let given = calls.end(of: [ada])
    given.giveUp()
    #expect(await !given.isConfirmed)
    calls.end(later)
    #expect(await calls.end(of: [ada]).isConfirmed)
  }

  @Test("the database stores only the hash of a cookie's secret")
  func hashed() async throws {
    let world = try await World()
    let session = cookie(await login(world))
    let secret = String(session.split(separator: "=", maxSplits: 1)[1])
    let rows = try await world.database.run(
      Query(
        "SELECT token_hash FROM operator_sessions WHERE operator_id = $1::uuid",
        [.uuid(world.mika.id)]))
    #expect(rows.count == 1)
    #expect(rows.bytes(0, 0) == secretHash(secret))
  }

  @Test(
    "a write with the cookie requires a page of the same origin (CSRF)",
    arguments: [
      ([], 403), ([("Origin", "https://evil.example")], 403), ([("Origin", "null")], 403),
      ([("Origin", "")], 403), ([("Origin", "http://chat.example.com.evil.com")], 403),
      ([("Origin", "http://chat.example.com:81")], 403), ([("Sec-Fetch-Site", "cross-site")], 403),
      ([("Sec-Fetch-Site", "same-site")], 403), ([("Sec-Fetch-Site", "none")], 403),
      ([("Origin", "http://chat.example.com"), ("Sec-Fetch-Site", "cross-site")], 403),
      ([("Origin", "http://chat.example.com")], 200),
      ([("Origin", "HTTPS://Chat.Example.com:443")], 200),
      ([("Origin", "https://public.example")], 200), ([("Sec-Fetch-Site", "same-origin")], 200),
    ] as [([(String, String)], Int)])
  func crossSite(headers: [(String, String)], status: Int) async throws {
    var options = APIOptions()
    options.publicURL = "https://public.example/chat/"
    let world = try await World(options)
    let session = try await world.conversation()
    let cookie = [("Cookie", cookie(await login(world))), ("Host", "chat.example.com")]
    let path = "\(conversations)/\(session)/claim"
    let answer = await world.send("POST", path, cookie + headers)
    #expect(answer.status == status)
    if status == 403 {
      #expect(answer.problem == "cross_site")
      #expect(world.sessions.hints.withLock { $0.isEmpty })
      #expect(await world.send("POST", "/api/v1/auth/token", cookie + headers).status == 403)
      #expect(await world.send("POST", "/api/v1/auth/logout", cookie + headers).status == 403)
    }
    #expect(await world.send("GET", conversations, cookie + headers).status == 200)
    #expect(answer.header("Access-Control-Allow-Origin") == nil)
  }

  @Test(
    "a missing, a malformed and an unsupported authorization are refused",
    arguments: ["", "Bearer", "Bearer ", "Bearer x", "Basic abc", "Bearer a.b.c", "token"])
  func tokens(authorization: String) async throws {
    let world = try await World()
    let answer = await world.send("GET", conversations, [("Authorization", authorization)])
    #expect(answer.status == 401)
    #expect(answer.header("WWW-Authenticate") != nil)
    #expect(await world.send("GET", conversations).status == 401)
  }

  @Test("an expired token and a visitor's token are refused")
  func otherTokens() async throws {
    let world = try await World()
    let expired = WallTime(microseconds: World.now.microseconds - 3_600_000_000)
    let old = await world.send(
      "GET", conversations, [("Authorization", try world.bearer(world.mika, now: expired))])
    #expect(old.status == 401)
    let visitor = Principal.visitor(
      id: World.identifier(), workspace: world.workspace.id, sessions: [], name: "Eve")
    let token = try world.tokens.issue(visitor, lifetimeSeconds: 900, now: World.now).token
    let answer = await world.send("GET", conversations, [("Authorization", "Bearer \(token)")])
    #expect(answer.status == 403)
    let stranger = Operator(
      id: World.identifier(), email: "", name: "Eve", membership: "owner",
      workspace: world.workspace.id)
    #expect(try await world.call("GET", conversations, as: stranger).status == 401)
  }

  @Test("a token ends with its login and with its password (faults A15, A16)")
  func tokensEnd() async throws {
    let world = try await World()
    func enter() async throws -> [(String, String)] {
      [("Authorization", "Bearer \(try #require(await login(world).string("token")))")]
    }
    let first = try await enter()
    #expect(await world.send("GET", conversations, first).status == 200)
    try await world.database.ask(Operator.setPassword(world.mika.id, hash: World.passwordHash))
    #expect(await world.send("GET", conversations, first).status == 401, "the login has ended")
    let second = try await enter()
    _ = try await world.database.run(
      Query("UPDATE operators SET password_hash = 'x' WHERE id = $1", [.uuid(world.mika.id)]))
    #expect(
      await world.send("GET", conversations, second).status == 401, "the password has changed")
    try await world.database.ask(Operator.setPassword(world.mika.id, hash: World.passwordHash))
    let third = try await enter()
    try await world.database.ask(Operator.setDisabled(world.mika.id, true))
    #expect(await world.send("GET", conversations, third).status == 401)
  }

  @Test("of many logins only unaffected ones remain valid")
  func stillGood() async throws {
    let world = try await World()
    func login(role: String = "agent", session: String? = nil, credential: String? = nil)
      -> OperatorLogin
    {
      OperatorLogin(
        id: world.mika.id, workspace: world.workspace.id, role: role, session: session,
        credential: credential)
    }
    var stranger = login()
    stranger.id = World.identifier()
    let credential = try await world.database.ask(Operator.member(login()))?.credential
    let logins = [
      login(), stranger, login(credential: credential), login(credential: "0123456789abcdef"),
      login(role: "owner"), login(session: String(repeating: "ab", count: 32)),
    ]
    func good() async throws -> [Int] {
      let subjects = logins.map { Standing.Subject.login($0) }
      let shutOut = try await world.database.ask(Standing.shutOut(of: subjects))
      return subjects.indices.filter { shutOut[subjects[$0]] == nil }
    }
    #expect(try await good() == [0, 2])
    #expect(try await world.database.ask(Standing.shutOut(of: [])).isEmpty)
    try await world.database.ask(Operator.setDisabled(world.mika.id, true))
    #expect(try await good().isEmpty)
  }
}
