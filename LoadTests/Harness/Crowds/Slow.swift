/// `chirrup-load slow`: a few subscribers stop reading, and nobody else may feel it.
import ArgumentParser
import Foundation
import Kernel
import Primitives

struct Slow: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Lets a few subscribers stop reading, and measures what the others feel.",
    discussion: """
      In every room a visitor talks and the others listen. Phases in which all of them read take \
      turns with phases in which some, spread over all rooms, have stopped; the latency and the \
      throughput of the others are compared within each pair of phases. The gateway keeps nothing \
      for those who do not read, closes them after 30 s with 4101, and they go on from where they \
      were: at the end everybody has been shown everything, once and in order. With --until-closed \
      the last phase goes on until the gateway has closed all of them (/metrics says so).

      Ends with 1 if a promise was broken, with 2 if it could not run. --check judges the ratios \
      as well: --p99-ratio, --throughput-ratio, --memory-mib.
      """)

  @OptionGroup(title: "Gateway") var gateway: GatewayOptions
  @OptionGroup(title: "Clients") var who: CredentialOptions
  @OptionGroup(title: "Run") var crew: CrewOptions
  @Option(help: "Rooms, each with a visitor who talks.")
  var rooms = 10
  @Option(help: "Connections of a room, the visitor's with them.")
  var followers = 100
  @Option(help: "Operators, whose tokens the listeners share.")
  var operators = 10
  @Option(help: "Of the listeners, the part that stops reading.")
  var share = 0.01
  @Option(help: "Messages due a second, all rooms together.")
  var rate = 100.0
  @Option(help: "Bytes of a message's body.")
  var bodyBytes = 1_000
  @Option(help: "Pairs of phases.")
  var turns = 3
  @Option(help: "Seconds of each phase; another one before it is not counted.")
  var seconds = 10
  @Flag(help: "Let the last phase go on until the gateway has closed those who do not read.")
  var untilClosed = false
  @Option(help: "Seconds within which that must happen.")
  var closeSeconds = 90
  @Flag(help: "End with 1 when a ratio is missed.")
  var check = false
  @Option(help: "The others' p99 with slow readers over that without, in the median, likewise.")
  var p99Ratio = 1.25
  @Option(help: "Their throughput, likewise.")
  var throughputRatio = 0.95
  @Option(help: "MiB that the gateway may grow by for each slow reader, likewise.")
  var memoryMib = 2.0
  @OptionGroup(title: "Report") var report: ReportOptions

  func validate() throws {
    try who.check()
    try checkRange("--rooms", rooms, 1...10_000)
    try checkRange("--followers", followers, 2...20_000)
    try checkRange("--operators", operators, 1...10_000)
    try checkRange("--body-bytes", bodyBytes, Bodies.byteCountMin...16_384)
    try checkRange("--turns", turns, 1...100)
    try checkRange("--seconds", seconds, 1...3_600)
    guard share > 0, share <= 0.5 else { throw ValidationError("--share must be 0 to 0.5") }
    guard rate > 0, rate <= 1_000_000 else { throw ValidationError("--rate must be 0 to 1000000") }
    guard rooms * (followers - min(Cast.talkersOfRoom, followers / 2)) >= Int((1 / share).rounded())
    else {
      throw ValidationError("\(rooms) rooms of \(followers) have nobody who could stop reading")
    }
  }

  func run() throws {
    try report.run { try SlowRun(self).measure().show() }
  }
}
