/// The rule of the queue stands in one file: `SharedSQL/ConversationQueue.swift`.
import Testing

@Suite struct QueueTests {
  static let owner = "Sources/SharedSQL/ConversationQueue.swift"
  static let sources = SourceFile.swift.filter { $0.path.hasPrefix("Sources/") }

  @Test("only ConversationQueue names the column by which the queue is ordered")
  func column() {
    // A whole string is a member of the API's JSON, except in its owner.
    let column = /(^|[^"])waiting_since|SQL = "waiting_since"/
    let files = Set(Self.sources.filter { $0.lines.contains { $0.contains(column) } }.map(\.path))
    #expect(files == [Self.owner])
  }

  @Test("each new conversation says whether it is in the queue: the column's default is the queue")
  func newConversations() {
    var statements = 0
    for file in Self.sources {
      for (index, line) in file.lines.enumerated() where line.contains("INTO chat_sessions") {
        statements += 1
        #expect(
          file.lines[index...].prefix(5).joined().contains("ConversationQueue.entryTime"),
          "\(file.path):\(index + 1)")
      }
    }
    #expect(statements >= 5)
  }
}
