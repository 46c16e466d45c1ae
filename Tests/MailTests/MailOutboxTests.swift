import Directory
import DomainFixtures
import OpenSSL
import Postgres
import Primitives
import Testing

@testable import Mail

/// What is found, taken and settled, in a real PostgreSQL. The tests move the times of rows instead
/// of waiting.
@Suite(.serialized) struct MailOutboxTests {
  /// What is found and taken is that of all workspaces, so no other suite may use the database.
  private static let database = Result { try Workers.fresh() }

  let place: Workplace
  let secrets = SecretBox(configured: ["a key for tests"], signingKey: [])
  let lease = Workplace.identifier()

  init() async throws {
    place = try await Workplace(in: MailOutboxTests.database.get())
    try await run("DELETE FROM mail_outbox WHERE $1::uuid IS NOT NULL")
  }

  // MARK: Fixtures

  func run(_ statement: SQL, _ more: [Parameter] = []) async throws {
    _ = try await place.database.run(Query(statement, [.uuid(place.id)] + more))
  }

  /// A conversation with a visitor's message and answers, all of them ten minutes old.
  func answered(
    _ answers: Int = 1, address: String? = "ada@example.org"
  ) async throws -> Identifier {
    let session = try await place.conversation(messages: ["Hello"])
    try await run(
      """
      UPDATE visitors SET email = $3::text WHERE workspace_id = $1::uuid
        AND id = (SELECT user_id FROM chat_sessions WHERE id = $2::uuid)
      """, [.uuid(session), .text(address)])
    for number in 0..<answers { await answer("Answer \(number)", in: session) }
    try await age(session)
    return session
  }

  func answer(_ body: String, in session: Identifier, kind: String = "text") async {
    _ = await place.database.store(
      session: session, workspace: place.id, id: Workplace.identifier(), role: "operator",
      kind: kind, sender: place.mika.id, name: "Mika", body: Array(body.utf8), payload: nil)
  }

  func age(_ session: Identifier, minutes: Int64 = 10) async throws {
    // A gateway's role must not change messages.
    _ = try place.database.asOwner(
      Query(
        """
        WITH aged AS (
          UPDATE chats SET created_at = now() - $3::bigint * interval '1 minute'
          WHERE workspace_id = $1::uuid AND session_id = $2::uuid
        )
        UPDATE chat_sessions SET status = 'active',
          last_message_at = now() - $3::bigint * interval '1 minute'
        WHERE workspace_id = $1::uuid AND id = $2::uuid
        """, [.uuid(place.id), .uuid(session), .int(minutes)]))
  }

  func found() async throws -> [MailDigest] {
    MailDigest.found(try await place.database.run(MailDigest.find))
      .filter { $0.workspace == place.id }
  }

  // MARK: Addresses

  @Test func `an address has the same hash in Swift and in SQL`() async throws {
    let addresses = [
      "ada@example.org", "Ada.Lovelace@EXAMPLE.org", "o'brien+tag@Example.COM", "ÄDA@example.org",
      "İSTANBUL@example.org", "ΣΟΦΟΣ@example.org", "straße@Example.org", "e\u{301}A@example.org",
      "\u{1F600}Z@example.org", "a\\b\"c@example.org",
    ]
    for address in addresses {
      let rows = try await place.database.run(
        Query(
          "SELECT \(MailOutbox.hashSQL) FROM (SELECT $1::text AS email) AS v", [.text(address)]))
      #expect(rows.bytes(0, 0) == MailOutbox.hash(of: address), "\(address)")
    }
    #expect(MailOutbox.hash(of: "ADA@example.org") == MailOutbox.hash(of: "ada@EXAMPLE.ORG"))
    #expect(MailOutbox.hash(of: "ada@example.org") != MailOutbox.hash(of: "ada@example.com"))
  }

  func letter(to address: String = "ada@example.org") throws -> MailContent {
    MailContent(
      to: try #require(MailAddress(address)), subject: "S",
      letter: Letter(brand: "B", parts: [.words("W")]))
  }

  @discardableResult
  func add(_ digest: MailDigest) async throws -> Bool {
    var content = try letter(to: digest.address)
    content.session = digest.session
    return try await place.database.ask(
      MailOutbox.add(
        content, id: Workplace.identifier(), kind: .answers, workspace: place.id,
        answers: (digest.first, digest.last), sealedBy: secrets))
  }

  func take() async throws -> LeasedMail? {
    MailOutbox.leased(
      try await place.database.run(MailOutbox.take(lease: lease, leaseMilliseconds: 60_000)))
  }

  func states() async throws -> [String] {
    let rows = try await place.database.run(
      Query(
        """
        SELECT state || ' ' || attempts || ' ' || reason || CASE WHEN ciphertext IS NULL
          THEN ' empty' ELSE '' END FROM mail_outbox
        WHERE workspace_id = $1::uuid ORDER BY created_at, id
        """, [.uuid(place.id)]))
    return (0..<rows.count).compactMap { rows.text($0, 0) }
  }

  // MARK: What is found

  @Test("unread answers are found after the quiet time, as one message, and once")
  func once() async throws {
    let session = try await answered(2)
    await answer("For colleagues", in: session, kind: "note")
    try await age(session)
    let digests = try await found()
    let digest = try #require(digests.first)
    #expect(digests.count == 1 && digest.session == session && digest.last == digest.first + 1)
    let lines = MailDigest.lines(try await place.database.run(digest.read))
    #expect(lines.map(\.text) == ["Hello", "Answer 0", "Answer 1"])
    #expect(try await add(digest))
    #expect(try await found() == [])
    #expect(try await add(digest) == false, "another gateway has found the same")
    await answer("Later", in: session)
    try await age(session)
    #expect(try await found().map(\.first) == [digest.last + 2])
  }

  @Test("nothing is found for those without an address, who have read, or have written since")
  func needless() async throws {
    _ = try await answered(address: nil)
    let read = try await answered()
    try await run(
      """
      INSERT INTO read_marks (workspace_id, session_id, person_id, role, name, read_seq,
        delivered_seq)
      SELECT workspace_id, id, user_id, 'visitor', '', last_seq, last_seq FROM chat_sessions
      WHERE workspace_id = $1::uuid AND id = $2::uuid
      """, [.uuid(read)])
    let written = try await answered()
    await place.say("I see", in: written)
    try await age(written)
    let young = try await answered()
    try await age(young, minutes: 1)
    #expect(try await found() == [])
    try await place.set("mail", #"{"answers_after_seconds":30}"#)
    #expect(try await found().map(\.session) == [young])
    try await place.set("mail", #"{"answers":false,"answers_after_seconds":30}"#)
    #expect(try await found() == [])
    try await place.set("mail", "no JSON")
    try await age(young)
    #expect(try await found().map(\.session) == [young], "an invalid setting is the default")
  }

  @Test("an address that has ended it gets nothing, also what is in the outbox")
  func stopped() async throws {
    _ = try await answered(address: "Ada@Example.org")
    try await add(try #require(try await found().first))
    try await place.database.ask(
      MailStops.add(MailOutbox.hash(of: "ada@example.ORG"), workspace: place.id))
    #expect(try await take() == nil)
    #expect(try await states() == ["stopped 0 needless empty"])
    _ = try await answered(address: "ada@example.org")
    #expect(try await found() == [])
  }

  @Test("answers whose e-mail has failed are found again if somebody wants that, with the address")
  func again() async throws {
    let session = try await answered(address: "ada@exmaple.org")
    let first = try #require(try await found().first)
    #expect(try await add(first))
    func forget() async throws -> Bool {
      try await place.database.ask(MailOutbox.forgetFailure(of: session, workspace: place.id))
    }
    #expect(try await forget() == false, "it waits")
    let sent = try #require(try await take())
    _ = try await place.database.run(
      MailOutbox.settle(sent.id, isSent: false, reason: "550 no such user"))
    #expect(try await found() == [])
    try await run(
      """
      UPDATE visitors SET email = 'ada@example.org' WHERE workspace_id = $1::uuid
        AND id = (SELECT user_id FROM chat_sessions WHERE id = $2::uuid)
      """, [.uuid(session)])
    #expect(try await forget())
    #expect(try await forget() == false)
    let second = try #require(try await found().first)
    #expect(second.address == "ada@example.org" && second.first == first.first)
    #expect(try await add(second))
    let again = try #require(try await take())
    _ = try await place.database.run(MailOutbox.settle(again.id, isSent: true, reason: ""))
    #expect(try await forget() == false, "it was sent")
  }

  // MARK: Attempts

  @Test("a message is leased once, oldest first, and its content is gone after it was sent")
  func attempts() async throws {
    for name in ["a", "b"] {
      #expect(
        try await place.database.ask(
          MailOutbox.add(
            letter(to: "\(name)@example.org"), id: Workplace.identifier(), kind: .test,
            workspace: place.id, sealedBy: secrets)))
    }
    let first = try #require(try await take())
    #expect(MailContent(first.content, for: first.id, by: secrets)?.to.address == "a@example.org")
    let second = try #require(try await take())
    #expect(second.id != first.id && first.attempt == 1)
    #expect(try await take() == nil)
    _ = try await place.database.run(MailOutbox.settle(first.id, isSent: true, reason: ""))
    _ = try await place.database.run(
      MailOutbox.repeatLater(second.id, lease: lease, pause: 0, counts: true, reason: "451"))
    #expect(try await states() == ["sent 1  empty", "pending 1 451"])
    let again = try #require(try await take())
    #expect(again.id == second.id && again.attempt == 2)
    _ = try await place.database.run(
      MailOutbox.repeatLater(again.id, lease: lease, pause: 0, counts: false, reason: "away"))
    #expect(try await states().last == "pending 1 away", "an outage is not the message's fault")
    _ = try await take()
    _ = try await place.database.run(MailOutbox.settle(again.id, isSent: false, reason: "550"))
    #expect(try await states() == ["sent 1  empty", "failed 2 550 empty"])
  }

  @Test("a lease that has passed is taken by another, whose outcome counts")
  func leases() async throws {
    _ = try await place.database.ask(
      MailOutbox.add(
        letter(), id: Workplace.identifier(), kind: .test, workspace: place.id, sealedBy: secrets))
    let first = try #require(try await take())
    try await run(
      "UPDATE mail_outbox SET next_attempt_at = now() WHERE workspace_id = $1::uuid")
    let other = Workplace.identifier()
    let rows = try await place.database.run(
      MailOutbox.take(lease: other, leaseMilliseconds: 60_000))
    #expect(MailOutbox.leased(rows)?.id == first.id)
    _ = try await place.database.run(
      MailOutbox.repeatLater(first.id, lease: lease, pause: 0, counts: true, reason: "late"))
    #expect(try await take() == nil, "the late outcome does not end the second's lease")
    _ = try await place.database.run(MailOutbox.settle(first.id, isSent: true, reason: ""))
    #expect(try await states() == ["sent 2  empty"])
  }

  @Test("what is too old has failed; an address gets its share of an hour")
  func bounds() async throws {
    var isAdded: [Bool] = []
    for _ in 0..<4 {
      isAdded.append(
        try await place.database.ask(
          MailOutbox.add(
            letter(to: "m@example.org"), id: Workplace.identifier(), kind: .passwordReset,
            workspace: place.id, sealedBy: secrets)))
    }
    #expect(isAdded == [true, true, true, false])
    try await run("UPDATE mail_outbox SET expires_at = now() WHERE workspace_id = $1::uuid")
    #expect(try await take() == nil)
    #expect(try await states().first == "failed 0 expired empty")
  }
}
