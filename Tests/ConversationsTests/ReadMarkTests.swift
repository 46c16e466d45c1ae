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
}
