/// Options that several commands share: the gateway, the clients' credentials, and the number of
/// processes.
import ArgumentParser
import EmbeddedPostgres
import Foundation
import Kernel
import Primitives

/// The certificates that a TLS connection accepts.
struct TrustOptions: ParsableArguments {
  @Flag(help: "With wss://, accept any certificate.")
  var insecure = false
  @Option(help: "With wss://, trust the certificates in this PEM file besides the system's.")
  var authority: String?

  func target(_ url: String) throws -> Target {
    guard var target = Target(url) else {
      throw ValidationError("the URL must be ws://ADDRESS:PORT/PATH or wss://…")
    }
    try target.prepare(verifies: !insecure, authority: authority)
    return target
  }
}

/// The gateway under test.
struct GatewayOptions: ParsableArguments {
  @Option(help: "The gateway: ws://ADDRESS:PORT[/PATH], or wss:// for TLS.")
  var url = "ws://127.0.0.1:8080"
  @OptionGroup var trust: TrustOptions
  @Option(
    help: "The gateway's process id, for its processor time and memory (default: of --data-dir).")
  var pid: Int?
  @Option(
    help: """
      The first process of its PostgreSQL, for the processor time of all its processes (default: \
      of --data-dir).
      """)
  var postgresPid: Int?

  func validate() throws {
    guard Target(url) != nil else {
      throw ValidationError("--url must be ws://ADDRESS:PORT or wss://…")
    }
  }

  /// The gateway's process id; nil when no option names it.
  func process(_ credentials: CredentialOptions) -> Int? { pid ?? credentials.gateway }

  /// The first process of its PostgreSQL; nil when no option names it.
  func postmaster(_ credentials: CredentialOptions) -> Int? {
    postgresPid ?? credentials.dataDir.flatMap(LocalGateway.postmaster)
  }

  func target() throws -> Target { try trust.target(url) }
}

/// Sources of the clients' tokens, and the database that the messages are verified in.
struct CredentialOptions: ParsableArguments {
  @Option(
    name: .customLong("tokens"), help: "A file with output of `chirrup token`. Repeatable.")
  var tokenFiles: [String] = []
  @Option(help: "The chirrup binary, which issues the tokens.")
  var chirrup: String?
  @Option(help: "The workspace that tokens are issued for.")
  var workspace = "demo"
  @Option(help: "The gateway's data directory, whose PostgreSQL issues tokens and is verified.")
  var dataDir: String?
  @Option(help: "The URL of the gateway's PostgreSQL, which issues tokens and is verified.")
  var databaseUrl: String?

  /// Lifetime of the issued tokens, so the longest run.
  private static let lifetimeSeconds = 86_400

  /// Called by commands that use the chat protocol; the echo needs no tokens.
  func check() throws {
    guard !tokenFiles.isEmpty || chirrup != nil else {
      throw ValidationError(
        "the chat needs tokens: use --tokens FILE, or --chirrup PATH with --data-dir or "
          + "--database-url")
    }
  }

  var isGiven: Bool {
    !tokenFiles.isEmpty || chirrup != nil || dataDir != nil || databaseUrl != nil
  }

  /// Process id of the gateway that uses the data directory.
  var gateway: Int? { dataDir.flatMap { LocalGateway.process(in: $0 + "/gateway.lock") } }

  var hasDatabase: Bool { (dataDir ?? databaseUrl) != nil }

  /// - Parameter database: a URL that overrides the options'.
  func gather(
    visitors: Int, operators: Int, database: String? = nil
  ) throws -> [Credential] {
    let all = try all(visitors: visitors, operators: operators, database: database)
    return try take(.visitor, visitors, "visitor", of: all)
      + take(.operator_, operators, "operator", of: all)
  }

  /// All credentials of the files, and the requested number of new ones.
  func all(visitors: Int, operators: Int, database: String? = nil) throws -> [Credential] {
    var all: [Credential] = []
    for file in tokenFiles { all += try Credentials.read(file: file) }
    guard let chirrup else { return all }
    let option =
      (database ?? databaseUrl).map { ["--database-url", $0] }
      ?? dataDir.map { ["--data-dir", $0] } ?? []
    for (kind, count) in [("visitor", visitors), ("operator", operators)] {
      all += try Credentials.make(
        chirrup: chirrup, kind: kind, count: count, workspace: workspace, database: option,
        lifetimeSeconds: CredentialOptions.lifetimeSeconds)
    }
    return all
  }

  private func take(
    _ kind: Credential.Kind, _ count: Int, _ name: String, of all: [Credential]
  ) throws -> [Credential] {
    let found = all.filter { $0.kind == kind }
    guard found.count >= count else {
      throw CredentialFailure.tooFew(name, wanted: count, found: found.count)
    }
    return Array(found.prefix(count))
  }

  func database() throws -> String? {
    if let databaseUrl { return databaseUrl }
    return try dataDir.map { try PrivateCluster.attach(dataDirectory: $0) }
  }
}

/// The number of client processes, and timeouts.
struct WorkerOptions: ParsableArguments {
  @Option(help: "Processes for the clients; 0 chooses by the descriptor limit (ulimit -n).")
  var processes = 0
  @Option(help: "Seconds for all clients to connect and subscribe.")
  var settleSeconds = 120
  @Option(help: "Seconds without progress after which outstanding answers count as missing.")
  var drainSeconds = 30
  @Option(help: "Seconds between progress lines when the output is no terminal.")
  var progressSeconds = 5
  @Option(help: "Repeat the senders, gaps and delays of an earlier run.")
  var seed: UInt64?
  @Option(
    help: ArgumentHelp(
      "Falsify one delivery, to test the verifier: drop-delivery, double-delivery",
      visibility: .hidden))
  var tamper: Tamper?

  func validate() throws {
    guard tamper == nil || tamper == .dropDelivery || tamper == .doubleDelivery else {
      throw ValidationError("--tamper must be drop-delivery or double-delivery")
    }
    try checkRange("--processes", processes, 0...64)
    try checkRange("--settle-seconds", settleSeconds, 1...3_600)
    try checkRange("--drain-seconds", drainSeconds, 1...3_600)
    try checkRange("--progress-seconds", progressSeconds, 1...3_600)
  }

  func count(connections: Int) -> Int {
    WorkerGroup.processes(
      connections: connections, asked: processes, limit: WorkerGroup.connectionsMax)
  }

  /// The work of each process, without its clients: a share of the rate, a seed, and source
  /// addresses where one address has too few ports.
  func works(
    _ count: Int, plan: LoadPlan, course: RunKind, connections: Int, database: String?
  ) -> [WorkerTask] {
    (0..<count).map { index in
      var work = WorkerTask(plan: plan, course: course, databaseURL: database)
      work.plan.ratePerSecond = plan.ratePerSecond / Double(count)
      if index == 0 { work.tamper = tamper }
      work.plan.seed = plan.seed &+ UInt64(index) &* 7919
      let address = plan.target.address
      if connections > WorkerOptions.portsOfAddress, address.isLoopback, address.isVersion4 {
        let first = 0x7F00_0002 + 2 * UInt32(index)
        work.plan.target.sources = [IPAddress(version4: first), IPAddress(version4: first + 1)]
      }
      return work
    }
  }

  /// Above this number of connections the kernel's search for a free port becomes slow.
  private static let portsOfAddress = 10_000
}

/// Refuses a rate of messages per second that is not above 0 and at most `max`.
func checkRate(_ rate: Double, max: Int) throws {
  guard rate > 0, rate <= Double(max) else {
    throw ValidationError("--rate must be more than 0, and at most \(max)")
  }
}

/// Throws an error that names the range.
func checkRange(_ name: String, _ value: Int, _ range: ClosedRange<Int>) throws {
  guard range.contains(value) else {
    throw ValidationError("\(name) must be \(range.lowerBound) to \(range.upperBound)")
  }
}
