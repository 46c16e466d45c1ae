import Conversations
import Directory
import DomainFixtures
import Postgres
import Primitives
import Testing

@testable import REST

/// The routes with which operators and programs merge two visitors.
@Suite struct MergeTests {
  private let visitors = "/api/v1/admin/visitors"

  private func id(_ answer: Answer) throws -> String {
    try #require(answer.string("visitor.id"))
  }

  private func merge(
    _ other: String, into visitor: String, _ test: VisitorWorld, _ more: String = ""
  ) async throws -> Answer {
    try await test.world.call(
      "POST", "\(visitors)/\(visitor)/merge", json: #"{"visitor":"\#(other)"\#(more)}"#)
  }

  private func returns(_ visitor: Answer, _ test: VisitorWorld) async -> Answer {
    await test.token(#","refresh":"\#(visitor.string("refresh") ?? "")""#)
  }

  @Test("a search finds name, address and id, but not the merged and not the one to merge")
  func search() async throws {
    let test = try await VisitorWorld()
    let (ada, bert) = (await test.token(), await test.token())
    _ = try await test.call("PUT", "profile", ada, json: #"{"name":"Ada L","email":"a@b.example"}"#)
    _ = try await test.call("PUT", "profile", bert, json: #"{"name":"Bert"}"#)
    func found(_ query: String) async throws -> [String] {
      try await test.world.call("GET", "\(visitors)?\(query)").objects("visitors")
        .compactMap { $0["id"] as? String }
    }
    let (one, two) = (try id(ada), try id(bert))
    #expect(try await found("q=ada") == [one])
    #expect(try await found("q=B.EXAMPLE") == [one])
    #expect(try await found("q=\(two)") == [two])
    #expect(try await found("q=%25") == [])
    #expect(try await found("q=e&except=\(two)") == [one])
    #expect(try await merge(two, into: one, test).status == 200)
    #expect(try await found("q=bert") == [])
    // The old id finds the survivor.
    #expect(try await found("q=\(two)") == [one])
    for query in ["", "q=", "q=a&except=x", "q=a&limit=0", "q=a&limit=21"] {
      #expect(try await test.world.call("GET", "\(visitors)?\(query)").status == 400, "\(query)")
    }
  }

  @Test("the preview shows what the merge does, and changes nothing")
  func preview() async throws {
    let test = try await VisitorWorld()
    let (ada, phone) = (await test.token(), await test.token())
    _ = try await test.call(
      "PUT", "profile", ada, json: #"{"name":"Ada","attributes":{"plan":"pro"}}"#)
    _ = try await test.call(
      "PUT", "profile", phone, json: #"{"email":"a@b.example","attributes":{"plan":"x","n":1}}"#)
    let (one, two) = (try id(ada), try id(phone))
    let path = "\(visitors)/\(one)/merge"
    let shown = try await test.world.call("GET", "\(path)?visitor=\(two)")
    #expect(shown.status == 200)
    #expect(shown.string("visitor.id") == one && shown.string("other.id") == two)
    #expect(shown.string("visitor.email") == nil && shown.string("other.email") == "a@b.example")
    #expect(shown.string("attributes.plan") == "pro" && shown.int("attributes.n") == 1)
    let unchanged = try await test.world.call("GET", "\(visitors)/\(two)")
    #expect(unchanged.string("visitor.id") == two)
    let merged = try await merge(two, into: one, test)
    #expect(merged.status == 200 && merged.int("moved_conversations") == 1)
    #expect(merged.string("visitor.name") == "Ada")
    #expect(merged.string("visitor.email") == "a@b.example")
    #expect(merged.int("visitor.conversations") == 2)
    #expect(merged.string("visitor.attributes.plan") == "pro")
    // Repeated, and by the old id: the same answer, and nothing to preview.
    for (other, into) in [(two, one), (one, two)] {
      let again = try await merge(other, into: into, test)
      #expect(again.status == 200 && again.string("visitor.id") == one)
      #expect(again.int("moved_conversations") == 0)
    }
    let done = try await test.world.call("GET", "\(path)?visitor=\(two)")
    #expect(done.status == 200 && done["other"] == nil && done.string("visitor.id") == one)
    let listed = try await test.world.call("GET", "\(conversations)?visitor=\(two)")
    #expect(listed.int("total") == 2)
  }

  @Test("both browsers keep their tokens, conversations and ids, and see no data of the other")
  func browsers() async throws {
    let test = try await VisitorWorld()
    let account = await test.token(
      #","identity":"\#(test.identity(#""sub":"7","name":"Ada","email":"a@b.example""#))""#)
    let phone = await test.token()
    let (one, two) = (try id(account), try id(phone))
    // The request names the phone as the survivor, but the site knows the account.
    let merged = try await merge(one, into: two, test)
    #expect(merged.status == 200 && merged.string("visitor.id") == one)
    #expect(merged["visitor.is_identified"] as? Bool == true)
    let profile = try await test.call(
      "PUT", "profile", phone, json: #"{"attributes":{"cart":"3"}}"#)
    #expect(profile.status == 200 && profile.string("visitor.id") == two)
    #expect(profile.string("visitor.email") == nil)
    let shown = try await test.world.call("GET", "\(visitors)/\(two)")
    #expect(shown.string("visitor.attributes.cart") == "3")
    let session = try test.session(phone)
    let rated = try await test.call(
      "PUT", "sessions/\(session)/rating", phone, json: #"{"rating":5}"#)
    #expect(rated.status == 204)
    #expect(try await test.call("GET", "sessions/\(session)/transcript", phone).status == 200)
    let foreign = try test.session(account)
    #expect(try await test.call("GET", "sessions/\(foreign)/transcript", phone).status == 404)
    let returned = await returns(phone, test)
    #expect(returned.string("visitor.id") == two && returned.string("visitor.name") == "")
    #expect(returned.string("session") == phone.string("session") && returned["fresh"] == nil)
    #expect(await returns(account, test).string("session") == account.string("session"))
    // Blocked by the old id: both lose access.
    let blocked = try await test.world.call("POST", "\(visitors)/\(two)/block", json: "{}")
    #expect(blocked.status == 200 && blocked.string("visitor.id") == one)
    for visitor in [returned, account] {
      #expect(
        try await test.call("PUT", "profile", visitor, json: "{}").problem == "banned")
    }
  }

  @Test("a merge with a blocked visitor blocks the other and closes what waits")
  func blocked() async throws {
    let test = try await VisitorWorld()
    let (bad, good) = (await test.token(), await test.token())
    let session = try test.session(good)
    await test.world.place.say("Hello", in: session, by: Identifier(try id(good)))
    let path = "\(visitors)/\(try id(bad))/block"
    #expect(try await test.world.call("POST", path, json: "{}").status == 200)
    let merged = try await merge(try id(bad), into: try id(good), test)
    #expect(merged.status == 200 && merged.string("visitor.banned_at") != nil)
    #expect(await returns(good, test).problem == "banned")
    #expect(try await test.world.place.read(session).status == "closed")
  }

  @Test("refusals say why")
  func refusals() async throws {
    let test = try await VisitorWorld()
    let one = await test.token(#","identity":"\#(test.identity(#""sub":"1""#))""#)
    let two = await test.token(#","identity":"\#(test.identity(#""sub":"2""#))""#)
    let here = try id(one)
    let unknown = "\(World.identifier())"
    let other = try await VisitorWorld()
    let foreign = try id(await other.token())
    for (visitor, status, problem) in [
      (try id(two), 409, "two_identities"), (here, 409, "conflict"),
      (unknown, 422, "no_such_visitor"), (foreign, 422, "no_such_visitor"),
    ] {
      let refused = try await merge(visitor, into: here, test)
      #expect(refused.status == status && refused.problem == problem)
      let shown = try await test.world.call("GET", "\(visitors)/\(here)/merge?visitor=\(visitor)")
      #expect(shown.status == status && shown.problem == problem)
    }
    #expect(try await merge(here, into: unknown, test).status == 404)
    #expect(try await merge(here, into: foreign, test).status == 404)
    for body in ["{}", #"{"visitor":"x"}"#] {
      let path = "\(visitors)/\(here)/merge"
      #expect(try await test.world.call("POST", path, json: body).status == 400, "\(body)")
    }
    for take in [#"["id"]"#, #"["name","email","name"]"#, #""name""#] {
      let refused = try await merge(unknown, into: here, test, #","take":\#(take)"#)
      #expect(refused.status == 400, "\(take)")
    }
    #expect(try await test.world.call("GET", "\(visitors)/\(here)/merge").status == 400)
    // A key with the scope to read may preview, not merge.
    let key = "Bearer " + (try await test.world.key([.visitorsRead]))
    let stranger = try id(await test.token())
    let headers = [("Authorization", key), ("Content-Type", "application/json")]
    let path = "\(visitors)/\(here)/merge"
    #expect(
      await test.world.send("GET", "\(path)?visitor=\(stranger)", headers).status == 200)
    #expect(
      await test.world.send("POST", path, headers, #"{"visitor":"\#(stranger)"}"#).status == 403)
  }
}
