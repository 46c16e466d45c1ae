import Chat
import Conversations
import Directory
import DomainFixtures
import OpenSSL
import Postgres
import Primitives
import Synchronization
import Testing
import Tokens

@testable import REST

/// The required role and scope of each route. The tests iterate over the table of routes, so that
/// new routes are covered.
@Suite struct AccessTests {
  /// Routes without a required login; their handlers check the request. Each line is a decision.
  static let open: Set<String> = [
    "GET /api/v1/widget/config", "POST /api/v1/widget/token", "POST /api/v1/widget/offline",
    "POST /api/v1/auth/login", "POST /api/v1/auth/login/code", "POST /api/v1/auth/token",
    "POST /api/v1/auth/setup", "POST /api/v1/channels/{channel}/{key}/webhook",
    "POST /api/v1/auth/login/passkey", "POST /api/v1/auth/login/passkey/options",
    "GET /api/v1/auth/provider", "POST /api/v1/auth/provider/begin",
    "POST /api/v1/auth/provider/finish", "POST /api/v1/auth/logout",
    "GET /api/v1/openapi.json", "POST /api/v1/widget/visit",
    // Their secrets are in the path.
    "GET /api/v1/mail/unsubscribe/{token}", "POST /api/v1/mail/unsubscribe/{token}",
    "GET /api/v1/auth/password-link/{token}", "POST /api/v1/auth/password-link/{token}",
    "POST /api/v1/auth/password-reset",
    // Its signature is in the query.
    "GET /api/v1/attachments/{id}",
  ]

  /// Routes with which agents write other things than conversations and visitors.
  static let agentsWrite: Set<String> = [
    "POST /api/v1/admin/macros", "PATCH /api/v1/admin/macros/{id}",
    "DELETE /api/v1/admin/macros/{id}", "POST /api/v1/admin/macros/{id}/run",
    "POST /api/v1/admin/views", "PATCH /api/v1/admin/views/{id}",
    "DELETE /api/v1/admin/views/{id}",
    "PUT /api/v1/admin/tags/{name}", "PUT /api/v1/admin/reply-objects/{object_id}",
  ]

  /// Reading that needs a body.
  static let readsByPost: Set<String> = [
    "POST /api/v1/admin/live-chat/conversations/{id}/attachments/links"
  ]

  static func name(_ route: Route) -> String { "\(route.method) \(route.path)" }

  static func path(_ route: Route) -> String {
    route.parts.reduce(into: "") { path, part in
      switch part {
      case .word(let word): path += "/" + word
      case .id: path += "/\(World.identifier())"
      case .text: path += "/none-of-this-name"
      }
    }
  }

  func send(_ world: World, _ route: Route, _ authorization: String?) async -> Answer {
    var headers = [("Content-Type", "application/json")]
    if let authorization { headers.append(("Authorization", authorization)) }
    return await world.send(route.method, AccessTests.path(route), headers, "{}")
  }

  @Test("every route occurs once, and only the listed routes are open")
  func table() {
    let names = API.routes.map { AccessTests.name($0) }
    #expect(Set(names).count == names.count)
    for route in API.routes {
      let name = AccessTests.name(route)
      switch route.handler {
      case .forWidgets, .forAnybody: #expect(AccessTests.open.contains(name), "\(name) is open")
      case .forVisitors: #expect(route.path.hasPrefix("/api/v1/widget/"), "\(name)")
      case .forMembers(let least, let scope, _):
        #expect(!route.path.hasPrefix("/api/v1/widget/"), "\(name)")
        guard route.method != "GET", !AccessTests.readsByPost.contains(name) else { continue }
        #expect(scope.map { !$0.rawValue.hasSuffix(":read") } ?? true, "\(name)")
        let isOfAgents =
          scope == .conversationsWrite || scope == .visitorsWrite
          || route.path.hasPrefix("/api/v1/admin/live-chat/")
          // The own account.
          || route.path.hasPrefix("/api/v1/auth/")
          || AccessTests.agentsWrite.contains(name)
        #expect(least > .agent || isOfAgents, "agents may \(name)")
      }
    }
  }

  @Test("a missing login, a forged token and a visitor's token are refused on every route")
  func strangers() async throws {
    let world = try await World()
    let visitor = try world.tokens.issue(
      .visitor(id: World.identifier(), workspace: world.workspace.id, sessions: [], name: ""),
      lifetimeSeconds: 60, now: World.now
    ).token
    for route in API.routes {
      let name = AccessTests.name(route)
      switch route.handler {
      case .forWidgets, .forAnybody: continue
      case .forVisitors:
        #expect(await send(world, route, nil).status == 401, "\(name)")
        #expect(await send(world, route, try world.bearer(world.mika)).status == 403, "\(name)")
        // A visitor who does not exist.
        #expect(await send(world, route, "Bearer \(visitor)").status == 401, "\(name)")
      case .forMembers:
        for authorization in [
          nil, "Bearer", "Bearer x", "Bearer ck_", "Bearer ck_" + SecureRandom.token(),
          "Basic eDp5", "Bearer ck_" + String(repeating: "a", count: 1_000),
        ] {
          #expect(await send(world, route, authorization).status == 401, "\(name)")
        }
        let answer = await send(world, route, "Bearer \(visitor)")
        #expect(answer.status == 403, "\(name)")
      }
    }
  }

  @Test("each role may use the routes that the table allows, and no others")
  func roles() async throws {
    let world = try await World()
    for role in Membership.allCases {
      for route in API.routes {
        guard case .forMembers(let least, _, _) = route.handler else { continue }
        // A new member each time, because some routes end the caller's login.
        let member = try await world.member(role)
        let answer = await send(world, route, try world.bearer(member))
        let name = "\(role): \(AccessTests.name(route)) answered \(answer.status)"
        #expect(answer.status < 500, "\(name) \(answer.body)")
        if role < least {
          #expect(answer.status == 403 && answer.problem == "forbidden", "\(name)")
        } else {
          #expect(answer.status != 403 && answer.status != 401, "\(name) \(answer.body)")
        }
      }
    }
  }

  @Test("an API key may use the routes of its scopes, and no others")
  func scopes() async throws {
    let world = try await World()
    for given in KeyScope.allCases {
      let key = try await world.key([given])
      for route in API.routes {
        guard case .forMembers(_, let scope, _) = route.handler else { continue }
        let answer = await send(world, route, "Bearer \(key)")
        let name = "\(given.rawValue): \(AccessTests.name(route)) answered \(answer.status)"
        #expect(answer.status < 500, "\(name) \(answer.body)")
        switch scope {
        case nil: #expect(answer.problem == "operators_only", "\(name)")
        case given: #expect(answer.status != 403 && answer.status != 401, "\(name)")
        default: #expect(answer.problem == "insufficient_scope", "\(name)")
        }
      }
    }
  }

  @Test("a revoked key, an expired key and a key without scopes are refused")
  func ended() async throws {
    let world = try await World()
    let path = conversations
    let key = try await world.key([.conversationsRead])
    #expect(await world.send("GET", path, [("Authorization", "Bearer \(key)")]).status == 200)
    let bare = try await world.key([])
    #expect(await world.send("GET", path, [("Authorization", "Bearer \(bare)")]).status == 403)
    _ = try await world.database.run(
      Query("UPDATE api_keys SET revoked_at = now() WHERE token_hash = $1", [.bytes(hash(key))]))
    #expect(await world.send("GET", path, [("Authorization", "Bearer \(key)")]).status == 401)
    let short = try await world.key([.conversationsRead])
    try world.database.asOwner(
      Query(
        "UPDATE api_keys SET expires_at = $2 WHERE token_hash = $1",
        [.bytes(hash(short)), .time(World.now)]))
    #expect(await world.send("GET", path, [("Authorization", "Bearer \(short)")]).status == 401)
  }

  @Test("the last use of a key is recorded once a minute")
  func used() async throws {
    let world = try await World()
    let key = try await world.key([.conversationsRead])
    for (seconds, noted) in [(0, 0), (59, 0), (61, 61)] {
      let now = WallTime(microseconds: World.now.microseconds + Int64(seconds) * 1_000_000)
      _ = await world.send(
        "GET", conversations, [("Authorization", "Bearer \(key)")], now: now)
      let rows = try await world.database.run(
        Query("SELECT last_used_at FROM api_keys WHERE token_hash = $1", [.bytes(hash(key))]))
      let expected = World.now.microseconds + Int64(noted) * 1_000_000
      #expect(rows.time(0, 0)?.microseconds == expected)
    }
  }

  @Test("a key writes messages as a bot with its name, and cannot claim")
  func bot() async throws {
    let world = try await World()
    let session = try await world.conversation()
    let key = try await world.key([.conversationsRead, .conversationsWrite])
    let headers = [("Authorization", "Bearer \(key)"), ("Content-Type", "application/json")]
    let path = "\(conversations)/\(session)"
    #expect(
      await world.send("POST", path + "/messages", headers, #"{"body":"from a server"}"#).status
        == 201)
    #expect(world.sessions.appended.withLock { $0.last?.role } == .bot)
    #expect(
      world.sessions.appended.withLock { $0.last?.senderName } == Array("key of a test".utf8))
    #expect(await world.send("POST", path + "/claim", headers).problem == "operators_only")
  }

  private func hash(_ key: String) -> [UInt8] { SHA256.digest(Array(key.utf8)) }
}

extension World {
  /// A new member with this role.
  func member(_ role: Membership) async throws -> Operator {
    var member = try await World.addOperator("\(role)", to: workspace, database)
    _ = try await database.ask(
      Operator.join(member.id, workspace: workspace.id, membership: role.rawValue))
    member.membership = role.rawValue
    return member
  }

  /// The secret of a new API key.
  func key(_ scopes: [KeyScope]) async throws -> String {
    let secret = "ck_" + SecureRandom.token()
    _ = try await database.run(
      Query(
        """
        INSERT INTO api_keys (workspace_id, name, token_hash, scopes)
        VALUES ($1::uuid, 'key of a test', $2::bytea, string_to_array($3::text, ' '))
        """,
        [
          .uuid(workspace.id), .bytes(SHA256.digest(Array(secret.utf8))),
          .text(scopes.map(\.rawValue).joined(separator: " ")),
        ]))
    return secret
  }
}
