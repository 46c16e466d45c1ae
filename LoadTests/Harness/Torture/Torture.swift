/// `chirrup-load torture`: injects all kinds of faults repeatedly and verifies that no message is
/// lost.
import ArgumentParser
import Foundation
import Kernel
import Primitives

struct Torture: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Kill, stop, freeze and cut gateway, PostgreSQL and connections under load.",
    discussion: """
      Starts a private PostgreSQL and a gateway with a fault proxy before each, and lets visitors \
      and operators talk at a constant rate. In each cycle a fault occurs at a random moment; \
      after the recovery every ack, every row and every delivery is compared. Exit status: 1 after \
      a broken promise (logs and data are kept then), 2 if it could not run. Without --seed the \
      environment variable SEED is used.
      """)

  @Option(help: "The chirrup binary.")
  var chirrup: String
  @Option(help: "Number of cycles.")
  var cycles = 20
  @Option(help: "Repeat the faults and their times of an earlier run.")
  var seed: UInt64?
  @Option(help: "Sessions, each with a visitor in two tabs.")
  var sessions = 12
  @Option(help: "Operators' connections, each subscribed to all sessions.")
  var operators = 6
  @Option(help: "Messages due per second, of all senders together.")
  var rate = 200.0
  @Option(help: "Bytes of a message's body.")
  var bodyBytes = 200
  @Option(help: "Only faults whose name contains this. Repeatable.")
  var only: [String] = []
  @Option(help: "Seconds within which the system must recover after a fault.")
  var recoverySeconds = 180
  @Option(help: "A folder for data and logs (default: a new one, deleted after success).")
  var dataDir: String?
  @Flag(help: "Continue after a broken promise.")
  var keepGoing = false
  @Option(
    help: ArgumentHelp(
      "Falsify once, to test the verifier: "
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
    try checkRate(rate, max: 100_000)
    guard sessions <= 256 else {
      throw ValidationError("an operator can subscribe to 256 sessions at most")
    }
    guard !kinds.isEmpty else {
      throw ValidationError(
        "--only matches no fault; known: "
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
      record.meta.readVersions(chirrup: chirrup, database: nil)
      record.add(setup: "Sessions", "\(Format.count(sessions)), each with a visitor in two tabs")
      record.add(setup: "Operators", "\(operators), each subscribed to all sessions")
      record.add(setup: "Arrivals", "\(Format.number(rate)) a second in bursts, constant")
      record.add(setup: "Bodies", "\(bodyBytes) bytes")
      try torture(&record)
      return record
    }
  }

  private func torture(_ record: inout RunRecord) throws {
    let environment = ProcessInfo.processInfo.environment
    let seed = seed ?? environment["SEED"].flatMap { UInt64($0) } ?? Random.uint64() >> 32
    // Absolute, as libpq requires for the folder of a socket.
    let folder = try dataDir.map { URL(filePath: $0).path } ?? Torture.newFolder()
    printLine("torture seed \(seed), \(cycles) cycles, data and logs in \(folder)")
    let conductor = try TortureRun(self, seed: seed, folder: folder)
    let found = try conductor.run()
    if found.passed, dataDir == nil { try FileManager.default.removeItem(atPath: folder) }
    print(found)
    found.fill(&record)
    conductor.fill(&record)
  }

  /// PostgreSQL's account must have access, and a socket's path may have 107 bytes.
  private static func newFolder() throws -> String {
    let folder = "/tmp/chirrup-torture-\(String(Random.uint64(), radix: 36))"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o711])
    return folder
  }
}

extension Tamper: ExpressibleByArgument {}

/// Prints a line without buffering, so that it appears at once in a pipe.
func printLine(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
