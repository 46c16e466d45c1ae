/// `chirrup-load fanout`: a server's cost of one message to many subscribers.
import ArgumentParser
import Foundation
import Kernel
import Primitives

struct Fanout: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Send messages to many subscribers and measure the server's cost of each delivery.",
    discussion: """
      For the gateway, with --chirrup and --data-dir: all connections subscribe to one session, \
      messages are committed, acknowledged and delivered, and every subscriber must receive every \
      seq once and in order. For another server, with --subscribe and --publish: a message sent \
      to the second URL must arrive unchanged at every connection of the first.

      At most --pending messages are on their way to subscribers; with --rate they become due \
      independent of the server, and latency counts from then. A message in the figures is a \
      delivery. Exit status: 1 if one was lost, duplicated, changed or out of order, 2 if it \
      could not run.
      """)

  @Argument(help: "The gateway: ws://ADDRESS:PORT, wss:// for TLS.")
  var url: String?
  @Option(help: "The subscribers' URL of another server: ws://ADDRESS:PORT/PATH.")
  var subscribe: String?
  @Option(help: "The publisher's URL of that server.")
  var publish: String?
  @Option(help: "Connections that subscribe.")
  var subscribers = 1_000
  @Option(help: "Bytes of a message's text; in the chat of its body, at least 36.")
  var size = 128
  @Option(help: "Messages at a time that not all subscribers have received.")
  var pending = 1
  @Option(help: "Messages due per second (default: as many as possible).")
  var rate: Double?
  @OptionGroup var course: WorkCourse
  @Flag(help: "Plain TCP: messages of --size bytes, without handshake and frames.")
  var raw = false
  @OptionGroup(title: "Clients of the chat") var credentials: CredentialOptions
  @OptionGroup var trust: TrustOptions
  @OptionGroup(title: "Report") var report: ReportOptions

  func validate() throws {
    if let url {
      guard let target = Target(url), target.isChat else {
        throw ValidationError("the gateway's URL must be ws://ADDRESS:PORT or wss://…")
      }
      guard subscribe == nil, publish == nil, !raw else {
        throw ValidationError(
          "--subscribe, --publish and --raw are for other servers, without the gateway's URL")
      }
      try credentials.check()
      try checkRange("--size", size, Bodies.byteCountMin...16_384)
      try checkRange("--pending", pending, 1...min(1_024, 16 * max(1, subscribers)))
    } else {
      let targets = [subscribe, publish].map { $0.flatMap { Target($0) } }
      guard let first = targets[0], let second = targets[1] else {
        throw ValidationError(
          "use the gateway's URL, or --subscribe and --publish, each ws://ADDRESS:PORT/PATH")
      }
      guard !raw || !first.isSecure && !second.isSecure else {
        throw ValidationError("--raw is plain TCP: use ws://")
      }
      try checkRange("--size", size, 1...1_048_576)
      try checkRange("--pending", pending, 1...1_024)
    }
    try checkRange("--subscribers", subscribers, 1...60_000)
    guard (rate == nil ? pending : FanoutPlan.openPendingMax) * size <= 64 << 20 else {
      throw ValidationError("--pending × --size must be at most 64 MiB")
    }
    if let rate { try checkRate(rate, max: 1_000_000) }
    try course.check()
  }

  func run() throws {
    try report.run(work: {
      try allowDescriptors(subscribers + 1)
      var plan = FanoutPlan(course: course)
      plan.subscribers = subscribers
      plan.sizeBytes = size
      plan.pending = pending
      plan.rate = rate
      if let url {
        plan.course.pid = course.pid ?? credentials.gateway
        let people = try credentials.gather(visitors: 1, operators: 1)
        guard let session = people[0].session else { throw ValidationError("no session") }
        var run = try ChatFanout(
          plan, endpoint: SwarmEndpoint(try trust.target(url)), token: people[1].token,
          session: session)
        return try run.run(url: url)
      }
      let (subscribe, publish) = (subscribe ?? "", publish ?? "")
      var run = try PlainFanout(
        plan, subscribe: SwarmEndpoint(try trust.target(subscribe), isBare: raw),
        publish: SwarmEndpoint(try trust.target(publish), isBare: raw))
      return try run.run(url: subscribe)
    })
  }
}
