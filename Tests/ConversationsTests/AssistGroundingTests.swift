import Conversations
import Directory
import DomainFixtures
import Postgres
import Primitives
import Testing

@Suite struct AssistGroundingTests {
  private func addReply(_ name: String, _ text: String, in place: Workplace) async throws {
    _ = try await place.database.run(
      Query(
        """
        INSERT INTO reply_objects (workspace_id, object_id, object_type, payload)
        VALUES ($1::uuid, $2::text, 'text', jsonb_build_object('text', $3::text))
        """, [.uuid(place.id), .text(name), .text(text)]))
  }

  /// A closed conversation with an answer.
  private func closed(
    _ question: String, _ answer: String?, in place: Workplace
  ) async throws -> Identifier {
    let session = try await place.conversation(messages: [question])
    if let answer {
      _ = await place.database.store(
        session: session, workspace: place.id, id: Workplace.identifier(), role: "operator",
        kind: "text", sender: place.mika.id, name: "Mika", body: Array(answer.utf8), payload: nil)
    }
    _ = try await place.database.run(
      Query(
        "UPDATE chat_sessions SET status = 'closed', closed_at = now() WHERE id = $1::uuid",
        [.uuid(session)]))
    return session
  }

  private func conversations(
    _ question: String, except session: Identifier = Workplace.identifier(), in place: Workplace
  ) async throws -> [String] {
    try await place.database.ask(
      AssistGrounding.conversations(for: question, except: session, in: place.id))
  }

  private func replies(_ question: String, in place: Workplace) async throws -> [String] {
    try await place.database.ask(AssistGrounding.replies(for: question, in: place.id))
  }

  @Test("canned replies with rare words of the question come first; at most five")
  func cannedReplies() async throws {
    let place = try await Workplace()
    for number in 0..<8 {
      try await addReply("the \(number)", "the the number \(number)", in: place)
    }
    try await addReply("opening", "We open at nine, the whole week.", in: place)
    let found = try await replies("When is the OPENING?", in: place)
    #expect(found.first == "We open at nine, the whole week.")
    #expect(found.count == 5)
    #expect(try await replies("zebra", in: place).isEmpty)
    #expect(try await replies("", in: place).isEmpty)
    #expect(try await replies("' & | ! :* <-> (", in: place).isEmpty)
  }

  @Test("closed conversations with an answer are found, best first; at most three")
  func closedConversations() async throws {
    let place = try await Workplace()
    for number in 0..<4 {
      _ = try await closed("Where is the parcel \(number)?", "On its way \(number).", in: place)
    }
    _ = try await closed("My brake hose leaks", "Tighten the banjo bolt.", in: place)
    _ = try await closed("My brake hose leaks again", nil, in: place)
    _ = try await place.conversation(messages: ["The brake hose is open"])
    let found = try await conversations("brake hose of the parcel", in: place)
    #expect(found.count == 3)
    #expect(found.first == "Visitor: My brake hose leaks\nOperator: Tighten the banjo bolt.")
    #expect(!found.contains { $0.contains("again") || $0.contains("is open") })
  }

  @Test("the conversation itself, deleted ones and other workspaces are left out")
  func leftOut() async throws {
    let place = try await Workplace()
    let other = try await Workplace()
    let own = try await closed("unicorn", "yes", in: place)
    #expect(try await conversations("unicorn", in: place).count == 1)
    #expect(try await conversations("unicorn", except: own, in: place).isEmpty)
    #expect(try await conversations("unicorn", in: other).isEmpty)
    try await addReply("unicorn", "a unicorn", in: place)
    #expect(try await replies("unicorn", in: other).isEmpty)
    _ = try await place.database.run(
      Query("UPDATE chat_sessions SET deleted_at = now() WHERE id = $1::uuid", [.uuid(own)]))
    #expect(try await conversations("unicorn", in: place).isEmpty)
  }

  @Test("only the newest conversations are searched")
  func bounded() async throws {
    let place = try await Workplace()
    _ = try await closed("unicorn", "yes", in: place)
    _ = try await place.database.run(
      Query(
        """
        UPDATE chat_sessions SET created_at = now() - interval '1 day'
        WHERE workspace_id = $1::uuid
        """, [.uuid(place.id)]))
    #expect(try await conversations("unicorn", in: place).count == 1)
    _ = try await place.database.run(
      Query(
        """
        INSERT INTO chat_sessions (workspace_id, status, closed_at)
        SELECT $1::uuid, 'closed', now() FROM generate_series(1, $2::bigint)
        """, [.uuid(place.id), .int(AssistGrounding.conversationsSearched)]))
    #expect(try await conversations("unicorn", in: place).isEmpty)
  }
}
