/// `chirrup-load torture`: everything that can break is broken, again and again, and nothing may be
/// lost.
import ArgumentParser
import Foundation
import Kernel
import Primitives

struct Torture: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Kills, stops, freezes and cuts gateway, PostgreSQL and connections under load.",
    discussion: """
      It starts a private PostgreSQL and a gateway of its own, with a fault proxy before each, and \
      lets visitors and operators talk at a constant rate. In each cycle something breaks at a \
      random moment; when everything works again, every ack, every row and every subscriber's view \
      are compared. Ends with 1 if a promise was broken (logs and data are kept then), with 2 if \
      it could not run. The environment's SEED is taken where --seed is not given.
      """)

  @Option(help: "The gateway's binary.")
  var chirrup: String
  @Option(help: "How many times something breaks.")
  var cycles = 20
  @Option(help: "Repeats the faults and their moments of an earlier run.")
  var seed: UInt64?
  @Option(help: "Sessions, each with a visitor in two tabs.")
  var sessions = 12
  @Option(help: "Connections of operators, each of which follows all sessions.")
  var operators = 6
  @Option(help: "Messages due a second, all senders together.")
  var rate = 200.0
  @Option(help: "Bytes of a message's body.")
  var bodyBytes = 200
  @Option(help: "Only faults whose name contains this; may be repeated.")
  var only: [String] = []
  @Option(help: "Seconds within which everything must work again after a fault.")
  var recoverySeconds = 180
  @Option(help: "A folder for data and logs (a new one that is deleted when all is well).")
  var dataDir: String?
  @Flag(help: "Go on after a broken promise.")
  var keepGoing = false
  @Option(
    help: ArgumentHelp(
      "Lies once, to prove that the checker convicts: "
        + Tamper.allCases.map(\.rawValue).joined(separator: ", "), visibility: .hidden))
  var tamper: Tamper?

  @OptionGroup(title: "Report")
  var report: ReportOptions

  func validate() throws {
    try checkRange("--cycles", cycles, 1...1_000_000)
    try checkRange("--sessions", sessions, 1...1_000)
    try checkRange("--operators", operators, 1...200)
    try checkRange("--body-bytes", bodyBytes, Bodies.byteCountMin...16_384)
    try checkRange("--recovery-seconds", recoverySeconds, 1...3_600)
    guard rate > 0, rate <= 100_000 else { throw ValidationError("--rate must be 0 to 100000") }
    guard sessions <= 256 else { throw ValidationError("an operator follows 256 sessions at most") }
    guard !kinds.isEmpty else {
      throw ValidationError(
        "--only names no fault; there are: "
          + FaultKind.allCases.map(\.rawValue).joined(separator: ", "))
    }
  }

  var kinds: [FaultKind] {
    only.isEmpty
      ? FaultKind.allCases
      : FaultKind.allCases.filter { kind in only.contains { kind.rawValue.contains($0) } }
  }

  func run() throws {
    try report.run {
      var record = RunRecord(
        command: "torture", title: "Torture: \(Format.count(cycles)) cycles of faults")
      record.meta.ask(chirrup: chirrup, database: nil)
      record.add(setup: "Sessions", "\(Format.count(sessions)), each with a visitor in two tabs")
      record.add(setup: "Operators", "\(operators), each follows all sessions")
      record.add(setup: "Arrivals", "\(Format.number(rate)) a second in bursts, constant")
      record.add(setup: "Bodies", "\(bodyBytes) bytes")
      try torture(&record)
      return record
    }
  }

  private func torture(_ record: inout RunRecord) throws {
    let environment = ProcessInfo.processInfo.environment
    let seed = seed ?? environment["SEED"].flatMap { UInt64($0) } ?? Random.uint64() >> 32
    // Absolute, as libpq wants the folder of a socket.
    let folder = try dataDir.map { URL(filePath: $0).path } ?? Torture.newFolder()
    say("torture seed \(seed), \(cycles) cycles, data and logs in \(folder)")
    let conductor = try Conductor(self, seed: seed, folder: folder)
    let found = try conductor.run()
    if found.passed, dataDir == nil { try FileManager.default.removeItem(atPath: folder) }
    print(found)
    found.fill(&record)
    conductor.fill(&record)
  }

  /// PostgreSQL's own account must be able to enter, and a socket's path may have 107 bytes.
  private static func newFolder() throws -> String {
    let folder = "/tmp/chirrup-torture-\(String(Random.uint64(), radix: 36))"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o711])
    return folder
  }
}

extension Tamper: ExpressibleByArgument {}

/// A line that is seen at once, also through a pipe.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
