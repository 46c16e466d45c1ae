import Chat
import Conversations
import Directory
import DomainFixtures
import JSON
import Postgres
import Primitives
import Testing

@Suite struct TransferTests {
  @Test("a transfer changes the operator once and adds an event; its reason is a note")
  func transfer() async throws {
    let place = try await Workplace()
    let ivo = try await Workplace.addOperator("Ivo", to: place.workspace, place.database)
    let session = try await place.conversation(messages: ["hello"])
    _ = try await place.claim(session)
    #expect(try await place.transfer(session, to: ivo.id, reason: "knows bikes") == .applied)
    #expect(try await place.transfer(session, to: ivo.id) == .held)
    let row = try await place.read(session)
    #expect(row.assignee == ivo.id && row.status == "active" && row.lastSeq == 4)
    let event = try #require(try await place.events(session).last.flatMap { JSONValue($0) })
    #expect(event["event"]?.string == "transferred")
    #expect(event["from"]?["name"]?.string == "Mika")
    #expect(event["to"]?["id"]?.string == ivo.id.description)
    #expect(event["reason"] == nil)
    let note = try #require(try await place.log(session).last)
    #expect(note.kind == .note && note.body == Array("knows bikes".utf8))
    #expect(note.senderName == Array("Mika".utf8))
    let rows = try await place.database.run(
      Query(
        "SELECT transfer_count::bigint FROM chat_sessions WHERE id = $1::uuid", [.uuid(session)]))
    #expect(rows.int(0, 0) == 1)
  }

  @Test("the last message keeps its author after a transfer, and behind events and notes")
  func author() async throws {
    let place = try await Workplace()
    let ivo = try await Workplace.addOperator("Ivo", to: place.workspace, place.database)
    let session = try await place.conversation(messages: ["hello"])
    #expect(try await place.read(session).lastAuthor == nil)
    _ = try await place.claim(session)
    _ = await place.database.store(
      session: session, workspace: place.id, id: Workplace.identifier(), role: "operator",
      kind: "text", sender: place.mika.id, name: "Mika", body: Array("one moment".utf8),
      payload: nil)
    var own: [UInt8] = []
    appendConversationJSON(try await place.read(session), to: &own)
    #expect(JSONValue(own)?["last_message"]?["operator"] == nil, "the assignee's own")
    #expect(try await place.transfer(session, to: ivo.id, reason: "knows bikes") == .applied)
    let row = try await place.read(session)
    #expect(row.assignee == ivo.id && row.lastPreview == "one moment")
    #expect(row.lastAuthor == place.mika.id && row.lastAuthorName == "Mika")
    var json: [UInt8] = []
    appendConversationJSON(row, to: &json)
    #expect(JSONValue(json)?["last_message"]?["operator"]?["name"]?.string == "Mika")
    await place.say("thank you", in: session)
    #expect(try await place.read(session).lastAuthor == nil)
  }

  @Test("a conversation that returns to the queue has its old position")
  func returned() async throws {
    let place = try await Workplace()
    let ivo = try await Workplace.addOperator("Ivo", to: place.workspace, place.database)
    let first = try await place.conversation(messages: ["one"])
    let second = try await place.conversation(messages: ["two"])
    let since = try await place.read(first).waitingSince
    _ = try await place.claim()
    #expect(try await place.transfer(first, to: nil) == .applied)
    let back = try await place.read(first)
    #expect(back.status == "waiting" && back.assignee == nil && back.claimedAt == nil)
    #expect(back.waitingSince == since)
    #expect(back.queuePosition == 1)
    for session in [first, second] {
      #expect(try await place.claim(as: ivo)?.session == session)
    }
  }

  @Test("a transfer to a non-member or disabled operator, or of a closed conversation, is refused")
  func refusals() async throws {
    let place = try await Workplace()
    let other = try await Workplace()
    let ivo = try await Workplace.addOperator("Ivo", to: place.workspace, place.database)
    let session = try await place.conversation(messages: ["hello"])
    #expect(try await place.transfer(session, to: Workplace.identifier()) == .nobody)
    #expect(try await place.transfer(session, to: other.mika.id) == .nobody)
    try await place.database.ask(Operator.setDisabled(ivo.id, true))
    #expect(try await place.transfer(session, to: ivo.id) == .nobody)
    #expect(try await other.transfer(session, to: other.mika.id) == nil)
    #expect(try await place.transfer(session, to: nil) == .held)
    try await place.change(.closed, session)
    #expect(try await place.transfer(session, to: place.mika.id) == .closed)
    #expect(try await place.log(session).count == 2)
  }
}
