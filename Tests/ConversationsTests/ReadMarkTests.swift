import Conversations
import Directory
import DomainFixtures
import Primitives
import Testing

@Suite struct ReadMarkTests {
  @Test("a mark only grows, and not beyond the last message")
  func advance() async throws {
    let place = try await Workplace()
    let session = try await place.conversation(messages: ["one", "two", "three"])
    func advance(_ seq: Int64, in workspace: Workplace) async throws -> Int64? {
      try await place.database.ask(
        ReadMark.advance(
          to: seq, of: place.mika.id, name: "Mika", in: session, workspace: workspace.id))
    }
    for (seq, mark) in [(2, 2), (1, 2), (0, 2), (99, 3), (.max, 3)] as [(Int64, Int64)] {
      #expect(try await advance(seq, in: place) == mark)
      #expect(try await place.read(session).readSeq == mark)
    }
    #expect(try await advance(1, in: try await Workplace()) == nil)
  }

  @Test("unread are the visitor's messages behind the mark, without notes and event lines")
  func unread() async throws {
    let place = try await Workplace()
    let session = try await place.conversation(messages: ["one", "two"])
    func unread() async throws -> Int64 { try await place.read(session).unread }
    func write(_ kind: String) async {
      _ = await place.database.store(
        session: session, workspace: place.id, id: Workplace.identifier(), role: "operator",
        kind: kind, sender: place.mika.id, name: "Mika", body: Array("x".utf8), payload: nil)
    }
    #expect(try await unread() == 2)
    _ = try await place.database.ask(
      ReadMark.advance(
        to: 2, of: place.mika.id, name: "Mika", in: session, workspace: place.id))
    #expect(try await unread() == 0)
    await write("note")
    _ = try await place.claim(session)
    #expect(try await unread() == 0, "neither the note nor “joined” is the visitor's")
    for _ in 0..<130 { await place.say("more", in: session) }
    #expect(try await unread() == 100, "the most that is counted")
    await write("text")
    #expect(try await unread() == 0, "it is answered")
  }
}
