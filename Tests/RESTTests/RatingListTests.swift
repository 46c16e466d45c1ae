import Conversations
import Directory
import DomainFixtures
import Foundation
import Postgres
import Primitives
import Testing

@testable import REST

/// Ratings and their comments: in the analytics, in the list of conversations and in the log.
@Suite struct RatingListTests {
  static let path = "/api/v1/admin/live-chat/analytics/ratings"
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
    answer.objects("ratings").compactMap { $0["comment"] as? String }
  }

  /// Other tests count in the same database: a request waits half a second for them, this longer.
  private func count(_ world: World) async throws {
    _ = try await world.database.ask(Analytics.count(limit: 10_000, patience: 60_000))
  }

  private func get(_ world: World, _ query: String = "") async throws -> Answer {
    try await count(world)
    return try await world.call("GET", "\(RatingListTests.path)?\(query)", now: RatingListTests.now)
  }

  @Test("ratings are listed newest first, in pages, with comments, names and tags")
  func pages() async throws {
    let world = try await World()
    var sessions: [Identifier] = []
    for number in 1...5 {
      let comment = number == 3 ? nil : "comment \(number)"
      sessions.append(try await rate(world, Int64(number), comment).session)
    }
    let last = "\(conversations)/\(sessions[4])"
    #expect(try await world.call("POST", "\(last)/claim", json: "{}").status == 200)
    #expect(
      try await world.call("PUT", "\(last)/tags", json: #"{"tags":["vip","late"]}"#).status == 200)
    var seen: [Int] = []
    var query = "limit=2"
    for count in [2, 2, 1] {
      let page = try await get(world, query)
      #expect(page.status == 200)
      #expect(page.objects("ratings").count == count)
      seen += page.objects("ratings").compactMap { $0["rating"] as? Int }
      query = "limit=2&cursor=\(page.string("next_cursor") ?? "none")"
      #expect((page.string("next_cursor") == nil) == (count == 1))
      if seen.count == 2 {
        let first = try #require(page.objects("ratings").first)
        #expect(first["session"] as? String == sessions[4].description)
        #expect(first["comment"] as? String == "comment 5")
        #expect(first["visitor"] as? String == "Ada")
        #expect(first["operator"] as? String == "Mika")
        #expect(first["tags"] as? [String] == ["late", "vip"])
      }
    }
    #expect(seen == [5, 4, 3, 2, 1])
    let past = try await get(world, "from=2020-01-01&to=2020-12-31")
    #expect(past.status == 200 && past.objects("ratings").isEmpty)
    for query in [
      "from=x", "limit=0", "limit=1000", "cursor=forged", "rating=0", "rating=6", "operator=x",
      "team=none", "comments=", "comments=1",
    ] {
      #expect(try await get(world, query).status == 400, "\(query)")
    }
  }

  @Test("ratings can be narrowed to an operator, a team, a tag, a score and those with a comment")
  func filters() async throws {
    let world = try await World()
    let owner = try await world.member(.owner)
    let teams = "/api/v1/admin/teams"
    let team = try await world.call("POST", teams, as: owner, json: #"{"name":"A"}"#)
    let teamID = try #require(team.string("team.id"))
    var sessions: [Identifier] = []
    for number in 1...4 {
      sessions.append(try await rate(world, Int64(number), number == 1 ? "bad" : nil).session)
    }
    let first = "\(conversations)/\(sessions[0])"
    #expect(try await world.call("POST", "\(first)/claim", json: "{}").status == 200)
    #expect(
      try await world.call(
        "POST", "\(conversations)/\(sessions[1])/transfer", json: #"{"to_team":"\#(teamID)"}"#
      ).status == 200)
    #expect(
      try await world.call(
        "PUT", "\(conversations)/\(sessions[2])/tags", json: #"{"tags":["a b"]}"#
      ).status == 200)
    func scores(_ query: String) async throws -> [Int] {
      try await get(world, query).objects("ratings").compactMap { $0["rating"] as? Int }
    }
    #expect(try await scores("") == [4, 3, 2, 1])
    #expect(try await scores("operator=\(world.mika.id)") == [1])
    #expect(try await scores("team=\(teamID)") == [2])
    #expect(try await scores("tag=a%20b") == [3])
    #expect(try await scores("rating=4") == [4])
    #expect(try await scores("comments=only") == [1])
    #expect(try await scores("rating=4&comments=only") == [])
    let gone = try await world.call("DELETE", "\(teams)/\(teamID)", as: owner)
    #expect(gone.status == 204)
    #expect(try await scores("team=\(teamID)") == [])
    #expect(try await scores("") == [4, 3, 2, 1])
  }

  @Test("a deleted conversation keeps its rating, without words and names")
  func deleted() async throws {
    let world = try await World()
    let (session, _) = try await rate(world, 2, "secret")
    #expect(comments(try await get(world)) == ["secret"])
    _ = try await world.database.run(
      Query("UPDATE chat_sessions SET deleted_at = now() WHERE id = $1::uuid", [.uuid(session)]))
    let page = try await get(world)
    let row = try #require(page.objects("ratings").first)
    #expect(row["rating"] as? Int == 2)
    for name in ["session", "comment", "visitor"] { #expect(row[name] is NSNull, "\(name)") }
    #expect(try await get(world, "comments=only").objects("ratings").isEmpty)
  }

  @Test("ratings require analytics:read; another workspace's key and cursor are refused (A08)")
  func walls() async throws {
    let there = try await World()
    for _ in 1...2 { _ = try await rate(there, 2, "secret") }
    try await count(there)
    let here = try await World()
    let now = RatingListTests.now
    func get(_ key: String, _ query: String = "") async -> Answer {
      await here.send(
        "GET", RatingListTests.path + query, [("Authorization", "Bearer \(key)")], now: now)
    }
    let mine = try await here.key([.analyticsRead])
    let answer = await get(mine)
    #expect(answer.status == 200 && answer.objects("ratings").isEmpty)
    #expect(await get(try await here.key([.auditRead])).status == 403)
    let theirs = try await there.call("GET", RatingListTests.path + "?limit=1", now: now)
    let cursor = try #require(theirs.string("next_cursor"))
    #expect(await get(mine, "?cursor=\(cursor)").status == 400)
    #expect(await get(try await there.key([.analyticsRead])).objects("ratings").count == 2)
  }

  @Test("a page reads at most 2,000 ratings, and the next one continues after them")
  func scanned() async throws {
    let world = try await World()
    _ = try await rate(world, 1, "the only one")
    #expect(comments(try await get(world)) == ["the only one"])
    _ = try await world.database.run(
      Query(
        """
        INSERT INTO chat_analytics_sessions (workspace_id, session_id, day, hour, messages, rating,
          rated_at)
        SELECT $1::uuid, gen_random_uuid(), f.day, 1, 1, 5, now() + interval '1 minute'
        FROM chat_analytics_sessions f, generate_series(1, $2::bigint)
        WHERE f.workspace_id = $1::uuid
        """, [.uuid(world.workspace.id), .int(Int64(RatingList.scannedMax))]))
    let first = try await get(world, "comments=only")
    #expect(first.objects("ratings").isEmpty)
    let cursor = try #require(first.string("next_cursor"))
    let second = try await get(world, "comments=only&cursor=\(cursor)")
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
    #expect(comments(try await get(world)).isEmpty)
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
