import Conversations
import DomainFixtures
import Postgres
import Primitives
import Testing

@Suite struct MessageSearchTests {
  /// The seqs of the hits, and the parameters of the next page.
  private func search(
    _ text: String, in place: Workplace, after: [Parameter] = [.null, .null, .null],
    limit: Int = 10
  ) async throws -> (hits: [(session: Identifier, seq: Int64)], next: [Parameter]) {
    let rows = try await place.database.run(
      MessageSearch.query(text, in: place.id, after: after, limit: limit))
    var hits: [(Identifier, Int64)] = []
    for row in 0..<rows.count {
      guard let session = rows.uuid(row, 3), let seq = rows.int(row, 4) else { continue }
      hits.append((session, seq))
    }
    let last = rows.count - 1
    guard last >= 0, let hit = hits.last else { return (hits, []) }
    return (hits, [.time(rows.time(last, 12)), .uuid(hit.0), .int(hit.1)])
  }

  @Test("search ignores case, lists the newest first, and continues after a hit")
  func pages() async throws {
    let place = try await Workplace()
    let old = try await place.conversation(messages: ["Blue bike", "red car", "BLUE car"])
    let new = try await place.conversation(messages: ["a blue_ boat 100%"])
    _ = try await place.claim(old)
    let expected: [(Identifier, Int64)] = [(new, 1), (old, 3), (old, 1)]
    #expect(try await search("blue", in: place).hits.elementsEqual(expected, by: ==))
    var seen: [(Identifier, Int64)] = []
    var after: [Parameter] = [.null, .null, .null]
    while seen.count < 9 {
      let page = try await search("blue", in: place, after: after, limit: 1)
      guard !page.hits.isEmpty else { break }
      seen += page.hits
      after = page.next
    }
    #expect(seen.elementsEqual(expected, by: ==))
  }

  @Test("wildcards are literal; events, deleted conversations and other workspaces are left out")
  func literal() async throws {
    let place = try await Workplace()
    let session = try await place.conversation(messages: [#"a blue_ boat 100% \o"#, "blue boat"])
    _ = try await place.claim(session)
    for text in ["blue_", "100%", #"\o"#] {
      #expect(try await search(text, in: place).hits.map(\.seq) == [1], "\(text)")
    }
    #expect(try await search("joined", in: place).hits.isEmpty)
    let other = try await Workplace()
    #expect(try await search("blue", in: other).hits.isEmpty)
    _ = try await place.database.run(
      Query("UPDATE chat_sessions SET deleted_at = now() WHERE id = $1::uuid", [.uuid(session)]))
    #expect(try await search("blue", in: place).hits.isEmpty)
  }
}
