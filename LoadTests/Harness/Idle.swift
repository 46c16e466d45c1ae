/// `chirrup-load idle`: what a connection that does nothing costs the gateway.
import ArgumentParser
import Foundation
import Kernel
import Primitives

struct Idle: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Opens many connections, lets them rest, and measures the gateway's memory.",
    discussion: """
      Each connection says one thing and hears the answer, as a chat would: the echo repeats a \
      word (the gateway needs --debug-echo), the chat says hello with a token and, with \
      --subscribe, follows its session. Then nothing but answers to pings. The first \
      \(Idle.warmCount) are not counted: what the gateway makes once is theirs.
      """)

  @Argument(help: "ws://ADDRESS:PORT/debug/echo, or …/api/v1/ws with tokens; wss:// for TLS.")
  var url: String
  @Option(help: "Process id of the gateway.")
  var pid: Int
  @Option(help: "Connections.")
  var connections = 10_000
  @Option(help: "Connections begun in a second; 0 is as many as possible.")
  var rate = 0
  @Flag(help: "Offer permessage-deflate.")
  var deflate = false
  @Flag(help: "Follow the token's session, as a visitor does.")
  var subscribe = false
  @Option(help: "Seconds of rest before the memory is read.")
  var seconds = 10
  @OptionGroup var trust: TrustOptions
  @OptionGroup(title: "Clients of the chat") var who: CredentialOptions
  @OptionGroup(title: "Run") var crew: CrewOptions
  @OptionGroup(title: "Report") var report: ReportOptions

  static let warmCount = 200

  func validate() throws {
    guard let target = Target(url) else {
      throw ValidationError("the URL must be ws://ADDRESS:PORT/PATH or wss://…")
    }
    try checkRange("--connections", connections, Idle.warmCount + 1...1_000_000)
    try checkRange("--rate", rate, 0...1_000_000)
    try checkRange("--seconds", seconds, 1...3_600)
    if !target.isEcho { try who.check() }
    guard !target.isEcho || !subscribe else {
      throw ValidationError("--subscribe is for the chat, which has sessions")
    }
  }

  func run() throws {
    try report.run { try IdleRun(self).measure().show() }
  }
}
