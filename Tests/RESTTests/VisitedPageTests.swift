import Directory
import DomainFixtures
import Primitives
import Synchronization
import Testing

@testable import REST

/// The page and the trail of a visitor while a conversation goes on.
@Suite struct VisitedPageTests {
  let conversations = "/api/v1/admin/live-chat/conversations"

  struct Visitor {
    let world: World
    let token: String
    let session: String
    var refresh: String

    func open(_ page: String, _ title: String, after seconds: Int64 = 0) async -> Answer {
      await world.send(
        "PUT", "/api/v1/widget/page",
        [("Authorization", "Bearer \(token)"), ("Content-Type", "application/json")],
        #"{"page":"\#(page)","title":"\#(title)"}"#, now: Workplace.after(seconds))
    }
  }

  func visitor(
    of world: World, _ members: String = "", headers: [(String, String)] = []
  ) async throws -> Visitor {
    let answer = await world.send(
      "POST", "/api/v1/widget/token", headers,
      #"{"workspace":"\#(world.workspace.publicKey)"\#(members)}"#)
    return Visitor(
      world: world, token: try #require(answer.string("token")),
      session: try #require(answer.string("session")),
      refresh: try #require(answer.string("refresh")))
  }

  func detail(of visitor: Visitor) async throws -> Answer {
    try await visitor.world.call("GET", "\(conversations)/\(visitor.session)")
  }

  func trail(of visitor: Visitor) async throws -> [String?] {
    try await detail(of: visitor).objects("conversation.trail").map { $0["page"] as? String }
  }

  static let first = #","context":{"page":"https://a.example/","title":"Shop","locale":"de"}"#

  @Test("a page that is opened in a conversation is its page, and those before are its trail")
  func moves() async throws {
    let world = try await World()
    let one = try await visitor(
      of: world, Self.first, headers: [("Accept-Language", "de-CH,en;q=0.5")])
    let opened = world.sessions.hints.withLock { $0.count }
    #expect(await one.open("https://a.example/hose", "A shop", after: 5).status == 204)
    #expect(await one.open("https://a.example/hose", "Hose", after: 6).status == 204)
    let known = try await detail(of: one)
    #expect(known.string("conversation.context.page") == "https://a.example/hose")
    #expect(known.string("conversation.context.title") == "Hose")
    #expect(known.string("conversation.context.locale") == "de")
    #expect(known.string("conversation.context.country") == "CH")
    let steps = known.objects("conversation.trail")
    #expect(steps.map { $0["title"] as? String } == ["Shop", "Hose"])
    #expect(steps.allSatisfy { ($0["at"] as? String)?.isEmpty == false })
    #expect(world.sessions.hints.withLock { $0.count } == opened + 2)
    #expect(await one.open("https://a.example/hose", "Hose", after: 60).status == 204)
    #expect(world.sessions.hints.withLock { $0.count } == opened + 2, "nothing has changed")
    #expect(await one.open("https://a.example/", "Shop", after: 61).status == 204)
    #expect(
      try await trail(of: one)
        == ["https://a.example/", "https://a.example/hose", "https://a.example/"])
  }

  @Test("lists have the page and not the trail; a later token keeps the trail")
  func lists() async throws {
    let world = try await World()
    let one = try await visitor(of: world, Self.first)
    await world.place.say("hello", in: try #require(Identifier(one.session)))
    #expect(await one.open("https://a.example/hose", "Hose").status == 204)
    let list = try await world.call("GET", conversations)
    let row = try #require(list.objects("conversations").first)
    let context = try #require(row["context"] as? [String: Any])
    #expect(context["page"] as? String == "https://a.example/hose")
    #expect(context["trail"] == nil && row["trail"] == nil)
    _ = try await visitor(of: world, #","refresh":"\#(one.refresh)"\#(Self.first)"#)
    #expect(try await trail(of: one).count == 2)
  }

  @Test("a trail has 20 pages, texts of 300 bytes, and no characters that turn a line")
  func bounds() async throws {
    let world = try await World()
    let one = try await visitor(of: world)
    #expect(try await trail(of: one).isEmpty)
    for number in 1...25 {
      #expect(await one.open("https://a.example/\(number)", "", after: 0).status == 204)
    }
    let pages = try await trail(of: one)
    #expect(pages.count == Int(VisitedPage.trailMax))
    #expect(pages.first == "https://a.example/6" && pages.last == "https://a.example/25")
    let long = String(repeating: "é", count: 400)
    #expect(await one.open("https://a.example/\(long)", "a\\u202egnp").status == 204)
    let known = try await detail(of: one)
    #expect(known.string("conversation.context.page")?.utf8.count == 300)
    #expect(known.string("conversation.context.title") == "agnp")
    for body in [#"{"title":"x"}"#, #"{"page":""}"#, #"{"page":1}"#] {
      let refused = await world.send(
        "PUT", "/api/v1/widget/page",
        [("Authorization", "Bearer \(one.token)"), ("Content-Type", "application/json")], body)
      #expect(refused.status == 400, "\(body)")
    }
  }

  @Test("a closed conversation keeps its page, and another visitor's is not changed")
  func closed() async throws {
    let world = try await World()
    let one = try await visitor(of: world, Self.first)
    let other = try await visitor(of: world, Self.first)
    #expect(await other.open("https://a.example/else", "").status == 204)
    #expect(try await trail(of: one).isEmpty)
    _ = try await world.call("POST", "\(conversations)/\(one.session)/close")
    #expect(await one.open("https://a.example/hose", "Hose").status == 204)
    #expect(
      try await detail(of: one).string("conversation.context.page") == "https://a.example/")
  }

  @Test("on a site that watches its visitors the trail begins with the visit before the chat")
  func watched() async throws {
    let watching = WatchTests()
    let world = try await watching.world()
    let secret = "a-secret-of-the-browser-1"
    _ = await watching.beacon(world, WatchTests.visit, secret: secret)
    try await watching.exchange(world)
    let one = try await visitor(of: world, #","watcher":"\#(secret)"\#(Self.first)"#)
    #expect(await one.open("https://shop.example/pads", "Pads").status == 204)
    #expect(
      try await trail(of: one)
        == ["https://shop.example/", "https://shop.example/hose", "https://shop.example/pads"])
  }
}
