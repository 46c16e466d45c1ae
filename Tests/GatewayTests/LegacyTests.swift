import DataRetention
import Directory
import Fixtures
import Foundation
import Migrator
import Postgres
import Primitives
import Testing
import Tokens

/// The gateway on adopted legacy databases: it serves the existing messages in order.
@Suite("Conversations of legacy systems", .serialized)
struct LegacyTests {
  private let conversations = "/api/v1/admin/live-chat/conversations"

  private func get(
    _ path: String, _ gateway: RunningGateway, _ token: String
  ) throws -> (status: Int, json: [String: Any]) {
    let client = try RawClient(port: gateway.port)
    try client.send(
      "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \(token)\r\n"
        + "Connection: close\r\n\r\n")
    let answer = try client.readToEnd()
    let status = Int(answer.dropFirst("HTTP/1.1 ".count).prefix(3)) ?? 0
    let start = answer.range(of: "\r\n\r\n")?.upperBound ?? answer.endIndex
    let object = try? JSONSerialization.jsonObject(with: Data(answer[start...].utf8))
    return (status, object as? [String: Any] ?? [:])
  }

  private func operatorToken(
    _ gateway: RunningGateway, _ connection: BlockingConnection, _ workspace: Identifier
  ) throws -> String {
    let id = RunningGateway.makeID()
    _ = try connection.run(
      Operator.create(
        id: id, email: "\(id)@example.com", name: "Mika", passwordHash: "x", workspace: workspace,
        membership: "agent"
      ).query)
    return try gateway.tokens.issue(
      .operator(id: id, workspace: workspace, name: "Mika", role: "agent"), lifetimeSeconds: 600,
      now: WallTime(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000))
    ).token
  }

  @Test("console and widget receive the messages of an adopted workspace chat in order")
  func workspaceChat() async throws {
    let database = try EmptyDatabase(fixture: "workspace_chat", rows: 450)
    let gateway = try await RunningGateway(loops: 2, database: database.url)
    defer { gateway.stop() }
    let connection = try BlockingConnection(database.url)
    let busy = try #require(Identifier("10000000-0000-4000-8000-000000000001"))
    let token = try operatorToken(gateway, connection, busy)
    let list = try get(conversations, gateway, token)
    #expect(list.status == 200)
    let items = try #require(list.json["conversations"] as? [[String: Any]])
    #expect(items.map { $0["title"] as? String } == ["Legacy Chat"])
    let id = try #require(items[0]["id"] as? String)
    var bodies: [String] = []
    while bodies.count < 450 {
      let page = try get(
        "\(conversations)/\(id)/messages?after=\(bodies.count)&limit=200", gateway, token)
      let part = (page.json["messages"] as? [[String: Any]])?.compactMap { $0["body"] as? String }
      guard let part, !part.isEmpty else { break }
      bodies += part
    }
    let old = try connection.texts(
      "SELECT content FROM chats WHERE workspace_id = $1 ORDER BY created_at, id", [.uuid(busy)])
    #expect(bodies == old)

    // The widget's access: the owner of the workspace owns the session, and is a visitor only
    // with a row of their own.
    let session = try #require(Identifier(id))
    let owner = try #require(Identifier("a0000000-0000-4000-8000-000000000001"))
    _ = try connection.run(Visitor.create(id: owner, workspace: busy, name: "").query)
    let visitor = try gateway.tokens.issue(
      .visitor(id: owner, workspace: busy, sessions: [session], name: ""), lifetimeSeconds: 600,
      now: WallTime(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000))
    ).token
    let widget = try SocketClient(port: gateway.port)
    try widget.say(
      #"{"type":"hello","ref":1,"token":"\#(visitor)","#
        + #""subscribe":[{"session":"\#(session)","after":0}]}"#)
    let heard = try widget.hear(#""message""#, count: 450)
      .flatMap { $0.split(separator: "\n") }.filter { $0.contains(#""type":"message""#) }
    let seqs = heard.compactMap { text in
      (try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])?["seq"] as? Int
    }
    #expect(seqs == Array(1...450))
  }

  @Test("messages without a time come first, and are shown with the time 1970-01-01")
  func noTimes() async throws {
    let database = try Shape("null_times").database(rows: 10)
    let gateway = try await RunningGateway(loops: 1, database: database.url)
    defer { gateway.stop() }
    let connection = try BlockingConnection(database.url)
    // One of the five messages of the first workspace has no time, and none of the other's 50 has.
    for (workspace, count, timeless) in [
      ("10000000-0000-4000-8000-000000000002", 5, 1),
      ("10000000-0000-4000-8000-000000000004", 50, 50),
    ] {
      let workspace = try #require(Identifier(workspace))
      let token = try operatorToken(gateway, connection, workspace)
      let list = try get(conversations, gateway, token)
      let items = try #require(list.json["conversations"] as? [[String: Any]])
      let id = try #require(items.first?["id"] as? String)
      let page = try get("\(conversations)/\(id)/messages?after=0&limit=100", gateway, token)
      let messages = try #require(page.json["messages"] as? [[String: Any]])
      #expect(messages.compactMap { $0["seq"] as? Int } == Array(1...count))
      let times = messages.compactMap { $0["at"] as? String }
      #expect(
        times.map { $0.hasPrefix("1970-01-01T00:00:00") }
          == (1...count).map { $0 <= timeless })

      let socket = try SocketClient(port: gateway.port)
      try socket.say(
        #"{"type":"hello","ref":1,"token":"\#(token)","#
          + #""subscribe":[{"session":"\#(id)","after":0}]}"#)
      let heard = try socket.hear(#""message""#, count: count)
        .flatMap { $0.split(separator: "\n") }.filter { $0.contains(#""type":"message""#) }
      #expect(heard.count == count)
      #expect(heard.count { $0.contains("1970-01-01T00:00:00") } == timeless)
      let found = try get("/api/v1/admin/live-chat/messages/search?q=e", gateway, token)
      let hits = try #require(found.json["hits"] as? [[String: Any]])
      #expect(!hits.isEmpty && hits.allSatisfy { $0["at"] is String })
    }
  }

  @Test("a LINE back end gets 500 at first and 200 after the repair; its messages are imported")
  func brokenChain() async throws {
    let database = try EmptyDatabase(fixture: "broken_chain")
    let connection = try BlockingConnection(database.url)
    let broken = try await RunningGateway(database: database.url, migrates: false)
    let nobody = try broken.tokens.issue(
      .operator(
        id: RunningGateway.makeID(), workspace: RunningGateway.makeID(), name: "M", role: "agent"),
      lifetimeSeconds: 600,
      now: WallTime(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000))
    ).token
    #expect(try get(conversations, broken, nobody).status == 500)
    broken.stop()

    #expect(try Migrator(connection).repair() == [])
    let gateway = try await RunningGateway(loops: 2, database: database.url)
    defer { gateway.stop() }
    let token = try operatorToken(gateway, connection, gateway.workspace)
    let empty = try get(conversations, gateway, token)
    #expect(empty.status == 200)
    #expect(empty.json["total"] as? Int == 0)

    _ = try LineImport(StoredData(connection), workspace: gateway.workspace).run()
    var cursor = ""
    var ids: [String] = []
    repeat {
      let page = try get("\(conversations)?limit=100\(cursor)", gateway, token)
      #expect(page.status == 200)
      #expect(page.json["total"] as? Int == 180)
      ids += (page.json["conversations"] as? [[String: Any]] ?? []).compactMap {
        $0["id"] as? String
      }
      cursor = (page.json["next_cursor"] as? String).map { "&cursor=\($0)" } ?? ""
    } while !cursor.isEmpty
    #expect(Set(ids).count == 180)
    var count = 0
    for id in ids {
      let page = try get("\(conversations)/\(id)/messages?after=0&limit=200", gateway, token)
      let messages = page.json["messages"] as? [[String: Any]] ?? []
      #expect(messages.compactMap { $0["seq"] as? Int } == Array(1...messages.count))
      let times = messages.compactMap { $0["at"] as? String }
      #expect(times == times.sorted())
      count += messages.count
    }
    #expect(count == 5_000)
  }

  @Test("an erasure or a database restore sends resync to the subscribers")
  func resync() async throws {
    let database = try EmptyDatabase()
    let gateway = try await RunningGateway(database: database.url)
    let connection = try BlockingConnection(database.url)
    let visit = try gateway.visitor()
    let client = try SocketClient(port: gateway.port)
    try client.say(
      #"{"type":"hello","ref":1,"token":"\#(visit.token)","#
        + #""subscribe":[{"session":"\#(visit.session)","after":0}]}"#)
    let first = try client.hear(#""live""#).joined()
    let known = first.range(of: #""epoch":""#).map { first[$0.upperBound...].prefix { $0 != "\"" } }
    let epoch = try #require(known)
    #expect(!first.contains("resync"))
    try client.say(
      #"{"type":"send","ref":3,"session":"\#(visit.session)","id":"\#(RunningGateway.makeID())","#
        + #""body":"secret"}"#)
    _ = try client.hear(#""ack""#)
    try StoredData(connection).renewEpoch()
    // The loops query the epoch every five seconds.
    _ = try client.hear(#""resync""#)
    gateway.stop()

    let copy = try database.restored()
    let second = try BlockingConnection(copy.url)
    #expect(try StoredData.renewIfRestored(second))
    let restored = try await RunningGateway(database: copy.url)
    defer { restored.stop() }
    let again = try SocketClient(port: restored.port)
    try again.say(
      #"{"type":"hello","ref":1,"token":"\#(visit.token)","#
        + #""subscribe":[{"session":"\#(visit.session)","after":1,"epoch":"\#(epoch)"}]}"#)
    let heard = try again.hear(#""live""#)
    #expect(heard.contains { $0.contains(#""resync""#) })
    #expect(heard.contains { $0.contains("secret") })
  }
}
