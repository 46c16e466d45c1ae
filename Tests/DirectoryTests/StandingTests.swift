import Directory
import DomainFixtures
import OpenSSL
import Postgres
import Primitives
import Testing

@Suite struct StandingTests {
  private func login(
    _ place: Workplace, session: String? = nil, credential: String? = nil, role: String = "agent"
  ) -> Standing.Subject {
    .login(
      OperatorLogin(
        id: place.mika.id, workspace: place.id, role: role, session: session,
        credential: credential))
  }

  private func exclusion(
    of subject: Standing.Subject, _ place: Workplace
  ) async throws -> Standing.Exclusion? {
    let found = try await place.database.ask(Standing.shutOut(of: [subject]))
    #expect(found.keys.allSatisfy { $0 == subject })
    return found[subject]
  }

  private func isShutOut(_ subject: Standing.Subject, _ place: Workplace) async throws -> Bool {
    try await exclusion(of: subject, place) != nil
  }

  /// A login with its cookie's hash and the credential of its password.
  private func loggedIn(_ place: Workplace) async throws -> (hash: [UInt8], Standing.Subject) {
    let hash = Workplace.randomBytes()
    let made = try await place.database.ask(
      OperatorSession.create(
        tokenHash: hash, operator: place.mika.id, workspace: place.id,
        passwordHash: Workplace.passwordHash, from: .unknown, now: Workplace.now,
        expiresAt: Workplace.after(60)))
    #expect(made)
    let member = try #require(
      try await place.database.ask(OperatorSession.find(tokenHash: hash, now: Workplace.now)))
    let text = hash.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    return (hash, login(place, session: text, credential: member.credential))
  }

  enum Revocation: CaseIterable {
    case logout, password, disabled, role, removal
  }

  @Test("a login ends with each of its conditions", arguments: Revocation.allCases)
  func login(revocation: Revocation) async throws {
    let place = try await Workplace()
    let (hash, subject) = try await loggedIn(place)
    #expect(try await !isShutOut(subject, place))
    let horizon = try await place.database.ask(Standing.revoked(since: nil)).horizon
    let (database, id) = (place.database, place.mika.id)
    switch revocation {
    case .logout:
      let ended = try await database.ask(
        OperatorSession.end(tokenHash: hash, now: Workplace.now))
      #expect(ended == id)
    case .password: try await database.ask(Operator.setPassword(id, hash: "other"))
    case .disabled: try await database.ask(Operator.setDisabled(id, true))
    case .role:
      try await database.ask(Operator.join(id, workspace: place.id, membership: "admin"))
    case .removal:
      _ = try await database.run(
        Query("DELETE FROM memberships WHERE operator_id = $1::uuid", [.uuid(id)]))
    }
    #expect(try await isShutOut(subject, place))
    let revoked = try await database.ask(Standing.revoked(since: horizon))
    #expect(revoked.subjects.map { $0.contains(id) } ?? true)
  }

  @Test("a token of the command line has no session and no credential to lose")
  func commandLine() async throws {
    let place = try await Workplace()
    let subject = login(place)
    try await place.database.ask(Operator.setPassword(place.mika.id, hash: "other"))
    #expect(try await !isShutOut(subject, place))
    #expect(
      try await isShutOut(login(place, role: "owner"), place), "the operator never had this role")
    let other = try await Workplace()
    let foreign = Standing.Subject.login(
      OperatorLogin(
        id: place.mika.id, workspace: other.id, role: "agent", session: nil, credential: nil))
    #expect(try await isShutOut(foreign, place))
  }

  @Test("a login is invalid with another operator's session")
  func foreignSession() async throws {
    let place = try await Workplace()
    let (_, mika) = try await loggedIn(place)
    guard case .login(var stolen) = mika else { return }
    let ivo = try await Workplace.addOperator("Ivo", to: place.workspace, place.database)
    stolen.id = ivo.id
    #expect(try await isShutOut(.login(stolen), place))
  }

  @Test("a visitor is shut out while blocked, after being erased, and if there is none")
  func visitors() async throws {
    let place = try await Workplace()
    let id = Workplace.identifier()
    let subject = Standing.Subject.visitor(id, workspace: place.id)
    #expect(try await exclusion(of: subject, place) == .unknown)
    _ = try await place.database.ask(Visitor.create(id: id, workspace: place.id, name: "Ada"))
    #expect(try await !isShutOut(subject, place))
    let elsewhere = try await Workplace()
    #expect(
      try await exclusion(of: .visitor(id, workspace: elsewhere.id), place) == .unknown)
    for isBlocked in [true, false] {
      let changed = try await place.database.ask(
        Visitor.setBlocked(
          id, isBlocked, by: place.actor, now: Workplace.now))
      #expect(changed == true)
      #expect(try await exclusion(of: subject, place) == (isBlocked ? .banned : nil))
    }
    _ = try await place.database.ask(VisitorData.lockOut(id, workspace: place.id, by: .command))
    #expect(try await isShutOut(subject, place))
    _ = try await place.database.ask(
      VisitorData.eraseRest(id, workspace: place.id, by: .command, sessions: 0, messages: 0))
    #expect(try await isShutOut(subject, place))
  }

  @Test("a statement answers for each of its subjects; texts of a token cannot break it")
  func many() async throws {
    let place = try await Workplace()
    let strange = login(place, role: #"a","role":"agent"#)
    var visitors: [Standing.Subject] = []
    for _ in 0..<100 {
      let id = Workplace.identifier()
      _ = try await place.database.ask(Visitor.create(id: id, workspace: place.id, name: ""))
      visitors.append(.visitor(id, workspace: place.id))
    }
    let blocked = Workplace.identifier()
    _ = try await place.database.ask(Visitor.create(id: blocked, workspace: place.id, name: ""))
    _ = try await place.database.ask(
      Visitor.setBlocked(blocked, true, by: place.actor, now: Workplace.now))
    let bad = Standing.Subject.visitor(blocked, workspace: place.id)
    let subjects = [strange] + visitors + [bad, login(place)]
    #expect(
      try await place.database.ask(Standing.shutOut(of: subjects))
        == [strange: .ended, bad: .banned])
    #expect(try await place.database.ask(Standing.shutOut(of: [])) == [:])
  }

  @Test("a revocation is found by reads from before its transaction ended, until it is forgotten")
  func horizon() async throws {
    let place = try await Workplace()
    let ivo = try await Workplace.addOperator("Ivo", to: place.workspace, place.database)
    let before = try await place.database.ask(Standing.revoked(since: nil))
    #expect(before.subjects == [] && before.horizon != nil)
    try await place.database.ask(Operator.setDisabled(ivo.id, true))
    for _ in 1...2 {
      let found = try await place.database.ask(Standing.revoked(since: before.horizon))
      #expect(found.subjects?.contains(ivo.id) ?? true)
    }
    _ = try await place.database.run(
      Query(
        "UPDATE revocations SET at = now() - interval '26 hours' WHERE subject_id = $1::uuid",
        [.uuid(ivo.id)]))
    _ = try await place.database.run(Standing.forgetRevocations(limit: 1_000))
    let later = try await place.database.ask(Standing.revoked(since: before.horizon))
    #expect(later.subjects?.contains(ivo.id) != true)
  }
}
