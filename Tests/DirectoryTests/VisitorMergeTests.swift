import Chat
import Conversations
import Directory
import DomainFixtures
import JSON
import Postgres
import Primitives
import Testing

/// Merges of two visitors: what the survivor has, what each browser continues, and races.
@Suite struct VisitorMergeTests {
  /// A visitor with one browser.
  struct Browser {
    var visit: Visit
    var secret: [UInt8]
    var id: Identifier { visit.visitor.id }
    var session: Identifier { visit.session.id }
  }

  private let context = Array(#"{"page":"/"}"#.utf8)

  private func refresh(_ hash: [UInt8]) -> Visit.Refresh {
    Visit.Refresh(hash: hash, expiresAt: Workplace.after(30 * 86_400))
  }

  private func opening() -> Visit.Opening {
    Visit.Opening(id: Workplace.identifier(), context: context)
  }

  func begin(_ place: Workplace, _ name: String = "") async throws -> Browser {
    let secret = Workplace.randomBytes()
    let visit = try #require(
      try await place.database.ask(
        Visit.begin(
          visitor: Visitor(id: Workplace.identifier(), name: name), workspace: place.id,
          opening: opening(), refresh: refresh(secret), now: Workplace.now)))
    return Browser(visit: visit, secret: secret)
  }

  private func signed(_ place: Workplace, _ id: String) async throws -> Browser {
    let secret = Workplace.randomBytes()
    let resumption = try await place.database.ask(
      Visit.identified(
        SignedIdentity(externalID: id, name: "Ada", email: "ada@example.com"),
        visitor: Workplace.identifier(), workspace: place.id, isNewWanted: false,
        opening: opening(), refresh: refresh(secret), family: Workplace.identifier(),
        now: Workplace.now))
    return Browser(visit: try resumed(resumption), secret: secret)
  }

  private func resumed(_ resumption: Resumption) throws -> Visit {
    guard case .resumed(let visit) = resumption else {
      Issue.record("\(resumption)")
      throw Missing()
    }
    return visit
  }

  private struct Missing: Error {}

  /// The browser returns. It has the next secret then.
  func resume(
    _ browser: inout Browser, _ place: Workplace, wanted: Identifier? = nil, isNew: Bool = false
  ) async throws -> Visit {
    let next = Workplace.randomBytes()
    let resumption = try await place.database.ask(
      Visit.resume(
        presented: browser.secret, workspace: place.id, wanted: wanted, isNewWanted: isNew,
        opening: opening(), refresh: refresh(next), now: Workplace.after(10)))
    browser.secret = next
    return try resumed(resumption)
  }

  @discardableResult
  func merge(
    _ other: Identifier, into visitor: Identifier, _ place: Workplace,
    taking: VisitorMerge.Taken = VisitorMerge.Taken()
  ) async throws -> VisitorMerge.Outcome {
    try await place.database.ask(
      VisitorMerge(of: other, into: visitor).statement(
        taking: taking, by: place.actor, now: Workplace.after(5)))
  }

  func owner(_ session: Identifier, _ place: Workplace) async throws -> Identifier? {
    try await place.database.run(
      Query("SELECT user_id FROM chat_sessions WHERE id = $1::uuid", [.uuid(session)])
    ).uuid(0, 0)
  }

  private func number(
    _ sql: StaticString, _ place: Workplace, _ id: Identifier
  ) async throws -> Int64? {
    try await place.database.run(Query(sql, [.uuid(id)])).int(0, 0)
  }

  private func result(_ outcome: VisitorMerge.Outcome) throws -> VisitorMerge.Result {
    guard case .done(let result) = outcome else {
      Issue.record("\(outcome)")
      throw Missing()
    }
    return result
  }

  private func profile(_ id: Identifier, _ place: Workplace) async throws -> Rows {
    try await place.database.run(Visitor.details(id, in: place.id))
  }

  @Test("the survivor has the conversations, ratings, events and attributes of both")
  func joined() async throws {
    let place = try await Workplace(in: Workers.fresh())
    let (phone, laptop) = (try await begin(place, "Ada"), try await begin(place, "A. Lovelace"))
    for (browser, attributes) in [(phone, #"{"plan":"pro","a":1}"#), (laptop, #"{"plan":"x"}"#)] {
      await place.say("Hello", in: browser.session, by: browser.id)
      _ = try await place.database.ask(
        VisitorProfile.update(
          browser.id, workspace: place.id, name: nil, email: nil,
          attributes: Array(attributes.utf8)))
      let rating = Rating(
        session: browser.session, workspace: place.id, visitor: browser.id, rating: 5,
        comment: nil, line: Workplace.identifier())
      #expect(try await place.database.ask(rating.statement) == true)
    }
    // Figures are of conversations: one is counted again, because its rating has changed.
    let pending: StaticString =
      "SELECT count(*) FROM chat_analytics_pending WHERE workspace_id = $1::uuid"
    let before = try #require(try await number(pending, place, place.id))
    let result = try result(try await merge(phone.id, into: laptop.id, place))
    #expect(try await number(pending, place, place.id) == before + 1)
    #expect(result.survivor == laptop.id && result.moved == 1 && !result.isBlocked)
    #expect(Set(result.newest) == [phone.session, laptop.session])
    #expect(try await owner(phone.session, place) == laptop.id)
    let rated = try await number(
      "SELECT count(*) FROM csat_responses WHERE visitor_id = $1::uuid", place, laptop.id)
    #expect(rated == 2)
    // Either id gives the survivor.
    for id in [phone.id, laptop.id] {
      let rows = try await profile(id, place)
      #expect(rows.uuid(0, 0) == laptop.id && rows.text(0, 1) == "A. Lovelace")
      #expect(JSONValue(rows.text(0, 5) ?? "")?["plan"]?.string == "x")
      #expect(JSONValue(rows.text(0, 5) ?? "")?["a"]?.int == 1)
      #expect(rows.int(0, 9) == 2)
      let events = try await place.database.run(
        FriendEvents.page(of: id, in: place.id, after: nil, limit: 10))
      #expect(events.count == 2)
    }
    let noted = try await place.database.run(
      Query(
        """
        SELECT details ->> 'merged', (details ->> 'conversations')::bigint FROM audit_log
        WHERE workspace_id = $1::uuid AND action = 'visitor.merged' AND target_id = $2::uuid
        """, [.uuid(place.id), .uuid(laptop.id)]))
    #expect(noted.count == 1 && noted.text(0, 0) == "\(phone.id)" && noted.int(0, 1) == 1)
  }

  @Test("a browser continues what it could see before the merge, and nothing else")
  func browsers() async throws {
    let place = try await Workplace()
    var (phone, laptop) = (try await begin(place), try await begin(place))
    let (before, kept) = (phone.session, laptop.session)
    try await merge(phone.id, into: laptop.id, place)
    let again = try await resume(&phone, place)
    #expect(again.visitor.id == phone.id && again.session.id == before)
    // Not even the conversation that it names.
    #expect(try await resume(&phone, place, wanted: kept).session.id == before)
    #expect(try await resume(&laptop, place, wanted: before).session.id == kept)
    #expect(try await resume(&laptop, place).session.id == kept)
    // A new conversation is the survivor's, for this browser.
    let new = try await resume(&phone, place, isNew: true).session.id
    #expect(new != before)
    #expect(try await owner(new, place) == laptop.id)
    #expect(try await resume(&phone, place).session.id == new)
    #expect(try await resume(&laptop, place).session.id == kept)
    // So is one that an operator begins with the merged id.
    let begun = Workplace.identifier()
    let opened = try await place.database.ask(
      ConversationOpening.open(
        begun, title: "", with: ConversationOpening.Person(id: phone.id),
        newVisitor: Workplace.identifier(), openMax: 10, by: place.actor))
    #expect(opened == .opened)
    #expect(try await owner(begun, place) == laptop.id)
    #expect(try await resume(&phone, place, wanted: begun).session.id == begun)
    #expect(try await resume(&laptop, place, wanted: begun).session.id == kept)
  }

  @Test("a merged browser changes the survivor's profile and sees its own only")
  func profiles() async throws {
    let place = try await Workplace()
    let (phone, account) = (try await begin(place), try await signed(place, "7"))
    try await merge(phone.id, into: account.id, place)
    let shown = try #require(
      try await place.database.ask(
        VisitorProfile.update(
          phone.id, workspace: place.id, name: "Ann", email: nil,
          attributes: Array(#"{"page":"x"}"#.utf8))))
    #expect(shown.id == phone.id && shown.name == "Ann" && shown.email == nil)
    let rows = try await profile(account.id, place)
    // Name and address are signed.
    #expect(rows.text(0, 1) == "Ada" && rows.text(0, 2) == "ada@example.com")
    #expect(JSONValue(rows.text(0, 5) ?? "")?["page"]?.string == "x")
  }

  @Test("the visitor whom the site knows survives; two such visitors are not merged")
  func identities() async throws {
    let place = try await Workplace()
    let (phone, account) = (try await begin(place, "Ann"), try await signed(place, "7"))
    let other = try await signed(place, "8")
    #expect(try await merge(other.id, into: account.id, place) == .refused(.twoIdentities))
    let result = try result(try await merge(account.id, into: phone.id, place))
    #expect(result.survivor == account.id)
    #expect(try await owner(phone.session, place) == account.id)
    let rows = try await profile(phone.id, place)
    #expect(rows.text(0, 1) == "Ada" && rows.text(0, 3) == "7" && rows.bool(0, 4) == true)
    // The site's signature on the merged browser: the same visitor, another one's is refused.
    let adopted = try await place.database.ask(
      VisitorProfile.adopt(
        phone.id, SignedIdentity(externalID: "7", name: nil, email: nil), workspace: place.id))
    #expect(adopted?.id == phone.id)
    let foreign = try await place.database.ask(
      VisitorProfile.adopt(
        phone.id, SignedIdentity(externalID: "8", name: nil, email: nil), workspace: place.id))
    #expect(foreign == nil)
    let new = try await place.database.ask(
      VisitorProfile.adopt(
        phone.id, SignedIdentity(externalID: "9", name: nil, email: nil), workspace: place.id))
    #expect(new == nil)
    // A new device with the signature sees the account's conversation, not the phone's.
    #expect(try await signed(place, "7").session == account.session)
  }

  @Test("an external id that nobody has signed does not become a signed one")
  func unsigned() async throws {
    let place = try await Workplace()
    let session = Workplace.identifier()
    _ = try await place.database.ask(
      ConversationOpening.open(
        session, title: "", with: ConversationOpening.Person(externalID: "c-1", name: "Ada"),
        newVisitor: Workplace.identifier(), openMax: 10, by: place.actor))
    let known = try #require(try await owner(session, place))
    let phone = try await begin(place)
    try await merge(phone.id, into: known, place)
    #expect(try await profile(known, place).bool(0, 4) == false)
    let events = try await place.database.run(
      FriendEvents.page(of: known, in: place.id, after: nil, limit: 10))
    #expect(events.count == 1)
  }

  @Test("the operator chooses name and address; empty ones are filled")
  func chosen() async throws {
    let place = try await Workplace()
    let (one, two, three) = (
      try await begin(place, "One"), try await begin(place, "Two"), try await begin(place)
    )
    _ = try await place.database.ask(
      VisitorProfile.update(
        two.id, workspace: place.id, name: nil, email: "two@example.com", attributes: nil))
    try await merge(
      two.id, into: one.id, place, taking: VisitorMerge.Taken(name: true, email: false))
    var rows = try await profile(one.id, place)
    #expect(rows.text(0, 1) == "Two" && rows.text(0, 2) == "two@example.com")
    try await merge(one.id, into: three.id, place)
    rows = try await profile(three.id, place)
    #expect(rows.text(0, 1) == "Two" && rows.text(0, 2) == "two@example.com")
    // Nothing is lost to an empty value.
    let four = try await begin(place)
    try await merge(
      four.id, into: three.id, place, taking: VisitorMerge.Taken(name: true, email: true))
    rows = try await profile(three.id, place)
    #expect(rows.text(0, 1) == "Two" && rows.text(0, 2) == "two@example.com")
  }

  @Test("attributes stop at their limit; the preview shows what will hold")
  func attributes() async throws {
    let place = try await Workplace()
    let (phone, laptop) = (try await begin(place), try await begin(place))
    for (browser, letter) in [(phone, "a"), (laptop, "b")] {
      let members = (10..<40).map { #""\#(letter)\#($0)":\#($0)"# }.joined(separator: ",")
      _ = try await place.database.ask(
        VisitorProfile.update(
          browser.id, workspace: place.id, name: nil, email: nil,
          attributes: Array("{\(members)}".utf8)))
    }
    let preview = try await place.database.run(
      VisitorMerge(of: phone.id, into: laptop.id).preview(in: place.id))
    #expect(preview.text(0, 0) == "possible")
    #expect(preview.uuid(0, 1) == laptop.id && preview.uuid(0, 11) == phone.id)
    let shown = try #require(JSONValue(preview.text(0, 21) ?? "")?.object)
    #expect(shown.count == VisitorProfile.attributesMax)
    try await merge(phone.id, into: laptop.id, place)
    let after = JSONValue(try await profile(laptop.id, place).text(0, 5) ?? "")?.object
    #expect(after?.count == shown.count)
    #expect(after?.contains { $0.key == "a10" } == true)
    #expect(after?.contains { $0.key == "a39" } == false)
  }

  @Test("blocked with not blocked is blocked, for every browser; so is a later block")
  func blocked() async throws {
    let place = try await Workplace()
    var (bad, good) = (try await begin(place), try await begin(place))
    func isBanned(_ browser: Browser) async throws -> Bool? {
      let known = try await place.database.ask(
        Visitor.ofToken(browser.id, workspace: place.id))
      return known?.isBanned
    }
    _ = try await place.database.ask(
      Visitor.setBlocked(bad.id, true, by: place.actor, now: Workplace.now))
    #expect(try result(try await merge(bad.id, into: good.id, place)).isBlocked)
    #expect(try await isBanned(good) == true)
    let revoked = try await number(
      "SELECT count(*) FROM revocations WHERE subject_id = $1::uuid", place, good.id)
    #expect(revoked == 1)
    // By the merged id, which gives the survivor.
    for (isBlocked, id) in [(false, bad.id), (true, good.id), (false, good.id)] {
      let isChanged = try await place.database.ask(
        Visitor.setBlocked(id, isBlocked, by: place.actor, now: Workplace.now))
      #expect(isChanged == true)
      #expect(try await isBanned(good) == isBlocked)
      #expect(try await isBanned(bad) == isBlocked)
    }
    _ = try await resume(&bad, place)
    _ = try await resume(&good, place)
  }

  @Test("a chain of merges ends at the last survivor; repeated and reversed ones change nothing")
  func chain() async throws {
    let place = try await Workplace()
    var (first, second) = (try await begin(place), try await begin(place))
    let third = try await begin(place)
    try await merge(first.id, into: second.id, place)
    try await merge(second.id, into: third.id, place)
    for (other, into) in [(first, third), (third, first), (first, second), (second, first)] {
      let result = try result(try await merge(other.id, into: into.id, place))
      #expect(result.survivor == third.id && result.moved == 0)
    }
    for session in [first.session, second.session] {
      #expect(try await owner(session, place) == third.id)
    }
    #expect(try await resume(&first, place).session.id == first.session)
    #expect(try await resume(&second, place).session.id == second.session)
    #expect(
      try await place.database.ask(Visitor.group(of: first.id, in: place.id)).first == third.id)
    #expect(try await merge(third.id, into: third.id, place) == .refused(.same))
    #expect(
      try await merge(Workplace.identifier(), into: third.id, place) == .refused(.noSuchOther))
    #expect(
      try await merge(third.id, into: Workplace.identifier(), place) == .refused(.noSuchVisitor))
    let other = try await Workplace()
    #expect(try await merge(first.id, into: second.id, other) == .refused(.noSuchVisitor))
  }

  @Test("a visitor has at most so many merged ones")
  func bounded() async throws {
    let place = try await Workplace()
    let kept = try await begin(place)
    for _ in 0..<VisitorMerge.mergedMax {
      _ = try result(try await merge(try await begin(place).id, into: kept.id, place))
    }
    let last = try await begin(place)
    #expect(try await merge(last.id, into: kept.id, place) == .refused(.full))
    #expect(try await merge(kept.id, into: last.id, place) == .refused(.full))
  }

  @Test("erasure and export of the survivor include the merged visitor")
  func erased() async throws {
    let place = try await Workplace()
    let (phone, laptop) = (try await begin(place, "Phone"), try await begin(place))
    await place.say("from the phone", in: phone.session, by: phone.id)
    try await merge(phone.id, into: laptop.id, place)
    await place.say("after the merge", in: phone.session, by: phone.id)
    for id in [phone.id, laptop.id] {
      let text = try #require(
        try await place.database.ask(VisitorData.export(id, workspace: place.id)))
      let copy = try #require(JSONValue(text))
      #expect(copy["visitor"]?["id"]?.string == "\(laptop.id)")
      #expect(copy["merged"]?.array?.first?["name"]?.string == "Phone")
      #expect(copy["sessions"]?.array?.count == 2)
      #expect(copy["follows"]?.array?.count == 2)
      #expect(text.contains("from the phone") && text.contains("after the merge"))
    }
    // Erased by the old id.
    let sessions = try #require(
      try await place.database.ask(
        VisitorData.lockOut(phone.id, workspace: place.id, by: .command)))
    #expect(Set(sessions) == [phone.session, laptop.session])
    for session in sessions {
      _ = try await place.database.ask(VisitorData.eraseSession(session, workspace: place.id))
    }
    _ = try await place.database.ask(
      VisitorData.eraseRest(
        phone.id, workspace: place.id, by: .command, sessions: 2, messages: 2))
    for id in [phone.id, laptop.id] {
      let left = try await number(
        """
        SELECT (SELECT count(*) FROM visitors WHERE id = $1::uuid)
          + (SELECT count(*) FROM refresh_tokens WHERE visitor_id = $1::uuid)
          + (SELECT count(*) FROM chats WHERE user_id = $1::uuid)
          + (SELECT count(*) FROM chat_sessions WHERE $1::uuid IN (user_id, merged_from))
          + (SELECT count(*) FROM friend_events WHERE visitor_id = $1::uuid)
          + (SELECT count(*) FROM read_marks WHERE person_id = $1::uuid)
        """, place, id)
      #expect(left == 0)
      #expect(try await place.database.ask(Visitor.ofToken(id, workspace: place.id)) == nil)
    }
  }

  @Test("retention keeps a merged visitor as long as the survivor")
  func retained() async throws {
    let place = try await Workplace()
    let (phone, laptop) = (try await begin(place), try await begin(place))
    try await merge(phone.id, into: laptop.id, place)
    _ = try await place.database.run(
      Query("DELETE FROM chat_sessions WHERE workspace_id = $1::uuid", [.uuid(place.id)]))
    func expire() async throws -> Int64 {
      try await place.database.ask(
        ExpiredConversations.removeVisitors(
          days: 1, of: place.id, after: .zero, author: nil)
      ).visitors
    }
    func seen(_ browser: Browser, _ days: Int64) async throws {
      _ = try await place.database.run(
        Query(
          """
          UPDATE visitors SET last_seen_at = now() - $2::bigint * interval '1 day'
          WHERE id = $1::uuid
          """, [.uuid(browser.id), .int(days)]))
    }
    // The merged browser was here today.
    try await seen(laptop, 9)
    try await seen(phone, 0)
    #expect(try await expire() == 0)
    try await seen(phone, 9)
    #expect(try await expire() == 1)
    #expect(try await place.database.ask(Visitor.ofToken(phone.id, workspace: place.id)) == nil)
  }

  @Test("two merges in opposite directions end with one visitor", arguments: 0..<8)
  func opposite(_ turn: Int) async throws {
    let place = try await Workplace()
    let (one, two) = (try await begin(place), try await begin(place))
    async let there = merge(one.id, into: two.id, place)
    async let back = merge(two.id, into: one.id, place)
    let survivors = [try result(try await there).survivor, try result(try await back).survivor]
    #expect(Set(survivors).count == 1)
    for browser in [one, two] {
      #expect(try await owner(browser.session, place) == survivors[0])
    }
  }

  @Test("merges, visits, openings and messages at once lose no conversation", arguments: 0..<6)
  func races(_ turn: Int) async throws {
    let place = try await Workplace()
    var browsers: [Browser] = []
    for _ in 0..<6 { browsers.append(try await begin(place)) }
    let all = browsers
    try await withThrowingTaskGroup(of: Void.self) { group in
      // A chain in any order.
      for index in 1..<all.count {
        group.addTask { try await merge(all[index - 1].id, into: all[index].id, place) }
      }
      for browser in all {
        group.addTask {
          var browser = browser
          for _ in 0..<3 {
            let visit = try await resume(&browser, place, wanted: browser.session)
            #expect(visit.session.id == browser.session)
          }
          let new = try await resume(&browser, place, isNew: true).session.id
          #expect(try await resume(&browser, place, wanted: new).session.id == new)
        }
        group.addTask {
          for number in 0..<5 {
            let outcome = await place.say(
              "message \(number)", in: browser.session, by: browser.id)
            #expect(outcome.verdict == .stored)
          }
        }
        group.addTask {
          let outcome = try await place.database.ask(
            ConversationOpening.open(
              Workplace.identifier(), title: "", with: ConversationOpening.Person(id: browser.id),
              newVisitor: Workplace.identifier(), openMax: 50, by: place.actor))
          #expect(outcome == .opened)
        }
      }
      try await group.waitForAll()
    }
    let survivor = try #require(
      try await place.database.ask(Visitor.group(of: all[0].id, in: place.id)).first)
    let rows = try await place.database.run(
      Query(
        """
        SELECT count(*), count(DISTINCT user_id) FROM chat_sessions WHERE workspace_id = $1::uuid
        """, [.uuid(place.id)]))
    // Of each browser: the first conversation, the second one, and the operator's.
    #expect(rows.int(0, 0) == 18 && rows.int(0, 1) == 1)
    for browser in all {
      #expect(try await owner(browser.session, place) == survivor)
      #expect(try await place.log(browser.session).filter { $0.kind == .text }.count == 5)
    }
  }
}
