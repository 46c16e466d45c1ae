import Fixtures
import Kernel
import Postgres
import Primitives

@testable import Gateway

/// Two gateways with separate loops on one database, like two machines.
struct Nodes {
  let here: RunningGateway
  let there: RunningGateway
  private let database: EmptyDatabase

  var url: String { database.url }

  /// Returns when each gateway has discovered the other.
  init(
    loops: Int = 2, logs: (here: LogBook?, there: LogBook?) = (nil, nil),
    versions: (here: String, there: String) = ("1", "1")
  ) async throws {
    database = try EmptyDatabase()
    here = try await RunningGateway(
      loops: loops, database: database.url, log: logs.here, version: versions.here)
    there = try await RunningGateway(
      loops: loops, database: database.url, log: logs.there, version: versions.there)
    for gateway in [here, there] {
      while !gateway.context.peers.exist { try await Task.sleep(for: .milliseconds(5)) }
    }
  }

  func stop() {
    here.stop()
    there.stop()
  }

  func set(_ queue: String) throws {
    try here.run(
      Query(
        "INSERT INTO system_settings (workspace_id, key, value) VALUES ($1, 'queue', $2)",
        [.uuid(here.workspace), .text(queue)]))
  }

  /// An operator who is connected, but not available for conversations.
  func onlooker(on gateway: RunningGateway) throws -> SocketClient {
    let noa = try here.operatorAndToken()
    try here.run(
      Query(
        """
        INSERT INTO operator_presence (workspace_id, operator_id, is_available)
        VALUES ($1, $2, false)
        """, [.uuid(here.workspace), .uuid(noa.id)]))
    let client = try SocketClient(port: gateway.port)
    try client.say(
      #"{"type":"hello","ref":1,"token":"\#(noa.token)"}"# + "\n"
        + #"{"type":"watch","ref":"w","inbox":true}"#)
    _ = try client.hear(#""ref":"w""#)
    return client
  }

  /// A visitor who has posted a message and received it.
  func visitor(
    on gateway: RunningGateway
  ) throws -> (session: Identifier, token: String, client: SocketClient) {
    let visit = try here.visitor()
    let client = try SocketClient(port: gateway.port)
    try client.say(
      #"{"type":"hello","ref":1,"token":"\#(visit.token)","#
        + #""subscribe":[{"session":"\#(visit.session)","after":0}]}"#)
    _ = try client.hear(#""live""#)
    try client.post("hello", to: visit.session)
    return (visit.session, visit.token, client)
  }
}

extension SocketClient {
  /// Posts a message and waits for its commit.
  func post(_ body: String, to session: Identifier) throws {
    let id = RunningGateway.makeID()
    try say(#"{"type":"send","ref":1,"session":"\#(session)","id":"\#(id)","body":"\#(body)"}"#)
    _ = try hear(#""type":"ack","ref":1,"session":"\#(session)","id":"\#(id)""#)
  }

  /// The sequence numbers of a session's messages, in order of arrival.
  func seqs(_ session: Identifier) throws -> [Int64] {
    try hear("").filter { $0.contains(#""type":"message""#) && $0.contains("\(session)") }
      .compactMap { text in
        text.firstRange(of: #""seq":"#).flatMap { range in
          Int64(text[range.upperBound...].prefix { $0.isNumber })
        }
      }
  }
}

extension RunningGateway {
  /// Sends one REST request and returns its status.
  func post(_ path: String, token: String, _ body: String = "{}") throws -> String {
    try request("POST", path, token: token, body)
  }

  func request(
    _ method: String, _ path: String, token: String, _ body: String = ""
  ) throws -> String {
    let client = try RawClient(port: port)
    try client.send(
      "\(method) /api/v1/admin/live-chat/\(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        + "Authorization: Bearer \(token)\r\nContent-Type: application/json\r\n"
        + "Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)")
    return String(try client.readToEnd().dropFirst("HTTP/1.1 ".count).prefix(3))
  }
}
