import Directory
import DomainFixtures
import Foundation
import Postgres
import Primitives
import Testing

@testable import Conversations
@testable import REST

@Suite struct CursorTests {
  let member = Operator(
    id: World.identifier(), email: "m@example.com", name: "Mika", membership: "agent",
    workspace: World.identifier())

  func list(_ query: String) throws -> ConversationList {
    try ConversationList(QueryString(query), me: member.id, workspace: member.workspace)
  }

  @Test("a cursor decodes to its position", arguments: [0, 1, 253_402_300_799_999_999])
  func roundTrip(microseconds: Int64) throws {
    let list = try list("status=open&q=x")
    let position = ConversationList.Position(
      at: WallTime(microseconds: microseconds), id: World.identifier())
    let cursor = list.encodeCursor(position, workspace: member.workspace)
    #expect(list.decodeCursor(cursor, workspace: member.workspace) == position)
    #expect(cursor.utf8.count == 43)
  }

  @Test("a cursor of other filters or of another workspace, and a damaged one, are refused")
  func forged() throws {
    let list = try list("status=open")
    let position = ConversationList.Position(at: World.now, id: World.identifier())
    let cursor = list.encodeCursor(position, workspace: member.workspace)
    #expect(list.decodeCursor(cursor, workspace: World.identifier()) == nil)
    for other in ["", "status=closed", "status=open&assignee=me", "status=open&q=a"] {
      #expect(try self.list(other).decodeCursor(cursor, workspace: member.workspace) == nil)
    }
    for index in cursor.indices {
      var damaged = cursor
      damaged.replaceSubrange(index...index, with: cursor[index] == "A" ? "B" : "A")
      #expect(list.decodeCursor(damaged, workspace: member.workspace) == nil)
    }
    for text in ["", "A", cursor + "A", String(cursor.dropLast()), "%", "'; --"] {
      #expect(list.decodeCursor(text, workspace: member.workspace) == nil)
    }
  }

  @Test(
    "a time after the year 9999 is refused, even with a valid checksum",
    arguments: [Int64.min, -1, .max])
  func absurd(microseconds: Int64) throws {
    let list = try list("")
    let position = ConversationList.Position(
      at: WallTime(microseconds: microseconds), id: World.identifier())
    let cursor = list.encodeCursor(position, workspace: member.workspace)
    #expect(list.decodeCursor(cursor, workspace: member.workspace) == nil)
  }

  @Test("a search text is literal")
  func pattern() throws {
    #expect(try list("q=50%25_a%5Cb").pattern == #"%50\%\_a\\b%"#)
    #expect(try list("").pattern == nil)
  }
}

@Suite struct ConversationListTests {
  func titles(_ answer: Answer) -> [String] {
    answer.objects("conversations").compactMap { $0["title"] as? String }
  }

  @Test("an empty workspace has an empty list")
  func empty() async throws {
    let world = try await World()
    let answer = try await world.call("GET", conversations)
    #expect(answer.status == 200)
    #expect(answer.header("Content-Type") == "application/json")
    #expect(answer.header("Cache-Control") == "no-store")
    #expect(answer.header("X-Content-Type-Options") == "nosniff")
    #expect(answer.objects("conversations").isEmpty)
    for count in ["total", "waiting_count", "active_count", "mine_count", "closed_count"] {
      #expect(answer.int(count) == 0)
    }
    #expect(answer.json["next_cursor"] is NSNull)
  }

  @Test("the list is filtered, counted and sorted in both orders")
  func filters() async throws {
    let world = try await World()
    let old = try await world.conversation(title: "old", messages: ["hello"])
    let young = try await world.conversation(title: "young", messages: ["hi"])
    let closed = try await world.conversation(title: "closed", messages: ["bye"])
    let mine = try await world.conversation(title: "mine", messages: ["help"])
    _ = try await world.call("POST", "\(conversations)/\(closed)/close")
    _ = try await world.call("POST", "\(conversations)/\(mine)/claim")
    // The oldest one gets a message: it is the first by activity, and still by waiting time.
    _ = await world.database.store(
      session: old, workspace: world.workspace.id, id: World.identifier(), role: "visitor",
      kind: "text", sender: nil, name: "", body: Array("still there?".utf8), payload: nil)

    let all = try await world.call("GET", conversations)
    #expect(titles(all) == ["old", "mine", "closed", "young"])
    #expect(all.int("total") == 4)
    #expect(all.int("waiting_count") == 2)
    #expect(all.int("active_count") == 1)
    #expect(all.int("mine_count") == 1)
    #expect(all.int("closed_count") == 1)

    func list(_ query: String) async throws -> [String] {
      let answer = try await world.call("GET", "\(conversations)?\(query)")
      #expect(answer.int("total") == titles(answer).count)
      return titles(answer)
    }
    #expect(try await list("status=waiting") == ["old", "young"])
    #expect(try await list("status=open") == ["old", "mine", "young"])
    #expect(try await list("status=closed") == ["closed"])
    #expect(try await list("assignee=me") == ["mine"])
    #expect(try await list("assignee=\(world.mika.id)&status=active") == ["mine"])
    #expect(try await list("assignee=none") == ["old", "closed", "young"])
    #expect(try await list("q=STILL%20there") == ["old"])
    #expect(try await list("q=ada").count == 4)
    _ = young
  }

  @Test("the count of closed conversations follows closing, reopening, deletion and bulk inserts")
  func closedCount() async throws {
    let world = try await World()
    let workspace = world.workspace.id
    func counts() async throws -> [Int?] {
      let answer = try await world.call("GET", "\(conversations)?status=closed&limit=1")
      return [answer.int("closed_count"), answer.int("total")]
    }
    func run(_ sql: StaticString) async throws {
      _ = try await world.database.ask(Statement(Query(sql, [.uuid(workspace)])) { $0.count })
    }
    let one = try await world.conversation(title: "one", messages: ["a"])
    _ = try await world.conversation(title: "two", messages: ["b"])
    #expect(try await counts() == [0, 0])
    _ = try await world.call("POST", "\(conversations)/\(one)/close")
    #expect(try await counts() == [1, 1])
    _ = try await world.call("POST", "\(conversations)/\(one)/reopen")
    #expect(try await counts() == [0, 0])
    try await run("UPDATE chat_sessions SET status = 'closed' WHERE workspace_id = $1::uuid")
    #expect(try await counts() == [2, 2])
    try await run(
      """
      INSERT INTO chat_sessions (workspace_id, status, closed_at)
      SELECT $1::uuid, CASE WHEN i % 5 = 0 THEN 'active' ELSE 'closed' END, now()
      FROM generate_series(1, 1000) AS i
      """)
    #expect(try await counts() == [802, 802])
    try await run(
      "UPDATE chat_sessions SET deleted_at = now() WHERE workspace_id = $1::uuid AND title = 'one'")
    #expect(try await counts() == [801, 801])
    try await run("DELETE FROM chat_sessions WHERE workspace_id = $1::uuid AND title = ''")
    #expect(try await counts() == [1, 1])
    try world.database.asOwner(
      Query("DELETE FROM workspaces WHERE id = $1::uuid", [.uuid(workspace)]))
  }

  @Test("a conversation has the members of the contract")
  func row() async throws {
    let world = try await World()
    let session = try await world.conversation(title: "Order", messages: ["one", "two"])
    let row = try #require(
      try await world.call("GET", conversations).objects("conversations").first)
    #expect(
      Set(row.keys) == [
        "id", "title", "status", "visitor", "assignee", "last_seq", "last_message", "read_seq",
        "unread", "visitor_read_seq", "created_at", "updated_at", "waiting_since", "claimed_at",
        "closed_at", "channel",
        "context", "tags", "queue_position", "due_at", "missed", "rating", "rating_comment", "team",
      ])
    #expect(row["id"] as? String == session.description)
    #expect(row["last_seq"] as? Int == 2)
    let last = row["last_message"] as? [String: Any]
    #expect(last?["preview"] as? String == "two")
    #expect(last?["role"] as? String == "visitor")
    #expect((row["visitor"] as? [String: Any])?["name"] as? String == "Ada")
    #expect(row["waiting_since"] is String)
    #expect(row["assignee"] is NSNull)
  }

  @Test("pages cover the list once, newest first, even while rows move", arguments: [1, 2, 3, 100])
  func paging(limit: Int) async throws {
    let world = try await World()
    for number in 1...7 { _ = try await world.conversation(title: "\(number)", messages: ["x"]) }
    for status in ["", "&status=waiting"] {
      var seen: [String] = []
      var cursor: String?
      repeat {
        let query = "limit=\(limit)\(status)" + (cursor.map { "&cursor=\($0)" } ?? "")
        let answer = try await world.call("GET", "\(conversations)?\(query)")
        #expect(answer.int("total") == 7)
        seen += titles(answer)
        cursor = answer.string("next_cursor")
      } while cursor != nil && seen.count < 20
      let expected = (1...7).map { "\($0)" }
      #expect(seen == (status.isEmpty ? expected.reversed() : expected))
    }
  }

  @Test("rows with the same time are not lost between pages")
  func ties() async throws {
    let world = try await World()
    for number in 1...5 { _ = try await world.conversation(title: "\(number)") }
    _ = try await world.database.run(
      Query(
        """
        UPDATE chat_sessions SET created_at = now(), waiting_since = now()
        WHERE workspace_id = $1::uuid
        """,
        [.uuid(world.workspace.id)]))
    for status in ["", "&status=waiting"] {
      let first = try await world.call("GET", "\(conversations)?limit=2\(status)")
      let cursor = try #require(first.string("next_cursor"))
      let second = try await world.call(
        "GET", "\(conversations)?limit=10\(status)&cursor=\(cursor)")
      #expect(Set(titles(first) + titles(second)).count == 5)
    }
  }

  @Test(
    "invalid parameters of a list are refused",
    arguments: [
      "status=lost", "assignee=mika", "assignee=1", "limit=0", "limit=101", "limit=-1", "limit=1e9",
      "limit=x", "cursor=x", "cursor=%00", "q=%FF", "q=\(String(repeating: "x", count: 201))",
    ])
  func refused(query: String) async throws {
    let world = try await World()
    let answer = try await world.call("GET", "\(conversations)?\(query)")
    #expect(answer.status == 400)
    #expect(answer.problem == "invalid_request")
    #expect(answer.header("Content-Type") == "application/problem+json")
  }

  @Test("a forged cursor and one of another workspace are refused")
  func forgedCursor() async throws {
    let world = try await World()
    let other = try await World()
    for number in 1...3 {
      _ = try await world.conversation(title: "\(number)")
      _ = try await other.conversation(title: "\(number)")
    }
    let cursor = try #require(
      try await other.call("GET", "\(conversations)?limit=1").string("next_cursor"))
    let foreign = try await world.call("GET", "\(conversations)?limit=1&cursor=\(cursor)")
    #expect(foreign.status == 400)
    let filtered = try await other.call("GET", "\(conversations)?status=open&cursor=\(cursor)")
    #expect(filtered.status == 400)
  }

  @Test("a deleted conversation is not listed")
  func deleted() async throws {
    let world = try await World()
    let session = try await world.conversation(messages: ["x"])
    _ = try await world.database.run(
      Query(
        "UPDATE chat_sessions SET deleted_at = now() WHERE id = $1::uuid", [.uuid(session)]))
    #expect(try await world.call("GET", conversations).int("total") == 0)
    for path in ["", "/messages"] {
      #expect(try await world.call("GET", "\(conversations)/\(session)\(path)").status == 404)
    }
    for action in ["claim", "close", "reopen"] {
      let answer = try await world.call("POST", "\(conversations)/\(session)/\(action)")
      #expect(answer.status == 404)
    }
  }
}
