/// `chirrup-load growth`: whether the cost of a connection depends on the number of connections.
import ArgumentParser
import Foundation
import Kernel
import Primitives

struct Growth: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Measure memory per connection and processor time per delivery at several sizes.",
    discussion: """
      Opens more and more rooms of --followers connections, authenticated and subscribed. At each \
      size it measures idle connections first: memory per connection and processor time. Then the \
      same load runs (--rate messages a second, each in a random room), and the gateway's \
      processor time, less the idle time, is divided by the deliveries. It needs --pid or \
      --data-dir, and a gateway without other clients.

      With --check it exits with 1 when the largest size costs more than --flat times the smallest.
      """)

  @OptionGroup(title: "Gateway") var gateway: GatewayOptions
  @OptionGroup(title: "Clients") var credentials: CredentialOptions
  @OptionGroup(title: "Run") var workers: WorkerOptions
  @Option(help: "Numbers of connections, smallest first.", transform: Growth.sizes)
  var sizes = [100, 1_000, 5_000, 10_000, 19_000]
  @Option(help: "Connections of a room, including the visitor's.")
  var followers = 100
  @Option(help: "Number of operators, whose tokens the listeners share.")
  var operators = 10
  @Option(help: "Messages due per second at equal gaps, of all rooms together.")
  var rate = 25.0
  @Option(help: "Bytes of a message's body.")
  var bodyBytes = 128
  @Option(help: "Seconds of load at each size.")
  var seconds = 10
  @Option(help: "Idle seconds at each size before its memory is read.")
  var restSeconds = 5
  @Option(help: "Idle seconds at the largest size: the gateway pings each connection after 25 s.")
  var idleSeconds = 30
  @Flag(help: "Exit with 1 when a ratio is missed.")
  var check = false
  @Option(help: "With --check: the largest allowed ratio of costs, largest size to smallest.")
  var flat = 1.1
  @OptionGroup(title: "Report") var report: ReportOptions

  private static func sizes(_ text: String) throws -> [Int] {
    let numbers = text.split(separator: ",").map { Int($0) }
    guard !numbers.contains(nil) else { throw ValidationError("--sizes 100,1000,5000") }
    return numbers.compactMap(\.self)
  }

  func validate() throws {
    try credentials.check()
    try checkRange("--followers", followers, 2...10_000)
    try checkRange("--operators", operators, 1...10_000)
    try checkRange("--body-bytes", bodyBytes, Bodies.byteCountMin...16_384)
    try checkRange("--seconds", seconds, 1...3_600)
    try checkRange("--rest-seconds", restSeconds, 1...3_600)
    try checkRange("--idle-seconds", idleSeconds, 0...3_600)
    guard !sizes.isEmpty, sizes.allSatisfy({ $0 >= followers && $0 <= 1_000_000 }),
      sizes == sizes.sorted()
    else {
      throw ValidationError("--sizes must increase, from at least --followers to at most 1000000")
    }
    try checkRate(rate, max: 1_000_000)
    guard gateway.pid != nil || credentials.dataDir != nil else {
      throw ValidationError("--pid, or --data-dir of a gateway on this machine, is needed")
    }
  }

  func run() throws {
    try report.run { try GrowthRun(self).measure().show() }
  }
}
