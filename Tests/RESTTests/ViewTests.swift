import Directory
import DomainFixtures
import Foundation
import Primitives
import Testing

@testable import REST

private let views = "/api/v1/admin/views"

@Suite struct ViewTests {
  private func add(
    _ world: World, _ filters: String, as member: Operator? = nil, shared: Bool = false,
    name: String = "A"
  ) async throws -> Answer {
    try await world.call(
      "POST", views, as: member,
      json: #"{"name":"\#(name)","is_shared":\#(shared),"filters":\#(filters)}"#)
  }

  private func shown(_ world: World, as member: Operator? = nil) async throws -> [String] {
    try await world.call("GET", views, as: member).objects("views")
      .map { "\($0["name"] ?? "") \($0["count"] ?? "") \($0["may_change"] as? Bool == true)" }
  }

  @Test("a private view is its owner's alone; a shared one is changed by its creator and admins")
  func sharing() async throws {
    let world = try await World()
    let noor = try await World.addOperator("Noor", to: world.workspace, world.database)
    let session = try await world.conversation(messages: ["hello"])
    let added = try await add(world, #"{"assignee":"me"}"#)
    #expect(added.status == 201)
    #expect(added.string("view.filters.status") == "open")
    let id = try #require(added.string("view.id"))
    #expect(try await shown(world) == ["A 0 true"])
    #expect(try await shown(world, as: noor) == [])
    #expect(try await world.call("DELETE", "\(views)/\(id)", as: noor).status == 404)
    _ = try await world.call("POST", "\(conversations)/\(session)/claim")
    #expect(try await shown(world) == ["A 1 true"])
    let shared = try await world.call(
      "PATCH", "\(views)/\(id)", json: #"{"is_shared":true,"name":"Ours"}"#)
    #expect(shared.int("view.count") == 1)
    // “me” is the reader.
    #expect(try await shown(world, as: noor) == ["Ours 0 false"])
    let denied = try await world.call("PATCH", "\(views)/\(id)", as: noor, json: #"{"name":"N"}"#)
    #expect(denied.problem == "not_yours")
    let admin = try await world.member(.admin)
    let changed = try await world.call(
      "PATCH", "\(views)/\(id)", as: admin, json: #"{"filters":{"status":"active"}}"#)
    #expect(changed.status == 200)
    #expect(changed["view.filters.assignee"] == nil)
    #expect(try await shown(world, as: noor) == ["Ours 1 false"])
    #expect(try await world.call("DELETE", "\(views)/\(id)", as: admin).status == 204)
    #expect(try await shown(world) == [])
  }

  @Test("the list has the filters that views have")
  func list() async throws {
    let world = try await World()
    _ = try await world.conversation(messages: ["hello"])
    for (query, total) in [
      ("status=open", 1), ("status=open&language=xx", 0), ("status=waiting&attribute=plan=x", 0),
      ("status=waiting&waiting_minutes=10080", 0), ("status=open&channel=web", 1),
      ("status=open&channel=line", 0),
    ] {
      let answer = try await world.call("GET", "\(conversations)?\(query)")
      #expect(answer.int("total") == total, "\(query)")
    }
    for query in [
      "language=de", "status=closed&language=de", "status=all&attribute=a=b",
      "status=open&language=!", "status=open&attribute=plan", "status=open&attribute==x",
      "status=open&waiting_minutes=0", "status=open&waiting_minutes=x",
      "status=open&channel=LINE", "status=all&channel=line",
    ] {
      let answer = try await world.call("GET", "\(conversations)?\(query)")
      #expect(answer.status == 400, "\(query)")
    }
    let mixed = try await world.call("GET", "\(conversations)?status=open&language=de&limit=1")
    #expect(mixed.status == 200)
  }

  @Test(arguments: [
    #"{"status":"closed"}"#, #"{"status":"x"}"#, #"{"assignee":"Mika"}"#, #"{"team":"x"}"#,
    #"{"language":"!"}"#, #"{"attribute":"plan"}"#, #"{"waiting_minutes":0}"#,
    #"{"waiting_minutes":"5"}"#, #"{"tag":1}"#, #"{"channel":"Line"}"#, "[]", "null",
  ])
  func `wrong filters are refused with their place`(_ filters: String) async throws {
    let world = try await World()
    let answer = try await add(world, filters)
    #expect(answer.status == 400)
    #expect(answer.string("pointer")?.hasPrefix("/filters") == true)
    #expect(try await shown(world) == [])
  }

  @Test("a view of an API key is shared")
  func key() async throws {
    let world = try await World()
    let key = "Bearer " + (try await world.key([.settingsWrite, .conversationsRead]))
    let headers = [("Authorization", key), ("Content-Type", "application/json")]
    let own = await world.send("POST", views, headers, #"{"name":"A","filters":{}}"#)
    #expect(own.status == 400)
    let made = await world.send(
      "POST", views, headers, #"{"name":"A","is_shared":true,"filters":{"assignee":"me"}}"#)
    #expect(made.status == 201)
    #expect(try await shown(world) == ["A 0 false"])
  }
}
