/// `chirrup-load growth`: whether a connection costs the same among 100 and among 19,000.
import ArgumentParser
import Foundation
import Kernel
import Primitives

struct Growth: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Measures memory per connection and processor time per delivery at several sizes.",
    discussion: """
      Rooms of --followers connections, authenticated and subscribed: more and more of them. At \
      each size the same load runs (--rate messages a second, each in a room by chance), and the \
      gateway's processor time, less that at rest, is divided by the deliveries; before that all \
      rest, which gives the memory of a connection and the processor time of rest. Give --pid or \
      --data-dir, so that the gateway's process is known, and a gateway of its own.

      --check ends with 1 when the largest size costs more than --flat times the smallest.
      """)

  @OptionGroup(title: "Gateway") var gateway: GatewayOptions
  @OptionGroup(title: "Clients") var who: CredentialOptions
  @OptionGroup(title: "Run") var crew: CrewOptions
  @Option(help: "Connections at each step, smallest first.", transform: Growth.sizes)
  var sizes = [100, 1_000, 5_000, 10_000, 19_000]
  @Option(help: "Connections of a room, the visitor's with them.")
  var followers = 100
  @Option(help: "Operators, whose tokens the listeners share.")
  var operators = 10
  @Option(help: "Messages due a second, evenly, all rooms together.")
  var rate = 25.0
  @Option(help: "Bytes of a message's body.")
  var bodyBytes = 128
  @Option(help: "Seconds of load at each size.")
  var seconds = 10
  @Option(help: "Seconds of rest at each size before its memory is read.")
  var restSeconds = 5
  @Option(help: "Seconds of rest at the largest: each connection is pinged after 25 s of silence.")
  var idleSeconds = 30
  @Flag(help: "End with 1 when a goal is missed.")
  var check = false
  @Option(help: "What a delivery and a connection may cost at the largest size, likewise.")
  var flat = 1.1
  @OptionGroup(title: "Report") var report: ReportOptions

  private static func sizes(_ text: String) throws -> [Int] {
    let numbers = text.split(separator: ",").map { Int($0) }
    guard !numbers.contains(nil) else { throw ValidationError("--sizes 100,1000,5000") }
    return numbers.compactMap(\.self)
  }

  func validate() throws {
    try who.check()
    try checkRange("--followers", followers, 2...10_000)
    try checkRange("--operators", operators, 1...10_000)
    try checkRange("--body-bytes", bodyBytes, Bodies.byteCountMin...16_384)
    try checkRange("--seconds", seconds, 1...3_600)
    try checkRange("--rest-seconds", restSeconds, 1...3_600)
    try checkRange("--idle-seconds", idleSeconds, 0...3_600)
    guard !sizes.isEmpty, sizes.allSatisfy({ $0 >= followers && $0 <= 1_000_000 }),
      sizes == sizes.sorted()
    else { throw ValidationError("--sizes must grow, from --followers on, to 1000000 at most") }
    guard rate > 0, rate <= 1_000_000 else { throw ValidationError("--rate must be 0 to 1000000") }
    guard gateway.pid != nil || who.dataDir != nil else {
      throw ValidationError("give --pid, or --data-dir of a gateway on this machine")
    }
  }

  func run() throws {
    try report.run { try GrowthRun(self).measure().show() }
  }
}
