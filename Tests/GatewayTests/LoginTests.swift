/// Origins and logins on real loops and PostgreSQL (table A of the faults): refused connections,
/// and connections that are closed when their login ends.
import Directory
import Kernel
import Postgres
import Primitives
import Settings
import Testing

@testable import Gateway

@Suite("Origins and logins on real sockets", .serialized)
struct LoginTests {
  private func hello(_ client: SocketClient, _ token: String) throws {
    try client.say(#"{"type":"hello","ref":1,"token":"\#(token)"}"#)
  }

  @Test("a token of one site is invalid on the pages of another: 4303 (faults A05)")
  func foreignOrigin() async throws {
    let gateway = try await RunningGateway(loops: 2)
    defer { gateway.stop() }
    let visit = try gateway.visitor(origin: "https://a.test")
    let foreign = try SocketClient(port: gateway.port, origin: "https://b.test")
    try hello(foreign, visit.token)
    #expect(try foreign.hearTheEnd() == 4303)
    for origin in ["https://a.test", "HTTPS://A.test:443", nil] {
      let own = try SocketClient(port: gateway.port, origin: origin)
      try hello(own, visit.token)
      _ = try own.hear(#""welcome""#)
    }
  }

  @Test("an unlisted origin is refused before the upgrade, within seconds of the change")
  func unlisted() async throws {
    let gateway = try await RunningGateway(loops: 2) { $0.allowedOrigins = ["https://a.test"] }
    defer { gateway.stop() }
    // One workspace of this database has no list, so the list of the settings applies.
    _ = try SocketClient(port: gateway.port, origin: "https://a.test")
    #expect(throws: SocketClient.Failure.self) {
      try SocketClient(port: gateway.port, origin: "https://b.test")
    }
    try gateway.run(
      Query(
        "UPDATE workspaces SET allowed_origins = ARRAY['https://B.test'] WHERE id = $1",
        [.uuid(gateway.workspace)]))
    let deadline = SystemClock.now().advanced(byMilliseconds: 600_000)
    var isAdmitted = false
    while !isAdmitted, SystemClock.now() < deadline {
      isAdmitted = (try? SocketClient(port: gateway.port, origin: "https://b.test")) != nil
    }
    #expect(isAdmitted)
  }

  @Test("a blocked visitor is closed with 4302, also after a new hello; another visitor is not")
  func blocked() async throws {
    let gateway = try await RunningGateway(loops: 2)
    defer { gateway.stop() }
    let (visit, other) = (try gateway.visitor(), try gateway.visitor())
    let clients = try [visit, visit, other].map { _ in try SocketClient(port: gateway.port) }
    for (client, visit) in zip(clients, [visit, visit, other]) {
      try hello(client, visit.token)
      _ = try client.hear(#""welcome""#)
    }
    try gateway.run(
      Query(
        """
        UPDATE visitors v SET banned_at = now() FROM chat_sessions s
        WHERE s.id = $1 AND v.id = s.user_id
        """, [.uuid(visit.session)]))
    // In all tabs of the visitor.
    for client in clients.prefix(2) { #expect(try client.hearTheEnd() == 4302) }
    let again = try SocketClient(port: gateway.port)
    try hello(again, visit.token)
    #expect(try again.hearTheEnd() == 4302)
    try clients[2].say(#"{"type":"subscribe","ref":9,"session":"\#(other.session)","after":0}"#)
    _ = try clients[2].hear(#""live""#)
  }

  @Test("an operator who has not changed the initial password is closed with 4305")
  func givenPassword() async throws {
    let gateway = try await RunningGateway(loops: 1)
    defer { gateway.stop() }
    let client = try SocketClient(port: gateway.port)
    try hello(client, try gateway.operatorToken(role: Operator.roleBeforeOwnPassword))
    #expect(try client.hearTheEnd() == 4305)
  }

  @Test("an operator who logs out is closed with 4204, and the other login stays open")
  func loggedOut() async throws {
    let gateway = try await RunningGateway(loops: 2)
    defer { gateway.stop() }
    let login = try gateway.login()
    let other = try gateway.login(of: login.id)
    let clients = try [login, other].map { login in
      let client = try SocketClient(port: gateway.port)
      try hello(client, login.token)
      _ = try client.hear(#""welcome""#)
      return client
    }
    try gateway.run(
      Query("DELETE FROM operator_sessions WHERE token_hash = $1", [.bytes(login.hash)]))
    #expect(try clients[0].hearTheEnd() == 4204)
    try clients[1].say(#"{"type":"watch","ref":7,"inbox":true}"#)
    _ = try clients[1].hear(#""ok""#)
  }

  @Test(
    "an operator who is disabled, demoted, removed or has a new password is closed with 4204 (A16)",
    arguments: [
      "UPDATE operators SET disabled_at = now() WHERE id = $1",
      "UPDATE memberships SET role = 'agent' WHERE operator_id = $1",
      "DELETE FROM memberships WHERE operator_id = $1",
    ] as [StaticString])
  func revoked(_ sql: StaticString) async throws {
    let gateway = try await RunningGateway(loops: 2)
    defer { gateway.stop() }
    let (id, token) = try gateway.operatorAndToken()
    let (mika, bystander) = (
      try SocketClient(port: gateway.port), try SocketClient(port: gateway.port)
    )
    try hello(mika, token)
    try hello(bystander, try gateway.operatorToken())
    for client in [mika, bystander] { _ = try client.hear(#""welcome""#) }
    try gateway.run(Query(sql, [.uuid(id)]))
    #expect(try mika.hearTheEnd() == 4204)
    #expect(
      RevocationFeed.pollMilliseconds < 500, "within a second, of which half is the machine's")
    try bystander.say(#"{"type":"watch","ref":7,"inbox":true}"#)
    _ = try bystander.hear(#""ok""#)
  }
}
