import Chat
import Conversations
import DomainFixtures
import Primitives
import Testing

@Suite struct MessageRangeTests {
  private func page(
    _ range: MessageRange, of session: Identifier, in place: Workplace, limit: Int
  ) async throws -> (seqs: [Int64], hasMore: Bool) {
    let page = try #require(
      try await place.database.ask(range.page(of: session, workspace: place.id, limit: limit)))
    return (page.entries.map(\.seq), page.hasMore)
  }

  @Test("pages forward and back are complete")
  func paging() async throws {
    let place = try await Workplace()
    let session = try await place.conversation(messages: (1...9).map { "m\($0)" })
    for (range, limit, seqs, hasMore) in [
      (.after(0), 200, Array(1...9), false), (.after(0), 4, [1, 2, 3, 4], true),
      (.after(5), 4, [6, 7, 8, 9], false), (.after(9), 4, [], false),
      (.after(.max), 4, [], false), (.before(.max), 4, [6, 7, 8, 9], true),
      (.before(6), 4, [2, 3, 4, 5], true), (.before(2), 4, [1], false), (.before(0), 4, [], false),
    ] as [(MessageRange, Int, [Int64], Bool)] {
      let found = try await page(range, of: session, in: place, limit: limit)
      #expect(found == (seqs, hasMore), "\(range), \(limit)")
    }
  }

  @Test("a page of long messages is shorter than its limit, and the next pages have the rest")
  func bytes() async throws {
    let place = try await Workplace()
    let body = String(repeating: "é", count: Limits.bodyBytes / 2)
    let count = Int64(2 * MessageRange.pageBytes / Limits.bodyBytes + 4)
    let session = try await place.conversation(messages: (1...count).map { _ in body })
    var forward: [Int64] = []
    var backward: [Int64] = []
    for _ in 1...count {
      let found = try await page(
        .after(forward.last ?? 0), of: session, in: place, limit: Limits.pageEntries)
      #expect(!found.seqs.isEmpty && found.seqs.count * Limits.bodyBytes <= MessageRange.pageBytes)
      forward += found.seqs
      if !found.hasMore { break }
    }
    for _ in 1...count {
      let found = try await page(
        .before(backward.first ?? .max), of: session, in: place, limit: Limits.pageEntries)
      #expect(!found.seqs.isEmpty && found.seqs.count * Limits.bodyBytes <= MessageRange.pageBytes)
      backward = found.seqs + backward
      if !found.hasMore { break }
    }
    #expect(forward == Array(1...count) && backward == forward)
  }

  @Test("a session without entries has an empty page; one of another workspace has none")
  func empty() async throws {
    let place = try await Workplace()
    let session = try await place.conversation()
    let found = try await page(.after(0), of: session, in: place, limit: 9)
    #expect(found == ([], false))
    let other = try await Workplace()
    let foreign = MessageRange.after(0).page(of: session, workspace: other.id, limit: 9)
    #expect(try await place.database.ask(foreign) == nil)
  }
}
