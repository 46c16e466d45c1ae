/// The processes of a torture: PostgreSQL, the gateway, a proxy before each, and the thread of
/// clients.
import Foundation
import Kernel
import Primitives

final class TortureProcesses {
  let database: TortureDatabase
  let gateway: TortureGateway
  /// The proxies before the database and before the gateway.
  let databaseProxy: FaultProxy
  let clientProxy: FaultProxy
  let control = TortureControl()
  /// The clients' counters.
  let shared = RunState(loops: 1)
  /// The gateway's URLs of PostgreSQL through the proxy: a Unix socket and TCP.
  let databaseURLs: [String]
  private let options: Torture
  private var clients: ThreadBox?

  private static let tokenSeconds = 86_400
  private static let backoffMaxMilliseconds = 1_000

  init(_ options: Torture, seed: UInt64, folder: String) throws {
    self.options = options
    database = try TortureDatabase(directory: folder)
    // libpq expects this socket name in a folder.
    let place = folder + "/proxy"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    let path = place + "/.s.PGSQL.5432"
    try? FileManager.default.removeItem(atPath: path)
    databaseProxy = try FaultProxy(
      "database proxy", listeners: [.init(endpoint: .path(path)), .init(endpoint: .tcp(0))],
      target: .path(database.socket), seed: seed &+ 1)
    let common = "user=chirrup&sslmode=disable&gssencmode=disable"
    let host = place.percentEncoded()
    databaseURLs = [
      "postgresql:///chirrup?host=\(host)&\(common)",
      "postgresql:///chirrup?host=127.0.0.1&port=\(databaseProxy.ports[1])&\(common)",
    ]
    gateway = TortureGateway(
      binary: options.chirrup, port: try TortureProcesses.freePort(), log: folder + "/gateway.log")
    clientProxy = try FaultProxy(
      "client proxy",
      listeners: [.init(endpoint: .tcp(0)), .init(endpoint: .tcp(0), isSlow: true)],
      target: .tcp(gateway.port), seed: seed &+ 2)
  }

  /// Starts the gateway, and the clients when it is ready.
  func open(seed: UInt64) throws {
    try gateway.start(databaseURL: databaseURLs[0])
    try gateway.awaitReady()
    var credentials: [Credential] = []
    for (kind, count) in [("visitor", options.sessions), ("operator", options.operators)] {
      credentials += try Credentials.make(
        chirrup: options.chirrup, kind: kind, count: count, workspace: "demo",
        database: ["--database-url", database.url], lifetimeSeconds: TortureProcesses.tokenSeconds)
    }
    let group = ClientGroup.crowd(credentials)
    let plan = try plan(seed: seed)
    let control = control
    let shared = shared
    let databaseURL = database.url
    clients = ThreadBox(
      try Thread.spawn(name: "clients") {
        do throws(Errno) {
          let loop = try LoadLoop(plan: plan, group: group, shared: shared, index: 0)
          try TortureLoop(loop, control: control, databaseURL: databaseURL).run()
        } catch {
          control.fail("\(error)")
        }
      })
  }

  func close() {
    if let clients {
      control.send(.end)
      clients.join()
    }
    clients = nil
    _ = try? gateway.drain()
    clientProxy.stop()
    databaseProxy.stop()
    database.stop()
  }

  /// A description of an unexpected end of a process or thread; nil if all are running.
  func accident() throws -> String? {
    if let status = try gateway.unexpectedEnd() {
      return "the gateway ended unexpectedly with \(status)"
    }
    for (name, proxy) in [("client", clientProxy), ("database", databaseProxy)] {
      if let failure = proxy.control.failure { return "the \(name) proxy ended: \(failure)" }
    }
    return control.failure.map { "the clients ended: \($0)" }
  }

  private func plan(seed: UInt64) throws -> LoadPlan {
    guard let target = Target("ws://127.0.0.1:\(clientProxy.ports[0])"),
      let slow = Target("ws://127.0.0.1:\(clientProxy.ports[1])")
    else { throw TortureFailure.clients("the proxy has no address") }
    return LoadPlan(
      target: target, slowTarget: slow,
      stamp: Stamp(nonce: Random.uint64(), wall: SystemClock.wallTime(), now: SystemClock.now()),
      bodyBytes: options.bodyBytes, ratePerSecond: options.rate, spacing: .constant,
      seconds: TortureProcesses.tokenSeconds, operatorShare: 0.3, settleSeconds: 60,
      drainSeconds: 60,
      backoffMaxMilliseconds: TortureProcesses.backoffMaxMilliseconds, seed: seed &+ 3)
  }

  private static func freePort() throws(Errno) -> UInt16 {
    try Sockets.listen(on: .loopback, port: 0).localPort()
  }
}

extension ClientGroup {
  /// Each session has a visitor in two tabs and all operators.
  static func crowd(_ credentials: [Credential]) -> ClientGroup {
    var group = ClientGroup()
    for credential in credentials where credential.kind == .visitor {
      guard let session = credential.session else { continue }
      group.sessions.append(session)
      for _ in 0..<2 {
        group.add(.visitor, credential.token, [group.sessions.count - 1])
      }
    }
    for credential in credentials where credential.kind == .operator_ {
      group.add(.operator_, credential.token, Array(group.sessions.indices))
    }
    return group
  }

  private mutating func add(_ role: Client.Role, _ token: String, _ sessions: [Int]) {
    // Behaviours alternate; the sequence's length differs from the numbers of tabs and operators.
    let behaviours: [Behaviour] = [
      .plain, .deflating, .wandering, .plain, .slow, .deflating, .wandering,
    ]
    members.append(
      Member(
        number: members.count, role: role, token: token, sessions: sessions,
        behaviour: behaviours[members.count % behaviours.count]))
  }
}
