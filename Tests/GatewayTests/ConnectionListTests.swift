import Kernel
import Primitives
import REST
import Settings
import Testing
import Tokens

@testable import Gateway

/// Connections are listed, shown and disconnected, over all loops, within one workspace for its
/// administrators and over all for the operator of the instance.
@Suite struct ConnectionListTests {
  private func say(
    _ method: String, _ path: String, _ token: String, _ port: UInt16, body: String = ""
  ) throws -> String {
    let client = try RawClient(port: port)
    let type = body.isEmpty ? "" : "Content-Type: application/json\r\n"
    try client.send(
      "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(type)Authorization: Bearer \(token)\r\n"
        + "Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)")
    return try client.readToEnd()
  }

  private let path = "/api/v1/admin/connections"

  private func connect(_ gateway: RunningGateway) throws -> (SocketClient, Identifier) {
    let (session, token) = try gateway.visitor()
    let client = try SocketClient(port: gateway.port)
    try client.say(
      #"{"type":"hello","ref":"h","token":"\#(token)","#
        + #""subscribe":[{"session":"\#(session)","tail":3,"ref":"s"}]}"#)
    _ = try client.hear(#""live""#)
    return (client, session)
  }

  private static func ids(in response: String) -> [String] {
    response.matches(of: /"id":"([0-9a-f-]{36})"/).map { String($0.1) }
  }

  /// The kernel gives a connection to any loop, so six in a row may be on one of them.
  @Test("the list covers all loops")
  func loops() async throws {
    let gateway = try await RunningGateway(loops: 2)
    defer { gateway.stop() }
    let admin = try gateway.operatorToken()
    var visits: [(SocketClient, Identifier)] = []
    var loops: Set<Substring> = []
    while loops.count < 2 && visits.count < 40 {
      visits.append(try connect(gateway))
      let list = try say("GET", path, admin, gateway.port)
      #expect(Set(ConnectionListTests.ids(in: list)).count == visits.count)
      loops = Set(list.matches(of: /"loop":(\d+)/).map(\.1))
    }
    #expect(loops == ["0", "1"])
    _ = visits.count
  }

  @Test("the list has pages, and filters by session, party, address and state")
  func list() async throws {
    let gateway = try await RunningGateway(loops: 2)
    defer { gateway.stop() }
    let admin = try gateway.operatorToken()
    let visits = try (0..<6).map { _ in try connect(gateway) }
    let all = try say("GET", path, admin, gateway.port)
    #expect(all.hasPrefix("HTTP/1.1 200"))
    #expect(Set(ConnectionListTests.ids(in: all)).count == 6)
    #expect(all.contains(#""name":"Ada""#))

    let first = try say("GET", path + "?limit=4", admin, gateway.port)
    let cursor = try #require(first.firstMatch(of: /"next_cursor":"([^"]+)"/)).1
    let second = try say("GET", path + "?limit=4&cursor=\(cursor)", admin, gateway.port)
    let pages = ConnectionListTests.ids(in: first) + ConnectionListTests.ids(in: second)
    #expect(pages.count == 6 && pages == pages.sorted(by: >))

    let session = visits[0].1
    let party = try gateway.owner(of: session)
    for query in ["session=\(session)", "party=\(party)"] {
      let one = try say("GET", path + "?" + query, admin, gateway.port)
      #expect(ConnectionListTests.ids(in: one).count == 1, "\(query)")
      #expect(one.contains(#""visitor":"\#(party)""#))
    }
    let none = try say("GET", path + "?address=192.0.2.1", admin, gateway.port)
    #expect(none.contains(#""connections":[]"#))
    #expect(try say("GET", path + "?state=ended", admin, gateway.port).contains(#"[]"#))
    #expect(try say("GET", path + "?state=x", admin, gateway.port).hasPrefix("HTTP/1.1 400"))
    _ = visits.count
  }

  @Test("a kick closes with 4003, is in the audit log, and the ended connection shows the reason")
  func kick() async throws {
    let book = LogBook()
    let gateway = try await RunningGateway(loops: 2, log: book)
    defer { gateway.stop() }
    let admin = try gateway.operatorToken()
    let (client, session) = try connect(gateway)
    let list = try say("GET", path + "?session=\(session)", admin, gateway.port)
    let id = try #require(ConnectionListTests.ids(in: list).first)
    let answer = try say(
      "POST", "\(path)/\(id)/disconnect", admin, gateway.port, body: #"{"reason":"a test"}"#)
    #expect(answer.hasPrefix("HTTP/1.1 204"), "\(answer)")
    #expect(try client.hearTheEnd() == 4003)
    let line = try await book.first(with: "connection ended")
    #expect(line.contains(" closed_by=kick code=4003 "))
    #expect(line.contains(" reason=a test "))
    let shown = try say("GET", "\(path)/\(id)", admin, gateway.port)
    #expect(shown.contains(#""state":"ended""#) && shown.contains(#""reason":"a test""#))
    #expect(shown.contains(#""sessions":["\#(session)"]"#))
    let again = try say("POST", "\(path)/\(id)/disconnect", admin, gateway.port, body: "{}")
    #expect(again.hasPrefix("HTTP/1.1 409"))
    let audit = try say("GET", "/api/v1/admin/audit-log", admin, gateway.port)
    #expect(audit.contains("connection.disconnected") && audit.contains(id))
  }

  @Test("another workspace's connections are not visible, and agents see none")
  func tenancy() async throws {
    let gateway = try await RunningGateway(loops: 2)
    defer { gateway.stop() }
    let stranger = try await RunningGateway(migrates: true)
    defer { stranger.stop() }
    let (client, _) = try connect(gateway)
    let admin = try gateway.operatorToken()
    let list = try say("GET", path, admin, gateway.port)
    let id = try #require(ConnectionListTests.ids(in: list).first)
    // Both gateways have one database and one key, so the token is valid at the first one.
    let other = try stranger.operatorToken()
    let theirs = try say("GET", path, other, gateway.port)
    #expect(theirs.contains(#""connections":[]"#))
    #expect(try say("GET", "\(path)/\(id)", other, gateway.port).hasPrefix("HTTP/1.1 404"))
    let kick = try say("POST", "\(path)/\(id)/disconnect", other, gateway.port, body: "{}")
    #expect(kick.hasPrefix("HTTP/1.1 404"))
    try client.say(#"{"type":"pong"}"#)
    #expect(try say("GET", path + "?state=open", admin, gateway.port).contains(id))
  }

  @Test("the admin listener answers the instance's token only, and shows all workspaces")
  func instance() async throws {
    let gateway = try await RunningGateway(loops: 2) {
      $0.adminListen = [ListenAddress(host: "127.0.0.1", port: 0)]
    }
    defer { gateway.stop() }
    let (client, session) = try connect(gateway)
    let port = gateway.adminPort
    let token = try gateway.tokens.issueForInstance(now: SystemClock.wallTime())
    // The instance has the gateways of other tests too, which use the same database.
    let own = try say("GET", "/connections?session=\(session)", token, port)
    let id = try #require(ConnectionListTests.ids(in: own).first)
    for wrong in [try gateway.operatorToken(), "x", token + "x"] {
      #expect(try say("GET", "/connections", wrong, port).hasPrefix("HTTP/1.1 401"))
      #expect(
        try say("POST", "/connections/\(id)/disconnect", wrong, port, body: "{}")
          .hasPrefix("HTTP/1.1 401"))
    }
    // The token opens nothing else, and the public listener has no such path.
    #expect(try say("GET", path, token, gateway.port).hasPrefix("HTTP/1.1 401"))
    #expect(try say("GET", "/connections", token, gateway.port).hasPrefix("HTTP/1.1 404"))
    let kicked = try say("POST", "/connections/\(id)/disconnect", token, port, body: "{}")
    #expect(kicked.hasPrefix("HTTP/1.1 204"), "\(kicked)")
    #expect(try client.hearTheEnd() == 4003)
  }

  // MARK: The store

  private func record(_ number: Int, at seconds: Int64, reason: String = "") -> ConnectionRecord {
    let time = WallTime(microseconds: seconds * 1_000_000)
    var record = ConnectionRecord(
      id: Identifier(high: 1, low: UInt64(number)), gateway: .zero, loop: 0, openedAt: time)
    record.end = ConnectionRecord.End(at: time, code: 1000, reason: reason, side: "peer")
    return record
  }

  private var everything: ConnectionFilter { ConnectionFilter(workspace: nil, limit: 1) }

  @Test("ended connections are bounded by number, bytes and age, and the oldest go first")
  func bounds() {
    var ended = EndedConnections()
    for number in 0..<EndedConnections.countMax + 10 { ended.add(record(number, at: 1_000)) }
    #expect(ended.count == EndedConnections.countMax)
    #expect(ended.matching(everything).first?.id.low == 10)

    let reason = String(repeating: "x", count: 100_000)
    for number in 0..<100 { ended.add(record(number, at: 1_000, reason: reason)) }
    #expect(ended.byteCount <= EndedConnections.bytesMax)
    #expect(ended.count < 100)
    #expect(ended.matching(everything).last?.id.low == 99)

    ended.dropOld(WallTime(microseconds: 1_000_000_000 + EndedConnections.microsecondsMax + 1))
    #expect(ended.count == 0 && ended.byteCount == 0)
  }
}
