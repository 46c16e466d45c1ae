import API
import Cluster
import Directory
import Kernel
import Logging
import Migrator
import Postgres
import Primitives
import Settings
import Tokens

@testable import Gateway

/// Real loops in this process, on a real PostgreSQL: what the thread sanitizer can look into.
final class RunningGateway {
  let port: UInt16
  let tokens: TokenAuthority
  private let shared: Shared
  private let loops: LoopThreads
  private let connection: BlockingConnection
  private let workspace: Identifier

  init(loops count: Int) async throws {
    let url = try ScratchCluster.url()
    connection = try BlockingConnection(url)
    try Migrator(connection).up { _ in }
    var settings = Settings()
    settings.listen = [ListenAddress(host: "127.0.0.1", port: 0)]
    settings.loops = count
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    let options = GatewayOptions(
      settings: settings, databaseURL: url, signingSecret: Array(repeating: 9, count: 32),
      pageValues: [:], logger: logger)
    tokens = try await TokenAuthority(secret: options.signingSecret)
    shared = try Shared(options, tokens: tokens)
    let (listeners, addresses) = try Gateway.listen(shared)
    port = addresses[0].port
    loops = try LoopThreads.start(shared, listeners)
    workspace = RunningGateway.makeID()
    let create = Workspace.create(
      id: workspace, name: "test \(workspace)", publicKey: "pk_\(workspace)")
    _ = create.answer(try connection.run(create.query))
  }

  static func makeID() -> Identifier {
    Identifier(
      version7At: SystemClock.wallTime(), randomHigh: UInt16(truncatingIfNeeded: Random.uint64()),
      randomLow: Random.uint64())
  }

  /// A new visitor with a new session, and the token for it.
  func visitor() throws -> (session: Identifier, token: String) {
    let (id, session) = (RunningGateway.makeID(), RunningGateway.makeID())
    _ = try connection.run(Visitor.create(id: id, workspace: workspace, name: "Ada").query)
    _ = try connection.run(
      VisitorSession.create(
        id: session, workspace: workspace, visitor: id, context: Array("{}".utf8)
      ).query)
    let principal = Principal.visitor(
      id: id, workspace: workspace, sessions: [session], name: "Ada")
    return (
      session,
      try tokens.issue(principal, lifetimeSeconds: 600, now: SystemClock.wallTime()).token
    )
  }

  func operatorToken() throws -> String {
    try tokens.issue(
      .operator(
        id: RunningGateway.makeID(), workspace: workspace, name: "Mika", role: "agent"),
      lifetimeSeconds: 600, now: SystemClock.wallTime()
    ).token
  }

  /// The bodies of a session's log as PostgreSQL has them.
  func stored(_ session: Identifier) throws -> [(seq: Int64, body: String)] {
    let rows = try connection.run(
      Query("SELECT seq, content FROM chats WHERE session_id = $1 ORDER BY seq", [.uuid(session)]))
    return (0..<rows.count).map { (rows.int($0, 0) ?? 0, rows.text($0, 1) ?? "") }
  }

  func stop() {
    for mailbox in shared.mailboxes { mailbox.post(.drain(milliseconds: 3_000)) }
    loops.join()
  }
}
