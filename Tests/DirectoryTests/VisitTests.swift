import Directory
import DomainFixtures
import Postgres
import Primitives
import Testing

/// Refresh secrets are exchanged in families: a copied secret ends its family.
@Suite struct VisitTests {
  private struct Secret {
    let hash = Workplace.randomBytes()
    var lifetime: Int64 = 30 * 86_400
  }

  private let context = Array(#"{"page":"/"}"#.utf8)

  private func begin(_ place: Workplace, _ secret: Secret) async throws -> Visit {
    try #require(
      try await place.database.ask(
        Visit.begin(
          visitor: Visitor(id: Workplace.identifier(), name: "Ada"), workspace: place.id,
          opening: Visit.Opening(id: Workplace.identifier(), context: context),
          refresh: Visit.Refresh(hash: secret.hash, expiresAt: Workplace.after(secret.lifetime)),
          now: Workplace.now)))
  }

  private func resume(
    _ place: Workplace, _ presented: Secret, for next: Secret = Secret(), at seconds: Int64,
    wanted: Identifier? = nil, isNewWanted: Bool = false, context: [UInt8]? = nil,
    openMax: Int64 = .max
  ) async throws -> Resumption {
    try await place.database.ask(
      Visit.resume(
        presented: presented.hash, workspace: place.id, wanted: wanted, isNewWanted: isNewWanted,
        opening: Visit.Opening(
          id: Workplace.identifier(), context: context ?? self.context, openMax: openMax),
        refresh: Visit.Refresh(
          hash: next.hash, expiresAt: Workplace.after(seconds + next.lifetime)),
        now: Workplace.after(seconds)))
  }

  @Test("an exchanged secret is valid for a minute; later use revokes its family")
  func replay() async throws {
    let place = try await Workplace()
    let (first, second, twin) = (Secret(), Secret(), Secret())
    let visit = try await begin(place, first)
    guard case .resumed(let again) = try await resume(place, first, for: second, at: 10) else {
      Issue.record("the first exchange was refused")
      return
    }
    #expect(again.visitor.id == visit.visitor.id && again.session == visit.session)
    #expect(!again.isNews)
    // Two tabs exchange the same secret.
    #expect(try await resume(place, first, for: twin, at: 69) != .refused)
    // A thief's copy.
    #expect(try await resume(place, first, at: 71) == .refused)
    for secret in [first, second, twin] {
      #expect(try await resume(place, secret, at: 72) == .refused)
    }
  }

  @Test("a visitor with too many open conversations gets no other one, and loses no secret")
  func openConversations() async throws {
    let place = try await Workplace()
    let (first, second, third) = (Secret(), Secret(), Secret())
    let visit = try await begin(place, first)
    guard
      case .resumed(let other) = try await resume(
        place, first, for: second, at: 10, isNewWanted: true, openMax: 2)
    else {
      Issue.record("the second conversation was refused")
      return
    }
    #expect(other.session.id != visit.session.id)
    #expect(try await resume(place, second, at: 100, isNewWanted: true, openMax: 2) == .full)
    // The secret was not exchanged: it is no replay after more than a minute.
    #expect(try await resume(place, second, at: 200, isNewWanted: true, openMax: 2) == .full)
    guard
      case .resumed(let same) = try await resume(
        place, second, for: third, at: 300, wanted: visit.session.id, openMax: 2)
    else {
      Issue.record("a known conversation was refused")
      return
    }
    #expect(same.session.id == visit.session.id)
    _ = try place.database.asOwner(
      Query(
        "UPDATE chat_sessions SET status = 'closed', closed_at = now() WHERE id = $1::uuid",
        [.uuid(visit.session.id)]))
    guard
      case .resumed(let new) = try await resume(
        place, third, at: 310, isNewWanted: true, openMax: 2)
    else {
      Issue.record("a closed conversation counts")
      return
    }
    #expect(new.isNews)
  }

  @Test("a revoked family does not end others of the same visitor")
  func families() async throws {
    let place = try await Workplace()
    let (first, elsewhere) = (Secret(), Secret())
    let visit = try await begin(place, first)
    try await place.database.ask(
      RefreshToken.issue(
        Visit.Refresh(hash: elsewhere.hash, expiresAt: Workplace.after(86_400)),
        family: Workplace.identifier(), visitor: visit.visitor.id, workspace: place.id,
        session: visit.session.id, now: Workplace.now))
    _ = try await resume(place, first, at: 1)
    #expect(try await resume(place, first, at: 100) == .refused)
    #expect(try await resume(place, elsewhere, at: 101) != .refused)
  }

  @Test("an expired secret, one of another workspace and an unknown one are refused")
  func refused() async throws {
    let place = try await Workplace()
    let other = try await Workplace()
    let short = Secret(lifetime: 60)
    _ = try await begin(place, short)
    #expect(try await resume(other, short, at: 1) == .refused)
    #expect(try await resume(place, Secret(), at: 1) == .refused)
    #expect(try await resume(place, short, at: 60) == .refused)
    #expect(try await resume(place, short, at: 59) != .refused)
  }

  @Test("a blocked visitor gets neither a secret nor a conversation")
  func blocked() async throws {
    let place = try await Workplace()
    let secret = Secret()
    let visit = try await begin(place, secret)
    func block(_ isBlocked: Bool, at seconds: Int64) async throws {
      _ = try await place.database.ask(
        Visitor.setBlocked(
          visit.visitor.id, isBlocked, by: place.actor,
          now: Workplace.after(seconds)))
    }
    try await block(true, at: 1)
    let next = Secret()
    #expect(try await resume(place, secret, for: next, at: 2, isNewWanted: true) == .banned)
    let rows = try await place.database.run(
      Query(
        """
        SELECT (SELECT count(*) FROM chat_sessions WHERE workspace_id = $1::uuid),
          (SELECT count(*) FROM refresh_tokens WHERE workspace_id = $1::uuid)
        """, [.uuid(place.id)]))
    #expect(rows.int(0, 0) == 1 && rows.int(0, 1) == 1)
    try await block(false, at: 3)
    #expect(try await resume(place, secret, at: 4) != .banned)
  }

  @Test("the wanted conversation is resumed only if it is the visitor's; a new one on request")
  func conversations() async throws {
    let place = try await Workplace()
    let (first, second) = (Secret(), Secret())
    let visit = try await begin(place, first)
    let foreign = try await place.conversation()
    guard
      case .resumed(let new) = try await resume(
        place, first, for: second, at: 1, isNewWanted: true),
      case .resumed(let old) = try await resume(
        place, second, at: 2, wanted: visit.session.id),
      case .resumed(let newest) = try await resume(place, second, at: 3, wanted: foreign)
    else {
      Issue.record("a good secret was refused")
      return
    }
    #expect(new.session.id != visit.session.id && new.isNews)
    #expect(old.session.id == visit.session.id)
    #expect(newest.session.id == new.session.id)
    guard
      case .resumed(let moved) = try await resume(
        place, second, at: 4, context: Array(#"{"page":"/cart"}"#.utf8))
    else { return }
    #expect(moved.isNews, "the page of an open conversation has changed")
  }

  @Test("blocking is recorded once, with its author, under the widget's channel")
  func recorded() async throws {
    let place = try await Workplace()
    let visit = try await begin(place, Secret())
    let id = visit.visitor.id
    func block(_ isBlocked: Bool, at seconds: Int64, in place: Workplace) async throws -> Bool? {
      try await place.database.ask(
        Visitor.setBlocked(id, isBlocked, by: place.actor, now: Workplace.after(seconds)))
    }
    for (isBlocked, changes) in [(true, true), (true, false), (false, true), (false, false)] {
      #expect(try await block(isBlocked, at: isBlocked ? 1 : 2, in: place) == changes)
    }
    #expect(try await block(true, at: 3, in: try await Workplace()) == nil)
    let events = try await place.database.run(
      FriendEvents.page(of: id, in: place.id, after: nil, limit: 100))
    #expect((0..<events.count).map { events.text($0, 1) } == ["unblock", "block", "follow"])
    #expect((0..<events.count).allSatisfy { events.text($0, 2) == "widget" })
    let rows = try await place.database.run(
      Query(
        """
        SELECT action FROM audit_log WHERE workspace_id = $1::uuid AND target_id = $2::uuid
          AND actor = 'operator' AND actor_id = $3::uuid ORDER BY action
        """, [.uuid(place.id), .uuid(id), .uuid(place.mika.id)]))
    #expect(
      (0..<rows.count).map { rows.text($0, 0) } == ["visitor.blocked", "visitor.unblocked"])
  }
}
