import Chat
import Directory
import DomainFixtures
import Foundation
import Postgres
import Primitives
import Testing

@testable import REST

/// The export of conversations as NDJSON.
@Suite struct ExportTests {
  let path = "/api/v1/admin/live-chat/export"

  /// The lines of all pages, and the number of pages.
  func export(
    _ world: World, as admin: Operator, _ query: String = "limit=200"
  ) async throws -> (lines: [[String: Any]], pages: Int) {
    var lines: [[String: Any]] = []
    var (cursor, pages) = ("", 0)
    repeat {
      let page = try await world.call("GET", "\(path)?\(query)\(cursor)", as: admin)
      #expect(page.status == 200, "\(page.body)")
      #expect(page.header("Content-Type") == "application/x-ndjson")
      #expect(page.response.body.count < 2 * APILimits.exportBytes)
      let found = try page.body.split(separator: "\n").map {
        try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
      }
      let end = try #require(found.last)
      #expect(end["type"] as? String == "end")
      let kinds = found.map { $0["type"] as? String ?? "" }
      #expect(end["messages"] as? Int == kinds.filter { $0 == "message" }.count)
      #expect(end["conversations"] as? Int == kinds.filter { $0 == "conversation" }.count)
      lines += found.dropLast()
      cursor = (end["next_cursor"] as? String).map { "&cursor=\($0)" } ?? ""
      pages += 1
    } while !cursor.isEmpty
    return (lines, pages)
  }

  /// Adds conversations by one statement, each with `messages` messages, an hour after each other.
  func fill(_ world: World, _ count: Int, messages: Int, bytes: Int = 20) async throws {
    try await world.database.ask(
      Statement<Void>(
        Query(
          """
          WITH made AS (
            INSERT INTO chat_sessions (id, workspace_id, user_id, created_at, waiting_since,
              last_seq, message_count)
            SELECT gen_random_uuid(), $1::uuid, v.id, timestamptz '2026-01-01T00:00:00Z'
              + n * interval '1 hour', NULL, $3::bigint, $3::bigint
            FROM generate_series(1, $2::bigint) n, visitors v WHERE v.workspace_id = $1::uuid
            RETURNING id, user_id, created_at
          )
          INSERT INTO chats (id, workspace_id, session_id, seq, role, kind, user_id, content,
            content_hash,
            created_at)
          SELECT gen_random_uuid(), $1::uuid, m.id, n, 'visitor', 'text', m.user_id,
            repeat('x', $4::int), 'x'::bytea, m.created_at + n * interval '1 second'
          FROM made m, generate_series(1, $3::bigint) n
          """,
          [
            .uuid(world.workspace.id), .int(Int64(count)), .int(Int64(messages)),
            .int(Int64(bytes)),
          ])))
  }

  @Test("thousands of conversations are exported once each, with all messages in order")
  func thousands() async throws {
    let world = try await World()
    let admin = try await world.member(.admin)
    _ = try await world.conversation(messages: ["hello"])
    try await fill(world, 2_000, messages: 2)
    let (lines, pages) = try await export(world, as: admin)
    #expect(pages == 11)
    var order: [String] = []
    var seqs: [String: [Int]] = [:]
    for line in lines {
      if let conversation = line["conversation"] as? [String: Any] {
        order.append(try #require(conversation["id"] as? String))
      } else {
        let session = try #require(line["session"] as? String)
        #expect(session == order.last, "the messages follow their conversation")
        seqs[session, default: []].append(try #require(line["seq"] as? Int))
      }
    }
    #expect(order.count == 2_001 && Set(order).count == 2_001)
    #expect(seqs.values.filter { $0 == [1, 2] }.count == 2_000)
    let times = lines.compactMap {
      ($0["conversation"] as? [String: Any])?["created_at"] as? String
    }
    #expect(times == times.sorted())
    let log = try await world.call("GET", "/api/v1/admin/audit-log", as: admin)
    #expect(
      log.objects("audit_log").filter { $0["action"] as? String == "conversations.exported" }.count
        == 1, "one entry, not one for each page")
  }

  @Test("a conversation that is larger than a page continues on the next one")
  func large() async throws {
    let world = try await World()
    let admin = try await world.member(.admin)
    _ = try await world.conversation(messages: [])
    try await fill(world, 2, messages: 300, bytes: 8_000)
    let (lines, pages) = try await export(world, as: admin)
    #expect(pages >= 4)
    var seqs: [String: [Int]] = [:]
    for line in lines where line["type"] as? String == "message" {
      seqs[try #require(line["session"] as? String), default: []].append(line["seq"] as? Int ?? 0)
    }
    #expect(seqs.count == 2 && seqs.values.allSatisfy { $0 == Array(1...300) })
    #expect(lines.filter { $0["type"] as? String == "conversation" }.count == 3)
  }

  @Test("a time range, small pages, and a conversation that is deleted between two pages")
  func ranges() async throws {
    let world = try await World()
    let admin = try await world.member(.admin)
    _ = try await world.conversation(messages: ["hello"])
    try await fill(world, 20, messages: 1)
    let range = "since=2026-01-01T03:00:00Z&until=2026-01-01T08:00:00%2B00:00"
    let (lines, pages) = try await export(world, as: admin, "limit=2&\(range)")
    #expect(lines.filter { $0["type"] as? String == "conversation" }.count == 5 && pages == 3)
    let first = try await world.call("GET", "\(path)?limit=2", as: admin)
    let ids = first.body.matches(of: /"conversation":\{"id":"([^"]+)"/).map { String($0.1) }
    let cursor = try #require(first.body.firstMatch(of: /"next_cursor":"([^"]+)"/)?.1)
    #expect(
      try await world.call("DELETE", "\(conversations)/\(try #require(ids.last))", as: admin).status
        == 204)
    let rest = try await export(world, as: admin, "limit=200&cursor=\(cursor)")
    #expect(rest.lines.filter { $0["type"] as? String == "conversation" }.count == 19)
  }

  @Test("only administrators and keys with the scope export; bad parameters are refused")
  func refused() async throws {
    let world = try await World()
    let admin = try await world.member(.admin)
    #expect(try await world.call("GET", path, as: try await world.member(.agent)).status == 403)
    for query in ["limit=0", "limit=201", "since=yesterday", "until=", "cursor=x", "limit=x"] {
      let answer = try await world.call("GET", "\(path)?\(query)", as: admin)
      #expect(answer.status == 400, "\(query)")
    }
    #expect(
      try await world.call("GET", "\(path)?since=2026-02-31T00:00:00Z", as: admin).status == 422)
    let other = try await World()
    let foreign = try await other.member(.admin)
    _ = try await world.conversation(messages: ["secret"])
    #expect(!(try await other.call("GET", path, as: foreign)).body.contains("secret"))
  }
}
