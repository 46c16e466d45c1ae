import Directory
import DomainFixtures
import Postgres
import Primitives
import Testing

@Suite struct OperatorSessionTests {
  private func create(
    _ hash: [UInt8], _ place: Workplace, password: String = Workplace.passwordHash,
    from client: OperatorSession.Client = .unknown, now: WallTime = Workplace.now,
    expiresAt: WallTime = Workplace.after(60)
  ) async throws -> Bool {
    try await place.database.ask(
      OperatorSession.create(
        tokenHash: hash, operator: place.mika.id, workspace: place.id, passwordHash: password,
        from: client, now: now, expiresAt: expiresAt))
  }

  @Test("a login is found until it expires, and not after it was ended")
  func life() async throws {
    let place = try await Workplace()
    let hash = Workplace.randomBytes()
    #expect(try await create(hash, place))
    func find(_ seconds: Int64) async throws -> Operator? {
      try await place.database.ask(
        OperatorSession.find(tokenHash: hash, now: Workplace.after(seconds)))
    }
    let member = try #require(try await find(59))
    #expect(member.id == place.mika.id && member.workspace == place.id)
    #expect(member.credential?.utf8.count == 16)
    #expect(try await find(60) == nil)
    func end() async throws -> Identifier? {
      try await place.database.ask(OperatorSession.end(tokenHash: hash, now: Workplace.now))
    }
    #expect(try await end() == place.mika.id)
    #expect(try await find(0) == nil)
    #expect(try await end() == nil)
  }

  @Test("a logout removes the operator's expired logins, and keeps the current ones")
  func expired() async throws {
    let place = try await Workplace()
    let (old, current, ended) = (
      Workplace.randomBytes(), Workplace.randomBytes(), Workplace.randomBytes()
    )
    #expect(try await create(old, place, expiresAt: Workplace.now))
    #expect(try await create(current, place))
    #expect(try await create(ended, place))
    _ = try await place.database.ask(OperatorSession.end(tokenHash: ended, now: Workplace.now))
    let rows = try await place.database.run(
      Query(
        "SELECT token_hash FROM operator_sessions WHERE operator_id = $1::uuid",
        [.uuid(place.mika.id)]))
    #expect(rows.count == 1 && rows.bytes(0, 0) == current)
  }

  @Test("a login with a changed password, or to a disabled account, is refused")
  func changed() async throws {
    let place = try await Workplace()
    #expect(try await !create(Workplace.randomBytes(), place, password: "older"))
    let hash = Workplace.randomBytes()
    #expect(try await create(hash, place))
    _ = try await place.database.run(
      Query(
        "UPDATE operators SET password_hash = 'new' WHERE id = $1::uuid", [.uuid(place.mika.id)]))
    let found = OperatorSession.find(tokenHash: hash, now: Workplace.now)
    #expect(try await place.database.ask(found) == nil, "the session has the old credential")
    try await place.database.ask(Operator.setDisabled(place.mika.id, true))
    #expect(try await !create(Workplace.randomBytes(), place, password: "new"))
  }

  @Test("an account has at most 50 logins: a further one ends the one used longest ago")
  func countMax() async throws {
    let place = try await Workplace()
    var hashes: [[UInt8]] = []
    for second in 0...OperatorSession.countMax {
      hashes.append(Workplace.randomBytes())
      let now = Workplace.after(second)
      #expect(
        try await create(hashes[Int(second)], place, now: now, expiresAt: Workplace.after(600)))
      // The first one is used again.
      try await place.database.ask(
        OperatorSession.seen(tokenHash: hashes[0], address: "192.0.2.3", now: now))
    }
    func isThere(_ hash: [UInt8]) async throws -> Bool {
      try await place.database.ask(OperatorSession.find(tokenHash: hash, now: Workplace.now)) != nil
    }
    #expect(try await isThere(hashes[0]))
    #expect(try await !isThere(hashes[1]))
    for hash in hashes.dropFirst(2) { #expect(try await isThere(hash)) }
  }
}
