import Chat
import Conversations
import Directory
import DomainFixtures
import Foundation
import Postgres
import Primitives
import Synchronization
import Testing

@testable import REST

/// Deleted conversations, titles, follow events and the synchronisation of menus.
@Suite struct DeletionTests {
  let deleted = "/api/v1/admin/live-chat/deleted-conversations"

  @Test("a deleted conversation is found nowhere, and returns as it was when it is restored")
  func roundTrip() async throws {
    let world = try await World()
    let admin = try await world.member(.admin)
    let session = try await world.conversation(title: "brakes", messages: ["hello", "anybody?"])
    _ = try await world.conversation(title: "other", messages: ["hi"])
    let path = "\(conversations)/\(session)"
    let before = try await world.call("GET", path)

    #expect(try await world.call("DELETE", path, as: admin).status == 204)
    #expect(world.sessions.hints.withLock { $0 } == [session])
    #expect(try await world.call("DELETE", path, as: admin).status == 204)
    #expect(world.sessions.hints.withLock { $0.count } == 1)

    for (method, tail, json) in [
      ("GET", "", nil), ("GET", "/messages", nil), ("POST", "/claim", "{}"),
      ("POST", "/close", "{}"), ("POST", "/messages", #"{"body":"x"}"#),
      ("PATCH", "", #"{"title":"x"}"#), ("PUT", "/tags", #"{"tags":["x"]}"#),
    ] {
      let answer = try await world.call(method, path + tail, as: admin, json: json)
      #expect(answer.status == 404 && answer.problem == "no_such_session", "\(method) \(tail)")
    }
    for query in ["", "?status=waiting", "?q=brakes"] {
      let list = try await world.call("GET", conversations + query)
      #expect(!list.body.contains("\(session)"), "\(query)")
      #expect(list.int("waiting_count") == 1)
    }
    let hits = try await world.call(
      "GET", "/api/v1/admin/live-chat/messages/search?q=anybody")
    #expect(hits.objects("hits").isEmpty)

    let list = try await world.call("GET", deleted, as: admin)
    let row = try #require(list.objects("conversations").first)
    #expect(row["id"] as? String == "\(session)")
    #expect(row["title"] as? String == "brakes")
    #expect(row["deleted_by"] as? String == admin.name)
    #expect(row["deleted_via"] as? String == "operator")
    #expect(row["messages"] as? Int == 2)
    #expect(row["erased_at"] is String)
    #expect(
      try await world.call("GET", "\(deleted)?q=nothing", as: admin)
        .objects("conversations").isEmpty)

    let after = try await world.call("POST", "\(path)/restore", as: admin)
    #expect(after.status == 200)
    for member in ["title", "status", "last_seq", "waiting_since", "queue_position"] {
      #expect(
        "\(after["conversation.\(member)"] ?? "-")" == "\(before["conversation.\(member)"] ?? "-")")
    }
    #expect(try await world.call("POST", "\(path)/restore", as: admin).status == 200)
    #expect(try await world.call("GET", deleted, as: admin).objects("conversations").isEmpty)
    let log = try await world.call("GET", "/api/v1/admin/audit-log", as: admin)
    #expect(
      log.objects("audit_log").prefix(2).compactMap { $0["action"] as? String } == [
        "conversation.restored", "conversation.deleted",
      ])
  }

  @Test("only administrators delete, restore and list deleted conversations")
  func rights() async throws {
    let world = try await World()
    let agent = try await world.member(.agent)
    let session = try await world.conversation()
    for (method, path) in [
      ("DELETE", "\(conversations)/\(session)"),
      ("POST", "\(conversations)/\(session)/restore"), ("GET", deleted),
    ] {
      #expect(try await world.call(method, path, as: agent).status == 403)
    }
    let unknown = World.identifier()
    let admin = try await world.member(.admin)
    for (method, tail) in [("DELETE", ""), ("POST", "/restore")] {
      let answer = try await world.call(
        method, "\(conversations)/\(unknown)\(tail)", as: admin)
      #expect(answer.status == 404)
    }
  }

  @Test("a message is committed before the deletion, or refused; no acknowledged one is lost")
  func race() async throws {
    let world = try await World()
    for _ in 0..<10 {
      let session = try await world.conversation(messages: ["first"])
      let place = world.place
      let actor = world.actor
      let outcomes = await withTaskGroup(of: Bool?.self) { group in
        for number in 0..<6 {
          group.addTask {
            switch await place.say("message \(number)", in: session).verdict {
            case .stored: true
            case .noSuchSession: false
            default: nil
            }
          }
        }
        group.addTask {
          _ = try? await place.database.ask(ConversationDeletion.delete(session, by: actor))
          return false
        }
        return await group.reduce(into: [Bool?]()) { $0.append($1) }
      }
      #expect(!outcomes.contains(nil))
      let stored = outcomes.count { $0 == true }
      _ = try await place.database.ask(ConversationDeletion.restore(session, by: actor))
      #expect(try await place.log(session).count == 1 + stored)
    }
  }

  @Test("the deadline erases what was deleted here, and nothing that another application deleted")
  func deadline() async throws {
    let world = try await World()
    try await world.place.set("retention", #"{"deleted_days":7}"#)
    var sessions: [Identifier] = []
    for _ in 0..<4 { sessions.append(try await world.conversation(messages: ["hello"])) }
    for session in sessions.prefix(3) {
      _ = try await world.database.ask(ConversationDeletion.delete(session, by: world.actor))
    }
    func age(_ session: Identifier, days: Int, isForeign: Bool = false) async throws {
      _ = try await world.database.run(
        Query(
          """
          UPDATE chat_sessions SET deleted_at = now() - $2::bigint * interval '1 day',
            deleted_via = CASE WHEN $3::boolean THEN NULL ELSE deleted_via END
          WHERE id = $1::uuid
          """, [.uuid(session), .int(Int64(days)), .bool(isForeign)]))
    }
    try await age(sessions[0], days: 8)
    try await age(sessions[1], days: 6)
    try await age(sessions[2], days: 8, isForeign: true)
    while try await world.database.ask(ConversationDeletion.erase(limit: 20)) == 20 {}
    let rows = try await world.database.run(
      Query(
        """
        SELECT count(*) FILTER (WHERE id = $2::uuid), count(*),
          (SELECT count(*) FROM chats WHERE session_id = $2::uuid)
        FROM chat_sessions WHERE workspace_id = $1::uuid
        """, [.uuid(world.workspace.id), .uuid(sessions[0])]))
    #expect(rows.int(0, 0) == 0 && rows.int(0, 1) == 3 && rows.int(0, 2) == 0)
    let admin = try await world.member(.admin)
    let log = try await world.call("GET", "/api/v1/admin/audit-log", as: admin)
    let entry = log.objects("audit_log").first { $0["action"] as? String == "conversation.erased" }
    let details = try #require(entry?["details"] as? [String: Any])
    #expect(details["conversations"] as? Int == 1 && details["days"] as? Int == 7)
    let list = try await world.call("GET", deleted, as: admin).objects("conversations")
    #expect(list.count == 2)
    #expect(list.first { $0["id"] as? String == "\(sessions[2])" }?["erased_at"] is NSNull)
  }

  @Test("a wrong setting of the deadline counts as 30 days", arguments: ["7", "{}", "x", "null"])
  func setting(value: String) async throws {
    let world = try await World()
    try await world.place.set("retention", value)
    let rows = try await world.database.run(
      Query("SELECT chirrup_deleted_days($1::uuid)::bigint", [.uuid(world.workspace.id)]))
    #expect(rows.int(0, 0) == 30)
  }

  @Test("a title is one line, is found by the list's search, and null removes it")
  func title() async throws {
    let world = try await World()
    let session = try await world.conversation(messages: ["hello"])
    let path = "\(conversations)/\(session)"
    func set(_ json: String) async throws -> Answer {
      try await world.call("PATCH", path, json: json)
    }
    let set1 = try await set(#"{"title":"  สายเบรก Magura "}"#)
    #expect(set1.status == 200)
    #expect(set1.string("conversation.title") == "สายเบรก Magura")
    let found = try await world.call("GET", "\(conversations)?q=magura")
    #expect(found.objects("conversations").count == 1)
    #expect(try await set(#"{"title":"\#(String(repeating: "ก", count: 200))"}"#).status == 200)
    for bad in [
      "{}", #"{"title":7}"#, #"{"title":"a\nb"}"#,
      #"{"title":"\#(String(repeating: "x", count: 201))"}"#,
    ] {
      #expect(try await set(bad).status == 400, "\(bad)")
    }
    #expect(try await set(#"{"title":"\#(String(repeating: "x", count: 801))"}"#).status == 413)
    #expect(try await set(#"{"title":null}"#).string("conversation.title") == "")
  }

  @Test("a row of another application enters the queue with its first message, not before")
  func foreignRow() async throws {
    let world = try await World()
    let session = World.identifier()
    _ = try await world.database.run(
      Query(
        "INSERT INTO chat_sessions (id, workspace_id) VALUES ($1::uuid, $2::uuid)",
        [.uuid(session), .uuid(world.workspace.id)]))
    #expect(try await world.place.read(session).waitingSince == nil)
    #expect(try await world.place.read(session).queuePosition == nil)
    await world.place.say("hello", in: session)
    #expect(try await world.place.read(session).queuePosition == 1)
  }

  @Test("follow events come in pages, newest first, of the own workspace only")
  func friendEvents() async throws {
    let world = try await World()
    let session = try await world.conversation()
    let visitor = try #require(
      try await world.call("GET", "\(conversations)/\(session)").string("conversation.visitor.id"))
    for (hour, event) in ["follow", "unfollow", "refollow"].enumerated() {
      _ = try await world.database.run(
        Query(
          """
          INSERT INTO friend_events (workspace_id, visitor_id, channel, event, created_at)
          VALUES ($1::uuid, $2::text::uuid, 'line', $3::text,
            now() + $4::bigint * interval '1 hour')
          """,
          [.uuid(world.workspace.id), .text(visitor), .text(event), .int(Int64(hour))]))
    }
    let path = "/api/v1/admin/visitors/\(visitor)/friend-events"
    let first = try await world.call("GET", "\(path)?limit=2")
    #expect(
      first.objects("friend_events").compactMap { $0["event"] as? String }
        == ["refollow", "unfollow"])
    #expect(first.objects("friend_events").first?["channel"] as? String == "line")
    let cursor = try #require(first.string("next_cursor"))
    let second = try await world.call("GET", "\(path)?limit=2&cursor=\(cursor)")
    #expect(
      second.objects("friend_events").compactMap { $0["event"] as? String }.first == "follow")
    #expect(second.json["next_cursor"] is NSNull)
    let there = try await World()
    #expect(try await there.call("GET", path).status == 404)
  }

  @Test("a menu says that it is not synchronised")
  func syncStatus() async throws {
    let world = try await World()
    let admin = try await world.member(.admin)
    let made = try await world.call(
      "POST", "/api/v1/admin/rich-menus", as: admin, json: #"{"name":"x","status":"published"}"#)
    #expect(made.string("rich_menu.sync_status") == "none")
    #expect(made["rich_menu.sync_error"] == nil)
  }
}
