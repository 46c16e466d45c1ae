/// `chirrup-load echo`: the cost of a WebSocket message for a server that sends it back.
import ArgumentParser
import Foundation
import Kernel

struct Echo: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Send messages to an echo server and measure its cost of each.",
    discussion: """
      Each connection keeps --in-flight messages in flight and sends the next ones when replies \
      arrive; all replies of one read are answered by one write. With --rate messages become due \
      independent of the server, and latency counts from then. The gateway's echo is /debug/echo \
      (chirrup serve --debug-echo); any other WebSocket echo works too, and with --raw a server \
      that repeats bytes, which gives the upper limit.

      The client uses one core; the report says if that was the bottleneck. For comparable \
      figures, pin server and client to a core each (taskset). Exit status: 1 after a wrong or \
      missing reply, 2 if it could not run.
      """)

  @Argument(help: "ws://ADDRESS:PORT/PATH, wss:// for TLS.")
  var url: String
  @Option(help: "Connections.")
  var connections = 100
  @Option(help: "Messages in flight of each connection.")
  var inFlight = 1
  @Option(help: "Bytes of a message's text.")
  var size = 20
  @Option(
    help: "Messages due per second, of all connections together (default: as many as possible).")
  var rate: Double?
  @OptionGroup var course: WorkCourse
  @Flag(help: "Plain TCP: messages of --size bytes, without handshake and frames.")
  var raw = false
  @OptionGroup var trust: TrustOptions
  @OptionGroup(title: "Report") var report: ReportOptions

  func validate() throws {
    guard let target = Target(url) else {
      throw ValidationError("the URL must be ws://ADDRESS:PORT/PATH or wss://…")
    }
    guard raw || !target.isChat else {
      throw ValidationError("the URL needs the path of an echo, for example /debug/echo")
    }
    guard !raw || !target.isSecure else { throw ValidationError("--raw is plain TCP: use ws://") }
    try checkRange("--connections", connections, 1...60_000)
    try checkRange("--in-flight", inFlight, 1...1_024)
    try checkRange("--size", size, 1...1_048_576)
    guard inFlight * size <= 64 << 20 else {
      throw ValidationError("--in-flight × --size must be at most 64 MiB")
    }
    if let rate { try checkRate(rate, max: 10_000_000) }
    try course.check()
  }

  func run() throws {
    try report.run(work: {
      try allowDescriptors(connections)
      let endpoint = SwarmEndpoint(try trust.target(url), isBare: raw)
      var plan = EchoPlan(endpoint: endpoint, course: course)
      plan.connections = connections
      plan.inFlight = inFlight
      plan.sizeBytes = size
      plan.rate = rate
      var run = try EchoRun(plan)
      return try run.run(url: url)
    })
  }
}
