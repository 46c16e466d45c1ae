import Chat
import Conversations
import Directory
import DomainFixtures
import Postgres
import Primitives
import Synchronization
import Testing

@testable import REST

private let admin = "/api/v1/admin"

extension World {
  /// The actions in the workspace's audit log, oldest first.
  func audit() async throws -> [String] {
    let rows = try await database.run(
      Query(
        """
        SELECT action FROM audit_log
        WHERE workspace_id = $1 AND actor <> 'command' AND action <> 'login.succeeded' ORDER BY id
        """,
        [.uuid(workspace.id)]))
    return (0..<rows.count).compactMap { rows.text($0, 0) }
  }
}

@Suite struct MembersTests {
  @Test("an administrator adds, changes and removes a member; the audit log records each")
  func life() async throws {
    let world = try await World()
    let owner = try await world.member(.owner)
    let email = "\(World.identifier())@example.com"
    let made = try await world.call(
      "POST", "\(admin)/members", as: owner,
      json: #"{"email":"\#(email)","name":"Ivo","role":"admin","password":"a long password"}"#)
    #expect(made.status == 201)
    let id = try #require(made.string("member.id"))
    #expect(made.string("member.role") == "admin")
    #expect(made["member.disabled"] as? Bool == false)
    let login = await world.send(
      "POST", "/api/v1/auth/login", [("Content-Type", "application/json")],
      #"{"email":"\#(email)","password":"a long password"}"#)
    #expect(login.status == 200)
    let changed = try await world.call(
      "PATCH", "\(admin)/members/\(id)", as: owner, json: #"{"role":"agent","disabled":true}"#)
    #expect(changed.string("member.role") == "agent")
    #expect(changed["member.disabled"] as? Bool == true)
    let list = try await world.call("GET", "\(admin)/members")
    #expect(list.objects("members").count == 3)
    #expect(!list.body.contains("scrypt"))
    #expect(try await world.call("DELETE", "\(admin)/members/\(id)", as: owner).status == 204)
    #expect(try await world.call("DELETE", "\(admin)/members/\(id)", as: owner).status == 404)
    #expect(try await world.audit() == ["member.added", "member.changed", "member.removed"])
  }

  @Test("the last owner remains, even if two owners demote each other at the same time")
  func lastOwner() async throws {
    let world = try await World()
    let first = try await world.member(.owner)
    let second = try await world.member(.owner)
    let path = "\(admin)/members/"
    async let one = world.call(
      "PATCH", "\(path)\(second.id)", as: first, json: #"{"role":"agent"}"#)
    async let two = world.call(
      "PATCH", "\(path)\(first.id)", as: second, json: #"{"disabled":true}"#)
    let statuses = try await [one.status, two.status].sorted()
    // The second is refused as the last owner, or because it is no longer an owner.
    #expect(statuses[0] == 200 && statuses[1] != 200)
    let left = try await world.database.run(
      Query(
        """
        SELECT m.operator_id FROM memberships m JOIN operators o ON o.id = m.operator_id
        WHERE m.workspace_id = $1 AND m.role = 'owner' AND o.disabled_at IS NULL
        """, [.uuid(world.workspace.id)]))
    #expect(left.count == 1)
    let last = try #require(left.uuid(0, 0) == first.id ? first : second)
    for (method, body) in [
      ("PATCH", #"{"role":"admin"}"#), ("PATCH", #"{"disabled":true}"#), ("DELETE", "{}"),
    ] {
      let answer = try await world.call(method, path + "\(last.id)", as: last, json: body)
      #expect(answer.status == 409, "\(method) \(body)")
    }
  }

  @Test("only an owner can add and change owners")
  func ownersOnly() async throws {
    let world = try await World()
    let owner = try await world.member(.owner)
    let chief = try await world.member(.admin)
    let path = "\(admin)/members/"
    for (method, id, body) in [
      ("PATCH", owner.id, #"{"name":"x"}"#), ("PATCH", owner.id, #"{"role":"agent"}"#),
      ("PATCH", chief.id, #"{"role":"owner"}"#), ("DELETE", owner.id, "{}"),
    ] {
      #expect(try await world.call(method, path + "\(id)", as: chief, json: body).status == 403)
    }
    let made = try await world.call(
      "POST", "\(admin)/members", as: chief,
      json: #"{"email":"o@example.com","name":"O","role":"owner","password":"a long password"}"#)
    #expect(made.status == 403)
  }

  @Test("administrators can change only the role of an account with two workspaces")
  func shared() async throws {
    let world = try await World()
    let other = try await World()
    let owner = try await world.member(.owner)
    let both = try await world.member(.agent)
    _ = try await world.database.ask(
      Operator.join(both.id, workspace: other.workspace.id, membership: "owner"))
    let path = "\(admin)/members/\(both.id)"
    for body in [#"{"password":"a long password"}"#, #"{"name":"x"}"#, #"{"disabled":true}"#] {
      #expect(try await world.call("PATCH", path, as: owner, json: body).status == 409)
    }
    #expect(
      try await world.call("PATCH", path, as: owner, json: #"{"role":"admin"}"#).status == 200)
    #expect(try await world.call("DELETE", path, as: owner, json: "{}").status == 204)
    var there = both
    there.workspace = other.workspace.id
    #expect(
      try await other.call("GET", "\(admin)/members", as: there).status == 401,
      "the login has the role of an agent")
    there.membership = "owner"
    #expect(try await other.call("GET", "\(admin)/members", as: there).status == 200)
  }

  @Test(
    "conversations of a removed or disabled member wait again, with an event in their logs",
    arguments: [true, false])
  func freed(isRemoved: Bool) async throws {
    let world = try await World()
    let owner = try await world.member(.owner)
    let session = try await world.conversation(messages: ["hello"])
    let closed = try await world.conversation(messages: ["bye"])
    for id in [session, closed] {
      #expect(try await world.call("POST", "\(conversations)/\(id)/claim").status == 200)
    }
    #expect(try await world.call("POST", "\(conversations)/\(closed)/close").status == 200)
    let path = "\(admin)/members/\(world.mika.id)"
    let answer =
      isRemoved
      ? try await world.call("DELETE", path, as: owner)
      : try await world.call("PATCH", path, as: owner, json: #"{"disabled":true}"#)
    #expect(answer.status == (isRemoved ? 204 : 200))
    let row = try await world.call("GET", "\(conversations)/\(session)", as: owner)
    #expect(row.string("conversation.status") == "waiting" && row["conversation.assignee"] == nil)
    #expect(row.int("conversation.last_seq") == 3)
    #expect(world.sessions.hints.withLock { $0.last } == session)
    let log = try await world.call("GET", "\(conversations)/\(session)/messages", as: owner)
    let line = try #require(log.objects("messages").last)
    #expect(line["seq"] as? Int == 3 && line["kind"] as? String == "event")
    let payload = try #require(line["payload"] as? [String: Any])
    #expect(payload["event"] as? String == "unassigned")
    #expect((payload["from"] as? [String: Any])?["name"] as? String == "Mika")
    let other = try await world.call("GET", "\(conversations)/\(closed)", as: owner)
    #expect(other.string("conversation.status") == "closed")
  }

  @Test("changing a password requires the current one and ends the other logins")
  func password() async throws {
    let world = try await World()
    func login(_ password: String) async -> Answer {
      await world.send(
        "POST", "/api/v1/auth/login", [("Content-Type", "application/json")],
        #"{"email":"\#(world.mika.email)","password":"\#(password)"}"#)
    }
    let elsewhere = try #require(await login(World.password).string("token"))
    let path = "/api/v1/auth/password"
    let wrong = try await world.call(
      "POST", path, json: #"{"current":"wrong","new":"another password"}"#)
    #expect(wrong.status == 403)
    #expect(wrong.problem == "wrong_password")
    let short = try await world.call(
      "POST", path, json: #"{"current":"\#(World.password)","new":"short"}"#)
    #expect(short.status == 400)
    let changed = try await world.call(
      "POST", path, json: #"{"current":"\#(World.password)","new":"another password"}"#)
    #expect(changed.status == 204)
    #expect(await login(World.password).status == 401)
    #expect(await login("another password").status == 200)
    let me = await world.send("GET", "/api/v1/auth/me", [("Authorization", "Bearer \(elsewhere)")])
    #expect(me.status == 401)
  }
}

@Suite struct SettingsRouteTests {
  @Test("settings are replaced as a whole and shown with defaults; null restores a default")
  func settings() async throws {
    let world = try await World()
    let owner = try await world.member(.owner)
    let path = "\(admin)/settings"
    let before = try await world.call("GET", path)
    #expect(before.int("settings.queue.capacity") == 5)
    #expect(before.string("public_key") == world.workspace.publicKey)
    #expect(before["allowed_origins"] == nil)
    let changed = try await world.call(
      "PATCH", path, as: owner,
      json: #"""
        {"settings":{"queue":{"capacity":7},"rating":{"enabled":false}},
         "allowed_origins":["https://Shop.example:443"]}
        """#)
    #expect(changed.status == 200)
    #expect(changed.int("settings.queue.capacity") == 7)
    #expect(changed["settings.queue.show_position"] as? Bool == true)
    #expect(changed["allowed_origins"] as? [String] == ["https://shop.example"])
    let back = try await world.call(
      "PATCH", path, as: owner, json: #"{"settings":{"queue":null},"allowed_origins":null}"#)
    #expect(back.int("settings.queue.capacity") == 5)
    #expect(back["settings.rating.enabled"] as? Bool == false)
    #expect(back["allowed_origins"] == nil)
    #expect(try await world.audit() == ["settings.changed", "settings.changed"])
  }

  @Test(
    "an invalid setting is refused by name, and nothing is stored",
    arguments: [
      #"{"settings":{"nonsense":{}}}"#, #"{"settings":{"queue":7}}"#, #"{"settings":[]}"#,
      #"{"settings":{"rating":{"enabled":false},"queue":{"capacity":0}}}"#,
      #"{"settings":{"queue":{"capacity":"5"}}}"#, #"{"settings":{"queue":{"capacity":1e400}}}"#,
      #"{"settings":{"widget":{"accent":"red"}}}"#,
      #"{"settings":{"hours":{"time_zone":"Mars/Olympus"}}}"#,
      #"{"settings":{"widget":{"name":"a\u0000b"}}}"#, #"{"allowed_origins":["no origin"]}"#,
      #"{"allowed_origins":[1]}"#, #"{"allowed_origins":"*"}"#,
    ])
  func wrong(body: String) async throws {
    let world = try await World()
    let owner = try await world.member(.owner)
    let answer = try await world.call("PATCH", "\(admin)/settings", as: owner, json: body)
    #expect((400..<423).contains(answer.status), "\(answer.status)")
    #expect(try await world.audit() == [])
    let after = try await world.call("GET", "\(admin)/settings")
    #expect(after["settings.rating.enabled"] as? Bool == true)
  }
}

@Suite struct TagsTests {
  @Test("a conversation is found by its tag, and loses a deleted tag")
  func tags() async throws {
    let world = try await World()
    let owner = try await world.member(.owner)
    let session = try await world.conversation()
    _ = try await world.conversation()
    let path = "\(conversations)/\(session)/tags"
    let tagged = try await world.call("PUT", path, json: #"{"tags":["vip","ขอคืนเงิน","vip"]}"#)
    #expect(tagged["conversation.tags"] as? [String] == ["vip", "ขอคืนเงิน"])
    let colour = try await world.call(
      "PUT", "\(admin)/tags/vip", json: ##"{"colour":"#aa0000"}"##)
    #expect(colour.int("tag.conversations") == 1)
    #expect(try await world.call("GET", "\(conversations)?tag=vip").int("total") == 1)
    #expect(try await world.call("GET", "\(conversations)?tag=none").int("total") == 0)
    let list = try await world.call("GET", "\(admin)/tags?limit=1")
    #expect(list.objects("tags").map { $0["name"] as? String } == ["vip"])
    let cursor = try #require(list.string("next_cursor"))
    let next = try await world.call("GET", "\(admin)/tags?limit=1&cursor=\(cursor)")
    #expect(next.objects("tags").map { $0["name"] as? String } == ["ขอคืนเงิน"])
    #expect(next["next_cursor"] == nil)
    #expect(try await world.call("GET", "\(admin)/members?cursor=\(cursor)").status == 400)
    #expect(try await world.call("DELETE", "\(admin)/tags/vip", as: owner).status == 204)
    let after = try await world.call("PUT", path, json: #"{"tags":["b"]}"#)
    #expect(after["conversation.tags"] as? [String] == ["b"])
    #expect(
      try await world.call("PUT", path, json: #"{"tags":[]}"#)["conversation.tags"] as? [String]
        == [])
    #expect(!world.sessions.hints.withLock { $0.isEmpty })
  }

  @Test(
    "invalid tags are refused",
    arguments: [
      "", " a", "a ", "a/b", "a\\\\b", "a\\nb", "a\\u0000", String(repeating: "x", count: 51),
    ])
  func wrong(name: String) async throws {
    let world = try await World()
    let session = try await world.conversation()
    let answer = try await world.call(
      "PUT", "\(conversations)/\(session)/tags", json: #"{"tags":["\#(name)"]}"#)
    #expect((400..<423).contains(answer.status))
  }

  @Test("a note is an entry for operators; a read mark only grows, up to the last entry")
  func notesAndMarks() async throws {
    let world = try await World()
    let session = try await world.conversation(messages: ["one", "two"])
    let path = "\(conversations)/\(session)"
    let note = try await world.call("POST", path + "/notes", json: #"{"body":"be kind"}"#)
    #expect(note.status == 201)
    #expect(world.sessions.appended.withLock { $0.last?.kind.text.description } == "note")
    for (seq, expected) in [(2, 2), (1, 2), (1_000_000, 3)] {
      let read = try await world.call("POST", path + "/read", json: #"{"seq":\#(seq)}"#)
      #expect(read.int("read_seq") == expected)
    }
    #expect(try await world.call("GET", path).int("conversation.read_seq") == 3)
    #expect(try await world.call("POST", path + "/read", json: #"{"seq":-1}"#).status == 400)
  }
}

@Suite struct ReplyObjectTests {
  @Test("each type of reply object is stored and returned unchanged")
  func types() async throws {
    let world = try await World()
    for (id, body) in [
      (
        "hello",
        #"{"object_type":"text","payload":{"text":"Hello {{visitor.name}}"},"shortcut":"hi"}"#
      ),
      (
        "ask",
        #"{"object_type":"text","payload":{"text":"?","#
          + #""quick_replies":[{"label":"Y","value":"y"}]}}"#
      ),
      (
        "pick",
        #"{"object_type":"buttons","payload":{"text":"?","#
          + #""buttons":[{"label":"A","type":"url","#
          + #""value":"https://a.example/x?y"}]},"alt_text":"A?"}"#
      ),
      (
        "one card",
        #"{"object_type":"card","payload":{"title":"T","#
          + #""image_url":"https://a.example/i.png","buttons":[]}}"#
      ),
      ("many", #"{"object_type":"carousel","payload":{"cards":[{"title":"T"}]}}"#),
    ] {
      let path = "\(admin)/reply-objects/\(id)"
      let made = try await world.call("PUT", path, json: body)
      #expect(made.status == 200, "\(made.body)")
      #expect(made.string("reply_object.object_id") == id)
    }
    let list = try await world.call("GET", "\(admin)/reply-objects")
    #expect(list.objects("reply_objects").count == 5)
    let twin = try await world.call(
      "PUT", "\(admin)/reply-objects/x", json: #"{"payload":{"text":"x"},"shortcut":"hi"}"#)
    #expect(twin.status == 409)
    let owner = try await world.member(.owner)
    #expect(try await world.call("DELETE", "\(admin)/reply-objects/ask", as: owner).status == 204)
    #expect(try await world.audit().filter { $0 == "reply_object.changed" }.count == 5)
  }

  @Test(
    "If-None-Match: * leaves existing resources unchanged (412)",
    arguments: [
      ("reply-objects/x", #"{"payload":{"text":"1"}}"#, #"{"payload":{"text":"2"}}"#),
      ("tags/x", ##"{"colour":"#111111"}"##, ##"{"colour":"#222222"}"##),
      ("credentials/x", #"{"secret":"1"}"#, #"{"secret":"2"}"#),
    ])
  func onlyNew(path: String, first: String, second: String) async throws {
    let world = try await World()
    let admin = try await world.member(.admin)
    func put(_ body: String, _ conditions: [String]) async throws -> Answer {
      let headers = [
        ("Authorization", try world.bearer(admin)), ("Content-Type", "application/json"),
      ]
      return await world.send(
        "PUT", "/api/v1/admin/\(path)", headers + conditions.map { ("If-None-Match", $0) }, body)
    }
    for wrong in [["x"], ["\"tag\""], ["*", "*"], [""]] {
      #expect(try await put(first, wrong).status == 400)
    }
    #expect(try await put(first, ["*"]).status == 200)
    let changes = try await world.audit().count
    let refused = try await put(second, ["*"])
    #expect(refused.status == 412 && refused.problem == "precondition_failed")
    #expect(try await world.audit().count == changes)
    let list = try await world.call("GET", "/api/v1/admin/\(path.dropLast(2))", as: admin)
    #expect(!list.body.contains("222222") && !list.body.contains(#""text":"2""#))
    #expect(try await put(second, []).status == 200)
  }

  @Test(
    "a reply object that cannot be displayed is refused",
    arguments: [
      "{}", #"{"payload":{}}"#, #"{"payload":{"text":""}}"#, #"{"payload":{"text":7}}"#,
      #"{"object_type":"poem","payload":{"text":"x"}}"#,
      #"{"object_type":"buttons","payload":{"text":"x","buttons":[]}}"#,
      #"{"object_type":"buttons","payload":{"text":"x","buttons":[7]}}"#,
      #"{"object_type":"buttons","payload":{"text":"x","#
        + #""buttons":[{"label":"l","type":"url","value":"javascript:alert(1)"}]}}"#,
      #"{"object_type":"card","payload":{"title":"x","image_url":"data:image/png,x"}}"#,
      #"{"object_type":"carousel","payload":{"cards":[]}}"#,
      #"{"payload":{"text":"x"},"shortcut":"a b"}"#, #"{"payload":{"text":"x\ud800"}}"#,
    ])
  func wrong(body: String) async throws {
    let world = try await World()
    let answer = try await world.call("PUT", "\(admin)/reply-objects/x", json: body)
    #expect((400..<423).contains(answer.status), "\(answer.status) \(answer.body)")
  }
}
