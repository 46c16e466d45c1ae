import Directory
import Foundation
import Postgres
import Primitives
import Testing

@Suite struct DirectoryTests {
  @Test("gateways that start at once share one signing key")
  func signingKey() async throws {
    let workers = try #require(TestDatabase.workers)
    let name = "test \(World.identifier())"
    let keys = try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
      for number: UInt8 in 1...6 {
        group.addTask {
          try await workers.ask(
            SigningKey.getOrCreate(id: name, candidate: Array(repeating: number, count: 32)))
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(Set(keys).count == 1)
    #expect(keys[0]?.count == 32)
    let later = try await workers.ask(SigningKey.getOrCreate(id: name, candidate: [0]))
    #expect(later == keys[0])
  }

  @Test("a workspace is found by name, key and id, and its name is taken once")
  func workspace() async throws {
    let world = try await World()
    let made = world.workspace
    #expect(made.allowedOrigins == nil)
    #expect(made.settings == Array("{}".utf8))
    #expect(try await world.database.ask(Workspace.named(made.name)) == made)
    #expect(try await world.database.ask(Workspace.withPublicKey(made.publicKey)) == made)
    #expect(try await world.database.ask(Workspace.withID(made.id)) == made)
    #expect(try await world.database.ask(Workspace.named("nobody's")) == nil)
    let again = try await world.database.ask(
      Workspace.create(id: World.identifier(), name: made.name, publicKey: "pk_other"))
    #expect(again == nil)
    let listed = try await World(origins: ["https://a.example", "https://b.example"])
    let read = try await listed.database.ask(Workspace.withID(listed.workspace.id))
    #expect(read?.allowedOrigins == ["https://a.example", "https://b.example"])
  }

  @Test("an address is one account, in any case, and one that is taken makes no membership")
  func operators() async throws {
    let world = try await World()
    let mika = world.mika
    let again = try await world.database.ask(
      Operator.create(
        id: World.identifier(), email: mika.email.uppercased(), name: "Eve", passwordHash: "x",
        workspace: world.workspace.id, membership: "owner"))
    #expect(again == nil)
    #expect(try await world.database.ask(Operator.members(of: mika.workspace, limit: 9)) == [mika])
    let login = OperatorLogin(
      id: mika.id, workspace: mika.workspace, role: "agent", session: nil, credential: nil)
    #expect(try await world.database.ask(Operator.member(login))?.id == mika.id)
    let found = try await world.database.ask(Operator.withEmail(mika.email.uppercased()))
    #expect(found?.id == mika.id)
    #expect(found?.name == "Mika")
    let ivo = try await World.addOperator("Ivo", to: world.workspace, world.database)
    #expect(
      try await world.database.ask(Operator.members(of: mika.workspace, limit: 9)) == [mika, ivo])
  }

  @Test("visitors and their conversations are found in their workspace only")
  func visitors() async throws {
    let world = try await World()
    let other = try await World()
    let id = World.identifier()
    let made = try await world.database.ask(
      Visitor.create(id: id, workspace: world.workspace.id, name: "Ada"))
    #expect(made == Visitor(id: id, name: "Ada"))
    #expect(try await world.database.ask(Visitor.find(id, workspace: world.workspace.id)) == made)
    #expect(try await world.database.ask(Visitor.find(id, workspace: other.workspace.id)) == nil)
    let session = World.identifier()
    func create(in workspace: Workspace) async throws -> VisitorSession? {
      try await world.database.ask(
        VisitorSession.create(
          id: session, workspace: workspace.id, visitor: id, context: Array("{}".utf8)))
    }
    #expect(try await create(in: other.workspace) == nil)
    let opened = try await create(in: world.workspace)
    #expect(opened == VisitorSession(id: session, status: "waiting"))
    let latest = VisitorSession.latest(visitor: id, workspace: world.workspace.id)
    #expect(try await world.database.ask(latest) == opened)
    let foreign = VisitorSession.find(session, visitor: id, workspace: other.workspace.id)
    #expect(try await world.database.ask(foreign) == nil)
    let own = VisitorSession.find(session, visitor: id, workspace: world.workspace.id)
    #expect(try await world.database.ask(own) == opened)
  }

  @Test("a secret issued apart works once, and expired ones are forgotten")
  func refreshTokens() async throws {
    let world = try await World()
    let visitor = World.identifier()
    let session = try #require(
      try await world.database.ask(
        Visit.begin(
          visitor: Visitor(id: visitor, name: ""), workspace: world.workspace.id,
          opening: Visit.Opening(id: World.identifier(), context: Array("{}".utf8)),
          refresh: Visit.Refresh(hash: World.random(), expiresAt: World.now), now: World.now))
    ).session.id
    let hash = World.random()
    let past = WallTime(microseconds: World.now.microseconds + 1)
    try await world.database.ask(
      RefreshToken.issue(
        Visit.Refresh(hash: hash, expiresAt: past), family: World.identifier(), visitor: visitor,
        workspace: world.workspace.id, session: session, now: World.now))
    let resume = Visit.resume(
      presented: hash, workspace: world.workspace.id, wanted: nil, isNewWanted: false,
      opening: Visit.Opening(id: World.identifier(), context: Array("{}".utf8)),
      refresh: Visit.Refresh(hash: World.random(), expiresAt: past), now: World.now)
    let expected = Visit(
      visitor: Visitor(id: visitor, name: ""),
      session: VisitorSession(id: session, status: "waiting"), isNews: false)
    #expect(try await world.database.ask(resume) == .resumed(expected))
    let count = Query(
      "SELECT count(*) FROM refresh_tokens WHERE visitor_id = $1::uuid", [.uuid(visitor)])
    #expect(try await world.database.run(count).int(0, 0) == 3)
    while try await world.database.ask(RefreshToken.forgetExpired(now: past, limit: 2)) > 0 {}
    #expect(try await world.database.run(count).int(0, 0) == 0)
  }
}

extension World {
  static func random() -> [UInt8] { (0..<32).map { _ in UInt8.random(in: 0...255) } }
}
