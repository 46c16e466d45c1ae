import Fixtures
import Postgres
import Primitives
import Testing

@testable import Gateway

/// Two visitors are merged while both are connected, each to another gateway.
@Suite("A merge of visitors on several gateways", .serialized)
struct MergeTests {
  private func request(
    _ method: String, _ path: String, _ body: String, on gateway: RunningGateway, token: String
  ) throws -> String {
    let client = try RawClient(port: gateway.port)
    try client.send(
      "\(method) /api/v1/admin/\(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        + "Authorization: Bearer \(token)\r\nContent-Type: application/json\r\n"
        + "Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)")
    return String(try client.readToEnd().dropFirst("HTTP/1.1 ".count).prefix(3))
  }

  private func again(
    _ token: String, _ session: Identifier, on gateway: RunningGateway
  ) throws -> SocketClient {
    let client = try SocketClient(port: gateway.port)
    try client.say(
      #"{"type":"hello","ref":1,"token":"\#(token)","#
        + #""subscribe":[{"session":"\#(session)","after":0}]}"#)
    return client
  }

  @Test("both sockets go on, the old token connects again, and a block ends them all")
  func sockets() async throws {
    let nodes = try await Nodes()
    defer { nodes.stop() }
    let mika = try nodes.here.operatorAndToken()
    let phone = try nodes.visitor(on: nodes.here)
    let laptop = try nodes.visitor(on: nodes.there)
    let (other, survivor) = (
      try nodes.here.owner(of: phone.session), try nodes.here.owner(of: laptop.session)
    )
    let status = try request(
      "POST", "visitors/\(survivor)/merge", #"{"visitor":"\#(other)"}"#, on: nodes.here,
      token: mika.token)
    #expect(status == "200")
    #expect(try nodes.here.owner(of: phone.session) == survivor)
    try phone.client.post("from the phone", to: phone.session)
    try laptop.client.post("from the laptop", to: laptop.session)
    // The merged visitor's token of before the merge, on the other gateway.
    let returned = try again(phone.token, phone.session, on: nodes.there)
    _ = try returned.hear(#""from the phone""#)
    try returned.post("and again", to: phone.session)
    _ = try phone.client.hear(#""and again""#)
    #expect(try phone.client.seqs(phone.session) == [1, 2, 3])
    #expect(try returned.seqs(phone.session) == [1, 2, 3])
    // It gives no access to the survivor's conversation.
    try returned.say(#"{"type":"subscribe","ref":"x","session":"\#(laptop.session)","after":0}"#)
    #expect(try returned.hear(#""ref":"x""#).last?.contains("no_such_session") == true)
    // The survivor is blocked: also those who came with the old id.
    let blocked = try request(
      "POST", "visitors/\(survivor)/block", "{}", on: nodes.there, token: mika.token)
    #expect(blocked == "200")
    for client in [phone.client, laptop.client, returned] {
      #expect(try client.hearTheEnd() == 4302)
    }
    let late = try again(phone.token, phone.session, on: nodes.here)
    #expect(try late.hearTheEnd() == 4302)
  }
}
