import Directory
import EmbeddedPostgres
import Engine
import Fixtures
import Kernel
import Logging
import Migrator
import OpenSSL
import Postgres
import Primitives
import REST
import Settings
import Synchronization
import Tokens

@testable import Gateway

/// Real loops in this process and a real PostgreSQL, so that the thread sanitizer sees the loops.
final class RunningGateway {
  /// The settings that a reload finds.
  private final class Box: Sendable {
    private let settings: Mutex<Settings>

    init(_ settings: Settings) { self.settings = Mutex(settings) }

    var value: Settings {
      get { settings.withLock { $0 } }
      set { settings.withLock { $0 = newValue } }
    }
  }

  let port: UInt16
  /// The port of the TLS listener, if TLS is configured.
  let securePort: UInt16
  /// The port of the listener for metrics, if there is one.
  let adminPort: UInt16
  let tokens: TokenAuthority
  let context: GatewayContext
  private let loops: LoopThreads
  private let connection: BlockingConnection
  private let configured: Box
  private var settingsReload: SettingsReload
  let workspace: Identifier

  init(
    loops count: Int = 1, database: String? = nil, migrates: Bool = true,
    log book: LogBook? = nil, version: String = "1", _ change: (inout Settings) -> Void = { _ in }
  ) async throws {
    let url = try database ?? ScratchCluster.url()
    try Roles.prepared.get()
    connection = try BlockingConnection(url)
    if migrates { try Migrator(connection).up { _ in } }
    var settings = Settings()
    settings.listen = [ListenAddress(host: "127.0.0.1", port: 0)]
    settings.adminListen = []
    settings.loops = count
    settings.databaseURL = try Roles.gateway(url)
    change(&settings)
    var silent = Logger(label: "test")
    silent.logLevel = .critical
    let logger = book?.logger ?? silent
    let options = GatewayOptions(
      settings: settings, version: version, schema: "20270508_mail_alerts",
      databaseURL: try Roles.gateway(url),
      signingSecret: Array(repeating: 9, count: 32),
      tokens: TokenAuthority(secret: Array(repeating: 9, count: 32)),
      pageValues: [:], logger: logger)
    tokens = options.tokens
    context = try GatewayContext(
      options, certificates: try Certificates(options.settings))
    let (listeners, addresses) = try Gateway.listen(context)
    port = addresses.plain[0].port
    securePort = addresses.secure.first?.port ?? 0
    adminPort = addresses.admin.first?.port ?? 0
    loops = try LoopThreads.start(context, listeners)
    let configured = Box(settings)
    self.configured = configured
    settingsReload = SettingsReload(
      context,
      SettingsSource(
        loaded: settings, load: { (configured.value, []) },
        checkDatabase: { settings in
          if let url = settings.databaseURL { _ = try BlockingConnection(url) }
        }, apply: { _ in }))
    workspace = RunningGateway.makeID()
    // Without the schema, everything below would fail.
    guard migrates else { return }
    let create = Workspace.create(
      id: workspace, name: "test \(workspace)", publicKey: "pk_\(workspace)")
    _ = create.answer(try connection.run(create.query))
    // The gateway loads the lists of origins when PostgreSQL answers.
    while !context.metrics.readiness().isReady { try await Task.sleep(for: .milliseconds(2)) }
  }

  static func makeID() -> Identifier {
    Identifier(
      version7At: SystemClock.wallTime(), randomHigh: UInt16(truncatingIfNeeded: Random.uint64()),
      randomLow: Random.uint64())
  }

  /// Creates a visitor with a session and a token for it.
  func visitor(origin: String? = nil) throws -> (session: Identifier, token: String) {
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
      try tokens.issue(
        principal, boundTo: TokenBinding(origin: origin), lifetimeSeconds: 600,
        now: SystemClock.wallTime()
      ).token
    )
  }

  func operatorToken(role: String = "admin") throws -> String {
    try operatorAndToken(role: role).token
  }

  /// Creates an operator, and a token as the command line issues it.
  func operatorAndToken(role: String = "admin") throws -> (id: Identifier, token: String) {
    let id = RunningGateway.makeID()
    _ = try connection.run(
      Operator.create(
        id: id, email: "\(id)@example.com", name: "Mika", passwordHash: "x", workspace: workspace,
        membership: "admin"
      ).query)
    let token = try tokens.issue(
      .operator(id: id, workspace: workspace, name: "Mika", role: role), lifetimeSeconds: 600,
      now: SystemClock.wallTime()
    ).token
    return (id, token)
  }

  /// Logs an operator in to the console: a new operator, or a known one again.
  func login(
    of known: Identifier? = nil
  ) throws -> (id: Identifier, hash: [UInt8], token: String) {
    let id = try known ?? operatorAndToken().id
    let hash = SHA256.digest(Array("\(RunningGateway.makeID())".utf8))
    _ = try connection.run(
      OperatorSession.create(
        tokenHash: hash, operator: id, workspace: workspace, passwordHash: "x",
        from: OperatorSession.Client(device: "", address: ""), now: SystemClock.wallTime(),
        expiresAt: WallTime(microseconds: SystemClock.wallTime().microseconds + 600_000_000)
      ).query)
    let hexadecimal = hash.map { byte in
      let digits = String(byte, radix: 16)
      return digits.count == 1 ? "0" + digits : digits
    }.joined()
    let token = try tokens.issue(
      .operator(id: id, workspace: workspace, name: "Mika", role: "admin"),
      boundTo: TokenBinding(session: hexadecimal), lifetimeSeconds: 600,
      now: SystemClock.wallTime()
    ).token
    return (id, hash, token)
  }

  /// The visitor who owns a session.
  func owner(of session: Identifier) throws -> Identifier {
    let rows = try connection.run(
      Query("SELECT user_id FROM chat_sessions WHERE id = $1", [.uuid(session)]))
    return rows.uuid(0, 0) ?? .zero
  }

  func run(_ query: Query) throws { _ = try connection.run(query) }

  func ask(_ query: Query) throws -> Rows { try connection.run(query) }

  /// Stores `count` messages of 16 kB in a session. Each begins with its number.
  func fill(_ session: Identifier, count: Int) throws {
    try run(
      Query(
        """
        WITH lines AS (
          INSERT INTO chats (id, workspace_id, session_id, seq, role, content, content_hash)
          SELECT gen_random_uuid(), $1, $2, n, 'visitor', n || repeat('x', 16000), sha256('x')
          FROM generate_series(1, $3::int) AS n
        )
        UPDATE chat_sessions SET last_seq = $3::int WHERE id = $2
        """, [.uuid(workspace), .uuid(session), .text("\(count)")]))
  }

  /// The bodies of a session's log in PostgreSQL.
  func stored(_ session: Identifier) throws -> [(seq: Int64, body: String)] {
    let rows = try connection.run(
      Query("SELECT seq, content FROM chats WHERE session_id = $1 ORDER BY seq", [.uuid(session)]))
    return (0..<rows.count).map { (rows.int($0, 0) ?? 0, rows.text($0, 1) ?? "") }
  }

  /// The number of faults of each kind, as `stage: reason`.
  var faults: [String: UInt64] {
    var all = FaultCounts()
    for figures in context.metrics.read() {
      all.merge(figures.faults)
      all.merge(figures.engine.faults)
    }
    return Dictionary(
      uniqueKeysWithValues: all.counts.map { ("\($0.key.stage): \($0.key.reason)", $0.value) })
  }

  /// The number of sockets that admission counts now.
  var socketCount: Int { context.admission.count }

  /// Reads the settings again, as after a change of the file.
  @discardableResult
  func reload(
    isCheck: Bool = false, _ change: (inout Settings) -> Void = { _ in },
    unless isStopping: () -> Bool = { false }
  ) async -> ReloadReport {
    var new = configured.value
    change(&new)
    configured.value = new
    return await settingsReload.run(isCheck: isCheck, unless: isStopping)
  }

  /// The number of refusals for a reason, as last published by the loops.
  func faults(_ reason: String) -> UInt64 {
    context.metrics.read().reduce(0) { sum, figures in
      sum + figures.faults.counts.filter { $0.key.reason == reason }.values.reduce(0, +)
    }
  }

  func drain(milliseconds: Int64) {
    for mailbox in context.mailboxes { mailbox.post(.drain(milliseconds: milliseconds)) }
  }

  func stop() {
    drain(milliseconds: 3_000)
    loops.join()
    context.readers.stop()
    context.upkeep.stop()
    // The next gateway on this database is the oldest at once.
    _ = try? connection.run(context.peers.farewell())
  }
}
