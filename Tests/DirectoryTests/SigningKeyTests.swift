import Directory
import DomainFixtures
import Postgres
import Primitives
import Testing

/// The keys of an installation in the database. Serialized: the table is the same for all.
@Suite(.serialized) struct SigningKeyTests {
  private func keys() async throws -> [SigningKey.Stored] {
    try await Workers.shared.get().ask(SigningKey.all)
  }

  private func rotate(_ id: String, isAtOnce: Bool = false) throws -> WallTime? {
    try asOwner(
      SigningKey.rotate(id: id, secret: .clear(Array(repeating: 1, count: 32)), isAtOnce: isAtOnce))
  }

  /// `chirrup keys` runs as the owner of the tables.
  private func asOwner<Answer>(_ statement: Directory.Statement<Answer>) throws -> Answer {
    statement.answer(try Workers.shared.get().asOwner(statement.query))
  }

  /// Moves the times of all keys into the past.
  private func wait(seconds: Int64) throws {
    try Workers.shared.get().asOwner(
      Query(
        """
        UPDATE signing_keys SET starts_at = starts_at - $1::bigint * interval '1 second',
          ends_at = ends_at - $1::bigint * interval '1 second'
        """, [.int(seconds)]))
  }

  @Test("gateways that start at once share one signing key")
  func shared() async throws {
    let workers = try Workers.shared.get()
    let name = "test \(Workplace.identifier())"
    let keys = try await withThrowingTaskGroup(of: SigningKey.Stored?.self) { group in
      for number: UInt8 in 1...6 {
        group.addTask {
          try await workers.ask(
            SigningKey.getOrCreate(
              id: name, candidate: .clear(Array(repeating: number, count: 32))))
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(keys.allSatisfy { $0 == keys[0] })
    #expect(keys[0]?.open(by: nil)?.secret.count == 32)
    let later = try await workers.ask(SigningKey.getOrCreate(id: name, candidate: .clear([0])))
    #expect(later == keys[0])
  }

  @Test("a rotation: the new key signs after the lead, the old one ends after the overlap")
  func rotation() async throws {
    let workers = try Workers.shared.get()
    let first = try await workers.ask(
      SigningKey.getOrCreate(
        id: SigningKey.firstID, candidate: .clear(Array(repeating: 9, count: 32))))
    // The only accepted key from here.
    _ = try rotate("a", isAtOnce: true)
    let begin = try #require(try rotate("b"))
    #expect(try rotate("c") == nil, "b has not begun to sign")
    let (a, b) = try await (
      #require(keys().first { $0.id == "a" }), #require(keys().first { $0.id == "b" })
    )
    #expect(b.startsAt == begin && b.endsAt == nil)
    let aEnd = try #require(a.endsAt)
    #expect(aEnd.microseconds - begin.microseconds == SigningKey.overlapSeconds * 1_000_000)

    try wait(seconds: SigningKey.leadSeconds)
    #expect(try rotate("c") != nil, "b signs")
    #expect(try await keys().filter { $0.endsAt == nil }.map(\.id) == ["c"])
    try wait(seconds: SigningKey.overlapSeconds + SigningKey.leadSeconds)
    _ = try rotate("d")
    let left = try await keys().map(\.id)
    #expect(!left.contains("a") && !left.contains("b"), "ended keys are deleted")
    #expect(left.contains("c") && left.contains("d"))
    let kept = try await workers.ask(
      SigningKey.getOrCreate(id: SigningKey.firstID, candidate: .clear([0])))
    #expect(kept?.secret == first?.secret, "other keys are derived from the first one, which stays")
  }

  @Test("at most eight keys are accepted")
  func bound() async throws {
    _ = try rotate("x0", isAtOnce: true)
    for number in 1..<SigningKey.acceptedMax {
      #expect(try rotate("x\(number)") != nil)
      try wait(seconds: SigningKey.leadSeconds)
    }
    #expect(try rotate("x9") == nil)
    #expect(try rotate("x9", isAtOnce: true) != nil, "a key that leaked is never kept")
  }

  @Test("at once: the new key signs now, and all others end now, also one that has not begun")
  func atOnce() async throws {
    _ = try rotate("e", isAtOnce: true)
    _ = try rotate("f")
    let begin = try #require(try rotate("g", isAtOnce: true))
    for key in try await keys() where key.id != "g" {
      #expect(try #require(key.endsAt) <= begin, "\(key.id)")
    }
    #expect(try await keys().first { $0.id == "g" }?.endsAt == nil)
    #expect(try rotate("j") != nil, "f, which has ended, does not stand in the way")
  }

  @Test("a replaced key can be ended, the one that signs cannot")
  func end() async throws {
    _ = try rotate("h", isAtOnce: true)
    _ = try rotate("i")
    for id in ["h", "i", "nothing"] {
      #expect(try !asOwner(SigningKey.end(id: id)), "\(id): h signs")
    }
    try wait(seconds: SigningKey.leadSeconds)
    #expect(try !asOwner(SigningKey.end(id: "i")), "i signs")
    #expect(try asOwner(SigningKey.end(id: "h")))
    #expect(try !asOwner(SigningKey.end(id: "h")), "h has ended")
    #expect(try await keys().filter { $0.endsAt == nil }.map(\.id) == ["i"])
  }

  @Test("a key is encrypted once, again with a newer credentials_key, and opens in its place only")
  func sealed() async throws {
    let workers = try Workers.shared.get()
    let (old, new) = (
      try #require(SecretBox(configured: ["old"])),
      try #require(SecretBox(configured: ["new", "old"]))
    )
    let secret = Array(repeating: UInt8(7), count: 32)
    let name = "sealed \(Workplace.identifier())"
    func read() async throws -> SigningKey.Stored {
      try #require(await workers.ask(SigningKey.getOrCreate(id: name, candidate: .clear([0]))))
    }
    _ = try await workers.ask(SigningKey.getOrCreate(id: name, candidate: .clear(secret)))
    #expect(try await !read().isEncrypted)
    for box in [old, new] {
      let before = try await read()
      let statement = try #require(SigningKey.seal(before, by: box))
      try await workers.ask(statement)
      let after = try await read()
      #expect(after.isEncrypted && after.open(by: box)?.secret == secret)
      #expect(SigningKey.seal(after, by: box) == nil, "it is encrypted with the newest key")
      // A gateway that began from the older form changes nothing.
      try await workers.ask(statement)
      #expect(try await read() == after)
    }
    var stored = try await read()
    #expect(stored.open(by: old) == nil && stored.open(by: nil) == nil)
    #expect(SigningKey.seal(stored, by: old) == nil)
    let clear = try await workers.run(
      Query("SELECT secret FROM signing_keys WHERE id = $1", [.text(name)]))
    #expect(clear.bytes(0, 0) == [])
    stored.id = "another"
    #expect(stored.open(by: new) == nil)
    try workers.asOwner(Query("DELETE FROM signing_keys WHERE id = $1", [.text(name)]))
  }
}
