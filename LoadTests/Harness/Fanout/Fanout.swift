/// `chirrup-load fanout`: what it costs a server to show one message to many.
import ArgumentParser
import Foundation
import Kernel
import Primitives

struct Fanout: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "One message to many subscribers: measures what each delivery costs the server.",
    discussion: """
      Of the gateway, with --chirrup and --data-dir: everybody follows one session of the chat, \
      messages are committed, acknowledged and shown to all, and every subscriber must be shown \
      every seq once and in order. Of a plain server, with --subscribe and --publish: what is \
      sent at the one address must come back unchanged at every connection of the other.

      At most --pending messages are published that not everybody has got; with --rate they \
      become due whatever the server does, and latency counts from then. A message in these \
      figures is a delivery. Ends with 1 if one was lost, doubled, changed or out of order, with \
      2 if it could not run.
      """)

  @Argument(help: "The gateway: ws://ADDRESS:PORT, wss:// for TLS.")
  var url: String?
  @Option(help: "A plain server's address of subscribers: ws://ADDRESS:PORT/PATH.")
  var subscribe: String?
  @Option(help: "And the one whose messages they get.")
  var publish: String?
  @Option(help: "Connections that subscribe.")
  var subscribers = 1_000
  @Option(help: "Bytes of a message's text; in the chat of its body, 36 at least.")
  var size = 128
  @Option(help: "Messages that not everybody has got yet, at most.")
  var pending = 1
  @Option(help: "Messages due a second, instead of as many as can be.")
  var rate: Double?
  @OptionGroup var course: WorkCourse
  @Flag(help: "Bare TCP: messages of --size bytes, without handshake and frames.")
  var raw = false
  @OptionGroup(title: "Clients of the chat") var who: CredentialOptions
  @OptionGroup var trust: TrustOptions
  @OptionGroup(title: "Report") var report: ReportOptions

  func validate() throws {
    if let url {
      guard let target = Target(url), target.isChat else {
        throw ValidationError("the gateway's URL must be ws://ADDRESS:PORT or wss://…")
      }
      guard subscribe == nil, publish == nil, !raw else {
        throw ValidationError("--subscribe, --publish and --raw are for plain servers: no URL then")
      }
      try who.check()
      try checkRange("--size", size, Bodies.byteCountMin...16_384)
      try checkRange("--pending", pending, 1...min(1_024, 16 * max(1, subscribers)))
    } else {
      let targets = [subscribe, publish].map { $0.flatMap { Target($0) } }
      guard let first = targets[0], let second = targets[1] else {
        throw ValidationError(
          "give the gateway's URL, or --subscribe and --publish, each ws://ADDRESS:PORT/PATH")
      }
      guard !raw || !first.isSecure && !second.isSecure else {
        throw ValidationError("--raw is plain TCP: ws://")
      }
      try checkRange("--size", size, 1...1_048_576)
      try checkRange("--pending", pending, 1...1_024)
    }
    try checkRange("--subscribers", subscribers, 1...60_000)
    guard (rate == nil ? pending : FanoutPlan.openPendingMax) * size <= 64 << 20 else {
      throw ValidationError("--pending × --size must be at most 64 MiB")
    }
    guard rate.map({ $0 > 0 && $0 <= 1_000_000 }) ?? true else {
      throw ValidationError("--rate must be more than 0, and at most 1000000")
    }
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
        plan.course.pid = course.pid ?? who.gateway
        let people = try who.gather(visitors: 1, operators: 1)
        guard let session = people[0].session else { throw ValidationError("no session") }
        var run = try ChatFanout(
          plan, door: Door(try trust.target(url)), token: people[1].token, session: session)
        return try run.run(url: url)
      }
      let (subscribe, publish) = (subscribe ?? "", publish ?? "")
      var run = try PlainFanout(
        plan, subscribe: Door(try trust.target(subscribe), isBare: raw),
        publish: Door(try trust.target(publish), isBare: raw))
      return try run.run(url: subscribe)
    })
  }
}
