/// The list of visitors with its filters, and beacons of somebody who means harm.
import Directory
import DomainFixtures
import Foundation
import Postgres
import Primitives
import Testing

@testable import REST

extension WatchTests {
  /// Somebody who looks at this page of the shop.
  func come(
    _ world: World, _ number: Int, page: String = "/", title: String = "Shop", seconds: Int = 5,
    visits: Int = 1, referrer: String = "", language: String = "en"
  ) async throws {
    let answer = await beacon(
      world,
      #""tab":"a","visit":{"age":\#(seconds),"visits":\#(visits),"referrer":"\#(referrer)","#
        + #""trail":[{"page":"https://shop.example\#(page)","title":"\#(title)"}]}"#,
      secret: "browser-number-\(number)-of-the-shop", headers: [("Accept-Language", language)])
    #expect(answer.status == 200)
  }

  /// The counts of a filter's values: `["/cart 2", "/ 1"]`.
  func counts(_ list: Answer, _ filter: String) -> [String] {
    list.objects("counts.\(filter)").map { one in
      "\(one["value"] as? String ?? "?") \(one["count"] as? Int ?? -1)"
    }
  }

  @Test("the list is filtered by page, source, country, visit, time and state, with counts")
  func filters() async throws {
    let world = try await world()
    try await come(world, 1, page: "/cart", seconds: 600, language: "de-CH")
    try await come(world, 2, page: "/cart", seconds: 30, visits: 3, language: "de-AT")
    try await come(
      world, 3, seconds: 90, referrer: "https://Search.example/?q=bikes", language: "de-CH")
    _ = await beacon(
      world, #""tab":"a","state":"away""#, secret: "browser-number-3-of-the-shop")
    try await exchange(world)
    func list(_ query: String) async throws -> Answer {
      try await world.call("GET", "\(Self.visitors)?\(query)")
    }
    let all = try await list("")
    #expect(all.int("total") == 3 && all.int("on_site") == 3 && all["is_full"] as? Bool == false)
    #expect(counts(all, "paths") == ["/cart 2", "/ 1"])
    #expect(counts(all, "sources") == [" 2", "search.example 1"])
    #expect(counts(all, "countries") == ["CH 2", "AT 1"])
    #expect(counts(all, "visits") == ["new 2", "returning 1"])
    #expect(counts(all, "states") == ["browsing 2", "away 1"])
    // Nobody waits, so the longest on the site stands first.
    #expect(all.objects("visitors").map { $0["path"] as? String } == ["/cart", "/", "/cart"])
    let cart = try await list("path=/cart&country=CH")
    #expect(cart.int("total") == 1 && cart.int("on_site") == 3)
    #expect(counts(cart, "paths") == ["/ 1", "/cart 1"])
    #expect(counts(cart, "states") == ["browsing 1"])
    #expect(try await list("source=").int("total") == 2)
    #expect(try await list("source=search.example&state=away").int("total") == 1)
    #expect(try await list("visit=returning").int("total") == 1)
    #expect(try await list("seconds_min=60").int("total") == 2)
    let none = try await list("country=FR")
    #expect(none.int("total") == 0 && none.int("on_site") == 3)
    #expect(none.objects("visitors").isEmpty && counts(none, "countries") == ["CH 2", "AT 1"])
    let newest = try await list("sort=newest&limit=1")
    #expect(newest.int("total") == 3 && newest.objects("visitors").count == 1)
    #expect(newest.objects("visitors").first?["country"] as? String == "AT")
  }

  @Test(
    "a filter that is none is refused with its name",
    arguments: [
      "state=here", "state=", "visit=old", "sort=name", "seconds_min=-1", "seconds_min=x",
      "limit=0", "country=CHE", "path=\(String(repeating: "x", count: 301))",
    ])
  func wrongFilter(query: String) async throws {
    let world = try await world()
    let answer = try await world.call("GET", "\(Self.visitors)?\(query)")
    let name = try #require(query.split(separator: "=").first)
    #expect(answer.status == 400 && answer.string("detail")?.contains("“\(name)”") == true)
  }

  /// The conversation waits, as after a message of the visitor, which no loop stores here.
  func wait(_ world: World, _ session: String) async throws {
    _ = try await world.database.run(
      Query(
        """
        UPDATE chat_sessions SET message_count = 1, status = 'waiting', waiting_since = now(),
          assigned_operator_id = NULL WHERE id = $1::uuid AND workspace_id = $2::uuid
        """, [.uuid(try #require(Identifier(session))), .uuid(world.workspace.id)]))
  }

  @Test("who waits stands first, and who is in a conversation has its operator")
  func states() async throws {
    let world = try await world()
    try await come(world, 1, page: "/long", seconds: 900)
    try await come(world, 2, page: "/waits", seconds: 9)
    let token = await world.send(
      "POST", "/api/v1/widget/token", [],
      #"{"workspace":"\#(world.workspace.publicKey)","watcher":"browser-number-2-of-the-shop"}"#)
    let session = try #require(token.string("session"))
    _ = try await world.call(
      "POST", "\(conversations)/\(session)/messages",
      json: #"{"body":"Hello"}"#)
    try await wait(world, session)
    try await exchange(world)
    let waiting = try await world.call("GET", Self.visitors)
    #expect(waiting.objects("visitors").map { $0["path"] as? String } == ["/waits", "/long"])
    #expect(waiting.objects("visitors").first?["waits_since"] as? String != nil)
    #expect(counts(waiting, "states") == ["browsing 1", "waiting 1"])
    let claimed = try await world.call("POST", "\(conversations)/\(session)/claim")
    #expect(claimed.status == 200)
    let talking = try await world.call("GET", "\(Self.visitors)?state=chatting")
    let one = try #require(talking.objects("visitors").first)
    #expect(one["operator_id"] as? String != nil && one["waits_since"] is NSNull)
  }

  @Test("of two operators who begin a conversation, one is first and the other learns who it was")
  func taken() async throws {
    let world = try await world()
    let second = try await world.member(.agent)
    try await come(world, 1)
    try await exchange(world)
    let list = try await world.call("GET", Self.visitors)
    let id = try #require(list.objects("visitors").first?["id"] as? String)
    let path = "\(Self.visitors)/\(id)/conversation"
    let first = try await world.call("POST", path, json: #"{"body":"Can I help?"}"#)
    #expect(first.status == 201)
    let session = try #require(first.string("conversation.id"))
    try await wait(world, session)
    let claimed = try await world.call("POST", "\(conversations)/\(session)/claim")
    #expect(claimed.status == 200)
    let refused = try await world.call(
      "POST", path, as: second, json: #"{"body":"Do you need help?"}"#)
    #expect(refused.status == 409 && refused.problem == "visitor_is_taken")
    #expect(refused.string("winner.name")?.isEmpty == false)
    let again = try await world.call("POST", path, json: #"{"body":"With the brakes?"}"#)
    #expect(again.status == 201)
    #expect(again.string("conversation.id") == session)
  }

  @Test("nobody can speak for another browser or reach another workspace with a beacon")
  func forged() async throws {
    let world = try await world()
    let other = try await self.world()
    let secret = "a-secret-of-one-browser"
    _ = await beacon(world, Self.visit, secret: secret)
    try await exchange(world)
    let id = try #require(
      try await world.call("GET", Self.visitors).objects("visitors").first?["id"] as? String)
    let begun = try await world.call(
      "POST", "\(Self.visitors)/\(id)/conversation", json: #"{"body":"Can I help?"}"#)
    #expect(begun.status == 201)
    // The id that operators see is no secret of the browser: it makes another browser.
    let byID = await beacon(world, #""tab":"a""#, secret: id)
    #expect(byID.status == 200 && byID["invitation"] == nil && byID["needs_visit"] as? Bool == true)
    _ = await beacon(world, #""tab":"a","state":"gone""#, secret: id)
    // The same browser in another workspace is another one.
    let elsewhere = await beacon(other, #""tab":"a""#, secret: secret)
    #expect(elsewhere.status == 200 && elsewhere["invitation"] == nil)
    _ = await beacon(other, #""tab":"a","state":"gone""#, secret: secret)
    try await exchange(world)
    try await exchange(other)
    #expect(try await world.call("GET", Self.visitors).int("total") == 1)
    #expect(try await other.call("GET", Self.visitors).int("total") == 0)
    #expect(await beacon(world, #""tab":"a""#, secret: secret)["invitation"] != nil)
  }

  @Test("hostile addresses and titles are cut, lose their controls, and name no source")
  func hostile() async throws {
    let world = try await world()
    let long = String(repeating: "é", count: 2_000)
    let answer = await beacon(
      world,
      #""tab":"a","visit":{"referrer":"javascript:alert(1)","trail":[{"#
        + #""page":"javascript:alert(2)","title":"\u202Egnp.\u2066exe\u0007\#(long)"}]}"#)
    #expect(answer.status == 200)
    try await exchange(world)
    let one = try #require(
      try await world.call("GET", Self.visitors).objects("visitors").first)
    let title = try #require(one["title"] as? String)
    #expect(title.hasPrefix("gnp.exeé") && title.utf8.count <= BeaconLimits.textBytes)
    #expect(one["source"] as? String == "" && one["path"] as? String == "javascript:alert(2)")
    let huge = String(repeating: "x", count: 65_536)
    let large = await beacon(world, #""tab":"a","visit":{"trail":[{"title":"\#(huge)"}]}"#)
    #expect(large.status == 413)
  }
}
