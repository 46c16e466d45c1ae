import Directory
import DomainFixtures
import Foundation
import Postgres
import Primitives
import Testing

@Suite struct AccountTests {
  @Test("a workspace is found by name, key and id, and its name is taken once")
  func workspace() async throws {
    let place = try await Workplace()
    let made = place.workspace
    #expect(made.allowedOrigins == nil)
    #expect(made.settings == Array("{}".utf8))
    #expect(try await place.database.ask(Workspace.named(made.name)) == made)
    #expect(try await place.database.ask(Workspace.withPublicKey(made.publicKey)) == made)
    #expect(try await place.database.ask(Workspace.withID(made.id)) == made)
    #expect(try await place.database.ask(Workspace.named("nobody's")) == nil)
    let again = try await place.database.ask(
      Workspace.create(id: Workplace.identifier(), name: made.name, publicKey: "pk_other"))
    #expect(again == nil)
    let origins = ["https://a.example", "https://b.example"]
    try await place.database.ask(Workspace.setOrigins(made.id, origins))
    #expect(try await place.database.ask(Workspace.withID(made.id))?.allowedOrigins == origins)
    let all = try await place.database.ask(Workspace.allOrigins(limit: 100))
    #expect(Set(origins).isSubset(of: all.origins))
    try await place.database.ask(Workspace.setOrigins(made.id, nil))
    #expect(try await place.database.ask(Workspace.withID(made.id))?.allowedOrigins == nil)
    #expect(try await place.database.ask(Workspace.allOrigins(limit: 100)).hasOpenWorkspace)
  }

  @Test("an address is one account, in any case, and one that is taken makes no membership")
  func operators() async throws {
    let place = try await Workplace()
    let mika = place.mika
    let again = try await place.database.ask(
      Operator.create(
        id: Workplace.identifier(), email: mika.email.uppercased(), name: "Eve", passwordHash: "x",
        workspace: place.id, membership: "owner"))
    #expect(again == nil)
    #expect(try await place.database.ask(Operator.members(of: mika.workspace, limit: 9)) == [mika])
    let login = OperatorLogin(
      id: mika.id, workspace: mika.workspace, role: "agent", session: nil, credential: nil)
    #expect(try await place.database.ask(Operator.member(login))?.id == mika.id)
    let found = try await place.database.ask(Operator.withEmail(mika.email.uppercased()))
    #expect(found?.id == mika.id)
    #expect(found?.name == "Mika")
    let ivo = try await Workplace.addOperator("Ivo", to: place.workspace, place.database)
    #expect(
      try await place.database.ask(Operator.members(of: mika.workspace, limit: 9)) == [mika, ivo])
  }

  @Test("visitors and their conversations are found in their workspace only")
  func visitors() async throws {
    let place = try await Workplace()
    let other = try await Workplace()
    let id = Workplace.identifier()
    let made = try await place.database.ask(
      Visitor.create(id: id, workspace: place.id, name: "Ada"))
    #expect(made == Visitor(id: id, name: "Ada"))
    #expect(try await place.database.ask(Visitor.find(id, workspace: place.id)) == made)
    #expect(try await place.database.ask(Visitor.find(id, workspace: other.id)) == nil)
    let session = Workplace.identifier()
    func create(in workspace: Workspace) async throws -> VisitorSession? {
      try await place.database.ask(
        VisitorSession.create(
          id: session, workspace: workspace.id, visitor: id, context: Array("{}".utf8)))
    }
    #expect(try await create(in: other.workspace) == nil)
    let opened = try await create(in: place.workspace)
    #expect(opened == VisitorSession(id: session, status: "waiting"))
    let latest = VisitorSession.latest(visitor: id, workspace: place.id)
    #expect(try await place.database.ask(latest) == opened)
    let foreign = VisitorSession.find(session, visitor: id, workspace: other.id)
    #expect(try await place.database.ask(foreign) == nil)
    let own = VisitorSession.find(session, visitor: id, workspace: place.id)
    #expect(try await place.database.ask(own) == opened)
  }

  @Test("many visitors are created at once, each with a conversation of its own")
  func manyVisitors() async throws {
    let place = try await Workplace()
    let other = try await Workplace()
    let ids = (0..<3).map { _ in Workplace.identifier() }
    let sessions = (0..<3).map { _ in Workplace.identifier() }
    #expect(try await place.database.ask(Visitor.create(ids, workspace: place.id)) == 3)
    let foreign = VisitorSession.create(sessions, workspace: other.id, visitors: ids)
    #expect(try await place.database.ask(foreign) == 0)
    let own = VisitorSession.create(sessions, workspace: place.id, visitors: ids)
    #expect(try await place.database.ask(own) == 3)
    for (id, session) in zip(ids, sessions) {
      #expect(
        try await place.database.ask(Visitor.find(id, workspace: place.id))
          == Visitor(id: id, name: ""))
      #expect(
        try await place.database.ask(VisitorSession.latest(visitor: id, workspace: place.id))
          == VisitorSession(id: session, status: "waiting"))
    }
  }

  @Test("a separately issued secret works once, and expired ones are deleted")
  func refreshTokens() async throws {
    let place = try await Workplace()
    let visitor = Workplace.identifier()
    let session = try #require(
      try await place.database.ask(
        Visit.begin(
          visitor: Visitor(id: visitor, name: ""), workspace: place.id,
          opening: Visit.Opening(id: Workplace.identifier(), context: Array("{}".utf8)),
          refresh: Visit.Refresh(hash: Workplace.randomBytes(), expiresAt: Workplace.now),
          now: Workplace.now))
    ).session.id
    let hash = Workplace.randomBytes()
    let past = WallTime(microseconds: Workplace.now.microseconds + 1)
    try await place.database.ask(
      RefreshToken.issue(
        Visit.Refresh(hash: hash, expiresAt: past), family: Workplace.identifier(),
        visitor: visitor,
        workspace: place.id, session: session, now: Workplace.now))
    let resume = Visit.resume(
      presented: hash, workspace: place.id, wanted: nil, isNewWanted: false,
      opening: Visit.Opening(id: Workplace.identifier(), context: Array("{}".utf8)),
      refresh: Visit.Refresh(hash: Workplace.randomBytes(), expiresAt: past), now: Workplace.now)
    let expected = Visit(
      visitor: Visitor(id: visitor, name: ""),
      session: VisitorSession(id: session, status: "waiting"), isNews: false)
    #expect(try await place.database.ask(resume) == .resumed(expected))
    let count = Query(
      "SELECT count(*) FROM refresh_tokens WHERE visitor_id = $1::uuid", [.uuid(visitor)])
    #expect(try await place.database.run(count).int(0, 0) == 3)
    while try await place.database.ask(RefreshToken.forgetExpired(now: past, limit: 2)) > 0 {}
    #expect(try await place.database.run(count).int(0, 0) == 0)
  }
}
