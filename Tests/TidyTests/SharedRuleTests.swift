/// Rules that several statements share stand in one file each.
import Testing

@Suite struct SharedRuleTests {
  /// Without the schema's owner, which examines and tries every column.
  static let sources = SourceFile.swift.filter {
    $0.path.hasPrefix("Sources/") && !$0.path.hasPrefix("Sources/Migrator/")
  }

  @Test("only ConversationQueue names the column by which the queue is ordered")
  func column() {
    // A whole string is a member of the API's JSON, except in its owner.
    let column = /(^|[^"])waiting_since|SQL = "waiting_since"/
    let files = Set(Self.sources.filter { $0.lines.contains { $0.contains(column) } }.map(\.path))
    #expect(files == ["Sources/SharedSQL/ConversationQueue.swift"])
  }

  @Test("each INSERT of a conversation sets its place in the queue")
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

  @Test("the hashes of entries, passwords' hashes and addresses are computed in one file each")
  func hashes() {
    let files = Self.sources.filter { $0.lines.contains { $0.contains("sha256(convert_to(") } }
    #expect(
      Set(files.map(\.path)) == [
        "Sources/SharedSQL/ContentHash.swift", "Sources/Directory/Operator.swift",
        "Sources/Mail/MailOutbox.swift",
      ])
  }
}
