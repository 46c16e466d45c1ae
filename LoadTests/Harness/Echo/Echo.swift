/// `chirrup-load echo`: what a WebSocket message costs a server that sends it back.
import ArgumentParser
import Foundation
import Kernel

struct Echo: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Sends messages to a server that echoes them, and measures what each costs it.",
    discussion: """
      Each connection keeps --in-flight messages under way and sends the next ones when replies \
      come; all replies of one read are answered by one write. With --rate messages become due \
      whatever the server does, and latency counts from then. The gateway's echo is /debug/echo \
      (chirrup serve --debug-echo); any other WebSocket echo will do, and with --raw a server \
      that repeats bytes, which is the limit of what can be reached.

      One thread, one core: if it is the client that had no more to give, the report says so. \
      For figures that can be compared, pin server and client to a core each (taskset). Ends \
      with 1 if a reply was wrong or missing, with 2 if it could not run.
      """)

  @Argument(help: "ws://ADDRESS:PORT/PATH, wss:// for TLS.")
  var url: String
  @Option(help: "Connections.")
  var connections = 100
  @Option(help: "Messages of each connection that are under way at once.")
  var inFlight = 1
  @Option(help: "Bytes of a message's text.")
  var size = 20
  @Option(help: "Messages due a second, all connections together, instead of as many as can be.")
  var rate: Double?
  @OptionGroup var course: WorkCourse
  @Flag(help: "Bare TCP: messages of --size bytes, without handshake and frames.")
  var raw = false
  @OptionGroup var trust: TrustOptions
  @OptionGroup(title: "Report") var report: ReportOptions

  func validate() throws {
    guard let target = Target(url) else {
      throw ValidationError("the URL must be ws://ADDRESS:PORT/PATH or wss://…")
    }
    guard raw || !target.isChat else {
      throw ValidationError("the URL needs the path of an echo, such as /debug/echo")
    }
    guard !raw || !target.isSecure else { throw ValidationError("--raw is plain TCP: ws://") }
    try checkRange("--connections", connections, 1...60_000)
    try checkRange("--in-flight", inFlight, 1...1_024)
    try checkRange("--size", size, 1...1_048_576)
    guard inFlight * size <= 64 << 20 else {
      throw ValidationError("--in-flight × --size must be at most 64 MiB")
    }
    guard rate.map({ $0 > 0 && $0 <= 10_000_000 }) ?? true else {
      throw ValidationError("--rate must be more than 0, and at most 10000000")
    }
    try course.check()
  }

  func run() throws {
    try report.run(work: {
      try allowDescriptors(connections)
      let door = Door(try trust.target(url), isBare: raw)
      var plan = EchoPlan(door: door, course: course)
      plan.connections = connections
      plan.inFlight = inFlight
      plan.sizeBytes = size
      plan.rate = rate
      var run = try EchoRun(plan)
      return try run.run(url: url)
    })
  }
}
