/// `chirrup-load storm`: everybody is cut off at one moment, and comes back.
import ArgumentParser
import Foundation
import Histogram
import Kernel
import Primitives

struct Storm: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Cuts all clients off at once, and measures how they come back.",
    discussion: """
      Visitors and operators talk at a constant rate. In each round all of their connections end \
      at one moment, and they come back as the protocol asks: after a random part of a second, \
      of twice as long after each failure. Measured is how long it takes until 50, 90, 99 and \
      100 % are subscribed again and have been shown what they missed; the gateway's processor \
      time for it; and, by a few connections that stay, how long a loop of the gateway is busy \
      with the others. Nothing may be lost, shown twice or out of order.

      --how reset   the clients' sockets are reset (RST)
      --how cut     a proxy between them and the gateway ends all connections (FIN)
      --how kill    the gateway is killed (kill -9) and started again: with --chirrup alone, on a \
      PostgreSQL of its own

      Ends with 1 if a promise was broken or not everybody came back, with 2 if it could not run.
      """)

  enum How: String, CaseIterable, ExpressibleByArgument { case reset, cut, kill }

  @OptionGroup(title: "Gateway") var gateway: GatewayOptions
  @OptionGroup(title: "Clients") var who: CredentialOptions
  @OptionGroup(title: "Run") var crew: CrewOptions
  @Option(help: "What ends the connections: reset, cut or kill.")
  var how = How.reset
  @Option(help: "Visitors, each with a session of its own.")
  var visitors = 1_000
  @Option(help: "Operators, among whom the sessions are split.")
  var operators = 10
  @Option(help: "Subscriptions of one operator's connection; a larger share opens several.")
  var subscriptions = 128
  @Option(help: "Messages due a second, all senders together, also while they are away.")
  var rate = 50.0
  @Option(help: "Bytes of a message's body.")
  var bodyBytes = 100
  @Option(help: "How often everybody is cut off.")
  var rounds = 3
  @Option(help: "Seconds of calm before each round.")
  var calmSeconds = 2
  @Option(help: "Seconds within which everybody must be back.")
  var returnSeconds = 120
  @Option(help: "Seconds that a client waits at most before it reconnects.")
  var backoffSeconds = 60
  @Option(help: "Connections that stay and measure the gateway's delay; 0 for none.")
  var steady = 4
  @OptionGroup(title: "Report") var report: ReportOptions

  func validate() throws {
    try who.check()
    try checkRange("--visitors", visitors, 1...1_000_000)
    try checkRange("--operators", operators, 0...10_000)
    try checkRange("--subscriptions", subscriptions, 1...256)
    try checkRange("--body-bytes", bodyBytes, Bodies.byteCountMin...16_384)
    try checkRange("--rounds", rounds, 1...1_000)
    try checkRange("--calm-seconds", calmSeconds, 0...3_600)
    try checkRange("--return-seconds", returnSeconds, 1...3_600)
    try checkRange("--backoff-seconds", backoffSeconds, 1...60)
    try checkRange("--steady", steady, 0...64)
    guard rate > 0, rate <= 1_000_000 else { throw ValidationError("--rate must be 0 to 1000000") }
    guard how != .kill || who.chirrup != nil && who.tokenFiles.isEmpty else {
      throw ValidationError("--how kill starts a gateway of its own: give --chirrup PATH only")
    }
  }

  func run() throws {
    try report.run { try StormRun(self).measure().show() }
  }
}
