/// What the commands ask for alike: where the gateway is, who the clients are, and how many
/// processes they are split over.
import ArgumentParser
import EmbeddedPostgres
import Foundation
import Kernel
import Primitives

/// Whom a connection over TLS believes.
struct TrustOptions: ParsableArguments {
  @Flag(help: "With wss://: any certificate will do.")
  var insecure = false
  @Option(help: "With wss://: a PEM file of certificates to trust besides the system's.")
  var authority: String?

  func target(_ url: String) throws -> Target {
    guard var target = Target(url) else {
      throw ValidationError("the URL must be ws://ADDRESS:PORT/PATH or wss://…")
    }
    try target.prepare(verifies: !insecure, authority: authority)
    return target
  }
}

/// Where the gateway is.
struct GatewayOptions: ParsableArguments {
  @Option(help: "The gateway: ws://ADDRESS:PORT[/PATH], or wss:// for TLS.")
  var url = "ws://127.0.0.1:8080"
  @OptionGroup var trust: TrustOptions
  @Option(help: "Process id of the gateway, for its processor time and memory (of --data-dir's).")
  var pid: Int?

  func validate() throws {
    guard Target(url) != nil else {
      throw ValidationError("--url must be ws://ADDRESS:PORT or wss://…")
    }
  }

  /// The gateway's process; nil when nobody has said.
  func process(_ who: CredentialOptions) -> Int? { pid ?? who.gateway }

  func target() throws -> Target { try trust.target(url) }
}

/// Who the clients are, and where their messages are looked for afterwards.
struct CredentialOptions: ParsableArguments {
  @Option(name: .customLong("tokens"), help: "A file of `chirrup token`; may be repeated.")
  var tokenFiles: [String] = []
  @Option(help: "The gateway's binary, to make the tokens with.")
  var chirrup: String?
  @Option(help: "The workspace of the tokens.")
  var workspace = "demo"
  @Option(help: "The gateway's data directory: tokens and rows come from its PostgreSQL.")
  var dataDir: String?
  @Option(help: "The gateway's PostgreSQL: tokens and rows come from it.")
  var databaseUrl: String?

  /// A run may last as long.
  private static let lifetimeSeconds = 86_400

  /// For those who talk with the gateway, and not with its echo.
  func check() throws {
    guard !tokenFiles.isEmpty || chirrup != nil else {
      throw ValidationError(
        "the chat needs tokens: give --tokens FILE, or --chirrup PATH with --data-dir or "
          + "--database-url")
    }
  }

  var isGiven: Bool {
    !tokenFiles.isEmpty || chirrup != nil || dataDir != nil || databaseUrl != nil
  }

  /// The gateway that runs on the data directory.
  var gateway: Int? { dataDir.flatMap { Place.process(in: $0 + "/gateway.lock") } }

  var hasDatabase: Bool { (dataDir ?? databaseUrl) != nil }

  /// `database` is another one than the options name.
  func gather(
    visitors: Int, operators: Int, database: String? = nil
  ) throws -> [Credential] {
    let all = try all(visitors: visitors, operators: operators, database: database)
    return try take(.visitor, visitors, "visitor", of: all)
      + take(.operator_, operators, "operator", of: all)
  }

  /// All that the files hold, and as many new ones.
  func all(visitors: Int, operators: Int, database: String? = nil) throws -> [Credential] {
    var all: [Credential] = []
    for file in tokenFiles { all += try Credentials.read(file: file) }
    guard let chirrup else { return all }
    let place =
      (database ?? databaseUrl).map { ["--database-url", $0] }
      ?? dataDir.map { ["--data-dir", $0] } ?? []
    for (kind, count) in [("visitor", visitors), ("operator", operators)] {
      all += try Credentials.make(
        chirrup: chirrup, kind: kind, count: count, workspace: workspace, place: place,
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

/// How the clients are split, and how long things may take.
struct CrewOptions: ParsableArguments {
  @Option(help: "Processes for the clients; 0 is as many as their descriptors need (ulimit -n).")
  var processes = 0
  @Option(help: "Seconds to wait for everybody to connect.")
  var settleSeconds = 120
  @Option(help: "Seconds without any progress after which missing answers are given up.")
  var drainSeconds = 30
  @Option(help: "Seconds between two lines of progress where there is no terminal.")
  var progressSeconds = 5
  @Option(help: "Repeats the senders, gaps and delays of an earlier run.")
  var seed: UInt64?
  @Option(
    help: ArgumentHelp(
      "Lies once, to prove that the checker convicts: drop-delivery, double-delivery",
      visibility: .hidden))
  var tamper: Tamper?

  func validate() throws {
    guard tamper == nil || tamper == .dropDelivery || tamper == .doubleDelivery else {
      throw ValidationError("--tamper knows drop-delivery and double-delivery")
    }
    try checkRange("--processes", processes, 0...64)
    try checkRange("--settle-seconds", settleSeconds, 1...3_600)
    try checkRange("--drain-seconds", drainSeconds, 1...3_600)
    try checkRange("--progress-seconds", progressSeconds, 1...3_600)
  }

  func count(connections: Int) -> Int {
    Crew.processes(connections: connections, asked: processes, limit: Crew.connectionsMax)
  }

  /// The processes' work but for their clients: each has its share of the rate, addresses of its
  /// own to connect from where one address has too few ports, and its own chance.
  func works(
    _ count: Int, plan: LoadPlan, course: Course, connections: Int, database: String?
  ) -> [CrewWork] {
    (0..<count).map { index in
      var work = CrewWork(plan: plan, course: course, databaseURL: database)
      work.plan.ratePerSecond = plan.ratePerSecond / Double(count)
      if index == 0 { work.tamper = tamper }
      work.plan.seed = plan.seed &+ UInt64(index) &* 7919
      let address = plan.target.address
      if connections > CrewOptions.portsOfAddress, address.isLoopback, address.isVersion4 {
        let first = 0x7F00_0002 + 2 * UInt32(index)
        work.plan.target.sources = [IPAddress(version4: first), IPAddress(version4: first + 1)]
      }
      return work
    }
  }

  /// A search for a free one becomes slow beyond this.
  private static let portsOfAddress = 10_000
}

/// Says what is allowed where a number is not.
func checkRange(_ name: String, _ value: Int, _ range: ClosedRange<Int>) throws {
  guard range.contains(value) else {
    throw ValidationError("\(name) must be \(range.lowerBound) to \(range.upperBound)")
  }
}
