/// The list with every combination of its filters, against the same rows filtered and sorted here.
import Directory
import Foundation
import Postgres
import Primitives
import Testing

@testable import REST

@Suite struct ListFilterTests {
  private struct Row {
    var id: Identifier
    var status: String
    var visitor: Identifier
    var assignee: Identifier?
    var tags: Set<String>
    /// What a search may find.
    var texts: [String]
    /// Seconds, as the order of this status has them, and of the last change.
    var order: [String: Int]
  }

  private static let count = 24
  private static let visitors = ["Ada", "Brok", "Ada", "Cleo"]

  /// Two and two of the same moment. A third waits, is active, is closed (two of these are of
  /// nobody), and tags, visitors and texts come in other rhythms.
  private func rows(of world: World) async throws -> [Row] {
    _ = try await world.database.run(
      Query(
        """
        INSERT INTO tags (workspace_id, name) VALUES ($1::uuid, 'vip'), ($1::uuid, 'late')
        """, [.uuid(world.workspace.id)]))
    var people: [Identifier] = []
    for name in Self.visitors {
      people.append(World.identifier())
      _ = try await world.database.run(
        Query(
          "INSERT INTO visitors (id, workspace_id, name) VALUES ($1::uuid, $2::uuid, $3::text)",
          [.uuid(people.last), .uuid(world.workspace.id), .text(name)]))
    }
    let dana = try await World.addOperator("Dana", to: world.workspace, world.database)
    var rows: [Row] = []
    for number in 0..<Self.count {
      let status = ["waiting", "active", "closed"][number % 3]
      let title = number % 4 < 2 ? "Order \(number)" : ""
      let preview = number % 7 == 0 ? "an order of 50%" : "hello"
      var row = Row(
        id: World.identifier(), status: status, visitor: people[number / 2 % 4], assignee: nil,
        tags: [], texts: [title, preview, Self.visitors[number / 2 % 4]],
        order: [
          "waiting": number / 2, "closed": 100 - number * 7 % Self.count / 2,
          "newest": 200 + number * 5 % Self.count / 2,
        ])
      if status != "waiting", number % 4 != 0 {
        row.assignee = number % 2 == 0 ? world.mika.id : dana.id
      }
      if number % 2 == 0 { row.tags.insert("vip") }
      if number % 5 == 0 { row.tags.insert("late") }
      try await store(row, title, preview, in: world)
      rows.append(row)
    }
    return rows
  }

  private func store(
    _ row: Row, _ title: String, _ preview: String, in world: World
  ) async throws {
    func time(_ order: String) -> Parameter {
      .time(
        WallTime(
          microseconds: World.now.microseconds + Int64(row.order[order] ?? 0) * 1_000_000))
    }
    _ = try await world.database.run(
      Query(
        """
        WITH one AS (
          INSERT INTO chat_sessions (id, workspace_id, user_id, title, last_message_preview, status,
            assigned_operator_id, waiting_since, closed_at, updated_at)
          VALUES ($1::uuid, $2::uuid, $3::uuid, $4::text, $5::text, $6::text, $7::uuid,
            CASE WHEN $6::text = 'waiting' THEN $8::timestamptz END,
            CASE WHEN $6::text = 'closed' THEN $9::timestamptz END, $10::timestamptz)
        )
        INSERT INTO session_tags (workspace_id, session_id, tag)
        SELECT $2::uuid, $1::uuid, tag
        FROM unnest(string_to_array(nullif($11::text, ''), ',')) AS tag
        """,
        [
          .uuid(row.id), .uuid(world.workspace.id), .uuid(row.visitor), .text(title),
          .text(preview), .text(row.status), .uuid(row.assignee), time("waiting"), time("closed"),
          time("newest"), .text(row.tags.joined(separator: ",")),
        ]))
  }

  @Test(
    "each combination of filters has its rows, each once, in order, over all pages",
    arguments: ["", "all", "open", "waiting", "active", "closed"])
  func combinations(status: String) async throws {
    let world = try await World()
    let rows = try await rows(of: world)
    let statuses =
      switch status {
      case "", "all": ["waiting", "active", "closed"]
      case "open": ["waiting", "active"]
      default: [status]
      }
    for tag in [nil, "vip", "late", "none"] {
      for visitor in [nil, rows[0].visitor] {
        for assignee in [nil, "me", "none"] {
          for text in [nil, "oRDer", "ada", "50%"] {
            var query = status.isEmpty ? "" : "status=\(status)&"
            if let tag { query += "tag=\(tag)&" }
            if let visitor { query += "visitor=\(visitor)&" }
            if let assignee { query += "assignee=\(assignee)&" }
            if let text { query += "q=\(text.replacing("%", with: "%25"))&" }
            let expected = rows.filter { row in
              statuses.contains(row.status) && tag.map { row.tags.contains($0) } != false
                && (visitor == nil || row.visitor == visitor)
                && (assignee == nil || row.assignee == (assignee == "me" ? world.mika.id : nil))
                && text.map { text in
                  row.texts.contains { $0.range(of: text, options: .caseInsensitive) != nil }
                } != false
            }
            try await expect(sorted(expected, by: status), of: query, in: world)
          }
        }
      }
    }
  }

  private func sorted(_ rows: [Row], by status: String) -> [String] {
    let order = ["waiting", "closed"].contains(status) ? status : "newest"
    let ascending = rows.sorted {
      ($0.order[order] ?? 0, $0.id.description) < ($1.order[order] ?? 0, $1.id.description)
    }
    return (order == "waiting" ? ascending : ascending.reversed()).map(\.id.description)
  }

  private func expect(_ expected: [String], of query: String, in world: World) async throws {
    var seen: [String] = []
    var cursor: String?
    repeat {
      let page = cursor.map { "&cursor=\($0)" } ?? ""
      let answer = try await world.call("GET", "\(conversations)?\(query)limit=5\(page)")
      #expect(answer.status == 200, "\(query)")
      #expect(answer.int("total") == expected.count, "\(query)")
      seen += answer.objects("conversations").compactMap { $0["id"] as? String }
      cursor = answer.string("next_cursor")
    } while cursor != nil && seen.count <= Self.count
    #expect(seen == expected, "\(query)")
  }
}
