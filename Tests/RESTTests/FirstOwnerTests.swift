import Directory
import DomainFixtures
import Postgres
import Primitives
import Synchronization
import Testing
import Tokens

@testable import REST

/// Gateways of a database without an operator.
private struct Beginning {
  let database: Workers
  let secrets = SecretBox(configured: [], signingKey: Array(repeating: 7, count: 32))
  let events = Events()

  final class Events: Sendable {
    let names = Mutex<[String]>([])
  }

  init() throws { database = try Workers.fresh() }

  func gateway(_ change: (inout APIOptions) -> Void = { _ in }) -> API {
    var options = APIOptions()
    options.secrets = secrets
    let events = events
    options.onSecurityEvent = { event in
      #expect(!event.fields.contains { $0.value.contains("signing.") })
      events.names.withLock { $0.append(event.name) }
    }
    change(&options)
    return API(
      database: database, sessions: RecordingSessions(database),
      tokens: TokenAuthority(secret: Array(repeating: 7, count: 32)), options: options)
  }

  func code(at now: WallTime = World.now) -> String { SetupCode.issue(secrets, now: now) }

  func count(_ table: SQL) async throws -> Int64? {
    try await database.run(Query("SELECT count(*) FROM \(table)")).int(0, 0)
  }
}

private func setUp(
  _ gateway: API, code: String, email: String = "ada@example.com",
  password: String = "a sentence of my own", workspace: String = "Tidewater Cycles",
  peer: String = "192.0.2.1", origin: String? = nil, now: WallTime = World.now
) async -> Answer {
  let body = """
    {"code":"\(code)","email":"\(email)","name":"Ada","password":"\(password)",\
    "workspace":"\(workspace)"}
    """
  var headers = [(name: "Content-Type", value: "application/json"), ("Host", "chat.example.com")]
  if let origin { headers.append(("Origin", origin)) }
  return Answer(
    await gateway.handle(
      APIRequest(
        method: "POST", path: "/api/v1/auth/setup", query: "", headers: headers,
        body: Array(body.utf8), peer: peer, now: now, isSecure: false)))
}

@Suite struct FirstOwnerTests {
  @Test("the code creates an owner with a workspace, logs them in, and works once")
  func once() async throws {
    let world = try Beginning()
    let gateway = world.gateway()
    let code = world.code()
    let made = await setUp(gateway, code: code)
    #expect(made.status == 200 && made.string("operator.role") == "owner")
    #expect(made.string("workspace.name") == "Tidewater Cycles")
    #expect(made.string("workspace.public_key")?.hasPrefix("pk_") == true)
    #expect(made["must_change_password"] as? Bool == false)
    #expect(made.header("Set-Cookie")?.contains("HttpOnly") == true)
    let again = await setUp(gateway, code: code, email: "eve@example.com")
    #expect(again.status == 409 && again.problem == "already_set_up")
    let stranger = await setUp(gateway, code: "signing.AQID", email: "eve@example.com")
    #expect(stranger.status == 409 && stranger.body == again.body)
    #expect(try await world.count("operators") == 1)
    #expect(world.events.names.withLock { $0 } == ["setup.done", "login.succeeded"])
  }

  @Test("of simultaneous setups on two gateways exactly one makes an owner and a workspace")
  func race() async throws {
    let world = try Beginning()
    let gateways = [world.gateway(), world.gateway()]
    let answers = await withTaskGroup(of: Answer.self) { group in
      for number in 0..<8 {
        let code = world.code()
        group.addTask {
          await setUp(
            gateways[number % 2], code: code, email: "owner\(number)@example.com",
            workspace: "Shop \(number)")
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(answers.count { $0.status == 200 } == 1)
    #expect(answers.count { $0.status == 409 && $0.problem == "already_set_up" } == 7)
    #expect(try await world.count("operators") == 1)
    #expect(try await world.count("memberships WHERE role = 'owner'") == 1)
    #expect(try await world.count("workspaces") == 1)
  }

  @Test("simultaneous inserts of first owners wait for each other, and one succeeds")
  func insertRace() async throws {
    let world = try Beginning()
    let made = try await withThrowingTaskGroup(of: Identifier?.self) { group in
      for number in 0..<4 {
        group.addTask {
          try await world.database.ask(
            FirstOwner(
              email: "owner\(number)@example.com", name: "Ada", passwordHash: "x",
              workspace: "Shop \(number)", workspaceID: World.identifier(),
              publicKey: "pk_\(number)_first"
            ).create)
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(made.compactMap(\.self).count == 1)
    #expect(try await world.count("workspaces") == 1)
  }

  @Test("a workspace without members that has the name gets the owner")
  func adopted() async throws {
    let world = try Beginning()
    let known = try #require(
      try await world.database.ask(
        Workspace.create(id: World.identifier(), name: "acme", publicKey: "pk_acme_1234")))
    let made = await setUp(world.gateway(), code: world.code(), workspace: "acme")
    #expect(made.string("workspace.id") == known.id.description)
    #expect(made.string("workspace.public_key") == "pk_acme_1234")
  }

  @Test(
    "a code that is not one of this database's is refused",
    arguments: ["x", "signing", "signing.AQID", ".", "a.b.c", "signing.%%%%"])
  func wrong(code: String) async throws {
    let world = try Beginning()
    let answer = await setUp(world.gateway(), code: code)
    #expect(answer.status == 403 && answer.problem == "wrong_setup_code")
    #expect(try await world.count("operators") == 0)
    #expect(world.events.names.withLock { $0 } == ["setup.refused"])
  }

  @Test("a code of another key, a changed one, and one of another purpose are refused")
  func forged() async throws {
    let world = try Beginning()
    let gateway = world.gateway()
    let other = SecretBox(configured: [], signingKey: Array(repeating: 8, count: 32))
    #expect(
      await setUp(gateway, code: SetupCode.issue(other, now: World.now)).problem
        == "wrong_setup_code")
    var changed = Array(world.code())
    changed[20] = changed[20] == "A" ? "B" : "A"
    #expect(await setUp(gateway, code: String(changed)).problem == "wrong_setup_code")
    let challenge = LoginChallenge(
      account: FirstOwner.id, workspace: FirstOwner.id, credential: ""
    ).sealed(world.secrets, now: World.now)
    #expect(await setUp(gateway, code: challenge).problem == "wrong_setup_code")
  }

  @Test("two codes differ, each has 128 random bits, and one expires after a day")
  func expiry() async throws {
    let world = try Beginning()
    let gateway = world.gateway()
    let (one, other) = (world.code(), world.code())
    #expect(one != other && one.utf8.count <= SetupCode.byteCountMax)
    let late = await setUp(gateway, code: one, now: Workplace.after(SetupCode.seconds))
    #expect(late.status == 403 && late.problem == "setup_code_expired")
    let inTime = await setUp(gateway, code: one, now: Workplace.after(SetupCode.seconds - 1))
    #expect(inTime.status == 200)
  }

  @Test("wrong codes are limited by address; the right one does not count")
  func limited() async throws {
    let world = try Beginning()
    let gateway = world.gateway { $0.rates.setupTries = APIOptions.Rate(burst: 3, perMinute: 1) }
    for _ in 0..<3 {
      #expect(await setUp(gateway, code: "signing.AQID").status == 403)
    }
    let limited = await setUp(gateway, code: world.code())
    #expect(limited.status == 429 && limited.header("Retry-After") != nil)
    for _ in 0..<5 {
      let weak = await setUp(
        gateway, code: world.code(), password: "tidewater cycles", peer: "192.0.2.9")
      #expect(weak.status == 422 && weak["pointer"] as? String == "/password")
    }
    #expect(await setUp(gateway, code: world.code(), peer: "192.0.2.9").status == 200)
  }

  @Test("a page of another site cannot use the code")
  func foreign() async throws {
    let world = try Beginning()
    let answer = await setUp(
      world.gateway(), code: world.code(), origin: "https://evil.example")
    #expect(answer.status == 403 && answer.problem == "cross_site")
    #expect(try await world.count("operators") == 0)
  }

  @Test(
    "an invalid member is refused with its name, and nothing is created",
    arguments: [
      ("email", "nobody"), ("email", ""), ("password", "short"), ("password", "password1234"),
      ("workspace", ""),
    ])
  func invalid(member: String, value: String) async throws {
    let world = try Beginning()
    let gateway = world.gateway()
    let code = world.code()
    let answer = await setUp(
      gateway, code: code, email: member == "email" ? value : "ada@example.com",
      password: member == "password" ? value : "a sentence of my own",
      workspace: member == "workspace" ? value : "Tidewater Cycles")
    #expect([400, 422].contains(answer.status) && answer["pointer"] as? String == "/\(member)")
    #expect(try await world.count("workspaces") == 0)
  }
}
