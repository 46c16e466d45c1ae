/// The list with every combination of its filters, against the same rows filtered and sorted here.
import Conversations
import Directory
import DomainFixtures
import Foundation
import Postgres
import Primitives
import Testing

@Suite struct ConversationListTests {
  private struct Row {
    var id: Identifier
    var status: String
    var visitor: Identifier
    var assignee: Identifier?
    var tags: Set<String>
    /// The expected result of a search.
    var texts: [String]
    /// Seconds, as the order of this status has them, and of the last change.
    var order: [String: Int]
  }

  private static let count = 24
  private static let visitors = ["Ada", "Brok", "Ada", "Cléo"]

  /// Two and two of the same moment. A third waits, is active, is closed (two of these are of
  /// nobody), and tags, visitors and texts come in other rhythms.
  private func rows(of place: Workplace) async throws -> [Row] {
    _ = try await place.database.run(
      Query(
        """
        INSERT INTO tags (workspace_id, name) VALUES ($1::uuid, 'vip'), ($1::uuid, 'late')
        """, [.uuid(place.id)]))
    var people: [Identifier] = []
    for name in Self.visitors {
      people.append(Workplace.identifier())
      _ = try await place.database.run(
        Query(
          "INSERT INTO visitors (id, workspace_id, name) VALUES ($1::uuid, $2::uuid, $3::text)",
          [.uuid(people.last), .uuid(place.id), .text(name)]))
    }
    let dana = try await Workplace.addOperator("Dana", to: place.workspace, place.database)
    var rows: [Row] = []
    for number in 0..<Self.count {
      let status = ["waiting", "active", "closed"][number % 3]
      let title = number % 4 < 2 ? "Order \(number)" : ""
      let preview = number % 7 == 0 ? "an order of 50%" : "hello"
      var row = Row(
        id: Workplace.identifier(), status: status, visitor: people[number / 2 % 4], assignee: nil,
        tags: [], texts: [title, preview, Self.visitors[number / 2 % 4]],
        order: [
          "waiting": number / 2, "closed": 100 - number * 7 % Self.count / 2,
          "newest": 200 + number * 5 % Self.count / 2,
        ])
      if status != "waiting", number % 4 != 0 {
        row.assignee = number % 2 == 0 ? place.mika.id : dana.id
      }
      if number % 2 == 0 { row.tags.insert("vip") }
      if number % 5 == 0 { row.tags.insert("late") }
      try await store(row, title, preview, in: place)
      rows.append(row)
    }
    return rows
  }

  private func store(
    _ row: Row, _ title: String, _ preview: String, in place: Workplace
  ) async throws {
    func time(_ order: String) -> Parameter {
      .time(Workplace.after(Int64(row.order[order] ?? 0)))
    }
    _ = try await place.database.run(
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
          .uuid(row.id), .uuid(place.id), .uuid(row.visitor), .text(title),
          .text(preview), .text(row.status), .uuid(row.assignee), time("waiting"), time("closed"),
          time("newest"), .text(row.tags.joined(separator: ",")),
        ]))
  }

  @Test(
    "each combination of filters has its rows, each once, in order, over all pages",
    arguments: [nil, "open", "waiting", "active", "closed"])
  func combinations(status: String?) async throws {
    let place = try await Workplace()
    let rows = try await rows(of: place)
    let statuses =
      switch status {
      case nil: ["waiting", "active", "closed"]
      case "open": ["waiting", "active"]
      case let status?: [status]
      }
    for tag in [nil, "vip", "late", "none"] {
      for visitor in [nil, rows[0].visitor] {
        for assignee in [nil, "me", "none"] {
          for text in [nil, "oRDer", "ada", "CLÉ", "50%"] {
            var list = ConversationList(limit: 5)
            list.status = status
            list.tag = tag
            list.visitor = visitor
            list.assignee = assignee == "me" ? place.mika.id : nil
            list.isUnassigned = assignee == "none"
            list.search = text
            let expected = rows.filter { row in
              statuses.contains(row.status) && tag.map { row.tags.contains($0) } != false
                && (visitor == nil || row.visitor == visitor)
                && (assignee == nil || row.assignee == list.assignee)
                && text.map { text in
                  row.texts.contains { $0.range(of: text, options: .caseInsensitive) != nil }
                } != false
            }
            try await expect(sorted(expected, by: status ?? ""), of: list, in: place)
          }
        }
      }
    }
  }

  private func sorted(_ rows: [Row], by status: String) -> [Identifier] {
    let order = ["waiting", "closed"].contains(status) ? status : "newest"
    let ascending = rows.sorted {
      ($0.order[order] ?? 0, $0.id.description) < ($1.order[order] ?? 0, $1.id.description)
    }
    return (order == "waiting" ? ascending : ascending.reversed()).map(\.id)
  }

  private func expect(
    _ expected: [Identifier], of list: ConversationList, in place: Workplace
  ) async throws {
    var list = list
    var seen: [Identifier] = []
    var hasMore = true
    while hasMore, seen.count <= Self.count {
      let page = try await place.database.ask(list.page(of: place.id))
      hasMore = page.count > list.limit
      seen += page.prefix(list.limit).map(\.id)
      list.position = page.prefix(list.limit).last
    }
    #expect(seen == expected, "\(list)")
    let counts = try await place.database.ask(ConversationCounts.of(place.id, me: place.mika.id))
    let counted = try await place.database.ask(list.countMatches(in: place.id))
    #expect(counted == Int64(expected.count), "\(list)")
    if let total = list.total(counts) { #expect(total == counted, "\(list)") }
  }

  @Test("two rows of the same time are on one page each", arguments: [nil, "waiting"])
  func ties(status: String?) async throws {
    let place = try await Workplace()
    for _ in 1...5 { _ = try await place.conversation() }
    _ = try await place.database.run(
      Query(
        """
        UPDATE chat_sessions SET created_at = now(), waiting_since = now()
        WHERE workspace_id = $1::uuid
        """, [.uuid(place.id)]))
    var list = ConversationList(limit: 2)
    list.status = status
    let first = try await place.database.ask(list.page(of: place.id)).prefix(2)
    list.position = first.last
    list.limit = 10
    let second = try await place.database.ask(list.page(of: place.id))
    #expect(Set(first.map(\.id) + second.map(\.id)).count == 5)
  }
}
