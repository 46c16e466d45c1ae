import Chat
import Conversations
import Directory
import DomainFixtures
import JSON
import Postgres
import Primitives
import Testing

extension Workplace {
  /// Everything in the conversation happened this much earlier.
  fileprivate func age(_ session: Identifier, minutes: Int64) throws {
    let parameters: [Parameter] = [.uuid(session), .int(minutes)]
    try database.asOwner(
      Query(
        """
        UPDATE chats SET created_at = created_at - make_interval(mins => $2::bigint::integer)
        WHERE session_id = $1::uuid
        """, parameters))
    try database.asOwner(
      Query(
        """
        UPDATE chat_sessions SET
          claimed_at = claimed_at - make_interval(mins => $2::bigint::integer),
          last_message_at = last_message_at - make_interval(mins => $2::bigint::integer)
        WHERE id = $1::uuid
        """, parameters))
  }

  /// Operators of it may have more conversations than by default.
  fileprivate static func large() async throws -> Workplace {
    let place = try await Workplace()
    try await place.set(queue: #"{"capacity":100}"#)
    return place
  }

  /// A conversation of Mika with an answer to the visitor, `minutes` ago.
  fileprivate func answered(minutes: Int64) async throws -> Identifier {
    let session = try await conversation(messages: ["hello"])
    _ = try await claim(session)
    await answer("hi", in: session)
    try age(session, minutes: minutes)
    return session
  }

  fileprivate func answer(_ body: String, in session: Identifier, kind: String = "text") async {
    _ = await database.store(
      session: session, workspace: id, id: Workplace.identifier(), role: "operator", kind: kind,
      sender: mika.id, name: mika.name, body: Array(body.utf8), payload: nil)
  }

  /// The closed conversations of one walk over this workspace, by pages of this size.
  fileprivate func closeResting(examined: Int64 = 1_000, closed: Int64 = 50) async throws
    -> [Identifier]
  {
    var position = RestingConversations.Position(workspace: id, session: .zero)
    var found: [Identifier] = []
    while position.workspace == id {
      let page = try await database.ask(
        RestingConversations.close(after: position, examined: examined, closed: closed))
      found += page.closed.filter { $0.workspace == id }.map(\.session)
      guard let next = page.next else { break }
      position = next
    }
    return found
  }
}

/// Serialized: a page goes on in the next workspaces, those of the other tests here.
@Suite(.serialized) struct RestingTests {
  @Test("a conversation is closed after the time of its workspace, with a line that says so")
  func closed() async throws {
    let place = try await Workplace()
    let fresh = try await place.answered(minutes: 59)
    let old = try await place.answered(minutes: 61)
    let waiting = try await place.conversation(messages: ["is anybody there?"])
    try place.age(waiting, minutes: 600)
    #expect(try await place.closeResting() == [old])
    #expect(try await place.closeResting().isEmpty)
    let conversation = try await place.read(old)
    #expect(conversation.status == "closed" && conversation.assignee == place.mika.id)
    let event = try #require(try await place.events(old).last.flatMap { JSONValue($0) })
    #expect(event["event"]?.string == "closed" && event["rule"]?.string == "resting")
    #expect(event["by"]?.object == nil)
    #expect(try await place.read(fresh).status == "active")
    #expect(try await place.read(waiting).status == "waiting")
    let loads = try await place.loads()
    #expect(loads == [place.mika.id: 1], "the operator has room again")
  }

  @Test("the setting is per workspace: another time, never, or the default for an invalid one")
  func setting() async throws {
    let place = try await Workplace()
    let session = try await place.answered(minutes: 30)
    for off in [#"{"close_after_minutes":0}"#, #"{"close_after_minutes":31}"#] {
      try await place.set(queue: off)
      #expect(try await place.closeResting().isEmpty)
    }
    for invalid in ["5.5", "-1", "10081", "99999999999", "\"x\""] {
      try await place.set(queue: #"{"close_after_minutes":\#(invalid)}"#)
      #expect(try await place.closeResting().isEmpty, "\(invalid)")
    }
    try await place.set(queue: #"{"close_after_minutes":29}"#)
    #expect(try await place.closeResting() == [session])
  }

  @Test("what no operator has read stays open; what was read and left unanswered does not")
  func unread() async throws {
    let place = try await Workplace()
    let session = try await place.answered(minutes: 0)
    await place.say("one more thing", in: session)
    try place.age(session, minutes: 300)
    #expect(try await place.closeResting().isEmpty)
    let head = try await place.read(session).lastSeq
    for (seq, isClosed) in [(head - 1, false), (head, true)] {
      _ = try await place.database.ask(
        ReadMark.advance(
          to: seq, of: place.mika.id, name: "Mika", in: session, workspace: place.id))
      #expect(try await place.closeResting() == (isClosed ? [session] : []))
    }
  }

  @Test("a claim, a transfer or a reopening restarts the time; a note does not")
  func activity() async throws {
    let place = try await Workplace()
    let session = try await place.answered(minutes: 120)
    let ivo = try await Workplace.addOperator("Ivo", to: place.workspace, place.database)
    #expect(try await place.transfer(session, to: ivo.id) == .applied)
    #expect(try await place.closeResting().isEmpty)
    try place.age(session, minutes: 120)
    await place.answer("remember this", in: session, kind: "note")
    #expect(try await place.closeResting() == [session])
    try await place.change(.reopened, session)
    #expect(try await place.closeResting().isEmpty)
  }

  @Test("small pages close all that rest, each once")
  func pages() async throws {
    let place = try await Workplace.large()
    var resting: Set<Identifier> = []
    for number in 0..<9 {
      let session = try await place.answered(minutes: number % 3 == 0 ? 1 : 90)
      if number % 3 != 0 { resting.insert(session) }
    }
    let found = try await place.closeResting(examined: 2, closed: 1)
    #expect(Set(found) == resting && found.count == resting.count)
  }

  /// Two gateways may both believe to be the oldest.
  @Test("of several closers exactly one closes a conversation")
  func closers() async throws {
    let place = try await Workplace.large()
    var resting: Set<Identifier> = []
    for _ in 0..<12 { resting.insert(try await place.answered(minutes: 90)) }
    let found = try await withThrowingTaskGroup(of: [Identifier].self) { group in
      for _ in 0..<6 { group.addTask { try await place.closeResting(examined: 5, closed: 3) } }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(found.count == Set(found).count && resting.isSuperset(of: found))
    // What a closer has skipped because another one held it, was closed by that one.
    let left = try await place.closeResting()
    #expect(Set(found + left) == resting)
    for session in resting {
      let lines = try await place.events(session).filter { $0.contains(#""closed""#) }
      #expect(lines.count == 1)
    }
  }

  @Test("a conversation with a message on its way to the database is skipped, and then stays open")
  func message() async throws {
    let place = try await Workplace()
    let session = try await place.answered(minutes: 90)
    let other = try await place.answered(minutes: 90)
    // As a batch: it holds the lock of the session's row until its commit.
    let batch = try place.database.connectAsOwner()
    try batch.execute(script: "BEGIN")
    try batch.run(
      Query("SELECT FROM chat_sessions WHERE id = $1::uuid FOR UPDATE", [.uuid(session)]))
    #expect(try await place.closeResting() == [other])
    try batch.run(
      Query(
        """
        WITH moved AS (
          UPDATE chat_sessions SET last_seq = last_seq + 1, last_message_at = now()
          WHERE id = $1::uuid RETURNING workspace_id, id, last_seq
        )
        INSERT INTO chats (workspace_id, session_id, seq, role, content, content_hash)
        SELECT workspace_id, id, last_seq, 'visitor', 'wait', '' FROM moved
        """, [.uuid(session)]))
    try batch.execute(script: "COMMIT")
    #expect(try await place.closeResting().isEmpty)
    #expect(try await place.read(session).status == "active")
  }

  @Test("beside messages that are being committed, nothing is closed that has a new one")
  func race() async throws {
    let place = try await Workplace.large()
    var resting: [Identifier] = []
    for _ in 0..<24 { resting.append(try await place.answered(minutes: 90)) }
    let sessions = resting
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { for session in sessions { await place.answer("still here", in: session) } }
      for _ in 0..<3 {
        group.addTask { for _ in 0..<6 { _ = try await place.closeResting(closed: 2) } }
      }
      try await group.waitForAll()
    }
    let rows = try await place.database.run(
      Query(
        """
        SELECT count(*), count(*) FILTER (WHERE c.created_at - (
            SELECT b.created_at FROM chats b
            WHERE b.workspace_id = c.workspace_id AND b.session_id = c.session_id
              AND b.seq = c.seq - 1) < interval '1 hour')
        FROM chats c
        WHERE c.workspace_id = $1::uuid AND c.payload ->> 'rule' = 'resting'
        """, [.uuid(place.id)]))
    #expect(rows.int(0, 1) == 0, "of \(rows.int(0, 0) ?? 0) closed conversations")
  }
}
