import Conversations
import Directory
import DomainFixtures
import Postgres
import Primitives
import Testing
import Tokens

@testable import REST

/// Requests of one workspace for the resources of another (faults A08 and A09). The tests iterate
/// over the table of routes: a new route fails until this file has one of its resources.
@Suite struct TenantTests {
  /// The resources of the other workspace, by the word before them in a path.
  struct Owner {
    var world: World
    var objects: [String: String]
    /// Texts that no response to another workspace may contain.
    var secrets: [String]
  }

  private static let newAttachment =
    #"{"id":"0199c5a2-7be1-7d40-9c55-3f0e8a61b209","name":"x.txt","bytes":5}"#

  /// Bodies that would change something.
  static let bodies: [String: String] = [
    "POST /api/v1/admin/live-chat/bulk":
      #"{"ids":["0199c5a2-7be1-7d40-9c55-3f0e8a61b204"],"actions":[{"type":"close"}]}"#,
    "PUT /api/v1/widget/page": #"{"page":"https://www.example.com/x","title":"x"}"#,
    "POST /api/v1/admin/macros": #"{"name":"x","actions":[{"type":"close"}]}"#,
    "POST /api/v1/admin/macros/{id}/run": #"{"ids":["0199c5a2-7be1-7d40-9c55-3f0e8a61b204"]}"#,
    "POST /api/v1/admin/views": #"{"name":"x","filters":{}}"#,
    "POST /api/v1/auth/password": #"{"current":"x","new":"long enough"}"#,
    "PUT /api/v1/auth/push":
      #"{"endpoint":"https://push.example.net/x","keys":{"p256dh":"x","auth":"x"}}"#,
    "POST /api/v1/auth/second-factor/app": #"{"current":"x"}"#,
    "POST /api/v1/auth/second-factor/app/confirm": #"{"code":"000000"}"#,
    "POST /api/v1/auth/second-factor/recovery-codes": #"{"current":"x"}"#,
    "POST /api/v1/auth/second-factor/remove": #"{"current":"x","code":"000000"}"#,
    "POST /api/v1/auth/second-factor/passkeys/confirm":
      #"{"challenge":"x","name":"x","credential":{}}"#,
    "POST /api/v1/auth/second-factor/passkeys/{id}/remove":
      #"{"current":"\#(World.password)"}"#,
    "PATCH /api/v1/admin/live-chat/conversations/{id}": #"{"title":"x"}"#,
    "POST /api/v1/admin/live-chat/conversations/{id}/messages": #"{"body":"x"}"#,
    "POST /api/v1/admin/live-chat/conversations/{id}/notes": #"{"body":"x"}"#,
    "PUT /api/v1/admin/live-chat/conversations/{id}/tags": #"{"tags":["x"]}"#,
    "POST /api/v1/admin/live-chat/conversations/{id}/read": #"{"seq":1}"#,
    "PATCH /api/v1/admin/visitors/{id}": #"{"name":"x"}"#,
    "POST /api/v1/admin/visitors/{id}/merge":
      #"{"visitor":"0199c5a2-7be1-7d40-9c55-3f0e8a61b204"}"#,
    "POST /api/v1/admin/members": #"{"email":"not one","name":"x","password":"long enough"}"#,
    "PATCH /api/v1/admin/members/{id}": #"{"role":"agent","disabled":true}"#,
    "POST /api/v1/admin/teams": #"{"name":"x"}"#,
    "PATCH /api/v1/admin/teams/{id}": #"{"name":"x","capacity":1}"#,
    "PUT /api/v1/admin/teams/{id}/members": #"{"members":[]}"#,
    "PUT /api/v1/admin/tags/{name}": ##"{"colour":"#000000"}"##,
    "PUT /api/v1/admin/reply-objects/{object_id}": #"{"payload":{"text":"x"}}"#,
    "PUT /api/v1/admin/credentials/{provider}": #"{"secret":"x"}"#,
    "POST /api/v1/admin/api-keys": #"{"name":"x","scopes":[]}"#,
    "POST /api/v1/admin/identity-secrets": #"{"overlap_hours":0}"#,
    "PUT /api/v1/admin/identity-provider":
      #"{"label":"x","issuer":"https://login.example.com","client_id":"x"}"#,
    "PUT /api/v1/admin/assist": #"{"endpoint":"https://api.example.com/v1","model":"x"}"#,
    "POST /api/v1/admin/live-chat/conversations/{id}/assist": #"{"use":"summary"}"#,
    "POST /api/v1/admin/intents": #"{"name":"x","keyword":"x"}"#,
    "PUT /api/v1/admin/intents/{name}": #"{"keyword":"x","is_enabled":false}"#,
    "POST /api/v1/admin/rich-menus": #"{"name":"x","status":"published"}"#,
    "PATCH /api/v1/admin/rich-menus/{id}": #"{"status":"inactive"}"#,
    "POST /api/v1/admin/live-chat/visitors/{id}/conversation": #"{"body":"x"}"#,
    "POST /api/v1/admin/proactive-messages": #"{"name":"x","body":"x"}"#,
    "PATCH /api/v1/admin/proactive-messages/{id}": #"{"name":"x"}"#,
    "POST /api/v1/admin/webhooks": #"{"url":"https://hooks.example.com/x"}"#,
    "PATCH /api/v1/admin/webhooks/{id}": #"{"is_enabled":false}"#,
    "PUT /api/v1/widget/sessions/{id}/rating": #"{"rating":1}"#,
    "POST /api/v1/widget/sessions/{id}/messages":
      #"{"attachments":["0199c5a2-7be1-7d40-9c55-3f0e8a61b204"]}"#,
    "POST /api/v1/widget/sessions/{id}/attachments": newAttachment,
    "POST \(conversations)/{id}/attachments": newAttachment,
    "PUT /api/v1/widget/sessions/{id}/attachments/{attachment}/parts/{offset}": "x",
    "PUT \(conversations)/{id}/attachments/{attachment}/parts/{offset}": "x",
    "POST /api/v1/widget/sessions/{id}/attachments/links":
      #"{"ids":["0199c5a2-7be1-7d40-9c55-3f0e8a61b204"]}"#,
    "POST \(conversations)/{id}/attachments/links":
      #"{"ids":["0199c5a2-7be1-7d40-9c55-3f0e8a61b204"]}"#,
  ]

  /// Names belong to a workspace, so these routes create or delete a resource of the caller's
  /// workspace.
  static let ownNames: Set<String> = [
    "PUT /api/v1/admin/tags/{name}", "DELETE /api/v1/admin/tags/{name}",
    "PUT /api/v1/admin/reply-objects/{object_id}",
    "DELETE /api/v1/admin/reply-objects/{object_id}",
    "PUT /api/v1/admin/credentials/{provider}", "DELETE /api/v1/admin/credentials/{provider}",
  ]

  @Test("members, API keys and visitors of another workspace find and change nothing")
  func walls() async throws {
    let there = try await owner()
    let here = try await World()
    let session = try await here.conversation()
    let member = try here.bearer(try await here.member(.owner))
    let key = "Bearer " + (try await here.key(KeyScope.allCases))
    let visitor = try await here.visitorBearer(session)
    // A visitor of the same workspace with another conversation.
    let neighbour = try await there.world.visitorBearer(try await there.world.conversation())
    let before = try await everything(there.world)
    for route in API.routes {
      switch route.handler {
      case .forWidgets, .forAnybody: continue
      case .forVisitors:
        try await attempt(route, visitor, here, there)
        if route.path.contains("{") { try await attempt(route, neighbour, here, there) }
      case .forMembers(_, let scope, _):
        try await attempt(route, member, here, there)
        if scope != nil { try await attempt(route, key, here, there) }
      }
    }
    #expect(try await everything(there.world).subtracting(before) == [])
  }

  private func attempt(
    _ route: Route, _ caller: String, _ here: World, _ there: Owner
  ) async throws {
    let name = "\(route.method) \(route.path)"
    let path = try #require(address(route, there.objects), "\(name) has no address in this test")
    let body = TenantTests.bodies[name] ?? "{}"
    #expect(route.body?.isOptional ?? true || body != "{}", "\(name) has no body in this test")
    let answer = await here.send(
      route.method, path, [("Authorization", caller), ("Content-Type", "application/json")],
      route.isWrite ? body : nil)
    #expect(answer.status < 500, "\(name): \(answer.body)")
    if route.path.contains("{"), !TenantTests.ownNames.contains(name) {
      #expect(answer.status == 404, "\(name) answered \(answer.status)")
    }
    for secret in there.secrets { #expect(!answer.body.contains(secret), "\(name)") }
  }

  /// The route's path with resources of the other workspace; nil for an unknown kind.
  private func address(_ route: Route, _ objects: [String: String]) -> String? {
    var path = ""
    var kind = ""
    for part in route.parts {
      switch part {
      case .word(let word):
        path += "/" + word
        kind = word
      case .id, .text:
        guard let object = objects[kind] else { return nil }
        path += "/" + object
      }
    }
    return path
  }

  @Test("ids and cursors of another workspace have no effect in transfers and filters")
  func names() async throws {
    let there = try await owner()
    let here = try await World()
    let session = try await here.conversation(messages: ["ours"])
    let path = "\(conversations)/\(session)"
    #expect(try await here.call("POST", path + "/claim").status == 200)
    let stranger = try #require(there.objects["members"])
    let moved = try await here.call("POST", path + "/transfer", json: #"{"to":"\#(stranger)"}"#)
    #expect(moved.status == 422 && moved.problem == "no_such_member")
    let team = try #require(there.objects["teams"])
    let given = try await here.call(
      "POST", path + "/transfer", json: #"{"to_team":"\#(team)"}"#)
    #expect(given.status == 422 && given.problem == "no_such_team")
    let listed = try await here.call("GET", "\(conversations)?team=\(team)")
    #expect(listed.int("total") == 0)
    #expect(
      try await here.call("GET", path).string("conversation.assignee.id")
        == here.mika.id.description)
    let visitor = try #require(there.objects["visitors"])
    let filtered = try await here.call("GET", "\(conversations)?visitor=\(visitor)")
    #expect(filtered.status == 200 && filtered.int("total") == 0)
    // Neither as the other visitor of a merge, nor in its preview, nor in the search for one.
    let own = try await here.call("GET", path)
    let known = try #require(own.string("conversation.visitor.id"))
    let merge = "/api/v1/admin/visitors/\(known)/merge"
    let merged = try await here.call("POST", merge, json: #"{"visitor":"\#(visitor)"}"#)
    #expect(merged.status == 422 && merged.problem == "no_such_visitor")
    #expect(try await here.call("GET", "\(merge)?visitor=\(visitor)").status == 422)
    let found = try await here.call("GET", "/api/v1/admin/visitors?q=\(visitor)")
    #expect(found.status == 200 && found.objects("visitors").isEmpty)
    let mine = try await here.call("GET", "\(conversations)?assignee=\(stranger)")
    #expect(mine.int("total") == 0)
    for list in ["/api/v1/admin/members", conversations] {
      _ = try await there.world.conversation()
      let page = try await there.world.call("GET", "\(list)?limit=1")
      let cursor = try #require(page.string("next_cursor"))
      #expect(try await here.call("GET", "\(list)?limit=1&cursor=\(cursor)").status == 400)
    }
  }

  /// A workspace with one resource of each kind.
  private func owner() async throws -> Owner {
    let world = try await World()
    let owner = try await world.member(.owner)
    func made(_ method: String, _ path: String, _ json: String, _ id: String) async throws -> String
    {
      let answer = try await world.call(method, "/api/v1/admin/\(path)", as: owner, json: json)
      return try #require(answer.string(id), "\(path): \(answer.body)")
    }
    let mark = "\(World.identifier())"
    let session = try await world.conversation(visitor: "V \(mark)", messages: ["said \(mark)"])
    let shown = try await world.call("GET", "\(conversations)/\(session)")
    let visitor = try #require(shown.string("conversation.visitor.id"))
    let rating = Rating(
      session: session, workspace: world.workspace.id,
      visitor: try #require(Identifier(visitor)), rating: 1, comment: "rated \(mark)",
      line: World.identifier())
    #expect(try await world.database.ask(rating.statement) == true)
    let member = try await made(
      "POST", "members", #"{"email":"\#(mark)@example.com","name":"x","password":"long enough"}"#,
      "member.id")
    let key = try await made(
      "POST", "api-keys", #"{"name":"x","scopes":["audit:read"]}"#, "api_key.id")
    let identity = try await made("POST", "identity-secrets", "{}", "identity_secret.id")
    let menu = try await made(
      "POST", "rich-menus", #"{"name":"x","status":"published"}"#, "rich_menu.id")
    let macro = try await made(
      "POST", "macros",
      #"{"name":"x","is_shared":true,"actions":[{"type":"note","text":"\#(mark)"}]}"#, "macro.id")
    let proactive = try await made(
      "POST", "proactive-messages", #"{"name":"x","body":"\#(mark)"}"#, "proactive_message.id")
    let view = try await made(
      "POST", "views", #"{"name":"\#(mark)","is_shared":true,"filters":{"tag":"\#(mark)"}}"#,
      "view.id")
    let webhook = try await made(
      "POST", "webhooks", #"{"url":"https://hooks.example.com/\#(mark)"}"#, "webhook.id")
    let delivery = try await made("POST", "webhooks/\(webhook)/test", "{}", "delivery.id")
    let team = try await made("POST", "teams", #"{"name":"\#(mark)"}"#, "team.id")
    _ = try await made(
      "PUT", "teams/\(team)/members", #"{"members":["\#(member)"]}"#, "team.id")
    _ = try await made("PUT", "tags/kept", "{}", "tag.name")
    _ = try await made(
      "PUT", "reply-objects/kept", #"{"payload":{"text":"\#(mark)"}}"#, "reply_object.object_id")
    _ = try await made("PUT", "credentials/kept", #"{"secret":"\#(mark)"}"#, "credential.provider")
    _ = try await made("POST", "intents", #"{"name":"kept","keyword":"\#(mark)"}"#, "intent.name")
    let file = try await made(
      "POST", "live-chat/conversations/\(session)/attachments",
      #"{"id":"\#(World.identifier())","name":"\#(mark).txt","bytes":1}"#, "id")
    let passkey = World.identifier()
    try world.database.asOwner(
      Query(
        """
        INSERT INTO passkeys (id, operator_id, relying_party, credential_id, public_key, algorithm,
          sign_count, is_synced, name, created_at)
        VALUES ($1::uuid, $2::uuid, 'x', $3::bytea, '', -7, 0, false, '', now())
        """, [.uuid(passkey), .uuid(world.mika.id), .bytes(Array(mark.utf8))]))
    return Owner(
      world: world,
      objects: [
        "conversations": "\(session)", "sessions": "\(session)", "visitors": visitor,
        "members": member, "teams": team, "api-keys": key, "identity-secrets": identity,
        "rich-menus": menu, "proactive-messages": proactive, "webhooks": webhook, "macros": macro,
        "views": view,
        // Any id: no gateway runs here, see ConnectionListTests.
        "connections": "\(passkey)", "connection-traces": "\(passkey)",
        "deliveries": delivery, "tags": "kept", "reply-objects": "kept", "credentials": "kept",
        "intents": "kept", "passkeys": "\(passkey)", "attachments": file, "parts": "0",
        "channels": "line",
      ],
      secrets: [
        mark, "\(session)", visitor, member, team, key, identity, menu, macro, view, webhook,
        delivery, file,
        world.workspace.id.description, world.mika.id.description,
      ])
  }

  /// A digest of a workspace's rows in each table, except the analytics, which any workspace's
  /// request may update.
  private func everything(_ world: World) async throws -> Set<Substring> {
    let rows = try await world.database.run(
      Query(
        """
        SELECT string_agg(t.name || ' ' || md5(query_to_xml(format(
            'SELECT r::text AS r FROM %s r WHERE %s ORDER BY 1', t.name, t.condition),
            true, false, '')::text), E'\\n' ORDER BY t.name)
        FROM (
          SELECT c.oid::regclass::text AS name, format('workspace_id = %L', $1::uuid) AS condition
          FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
          WHERE a.attname = 'workspace_id' AND NOT a.attisdropped AND c.relkind IN ('r', 'p')
            AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace
            AND c.relname NOT LIKE 'chat_analytics%' AND c.relname <> 'chat_session_figures'
          UNION ALL SELECT 'workspaces', format('id = %L', $1::uuid)
          UNION ALL SELECT 'operators', format(
            'id IN (SELECT operator_id FROM memberships WHERE workspace_id = %L)', $1::uuid)
        ) t
        """, [.uuid(world.workspace.id)]))
    let digests = Set(try #require(rows.text(0, 0)).split(separator: "\n"))
    #expect(digests.count > 15)
    return digests
  }
}

extension World {
  /// The messages that the widget of the conversation's visitor shows.
  func visitorBearer(_ session: Identifier) async throws -> String {
    let row = try await call("GET", "\(conversations)/\(session)")
    let visitor = try #require(row.string("conversation.visitor.id").flatMap { Identifier($0) })
    return "Bearer "
      + (try tokens.issue(
        .visitor(id: visitor, workspace: workspace.id, sessions: [session], name: ""),
        lifetimeSeconds: 60, now: World.now
      ).token)
  }
}
