/// Guessed passwords are limited, and nobody locks the owner of an account out (issue 17.2).
import Directory
import DomainFixtures
import Foundation
import Postgres
import Primitives
import Testing

@testable import REST

@Suite struct LoginLimitTests {
  func login(
    _ world: World, email: String? = nil, password: String = "wrong", peer: String,
    cookie: String? = nil, now: WallTime = World.now
  ) async -> Answer {
    await world.send(
      "POST", "/api/v1/auth/login",
      [("Content-Type", "application/json")] + (cookie.map { [("Cookie", $0)] } ?? []),
      #"{"email":"\#(email ?? world.mika.email)","password":"\#(password)"}"#, peer: peer,
      now: now)
  }

  /// The `name=value` of the cookie of the known device.
  func deviceCookie(_ answer: Answer) throws -> String {
    let cookies = answer.response.headers.filter { $0.name == "Set-Cookie" }.map(\.value)
    let device = try #require(cookies.first { $0.hasPrefix("chirrup_device_") })
    for attribute in ["; HttpOnly", "; SameSite=Strict", "; Path=/api/v1/auth;"] {
      #expect(device.contains(attribute))
    }
    return String(device.split(separator: ";")[0])
  }

  @Test("wrong passwords from one address lock out neither the owner nor the next right login")
  func strangers() async throws {
    var options = APIOptions()
    options.rates.loginsByAccount = APIOptions.Rate(burst: 3, perMinute: 6)
    let world = try await World(options)
    for _ in 1...3 { #expect(await login(world, peer: "192.0.2.1").status == 401) }
    let refused = await login(world, peer: "192.0.2.1")
    #expect(refused.status == 429)
    #expect(refused.header("Retry-After") == "10")
    for number in 1...6 {
      let right = await login(world, password: World.password, peer: "198.51.100.\(number)")
      #expect(right.status == 200, "login \(number) from another address")
    }
  }

  @Test("right logins are not limited, from one address and from many")
  func rightOnes() async throws {
    var options = APIOptions()
    options.rates.loginsByAddress = APIOptions.Rate(burst: 2, perMinute: 6)
    options.rates.loginsByAccount = APIOptions.Rate(burst: 2, perMinute: 6)
    options.rates.loginsByStrangers = APIOptions.Rate(burst: 2, perMinute: 1)
    let world = try await World(options)
    for number in 1...4 {
      let one = await login(world, password: World.password, peer: "192.0.2.1")
      #expect(one.status == 200, "login \(number)")
    }
  }

  @Test("guesses from many addresses are limited too, and a known device still logs in")
  func manyAddresses() async throws {
    var options = APIOptions()
    options.rates.loginsByStrangers = APIOptions.Rate(burst: 5, perMinute: 1)
    let world = try await World(options)
    let known = try deviceCookie(
      await login(world, password: World.password, peer: "192.0.2.200"))
    for number in 1...5 {
      #expect(await login(world, peer: "192.0.2.\(number)").status == 401)
    }
    let stranger = await login(world, password: World.password, peer: "192.0.2.99")
    #expect(stranger.status == 429)
    #expect(stranger.string("detail")?.contains("device on which you have logged in") == true)
    let owner = await login(world, password: World.password, peer: "192.0.2.99", cookie: known)
    #expect(owner.status == 200)
    // The device keeps its id, and so the allowance it has used.
    #expect(try deviceCookie(owner).hasPrefix(String(known.split(separator: "=")[0])))
  }

  @Test("a known device has an allowance of its own, which also ends")
  func ownAllowance() async throws {
    var options = APIOptions()
    options.rates.loginsByAddress = APIOptions.Rate(burst: 3, perMinute: 6)
    options.rates.loginsByAccount = APIOptions.Rate(burst: 4, perMinute: 6)
    let world = try await World(options)
    let known = try deviceCookie(await login(world, password: World.password, peer: "192.0.2.1"))
    for _ in 1...3 { _ = await login(world, email: "x@example.com", peer: "192.0.2.1") }
    #expect(await login(world, password: World.password, peer: "192.0.2.1").status == 429)
    for _ in 1...4 {
      #expect(await login(world, peer: "192.0.2.1", cookie: known).status == 401)
    }
    #expect(await login(world, peer: "192.0.2.77", cookie: known).status == 429)
    #expect(await login(world, password: World.password, peer: "192.0.2.77").status == 200)
  }

  @Test("a device cookie is worth nothing for another account, changed, or of another gateway")
  func foreignCookies() async throws {
    var options = APIOptions()
    options.rates.loginsByStrangers = APIOptions.Rate(burst: 1, perMinute: 1)
    let (world, other) = (try await World(options), try await World(options))
    let own = try deviceCookie(await login(world, password: World.password, peer: "192.0.2.1"))
    let name = own.split(separator: "=")[0]
    let foreign = try deviceCookie(
      await login(other, password: World.password, peer: "192.0.2.1"))
    let changed = own.dropLast(2) + (own.hasSuffix("AA") ? "BB" : "AA")
    #expect(await login(world, peer: "192.0.2.2").status == 401)
    for cookie in [
      String(changed), "\(name)=\(foreign.split(separator: "=", maxSplits: 1)[1])",
      "\(name)=signing.", "\(name)=", "\(name)=..", "\(name)=" + String(repeating: "A", count: 999),
    ] {
      let answer = await login(
        world, password: World.password, peer: "192.0.2.3", cookie: cookie)
      #expect(answer.status == 429, "\(cookie)")
    }
    #expect(
      await login(world, password: World.password, peer: "192.0.2.3", cookie: own).status == 200)
  }

  @Test("an unknown address is limited as an account is, whatever its case")
  func unknownAddress() async throws {
    var options = APIOptions()
    options.rates.loginsByAccount = APIOptions.Rate(burst: 2, perMinute: 6)
    let world = try await World(options)
    for _ in 1...2 {
      #expect(await login(world, email: "no@example.com", peer: "192.0.2.1").status == 401)
    }
    #expect(await login(world, email: "NO@example.com", peer: "192.0.2.1").status == 429)
  }

  /// - Parameters:
  ///   - entered: with `%` for a text of the test's own.
  ///   - isSame: whether it is the account of `stored`.
  @Test(
    "an address is compared in its normal form, and only so",
    arguments: [
      ("admin%@example.com", "ADMIN%@Example.COM", true),
      ("admin%@example.com", "adm\u{130}n%@example.com", false),
      ("admin%@example.com", "adm\u{131}n%@example.com", false),
      ("j\u{F6}rg%@example.com", "jo\u{308}rg%@example.com", true),
      ("admin%@example.com", "\u{FF41}dmin%@example.com", true),
      ("adm\u{130}n%@example.com", "admi\u{307}n%@example.com", true),
    ])
  func normalForm(stored: String, entered: String, isSame: Bool) async throws {
    var options = APIOptions()
    options.rates.loginsByAccount = APIOptions.Rate(burst: 2, perMinute: 6)
    let world = try await World(options)
    let mark = String(World.identifier().description.suffix(12))
    let (stored, entered) = (
      stored.replacingOccurrences(of: "%", with: mark),
      entered.replacingOccurrences(of: "%", with: mark)
    )
    _ = try world.database.asOwner(
      Query(
        "UPDATE operators SET email = $2::text WHERE id = $1::uuid",
        [.uuid(world.mika.id), .text(stored)]))
    let answer = await login(world, email: entered, password: World.password, peer: "192.0.2.1")
    #expect(answer.status == (isSame ? 200 : 401))
    let again = try await world.database.ask(
      Operator.create(
        id: World.identifier(), email: entered, name: "Twin", passwordHash: World.passwordHash,
        workspace: world.workspace.id, membership: "agent"))
    guard isSame else { return }
    #expect(again == nil, "two accounts never share a normal form")
    // All spellings of an account use one allowance.
    #expect(await login(world, email: stored, peer: "192.0.2.1").status == 401)
    #expect(await login(world, email: entered, peer: "192.0.2.1").status == 401)
    #expect(await login(world, email: entered, peer: "192.0.2.1").status == 429)
  }
}
