import Directory
import DomainFixtures
import OpenSSL
import Primitives
import Testing
import Tokens

@testable import REST

private let path = API.secondFactorPath

@Suite struct SecondFactorTests {
  private func json(_ members: [String: String]) -> String {
    "{" + members.map { #""\#($0)":"\#($1)""# }.joined(separator: ",") + "}"
  }

  private func post(
    _ world: World, _ path: String, _ members: [String: String] = [:],
    _ headers: [(String, String)] = [], peer: String = "192.0.2.1", now: WallTime = World.now
  ) async -> Answer {
    await world.send(
      "POST", path, headers + [("Content-Type", "application/json")], json(members), peer: peer,
      now: now)
  }

  private func login(
    _ world: World, now: WallTime = World.now, peer: String = "192.0.2.1"
  ) async -> Answer {
    await post(
      world, "/api/v1/auth/login", ["email": world.mika.email, "password": World.password],
      peer: peer, now: now)
  }

  private func bearer(_ answer: Answer) throws -> [(String, String)] {
    [("Authorization", "Bearer \(try #require(answer.string("token")))")]
  }

  /// The secret of a base32 text; nil if it is malformed.
  private func decoded(_ text: String) -> [UInt8] {
    var bits = 0
    var count = 0
    var bytes: [UInt8] = []
    for character in text.utf8 {
      let value = character >= 0x41 ? Int(character) - 0x41 : Int(character) - 0x32 + 26
      bits = (bits << 5 | value) & 0xFFFF
      count += 5
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> count))
      }
    }
    return bytes
  }

  /// The code of an app, so many steps from `now`.
  private func code(_ secret: [UInt8], _ steps: Int64 = 0, now: WallTime = World.now) -> String {
    TimeCode.code(secret, step: TimeCode.step(at: now) + steps)
  }

  /// Sets up an app: its secret and the recovery codes.
  private func enrol(
    _ world: World, _ headers: [(String, String)]
  ) async throws -> (secret: [UInt8], codes: [String]) {
    let begun = await post(world, "\(path)/app", ["current": World.password], headers)
    let text = try #require(begun.string("secret"))
    #expect(begun.string("uri")?.contains("secret=\(text)") == true)
    let secret = decoded(text)
    #expect(secret.count == 20)
    let confirmed = await post(world, "\(path)/app/confirm", ["code": code(secret)], headers)
    let codes = try #require(confirmed["recovery_codes"] as? [String])
    #expect(codes.count == 10 && Set(codes).count == 10)
    return (secret, codes)
  }

  @Test("the codes are those of the test vectors of RFC 6238")
  func vectors() {
    let secret = Array("12345678901234567890".utf8)
    for (seconds, code) in [
      (59, "287082"), (1_111_111_109, "081804"), (1_111_111_111, "050471"),
      (1_234_567_890, "005924"), (2_000_000_000, "279037"), (20_000_000_000, "353130"),
    ] as [(Int64, String)] {
      let now = WallTime(microseconds: seconds * 1_000_000)
      #expect(TimeCode.code(secret, step: TimeCode.step(at: now)) == code)
      #expect(TimeCode.step(of: code, secret: secret, at: now) == TimeCode.step(at: now))
    }
  }

  @Test("a code is valid one step early and late, and no longer")
  func tolerance() {
    let secret = Array("12345678901234567890".utf8)
    for steps in -3...3 as ClosedRange<Int64> {
      let found = TimeCode.step(of: code(secret, steps), secret: secret, at: World.now)
      #expect((found != nil) == (abs(steps) <= 1), "\(steps) steps")
    }
  }

  @Test("with a second factor the password alone gives a challenge, and a code the login")
  func twoSteps() async throws {
    let world = try await World()
    let (secret, _) = try await enrol(world, try bearer(await login(world)))
    let now = Workplace.after(60)
    let first = await login(world, now: now)
    #expect(first.status == 200 && first.string("token") == nil)
    #expect(first.header("Set-Cookie") == nil)
    let challenge = try #require(first.string("challenge"))
    let right = code(secret, now: now)
    let wrong = right == "000000" ? "000001" : "000000"
    let second = "/api/v1/auth/login/code"
    let refused = await post(world, second, ["challenge": challenge, "code": wrong], now: now)
    #expect(refused.status == 401 && refused.problem == "wrong_code")
    let entered = await post(world, second, ["challenge": challenge, "code": right], now: now)
    #expect(entered.status == 200 && entered.header("Set-Cookie") != nil)
    #expect(await world.send("GET", conversations, try bearer(entered), now: now).status == 200)
    // A code, and those before it, are accepted once (RFC 6238 §5.2).
    for steps in [0, -1] as [Int64] {
      let again = await post(
        world, second, ["challenge": challenge, "code": code(secret, steps, now: now)], now: now)
      #expect(again.status == 401 && again.problem == "wrong_code")
    }
    let audit = try await world.audit()
    #expect(audit == ["second_factor.added", "login.failed", "login.failed", "login.failed"])
  }

  @Test("a challenge ends after five minutes, and with a change of the password")
  func challenges() async throws {
    let world = try await World()
    let (secret, _) = try await enrol(world, try bearer(await login(world)))
    func enter(_ challenge: String, _ now: WallTime) async -> Answer {
      await post(
        world, "/api/v1/auth/login/code",
        ["challenge": challenge, "code": code(secret, now: now)], now: now)
    }
    let now = Workplace.after(60)
    let challenge = try #require(await login(world, now: now).string("challenge"))
    let late = await enter(challenge, Workplace.after(60 + 300))
    #expect(late.status == 401 && late.problem == "challenge_expired")
    let forged = String(challenge.dropLast(2)) + "AA"
    for text in ["", "x", "signing.AAAA", forged, challenge + "A"] {
      #expect(await enter(text, now).problem == "challenge_expired", "\(text)")
    }
    _ = try await world.database.ask(Operator.setPassword(world.mika.id, hash: "other"))
    #expect(await enter(challenge, now).problem == "challenge_expired")
  }

  @Test("a recovery code replaces the app once, in any spelling")
  func recovery() async throws {
    let world = try await World()
    let (_, codes) = try await enrol(world, try bearer(await login(world)))
    func enter(_ code: String) async throws -> Answer {
      let challenge = try #require(await login(world).string("challenge"))
      return await post(
        world, "/api/v1/auth/login/code", ["challenge": challenge, "code": code])
    }
    let typed = codes[3].lowercased().split(separator: "-").joined(separator: " ")
    let entered = try await enter(typed)
    #expect(entered.status == 200)
    #expect(try await enter(codes[3]).problem == "wrong_code")
    let state = await world.send("GET", path, try bearer(entered))
    #expect(state["enabled"] as? Bool == true && state.int("recovery_codes_left") == 9)
    let replaced = await post(
      world, "\(path)/recovery-codes", ["current": World.password], try bearer(entered))
    let fresh = try #require(replaced["recovery_codes"] as? [String])
    #expect(Set(fresh).isDisjoint(with: codes))
    #expect(try await enter(codes[4]).problem == "wrong_code")
    #expect(try await enter(fresh[0]).status == 200)
  }

  @Test("codes are guessed no faster than passwords")
  func limits() async throws {
    var options = APIOptions()
    options.rates.loginsByAccount = APIOptions.Rate(burst: 3, perMinute: 1)
    let world = try await World(options)
    let (secret, _) = try await enrol(world, try bearer(await login(world)))
    let challenge = try #require(await login(world, peer: "192.0.2.5").string("challenge"))
    let right = code(secret, 1)
    let wrong = right == "000000" ? "000001" : "000000"
    var found: [Int] = []
    for code in [wrong, wrong, wrong, right] {
      found.append(
        await post(
          world, "/api/v1/auth/login/code", ["challenge": challenge, "code": code],
          peer: "192.0.2.5"
        ).status)
    }
    #expect(found == [401, 401, 401, 429])
  }

  @Test("setting up an app ends the account's other logins, which were made without it")
  func others() async throws {
    let world = try await World()
    let other = try bearer(await login(world))
    let own = try bearer(await login(world))
    let (first, _) = try await enrol(world, own)
    #expect(await world.send("GET", conversations, other).status == 401)
    #expect(await world.send("GET", conversations, own).status == 200)
    // A new app replaces the first one when its first code is entered.
    let begun = await post(world, "\(path)/app", ["current": World.password], own)
    let second = decoded(try #require(begun.string("secret")))
    let now = Workplace.after(90)
    let challenge = try #require(await login(world, now: now).string("challenge"))
    let old = await post(
      world, "/api/v1/auth/login/code",
      ["challenge": challenge, "code": code(first, now: now)], now: now)
    #expect(old.status == 200)
    let confirmed = await post(
      world, "\(path)/app/confirm", ["code": code(second, now: now)], own, now: now)
    #expect(confirmed.status == 200)
    let next = try #require(await login(world, now: now).string("challenge"))
    let over = await post(
      world, "/api/v1/auth/login/code",
      ["challenge": next, "code": code(first, 1, now: now)], now: now)
    #expect(over.problem == "wrong_code")
  }

  @Test("a change requires the password, and the removal a code as well")
  func removal() async throws {
    let world = try await World()
    let own = try bearer(await login(world))
    for name in ["app", "recovery-codes"] {
      let refused = await post(world, "\(path)/\(name)", ["current": "wrong"], own)
      #expect(refused.status == 403 && refused.problem == "wrong_password", "\(name)")
    }
    #expect(await post(world, "\(path)/app/confirm", ["code": "000000"], own).status == 409)
    let (secret, codes) = try await enrol(world, own)
    let right = code(secret, 1)
    let wrong = await post(
      world, "\(path)/remove", ["current": World.password, "code": code(secret)], own)
    #expect(wrong.status == 403 && wrong.problem == "wrong_code")
    let refused = await post(world, "\(path)/remove", ["current": "wrong", "code": right], own)
    #expect(refused.problem == "wrong_password")
    let removed = await post(
      world, "\(path)/remove", ["current": World.password, "code": codes[0]], own)
    #expect(removed.status == 204)
    #expect(await login(world).string("token") != nil)
  }

  @Test("if the workspace requires it, a login without one allows only to set it up")
  func enforced() async throws {
    let world = try await World()
    let before = try bearer(await login(world))
    let owner = try await world.member(.owner)
    let setting = try await world.call(
      "PATCH", "/api/v1/admin/settings", as: owner,
      json: #"{"settings":{"security":{"require_second_factor":true}}}"#)
    #expect(setting["settings.security.require_second_factor"] as? Bool == true)
    // Logins that exist continue until the next one.
    #expect(await world.send("GET", conversations, before).status == 200)
    let answer = await login(world)
    #expect(answer["must_add_second_factor"] as? Bool == true)
    let token = try #require(answer.string("token"))
    let principal = try world.tokens.verify(Array(token.utf8), now: World.now).principal
    if case .operator(_, _, _, let role) = principal {
      #expect(role == Operator.roleBeforeSecondFactor)
    }
    let cookie = String((answer.header("Set-Cookie") ?? "").split(separator: ";").first ?? "")
    let here = [("Cookie", cookie), ("Sec-Fetch-Site", "same-origin")]
    for headers in [try bearer(answer), here] {
      for route in API.routes where !route.path.hasPrefix(path) {
        guard case .forMembers = route.handler else { continue }
        let found = await world.send(
          route.method, AccessTests.path(route), headers + [("Content-Type", "application/json")],
          "{}")
        #expect(found.problem == "second_factor_required", "\(route.method) \(route.path)")
      }
    }
    let (_, codes) = try await enrol(world, here)
    let renewed = await world.send("POST", "/api/v1/auth/token", here)
    #expect(renewed["must_add_second_factor"] as? Bool == false)
    #expect(await world.send("GET", conversations, try bearer(renewed)).status == 200)
    #expect(await world.send("GET", conversations, here).status == 200)
    let kept = await post(
      world, "\(path)/remove", ["current": World.password, "code": codes[0]], here)
    #expect(kept.status == 409)
  }

  @Test("an owner resets the second factor of a member, whose logins end")
  func reset() async throws {
    let world = try await World()
    let own = try bearer(await login(world))
    let owner = try await world.member(.owner)
    let admin = try await world.member(.admin)
    let target = "/api/v1/admin/members/\(world.mika.id)/reset-second-factor"
    #expect(try await world.call("POST", target, as: owner).status == 409)
    _ = try await enrol(world, own)
    let list = try await world.call("GET", "/api/v1/admin/members", as: owner)
    let mika = list.objects("members").first { $0["name"] as? String == "Mika" }
    #expect(mika?["second_factor"] as? Bool == true)
    #expect(try await world.call("POST", target, as: admin).status == 403)
    let ownTarget = "/api/v1/admin/members/\(owner.id)/reset-second-factor"
    #expect(try await world.call("POST", ownTarget, as: owner).status == 403)
    #expect(try await world.call("POST", target, as: owner).status == 204)
    #expect(await world.send("GET", conversations, own).status == 401)
    #expect(await login(world).string("token") != nil)
    #expect(try await world.audit() == ["second_factor.added", "second_factor.reset"])
    // An account that another workspace relies on as well is left alone.
    _ = try await enrol(world, try bearer(await login(world)))
    let other = try await World()
    _ = try await world.database.ask(
      Operator.join(world.mika.id, workspace: other.workspace.id, membership: "agent"))
    #expect(try await world.call("POST", target, as: owner).status == 409)
  }

  @Test("the database has neither secrets nor recovery codes in clear")
  func sealed() async throws {
    let world = try await World()
    let (secret, codes) = try await enrol(world, try bearer(await login(world)))
    let state = try await world.database.ask(
      SecondFactor.state(of: world.mika.id, now: World.now))
    let stored = try #require(state.secret)
    #expect(stored.bytes.count > secret.count && !stored.bytes.starts(with: secret))
    #expect(state.recoveryDigests.count == codes.count)
    for code in codes {
      let plain = Array(RecoveryCode.normalForm(code).utf8)
      #expect(!state.recoveryDigests.contains(plain))
      #expect(!state.recoveryDigests.contains(SHA256.digest(plain)))
    }
  }
}
