import Chat
import Directory
import DomainFixtures
import Foundation
import Postgres
import Primitives
import Synchronization
import Testing

@testable import REST

private let bulk = "/api/v1/admin/live-chat/bulk"
private let macros = "/api/v1/admin/macros"

/// A JSON array of ids.
private func array(_ ids: [Identifier]) -> String {
  "[" + ids.map { "\"\($0)\"" }.joined(separator: ",") + "]"
}

extension Answer {
  fileprivate var outcomes: [String] { objects("results").map { $0["outcome"] as? String ?? "" } }

  fileprivate func type(_ index: Int) -> String? {
    let results = objects("results")
    guard index < results.count else { return nil }
    let problem = results[index]["problem"] as? [String: Any]
    return (problem?["type"] as? String)?.split(separator: ":").last.map { String($0) }
  }
}

@Suite struct BulkTests {
  @Test("a bulk close closes each conversation by an entry of its log, and names who closed others")
  func close() async throws {
    let world = try await World()
    let ivo = try await World.addOperator("Ivo", to: world.workspace, world.database)
    var sessions: [Identifier] = []
    for number in 1...4 {
      sessions.append(try await world.conversation(messages: ["hello \(number)"]))
    }
    _ = try await world.call("POST", "\(conversations)/\(sessions[1])/close", as: ivo)
    let stranger = World.identifier()
    let answer = try await world.call(
      "POST", bulk,
      json: #"{"ids":\#(array(sessions + [stranger])),"actions":[{"type":"close","reason":" x "}]}"#
    )
    #expect(answer.status == 200)
    #expect(answer.outcomes == ["done", "unchanged", "done", "done", "failed"])
    #expect(answer.int("done_count") == 3)
    #expect(answer.int("unchanged_count") == 1)
    #expect(answer.int("failed_count") == 1)
    #expect(answer.type(4) == "no_such_session")
    let closer = answer.objects("results").dropFirst().first?["closed_by"] as? [String: Any]
    #expect(closer?["name"] as? String == "Ivo")
    for session in [sessions[0], sessions[2], sessions[3]] {
      let log = try await world.call("GET", "\(conversations)/\(session)/messages")
        .objects("messages")
      #expect(log.map { $0["seq"] as? Int } == [1, 2, 3])
      #expect(
        log.dropFirst().map { $0["body"] as? String } == ["Mika closed the conversation", "x"])
    }
    // A hint for each change: the screens of colleagues follow.
    #expect(world.sessions.hints.withLock { $0.count } == 4)
    let admin = try await world.member(.admin)
    let audit = try await world.call("GET", "/api/v1/admin/audit-log", as: admin)
      .objects("audit_log").filter { $0["action"] as? String == "conversations.changed" }
    #expect(audit.count == 1)
    #expect((audit.first?["details"] as? [String: Any])?["conversations"] as? Int == 5)
  }

  @Test("a refusal ends the actions of its conversation only, and the result says what was done")
  func partial() async throws {
    let world = try await World()
    let open = try await world.conversation(messages: ["hello"])
    let closed = try await world.conversation(messages: ["hello"])
    _ = try await world.call("POST", "\(conversations)/\(closed)/close")
    let answer = try await world.call(
      "POST", bulk,
      json: """
        {"ids":\(array([closed, open])),"actions":[{"type":"add_tags","tags":["a"]},
        {"type":"assign","to":"me"},{"type":"close"}]}
        """)
    #expect(answer.outcomes == ["failed", "done"])
    #expect(answer.type(0) == "session_closed")
    #expect(answer.objects("results").map { $0["actions_done"] as? Int } == [1, 3])
    let changed = try await world.call("GET", "\(conversations)/\(open)")
    #expect(changed.string("conversation.status") == "closed")
    #expect(changed["conversation.tags"] as? [String] == ["a"])
    #expect(changed.string("conversation.assignee.name") == "Mika")
  }

  @Test("tags are added and removed beside others, up to the limit of a conversation")
  func tags() async throws {
    let world = try await World()
    let session = try await world.conversation()
    let path = "\(conversations)/\(session)"
    _ = try await world.call("PUT", path + "/tags", json: #"{"tags":["a","b"]}"#)
    func run(_ type: String, _ tags: String) async throws -> Answer {
      try await world.call(
        "POST", bulk,
        json: #"{"ids":["\#(session)"],"actions":[{"type":"\#(type)","tags":[\#(tags)]}]}"#)
    }
    #expect(try await run("add_tags", #""b","c""#).outcomes == ["done"])
    #expect(try await run("add_tags", #""b","c""#).outcomes == ["unchanged"])
    #expect(try await run("remove_tags", #""a","z""#).outcomes == ["done"])
    #expect(
      try await world.call("GET", path)["conversation.tags"] as? [String] == ["b", "c"])
    let many = (1...19).map { "\"t\($0)\"" }.joined(separator: ",")
    let full = try await run("add_tags", many)
    #expect(full.outcomes == ["failed"])
    #expect(full.type(0) == "too_many")
  }

  @Test("an assignment to oneself claims, respects the capacity, and takes over from a colleague")
  func assign() async throws {
    let world = try await World()
    let ivo = try await World.addOperator("Ivo", to: world.workspace, world.database)
    try await world.place.set(queue: #"{"capacity":1}"#)
    let first = try await world.conversation(messages: ["one"])
    let second = try await world.conversation(messages: ["two"])
    func assign(_ ids: [Identifier], _ to: String) async throws -> Answer {
      try await world.call(
        "POST", bulk, json: #"{"ids":\#(array(ids)),"actions":[{"type":"assign","to":"\#(to)"}]}"#)
    }
    let mine = try await assign([first, second], "me")
    #expect(mine.outcomes == ["done", "failed"])
    #expect(mine.type(1) == "at_capacity")
    #expect(try await assign([first, second], "\(ivo.id)").outcomes == ["done", "done"])
    #expect(try await assign([first], "me").outcomes == ["done"])
    #expect(try await assign([first, second], "queue").outcomes == ["done", "done"])
    #expect(try await assign([first], "queue").outcomes == ["unchanged"])
    let admin = try await world.member(.admin)
    let made = try await world.call(
      "POST", "/api/v1/admin/teams", as: admin, json: #"{"name":"Billing"}"#)
    let team = try #require(made.string("team.id"))
    func give(_ to: String) async throws -> Answer {
      try await world.call(
        "POST", bulk,
        json: #"{"ids":\#(array([first])),"actions":[{"type":"assign","to_team":\#(to)}]}"#)
    }
    #expect(try await give("\"\(team)\"").outcomes == ["done"])
    #expect(
      try await world.call("GET", "\(conversations)/\(first)").string("conversation.team.name")
        == "Billing")
    #expect(try await give("\"\(team)\"").outcomes == ["unchanged"])
    #expect(try await give("null").outcomes == ["done"])
    #expect(try await give("\"\(World.identifier())\"").problem == "no_such_team")
    #expect(try await assign([first], "\(World.identifier())").problem == "no_such_member")
  }

  @Test("a reply is filled in for each visitor, and sent once under an Idempotency-Key")
  func reply() async throws {
    let world = try await World()
    let session = try await world.conversation(messages: ["hello"])
    let nameless = try await world.conversation(visitor: "", messages: ["hello"])
    let headers = [
      ("Authorization", try world.bearer(world.mika)), ("Content-Type", "application/json"),
      ("Idempotency-Key", "k1"),
    ]
    let body = """
      {"ids":\(array([session, nameless])),
      "actions":[{"type":"reply","text":"Hi {{visitor.name}}, {{ operator.name }} here"}]}
      """
    let answer = await world.send("POST", bulk, headers, body)
    #expect(answer.outcomes == ["done", "failed"])
    #expect(answer.type(1) == "open_field")
    let sent = try #require(world.sessions.appended.withLock { $0.last })
    #expect(String(decoding: sent.body, as: UTF8.self) == "Hi Ada, Mika here")
    // A gateway that crashed has stored no response: the ids of the messages make it safe.
    try await world.database.ask(
      Directory.Statement<Void>(
        Query(
          "DELETE FROM idempotency_keys WHERE workspace_id = $1::uuid",
          [.uuid(world.workspace.id)])))
    _ = await world.send("POST", bulk, headers, body)
    let ids = world.sessions.appended.withLock { $0.map(\.id) }
    #expect(ids.count == 2)
    #expect(Set(ids).count == 1)
  }

  @Test(arguments: [
    #"{"actions":[{"type":"close"}]}"#, #"{"ids":[],"actions":[{"type":"close"}]}"#,
    #"{"ids":["x"],"actions":[{"type":"close"}]}"#, #"{"ids":[ID]}"#,
    #"{"ids":[ID],"actions":[]}"#, #"{"ids":[ID],"actions":[{"type":"erase"}]}"#,
    #"{"ids":[ID],"actions":[{"type":"reply"}]}"#,
    #"{"ids":[ID],"actions":[{"type":"reply","text":"a","object":"b"}]}"#,
    #"{"ids":[ID],"actions":[{"type":"note","text":""}]}"#,
    #"{"ids":[ID],"actions":[{"type":"add_tags"}]}"#,
    #"{"ids":[ID],"actions":[{"type":"assign","to":"Mika"}]}"#,
    #"{"ids":[ID],"actions":[{"type":"assign","to_team":"Billing"}]}"#,
    #"{"ids":[ID],"actions":[{"type":"assign","to_team":ID,"to":"me"}]}"#,
    #"{"ids":[MANY],"actions":[{"type":"close"}]}"#, #"{"ids":[ID],"actions":[ACTIONS]}"#,
  ])
  func `a wrong request is refused without any effect`(_ body: String) async throws {
    let world = try await World()
    let session = try await world.conversation(messages: ["hello"])
    let many = (0...ActionRun.conversationsMax).map { _ in "\"\(World.identifier())\"" }
    let actions = (0...ConversationAction.countMax).map { _ in #"{"type":"close"}"# }
    let json = body.replacingOccurrences(of: "ID", with: "\"\(session)\"")
      .replacingOccurrences(of: "MANY", with: many.joined(separator: ","))
      .replacingOccurrences(of: "ACTIONS", with: actions.joined(separator: ","))
    #expect(try await world.call("POST", bulk, json: json).status == 400)
    let after = try await world.call("GET", "\(conversations)/\(session)")
    #expect(after.int("conversation.last_seq") == 1)
  }
}

@Suite struct MacroTests {
  private func add(
    _ world: World, _ name: String, as member: Operator? = nil, shared: Bool = false,
    _ actions: String = #"[{"type":"close"}]"#
  ) async throws -> Answer {
    try await world.call(
      "POST", macros, as: member,
      json: #"{"name":"\#(name)","is_shared":\#(shared),"actions":\#(actions)}"#)
  }

  private func names(_ world: World, as member: Operator? = nil) async throws -> [String] {
    try await world.call("GET", macros, as: member).objects("macros")
      .compactMap { $0["name"] as? String }
  }

  @Test("a private macro is its owner's alone; a shared one is changed by its creator and admins")
  func sharing() async throws {
    let world = try await World()
    let ivo = try await World.addOperator("Ivo", to: world.workspace, world.database)
    let noor = try await World.addOperator("Noor", to: world.workspace, world.database)
    let own = try await add(world, "Own", as: ivo)
    #expect(own.status == 201)
    let id = try #require(own.string("macro.id"))
    #expect(try await names(world, as: ivo) == ["Own"])
    #expect(try await names(world, as: noor) == [])
    #expect(try await names(world) == [])
    let run = #"{"ids":["\#(World.identifier())"]}"#
    #expect(try await world.call("POST", "\(macros)/\(id)/run", as: noor, json: run).status == 404)
    #expect(try await world.call("DELETE", "\(macros)/\(id)").status == 404)

    let shared = try await world.call(
      "PATCH", "\(macros)/\(id)", as: ivo, json: #"{"is_shared":true,"name":"Ours"}"#)
    #expect(shared.string("macro.name") == "Ours")
    #expect(try await names(world, as: noor) == ["Ours"])
    let denied = try await world.call(
      "PATCH", "\(macros)/\(id)", as: noor, json: #"{"name":"Mine"}"#)
    #expect(denied.status == 403)
    #expect(denied.problem == "not_yours")
    let admin = try await world.member(.admin)
    let renamed = try await world.call(
      "PATCH", "\(macros)/\(id)", as: admin, json: #"{"name":"All"}"#)
    #expect(renamed.status == 200)
    #expect(try await world.call("DELETE", "\(macros)/\(id)", as: ivo).status == 204)
    #expect(try await names(world) == [])
  }

  @Test("names are unique among those of one owner, and a macro is checked when it is stored")
  func checks() async throws {
    let world = try await World()
    #expect(try await add(world, "A", shared: true).status == 201)
    #expect(try await add(world, "A", shared: true).status == 409)
    #expect(try await add(world, "A").status == 201)
    #expect(try await add(world, " ").status == 400)
    #expect(try await add(world, "B", "[]").status == 400)
    #expect(try await add(world, "B", #"[{"type":"nothing"}]"#).status == 400)
    let absent = try await add(world, "B", #"[{"type":"reply","object":"absent"}]"#)
    #expect(absent.problem == "no_such_reply")
    let stranger = try await add(
      world, "B", #"[{"type":"assign","to":"\#(World.identifier())"}]"#)
    #expect(stranger.problem == "no_such_member")
  }

  @Test("a macro runs its actions in order on conversations, with the text of a canned reply")
  func runs() async throws {
    let world = try await World()
    _ = try await world.call(
      "PUT", "/api/v1/admin/reply-objects/bye",
      json: #"{"object_type":"text","payload":{"text":"Bye {{visitor.name}}"},"shortcut":"bye"}"#)
    let session = try await world.conversation(messages: ["hello"])
    let actions = """
      [{"type":"reply","object":"bye"},{"type":"note","text":"done"},
      {"type":"add_tags","tags":["solved"]},{"type":"close"}]
      """
    let id = try #require(try await add(world, "Solved", shared: true, actions).string("macro.id"))
    let path = "\(macros)/\(id)/run"
    let answer = try await world.call("POST", path, json: #"{"ids":["\#(session)"]}"#)
    #expect(answer.outcomes == ["done"])
    #expect(answer.objects("results").first?["actions_done"] as? Int == 4)
    let sent = world.sessions.appended.withLock {
      $0.map { "\($0.kind.text) \(String(decoding: $0.body, as: UTF8.self))" }
    }
    #expect(sent == ["text Bye Ada", "note done"])
    let after = try await world.call("GET", "\(conversations)/\(session)")
    #expect(after.string("conversation.status") == "closed")
    #expect(after["conversation.tags"] as? [String] == ["solved"])
    // A reply that was deleted since: nothing is done half-way.
    let admin = try await world.member(.admin)
    _ = try await world.call("DELETE", "/api/v1/admin/reply-objects/bye", as: admin)
    #expect(
      try await world.call("POST", path, json: #"{"ids":["\#(session)"]}"#).problem
        == "no_such_reply")
  }

  @Test("a member's private macros leave with the membership")
  func leaving() async throws {
    let world = try await World()
    let ivo = try await World.addOperator("Ivo", to: world.workspace, world.database)
    _ = try await add(world, "Own", as: ivo)
    _ = try await add(world, "Shared", as: ivo, shared: true)
    try await world.database.ask(
      Directory.Statement<Void>(
        Query("DELETE FROM memberships WHERE operator_id = $1::uuid", [.uuid(ivo.id)])))
    #expect(try await names(world) == ["Shared"])
    let count = try await world.database.ask(
      Directory.Statement(
        Query(
          "SELECT count(*) FROM macros WHERE workspace_id = $1::uuid", [.uuid(world.workspace.id)])
      ) { $0.int(0, 0) })
    #expect(count == 1)
  }
}
