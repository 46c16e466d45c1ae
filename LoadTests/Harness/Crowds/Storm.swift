/// `chirrup-load storm`: all clients are disconnected at one moment and reconnect.
import ArgumentParser
import Foundation
import Histogram
import Kernel
import Primitives

struct Storm: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Disconnect all clients at once, and measure their return.",
    discussion: """
      Visitors and operators talk at a constant rate. In each round all of their connections end \
      at one moment, and they reconnect as the protocol requires: after a random delay of up to a \
      second, doubled after each failure. It measures the time until 50, 90, 99 and 100 % are \
      subscribed again and have received what they missed; the gateway's processor time for it; \
      and, with a few connections that stay open, how long a loop of the gateway is busy with \
      the others. No message may be lost, delivered twice or out of order.

      --how reset   the clients' sockets are reset (RST)
      --how cut     a proxy before the gateway ends all connections (FIN)
      --how kill    a gateway with a private PostgreSQL is killed (kill -9) and restarted; needs \
      only --chirrup

      Exit status: 1 after a broken promise or if a client did not return, 2 if it could not run.
      """)

  enum How: String, CaseIterable, ExpressibleByArgument { case reset, cut, kill }

  @OptionGroup(title: "Gateway") var gateway: GatewayOptions
  @OptionGroup(title: "Clients") var credentials: CredentialOptions
  @OptionGroup(title: "Run") var workers: WorkerOptions
  @Option(help: "How the connections end: reset, cut or kill.")
  var how = How.reset
  @Option(help: "Visitors, each with its own session.")
  var visitors = 1_000
  @Option(help: "Operators; the sessions are split among them.")
  var operators = 10
  @Option(help: "Subscriptions per connection of an operator; more sessions need more connections.")
  var subscriptions = 128
  @Option(help: "Messages due per second of all senders, also while they are disconnected.")
  var rate = 50.0
  @Option(help: "Bytes of a message's body.")
  var bodyBytes = 100
  @Option(help: "Number of rounds.")
  var rounds = 3
  @Option(help: "Seconds before each round.")
  var calmSeconds = 2
  @Option(help: "Seconds within which all clients must be back.")
  var returnSeconds = 120
  @Option(help: "Longest delay before a client reconnects, in seconds.")
  var backoffSeconds = 60
  @Option(help: "Connections that stay open and measure the gateway's delay; 0 for none.")
  var steady = 4
  @OptionGroup(title: "Report") var report: ReportOptions

  func validate() throws {
    try credentials.check()
    try checkRange("--visitors", visitors, 1...1_000_000)
    try checkRange("--operators", operators, 0...10_000)
    try checkRange("--subscriptions", subscriptions, 1...256)
    try checkRange("--body-bytes", bodyBytes, Bodies.byteCountMin...16_384)
    try checkRange("--rounds", rounds, 1...1_000)
    try checkRange("--calm-seconds", calmSeconds, 0...3_600)
    try checkRange("--return-seconds", returnSeconds, 1...3_600)
    try checkRange("--backoff-seconds", backoffSeconds, 1...60)
    try checkRange("--steady", steady, 0...64)
    try checkRate(rate, max: 1_000_000)
    guard how != .kill || credentials.chirrup != nil && credentials.tokenFiles.isEmpty else {
      throw ValidationError("--how kill starts its own gateway: use only --chirrup PATH")
    }
  }

  func run() throws {
    try report.run { try StormRun(self).measure().show() }
  }
}
