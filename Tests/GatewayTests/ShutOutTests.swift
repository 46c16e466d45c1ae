/// Revoked access (findings, security 2). After the response to the revoking request, the old token
/// reads and writes nothing on that gateway, on old and new connections. Another gateway of the
/// same database enforces this as soon as it has closed the old connections, within a second.
import Fixtures
import Glibc
import Kernel
import Postgres
import Primitives
import Synchronization
import Testing
import Tokens

@testable import Gateway

@Suite("Revocation of access", .serialized)
struct ShutOutTests {
  enum Way: String, CaseIterable, Sendable {
    case disabled, removed, demoted, newPassword, loggedOut, blocked, erased
  }

  /// The shared state of the threads that reconnect with the old token.
  private final class Attack: Sendable {
    static let threads = 8
    /// The number of connections that begin after the response.
    static let lateCount = 200
    /// Milliseconds until all threads have been welcomed once.
    static let triesMax = 300_000

    let ports: [UInt16]
    let token: String
    let session: Identifier
    let isLate = Atomic<Bool>(false)
    let lateBegun = Atomic<Int>(0)
    let earlyWelcomed = Atomic<Int>(0)
    /// Texts received by connections that began after the response and got an ack for their send.
    let lateAcks = Mutex<[String]>([])

    init(ports: [UInt16], token: String, session: Identifier) {
      self.ports = ports
      self.token = token
      self.session = session
    }

    /// Reconnects until all late connections are done. A body records when its connection began.
    func run(_ number: Int) {
      var turn = number
      while lateBegun.load(ordering: .relaxed) < Attack.lateCount {
        turn += 1
        let isLate = isLate.load(ordering: .sequentiallyConsistent)
        if isLate { lateBegun.add(1, ordering: .relaxed) }
        do {
          let client = try SocketClient(port: ports[turn % ports.count])
          try client.greet(token, session, sending: isLate ? "late" : "early")
          let heard = try client.hear(#""ref":"s""#)
          if isLate {
            lateAcks.withLock { $0 += heard }
          } else {
            earlyWelcomed.add(1, ordering: .relaxed)
          }
        } catch {
          // A refusal is the expected result.
        }
      }
    }
  }

  @Test("none of 200 reconnects reads or writes after the response", arguments: Way.allCases)
  func oneGateway(_ way: Way) async throws {
    let gateway = try await RunningGateway(loops: 2)
    defer { gateway.stop() }
    try await shutOut(way, [gateway])
  }

  @Test(
    "two more gateways enforce it after they close the old connections, also without NOTIFY",
    arguments: [true, false])
  func threeGateways(isNotified: Bool) async throws {
    let database = try EmptyDatabase()
    let first = try await RunningGateway(loops: 1, database: database.url)
    defer { first.stop() }
    if !isNotified { try silence(database.url) }
    let second = try await RunningGateway(loops: 1, database: database.url, migrates: false)
    defer { second.stop() }
    let third = try await RunningGateway(loops: 1, database: database.url, migrates: false)
    defer { third.stop() }
    for gateway in [second, third] {
      while !gateway.context.metrics.readiness().isReady {
        try await Task.sleep(for: .milliseconds(2))
      }
    }
    for way in Way.allCases { try await shutOut(way, [first, second, third]) }
  }

  /// Disables the notifications of revocations, as with a pooler: gateways find them by query only.
  private func silence(_ url: String) throws {
    try BlockingConnection(url).execute(
      script: """
        DO $$
        DECLARE f oid;
        BEGIN
          FOR f IN SELECT oid FROM pg_proc WHERE proname LIKE 'chirrup_note_re%' LOOP
            EXECUTE replace(pg_get_functiondef(f), 'pg_notify(', 'concat(');
          END LOOP;
        END
        $$
        """)
  }

  private func shutOut(_ way: Way, _ gateways: [RunningGateway]) async throws {
    let gateway = gateways[0]
    let admin = try gateway.operatorAndToken().token
    let visit = try gateway.visitor()
    let (token, method, path, body) = try request(way, gateway, visit)
    let attack = Attack(ports: gateways.map(\.port), token: token, session: visit.session)
    let old = try gateways.map { gateway in
      let client = try SocketClient(port: gateway.port)
      try client.greet(token, visit.session, sending: "before")
      _ = try client.hear(#""ref":"s""#)
      return client
    }
    let threads = try (0..<Attack.threads).map { number in
      Held(try Thread.spawn(name: "intruder") { attack.run(number) })
    }
    // This wait keeps the thread: beside other tests a task may wait longer for one than the
    // heartbeat's timeout, and the old clients do not read.
    var tries = 0
    while attack.earlyWelcomed.load(ordering: .relaxed) < Attack.threads, tries < Attack.triesMax {
      tries += 1
      usleep(1_000)
    }
    #expect(tries < Attack.triesMax, "\(way): no early connection was welcomed")

    let answer = try gateway.call(
      method, path, token: way == .loggedOut ? token : admin, body)
    #expect(answer == "200" || answer == "204", "\(way) answered \(answer)")
    // The gateway that responded stores nothing more, regardless of when a connection began.
    let stored = gateways.count == 1 ? try written(gateway, visit.session).count : nil
    if gateways.count > 1 {
      for client in old { #expect(try client.hearTheEnd() != nil, "\(way)") }
    }
    attack.isLate.store(true, ordering: .sequentiallyConsistent)
    if way != .erased {
      let id = RunningGateway.makeID()
      #expect(
        try gateway.post(
          "conversations/\(visit.session)/messages", token: admin,
          #"{"id":"\#(id)","body":"secret \#(way)"}"#) == "201")
    }
    for thread in threads { thread.join() }
    for client in old {
      let code = try client.hearTheEnd()
      #expect(
        code == (way == .blocked || way == .erased ? 4302 : 4204),
        "\(way): \(client.heard.suffix(2))")
      #expect(!client.heard.contains { $0.contains("secret") }, "\(way)")
    }
    let log = try written(gateway, visit.session)
    #expect(attack.lateAcks.withLock { $0 }.isEmpty, "\(way): shown")
    #expect(!log.contains("late"), "\(way): stored")
    if let stored { #expect(log.count == stored, "\(way): stored") }
    if way == .blocked {
      let row = try gateway.ask(
        Query("SELECT status FROM chat_sessions WHERE id = $1", [.uuid(visit.session)]))
      #expect(row.text(0, 0) == "closed", "a conversation of a blocked visitor does not wait")
    }
  }

  /// Messages sent with the revoked token. Claims and similar events add other entries.
  private func written(_ gateway: RunningGateway, _ session: Identifier) throws -> [String] {
    try gateway.stored(session).map(\.body).filter { ["before", "early", "late"].contains($0) }
  }

  private func request(
    _ way: Way, _ gateway: RunningGateway, _ visit: (session: Identifier, token: String)
  ) throws -> (token: String, method: String, path: String, body: String) {
    if way == .blocked || way == .erased {
      let visitor = "admin/visitors/\(try gateway.owner(of: visit.session))"
      return way == .blocked
        ? (visit.token, "POST", "\(visitor)/block", "{}") : (visit.token, "DELETE", visitor, "")
    }
    let mika = try gateway.login()
    let member = "admin/members/\(mika.id)"
    return switch way {
    case .disabled: (mika.token, "PATCH", member, #"{"disabled":true}"#)
    case .removed: (mika.token, "DELETE", member, "")
    case .demoted: (mika.token, "PATCH", member, #"{"role":"agent"}"#)
    case .newPassword: (mika.token, "PATCH", member, #"{"password":"a quite new password"}"#)
    default: (mika.token, "POST", "auth/logout", "")
    }
  }

  @Test("a visitor who does not exist gets 4203; one who is deleted is closed within a second")
  func nobody() async throws {
    let nodes = try await Nodes()
    defer { nodes.stop() }
    let (here, there) = (nodes.here, nodes.there)
    let nobody = Principal.visitor(
      id: RunningGateway.makeID(), workspace: here.workspace,
      sessions: [try here.visitor().session], name: "Nobody")
    // Connections begin on either loop, so some move before they are confirmed.
    for _ in 0..<4 {
      let token = try here.tokens.issue(
        nobody, lifetimeSeconds: 600, now: SystemClock.wallTime()
      ).token
      let client = try SocketClient(port: here.port)
      try client.say(#"{"type":"hello","ref":1,"token":"\#(token)"}"#)
      #expect(try client.hearTheEnd() == 4203)
      #expect(!client.heard.contains { $0.contains(#""welcome""#) })
    }
    // Deleted while connected to the other gateway, and later, when the revocation is forgotten.
    let visit = try here.visitor()
    let visitor = try here.owner(of: visit.session)
    let old = try SocketClient(port: there.port)
    try old.say(#"{"type":"hello","ref":1,"token":"\#(visit.token)"}"#)
    _ = try old.hear(#""welcome""#)
    let begin = SystemClock.now()
    try here.run(Query("DELETE FROM visitors WHERE id = $1", [.uuid(visitor)]))
    #expect(try old.hearTheEnd() == 4302)
    #expect(SystemClock.now().milliseconds(since: begin) < 1_000)
    try here.run(Query("DELETE FROM revocations WHERE subject_id = $1", [.uuid(visitor)]))
    for gateway in [here, there] {
      let late = try SocketClient(port: gateway.port)
      try late.say(#"{"type":"hello","ref":1,"token":"\#(visit.token)"}"#)
      #expect(try late.hearTheEnd() == 4203)
    }
  }

  @Test("a deleted key reads and writes nothing after the response")
  func deletedKey() async throws {
    let gateway = try await RunningGateway(loops: 2)
    defer { gateway.stop() }
    let admin = try gateway.operatorAndToken().token
    let made = try gateway.text(
      "POST", "admin/api-keys", token: admin, #"{"name":"k","scopes":["conversations:read"]}"#)
    let key = try #require(made.firstMatch(of: /"key":"([^"]+)"/)?.1)
    let id = try #require(made.firstMatch(of: /"id":"([^"]+)"/)?.1)
    #expect(
      try gateway.call("GET", "admin/live-chat/conversations", token: String(key)) == "200")
    #expect(try gateway.call("DELETE", "admin/api-keys/\(id)", token: admin) == "204")
    for _ in 0..<20 {
      #expect(
        try gateway.call("GET", "admin/live-chat/conversations", token: String(key)) == "401")
    }
  }

  @Test("a hello waits while the database is unresponsive, and is welcomed when it responds")
  func unconfirmed() async throws {
    let database = try EmptyDatabase()
    let gateway = try await RunningGateway(loops: 1, database: database.url)
    defer { gateway.stop() }
    let visit = try gateway.visitor()
    let lock = try BlockingConnection(database.url)
    try lock.execute(script: "BEGIN; LOCK TABLE visitors IN ACCESS EXCLUSIVE MODE")
    let client = try SocketClient(port: gateway.port)
    try client.say(#"{"type":"hello","ref":1,"token":"\#(visit.token)"}"#)
    try await Task.sleep(for: .milliseconds(300))
    #expect(client.heard.isEmpty)
    try lock.execute(script: "COMMIT")
    _ = try client.hear(#""welcome""#)
  }
}

/// Wraps a thread for storage in an array.
private final class Held {
  private var thread: Thread?

  init(_ thread: consuming Thread) { self.thread = consume thread }

  func join() { thread.take()?.join() }
}

extension SocketClient {
  /// Sends hello, subscribe and send in one message.
  fileprivate func greet(_ token: String, _ session: Identifier, sending body: String) throws {
    try say(
      #"{"type":"hello","ref":1,"token":"\#(token)","#
        + #""subscribe":[{"session":"\#(session)","after":0}]}"# + "\n"
        + #"{"type":"send","ref":"s","session":"\#(session)","#
        + #""id":"\#(RunningGateway.makeID())","body":"\#(body)"}"#)
  }
}

extension RunningGateway {
  /// Sends one REST request and returns its status.
  fileprivate func call(
    _ method: String, _ path: String, token: String, _ body: String = ""
  ) throws -> String {
    String(try text(method, path, token: token, body).dropFirst("HTTP/1.1 ".count).prefix(3))
  }

  fileprivate func text(
    _ method: String, _ path: String, token: String, _ body: String
  ) throws -> String {
    let client = try RawClient(port: port)
    try client.send(
      "\(method) /api/v1/\(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        + "Authorization: Bearer \(token)\r\nContent-Type: application/json\r\n"
        + "Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)")
    return try client.readToEnd()
  }
}
