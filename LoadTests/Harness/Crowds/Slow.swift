/// `chirrup-load slow`: the effect of subscribers that stop reading on the others.
import ArgumentParser
import Foundation
import Kernel
import Primitives

struct Slow: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Let a few subscribers stop reading, and measure the effect on the others.",
    discussion: """
      In every room a visitor sends and the others listen. Phases in which all of them read \
      alternate with phases in which some, spread over all rooms, do not; the latency and the \
      throughput of the others are compared within each pair of phases. The gateway buffers \
      nothing for slow readers and closes them with 4101 after 30 s. They reconnect and resume: \
      at the end every subscriber must have received everything, once and in order. With \
      --until-closed the last phase lasts until the gateway has closed all of them (by /metrics).

      Exit status: 1 after a broken promise, 2 if it could not run. --check also checks the \
      limits --p99-ratio, --throughput-ratio and --memory-mib.
      """)

  @OptionGroup(title: "Gateway") var gateway: GatewayOptions
  @OptionGroup(title: "Clients") var credentials: CredentialOptions
  @OptionGroup(title: "Run") var workers: WorkerOptions
  @Option(help: "Rooms, each with a visitor who sends.")
  var rooms = 10
  @Option(help: "Connections of a room, including the visitor's.")
  var followers = 100
  @Option(help: "Number of operators, whose tokens the listeners share.")
  var operators = 10
  @Option(help: "Share of the listeners that stop reading.")
  var share = 0.01
  @Option(help: "Messages due per second, of all rooms together.")
  var rate = 100.0
  @Option(help: "Bytes of a message's body.")
  var bodyBytes = 1_000
  @Option(help: "Pairs of phases.")
  var turns = 3
  @Option(help: "Seconds of each phase, after one second that is not counted.")
  var seconds = 10
  @Flag(help: "Extend the last phase until the gateway has closed all slow readers.")
  var untilClosed = false
  @Option(help: "Seconds within which they must be closed.")
  var closeSeconds = 90
  @Flag(help: "Exit with 1 when a limit is missed.")
  var check = false
  @Option(
    help: "With --check: largest median ratio of the others' p99, with slow readers to without.")
  var p99Ratio = 1.25
  @Option(help: "With --check: smallest median ratio of their throughput.")
  var throughputRatio = 0.95
  @Option(help: "With --check: MiB by which the gateway may grow for each slow reader.")
  var memoryMib = 2.0
  @OptionGroup(title: "Report") var report: ReportOptions

  func validate() throws {
    try credentials.check()
    try checkRange("--rooms", rooms, 1...10_000)
    try checkRange("--followers", followers, 2...20_000)
    try checkRange("--operators", operators, 1...10_000)
    try checkRange("--body-bytes", bodyBytes, Bodies.byteCountMin...16_384)
    try checkRange("--turns", turns, 1...100)
    try checkRange("--seconds", seconds, 1...3_600)
    guard share > 0, share <= 0.5 else { throw ValidationError("--share must be 0 to 0.5") }
    try checkRate(rate, max: 1_000_000)
    guard
      rooms * (followers - min(ClientGroup.talkersOfRoom, followers / 2))
        >= Int((1 / share).rounded())
    else {
      throw ValidationError(
        "\(rooms) rooms of \(followers) have no listener that could stop reading")
    }
  }

  func run() throws {
    try report.run { try SlowRun(self).measure().show() }
  }
}
