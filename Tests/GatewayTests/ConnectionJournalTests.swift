import Foundation
import Primitives
import REST
import Testing

@testable import Gateway

/// Each end of a connection is one line of the log that says why, and config/LOG.md documents its
/// fields.
@Suite struct ConnectionJournalTests {
  private static func hello(_ token: String, _ session: Identifier) -> String {
    #"{"type":"hello","ref":"h","token":"\#(token)","#
      + #""subscribe":[{"session":"\#(session)","tail":3,"ref":"s"}]}"#
  }

  /// The first column of the tables below a heading.
  static func documented(_ heading: String) throws -> [String] {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = try String(contentsOf: root.appending(path: "config/LOG.md"), encoding: .utf8)
    let sections = page.components(separatedBy: "\n## ")
    let section = try #require(sections.first { $0.hasPrefix(heading) })
    return section.matches(of: /\n\| `([a-z_]+)` \|/).map { String($0.1) }
  }

  @Test("the line of a client that left has every field, and no token")
  func left() async throws {
    let book = LogBook()
    let gateway = try await RunningGateway(loops: 2, log: book)
    defer { gateway.stop() }
    let (session, token) = try gateway.visitor()
    do {
      let client = try SocketClient(port: gateway.port)
      try client.say(ConnectionJournalTests.hello(token, session))
      _ = try client.hear(#""live""#)
      try client.say(
        #"{"type":"send","ref":"a","session":"\#(session)","id":"\#(RunningGateway.makeID())","#
          + #""body":"secret words"}"#)
      _ = try client.hear(#""type":"ack""#)
    }
    let line = try await book.first(with: "connection ended")
    #expect(line.contains(" closed_by=network code=1006 "))
    #expect(line.contains(" messages_in=1 messages_out=1 "))
    #expect(line.contains(" visitor=\(try gateway.owner(of: session)) "))
    #expect(line.contains("\(session)"))
    #expect(line.contains(" address=127.0.0.1 "))
    #expect(!line.contains("secret words") && !line.contains(token))
  }

  @Test("a refused token is a line with the gateway's reason and without a party")
  func refused() async throws {
    let book = LogBook()
    let gateway = try await RunningGateway(log: book)
    defer { gateway.stop() }
    let client = try SocketClient(port: gateway.port)
    try client.say(ConnectionJournalTests.hello("no.token.here", .zero))
    #expect(try client.hearTheEnd() == 4203)
    let line = try await book.first(with: "connection ended")
    #expect(line.contains(" closed_by=gateway code=4203 "))
    #expect(line.contains(" reason=the token is not valid "))
    #expect(!line.contains("visitor=") && !line.contains("workspace="))
  }

  @Test("config/LOG.md documents the fields of the line, in the order of the code, and no others")
  func fields() throws {
    #expect(
      try ConnectionJournalTests.documented("`connection ended`")
        == ConnectionJournal.loggedFields.map(ConnectionJournal.logName))
  }
}
