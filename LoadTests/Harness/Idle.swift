/// `chirrup-load idle`: the memory and processor time of idle connections.
import ArgumentParser
import Foundation
import Kernel
import Primitives

struct Idle: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Open many connections and measure the gateway's memory while they are idle.",
    discussion: """
      Each connection exchanges one message first: the echo returns a word (the gateway needs \
      --debug-echo), the chat answers hello and, with --subscribe, the subscription of the \
      token's session. Afterwards it only answers pings. The first \(Idle.warmCount) connections \
      are not counted, because they pay for the gateway's one-time allocations.
      """)

  @Argument(help: "ws://ADDRESS:PORT/debug/echo, or …/api/v1/ws with tokens; wss:// for TLS.")
  var url: String
  @Option(help: "The gateway's process id.")
  var pid: Int
  @Option(help: "Connections.")
  var connections = 10_000
  @Option(help: "Connections opened per second; 0 for as many as possible.")
  var rate = 0
  @Flag(help: "Offer permessage-deflate.")
  var deflate = false
  @Flag(help: "Subscribe to the token's session, as a visitor does.")
  var subscribe = false
  @Option(help: "Idle seconds before the memory is read.")
  var seconds = 10
  @OptionGroup var trust: TrustOptions
  @OptionGroup(title: "Clients of the chat") var credentials: CredentialOptions
  @OptionGroup(title: "Run") var workers: WorkerOptions
  @OptionGroup(title: "Report") var report: ReportOptions

  static let warmCount = 200

  func validate() throws {
    guard let target = Target(url) else {
      throw ValidationError("the URL must be ws://ADDRESS:PORT/PATH or wss://…")
    }
    try checkRange("--connections", connections, Idle.warmCount + 1...1_000_000)
    try checkRange("--rate", rate, 0...1_000_000)
    try checkRange("--seconds", seconds, 1...3_600)
    if !target.isEcho { try credentials.check() }
    guard !target.isEcho || !subscribe else {
      throw ValidationError("--subscribe needs the chat; the echo has no sessions")
    }
  }

  func run() throws {
    try report.run { try IdleRun(self).measure().show() }
  }
}
