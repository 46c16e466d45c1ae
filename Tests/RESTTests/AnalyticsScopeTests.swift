import Conversations
import Directory
import DomainFixtures
import Foundation
import Postgres
import Primitives
import Testing

@testable import REST

/// Reports that are limited to an operator, a team or a tag, and the targets in them.
@Suite struct AnalyticsScopeTests {
  private let path = "/api/v1/admin/live-chat/analytics"

  @Test("a report is limited to one operator, team or tag, with its targets by day")
  func limited() async throws {
    let world = try await World()
    let owner = try await world.member(.owner)
    let made = try await world.call(
      "POST", "/api/v1/admin/teams", as: owner, json: #"{"name":"Sales"}"#)
    let team = try #require(made.string("team.id"))
    let ours = try await world.conversation(messages: ["one", "two"])
    _ = try await world.conversation(messages: ["three"])
    _ = try await world.call("POST", "\(conversations)/\(ours)/claim")
    _ = try await world.call(
      "PUT", "\(conversations)/\(ours)/tags", json: #"{"tags":["cargo bike"]}"#)
    _ = try await world.database.run(
      Query(
        "SELECT chirrup_set_team($1::uuid, $2::uuid, $3::uuid)",
        [.uuid(world.workspace.id), .uuid(ours), .uuid(Identifier(team))]))
    // Both targets were due a minute ago; the first response was missed.
    _ = try await world.database.run(
      Query(
        """
        INSERT INTO chat_targets (workspace_id, session_id, started_at, first_response_minutes,
          resolution_minutes, first_response_due_at, resolution_due_at, first_response_missed_at)
        SELECT $1::uuid, $2::uuid, now(), 1, 1, t.at, t.at, t.at
        FROM (SELECT now() - interval '1 minute' AS at) AS t
        """, [.uuid(world.workspace.id), .uuid(ours)]))
    let today = try await world.database.run(
      Query("SELECT (now() - interval '1 day')::date::text, now()::date::text"))
    let period = "from=\(today.text(0, 0) ?? "")&to=\(today.text(0, 1) ?? "")"
    for (query, sessions, missed) in [
      ("", 2, 1), ("&operator=\(world.mika.id)", 1, 1), ("&team=\(team)", 1, 1),
      ("&tag=cargo%20bike", 1, 1), ("&tag=none", 0, 0),
      ("&operator=\(World.identifier())", 0, 0),
    ] {
      let answer = try await world.call("GET", "\(path)?\(period)\(query)")
      #expect(answer.status == 200)
      #expect(answer.int("total.sessions") == sessions, "\(query)")
      #expect(answer.int("missed_targets.first_response") == missed, "\(query)")
      #expect(answer.int("missed_targets.resolution") == 0)
      #expect(answer.int("due_targets.resolution") == missed, "\(query)")
      let days = answer.objects("days")
      let sums = days.map { ($0["missed_targets"] as? [String: Int])?["first_response"] ?? -1 }
      #expect(days.count == 2 && sums.reduce(0, +) == missed, "\(query)")
    }
    for (kind, name) in [("operators", "Mika"), ("teams", "Sales"), ("tags", "cargo bike")] {
      let group = try #require(
        try await world.call("GET", "\(path)/\(kind)?\(period)").objects(kind).first)
      #expect(group["name"] as? String == name)
      #expect((group["missed_targets"] as? [String: Int])?["first_response"] == 1)
      #expect((group["due_targets"] as? [String: Int])?["resolution"] == 1)
    }
  }

  @Test("an unknown id has no conversations; a malformed one and two limits are refused")
  func refusals() async throws {
    let world = try await World()
    let id = World.identifier()
    for query in ["operator=me", "team=sales", "operator=\(id)&team=\(id)", "team=\(id)&tag=a"] {
      let answer = try await world.call("GET", "\(path)?\(query)")
      #expect(answer.status == 400 || answer.status == 422, "\(query): \(answer.status)")
    }
    #expect(try await world.call("GET", "\(path)?team=\(id)").int("total.sessions") == 0)
  }
}
