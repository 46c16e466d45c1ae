import Conversations
import Directory
import DomainFixtures
import Foundation
import Postgres
import Primitives
import Testing

@testable import REST

/// Comments of ratings: in the analytics, in the list and in the log.
@Suite struct RatingCommentTests {
  static let path = "/api/v1/admin/live-chat/analytics/comments"
  static var now: WallTime {
    WallTime(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000))
  }

  private func rate(
    _ world: World, _ rating: Int64, _ comment: String?, visitor name: String = "Ada"
  ) async throws -> (session: Identifier, visitor: Identifier) {
    let session = try await world.conversation(visitor: name, messages: ["hello"])
    let row = try await world.call("GET", "\(conversations)/\(session)")
    let visitor = try #require(row.string("conversation.visitor.id").flatMap { Identifier($0) })
    let rated = Rating(
      session: session, workspace: world.workspace.id, visitor: visitor, rating: rating,
      comment: comment, line: World.identifier())
    #expect(try await world.database.ask(rated.statement) == true)
    return (session, visitor)
  }

  private func comments(_ answer: Answer) -> [String] {
    answer.objects("comments").compactMap { $0["comment"] as? String }
  }

  @Test("comments are listed newest first, in pages, with ratings and names")
  func pages() async throws {
    let world = try await World()
    var sessions: [Identifier] = []
    for number in 1...5 {
      sessions.append(try await rate(world, Int64(number), "comment \(number)").session)
      _ = try await rate(world, 5, nil)
    }
    _ = try await world.database.run(
      Query(
        "UPDATE csat_responses SET operator_id = $2::uuid WHERE session_id = $1::uuid",
        [.uuid(sessions[4]), .uuid(world.mika.id)]))
    let now = RatingCommentTests.now
    var seen: [String] = []
    var query = "limit=2"
    for count in [2, 2, 1] {
      let page = try await world.call("GET", "\(RatingCommentTests.path)?\(query)", now: now)
      #expect(page.status == 200)
      #expect(page.objects("comments").count == count)
      seen += comments(page)
      query = "limit=2&cursor=\(page.string("next_cursor") ?? "none")"
      #expect((page.string("next_cursor") == nil) == (count == 1))
      if seen.count == 2 {
        let first = try #require(page.objects("comments").first)
        #expect(first["session"] as? String == sessions[4].description)
        #expect(first["rating"] as? Int == 5)
        #expect(first["visitor"] as? String == "Ada")
        #expect(first["operator"] as? String == "Mika")
      }
    }
    #expect(seen == (1...5).reversed().map { "comment \($0)" })
    let past = try await world.call(
      "GET", "\(RatingCommentTests.path)?from=2020-01-01&to=2020-12-31", now: now)
    #expect(past.status == 200 && past.objects("comments").isEmpty)
    for query in ["from=x", "limit=0", "limit=1000", "cursor=forged"] {
      let refused = try await world.call("GET", "\(RatingCommentTests.path)?\(query)", now: now)
      #expect(refused.status == 400, "\(query)")
    }
    _ = try await world.database.run(
      Query(
        "UPDATE chat_sessions SET deleted_at = now() WHERE id = $1::uuid", [.uuid(sessions[4])]))
    let rest = try await world.call("GET", RatingCommentTests.path, now: now)
    #expect(comments(rest) == (1...4).reversed().map { "comment \($0)" })
  }

  @Test("comments require analytics:read; another workspace's key and cursor are refused (A08)")
  func walls() async throws {
    let there = try await World()
    for _ in 1...2 { _ = try await rate(there, 2, "secret") }
    let here = try await World()
    let now = RatingCommentTests.now
    func get(_ key: String, _ query: String = "") async -> Answer {
      await here.send(
        "GET", RatingCommentTests.path + query, [("Authorization", "Bearer \(key)")], now: now)
    }
    let mine = try await here.key([.analyticsRead])
    let answer = await get(mine)
    #expect(answer.status == 200 && answer.objects("comments").isEmpty)
    #expect(await get(try await here.key([.auditRead])).status == 403)
    let theirs = try await there.call("GET", RatingCommentTests.path + "?limit=1", now: now)
    let cursor = try #require(theirs.string("next_cursor"))
    #expect(await get(mine, "?cursor=\(cursor)").status == 400)
    #expect(await get(try await there.key([.analyticsRead])).objects("comments").count == 2)
  }

  @Test("a page reads at most 2,000 ratings, and the next one continues after them")
  func scanned() async throws {
    let world = try await World()
    let (session, _) = try await rate(world, 1, "the only one")
    _ = try await world.database.run(
      Query(
        """
        WITH made AS (
          INSERT INTO chat_sessions (id, workspace_id)
          SELECT gen_random_uuid(), $1::uuid FROM generate_series(1, $2::bigint) RETURNING id
        )
        INSERT INTO csat_responses (workspace_id, session_id, rating, created_at)
        SELECT $1::uuid, id, 5, now() FROM made
        """, [.uuid(world.workspace.id), .int(Int64(RatingComments.scannedMax))]))
    _ = try await world.database.run(
      Query(
        """
        UPDATE csat_responses SET created_at = now() - interval '1 hour'
        WHERE session_id = $1::uuid
        """, [.uuid(session)]))
    let now = RatingCommentTests.now
    let first = try await world.call("GET", RatingCommentTests.path, now: now)
    #expect(first.objects("comments").isEmpty)
    let cursor = try #require(first.string("next_cursor"))
    let second = try await world.call(
      "GET", "\(RatingCommentTests.path)?cursor=\(cursor)", now: now)
    #expect(comments(second) == ["the only one"])
    #expect(second.string("next_cursor") == nil)
  }

  @Test("the list has the rating and the start of the comment; the log has all of it")
  func listed() async throws {
    let world = try await World()
    let long = String(repeating: "ก", count: 500)
    let (session, _) = try await rate(world, 3, long)
    let plain = try await world.conversation(messages: ["hello"])
    let list = try await world.call("GET", conversations)
    let rows = list.objects("conversations")
    let row = try #require(rows.first { $0["id"] as? String == session.description })
    #expect(row["rating"] as? Int == 3)
    #expect(row["rating_comment"] as? String == String(repeating: "ก", count: 160))
    let other = try #require(rows.first { $0["id"] as? String == plain.description })
    #expect(other["rating"] is NSNull && other["rating_comment"] is NSNull)
    let log = try await world.call("GET", "\(conversations)/\(session)/messages")
    let payload = try #require(log.objects("messages").last?["payload"] as? [String: Any])
    #expect(payload["event"] as? String == "rated" && payload["comment"] as? String == long)
  }

  @Test("erasing a visitor deletes the comment and keeps the rating")
  func erased() async throws {
    let world = try await World()
    let (session, visitor) = try await rate(world, 1, "my name is Ada")
    let gone = try await world.call(
      "DELETE", "/api/v1/admin/visitors/\(visitor)", as: try await world.member(.owner))
    #expect((200...204).contains(gone.status))
    let now = RatingCommentTests.now
    let analytics = try await world.call("GET", RatingCommentTests.path, now: now)
    #expect(analytics.objects("comments").isEmpty)
    let row = try await world.call("GET", "\(conversations)/\(session)")
    #expect(row.int("conversation.rating") == 1)
    #expect(row.string("conversation.rating_comment") == nil)
    let log = try await world.call("GET", "\(conversations)/\(session)/messages")
    #expect(!log.body.contains("Ada"))
    let payload = try #require(log.objects("messages").last?["payload"] as? [String: Any])
    #expect(payload["event"] as? String == "rated" && payload["rating"] as? Int == 1)
    let kept = try await world.database.run(
      Query(
        """
        SELECT count(*) FROM chats WHERE session_id = $1::uuid AND payload::text LIKE '%Ada%'
        """, [.uuid(session)]))
    #expect(kept.int(0, 0) == 0)
  }

  @Test(
    "the longest comment fits into the payload of its log entry; control characters are removed")
  func fits() async throws {
    let test = try await VisitorWorld()
    let visit = await test.token()
    let session = try test.session(visit)
    let text = #"\u0001\u0007a\nb"# + String(repeating: "🙏", count: 1_997)
    let answer = try await test.call(
      "PUT", "sessions/\(session)/rating", visit, json: #"{"rating":4,"comment":"\#(text)"}"#)
    #expect(answer.status == 204)
    let rows = try await test.world.database.run(
      Query(
        """
        SELECT octet_length(payload::text), payload ->> 'comment' = comment,
          left(comment, 3) = E'a\\nb'
        FROM chats c JOIN csat_responses r USING (workspace_id, session_id)
        WHERE session_id = $1::uuid
        """, [.uuid(session)]))
    #expect((rows.int(0, 0) ?? .max) <= 8_192)
    #expect(rows.bool(0, 1) == true && rows.bool(0, 2) == true)
  }
}
