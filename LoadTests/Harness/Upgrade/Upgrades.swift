/// `chirrup-load upgrade`: a server's cost of opening a connection.
import ArgumentParser
import Foundation
import Kernel

struct Upgrades: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "upgrade",
    abstract: "Open connections as fast as possible and measure the server's cost of each.",
    discussion: """
      Measures from connect to the server's 101. With --chirrup and --data-dir it opens the \
      gateway's chat instead: each connection is a visitor with a token and a session, sends \
      hello and subscribes, and is complete when it has received its backlog. A first round, \
      which is not counted, loads the sessions.

      The connections stay open until all are complete; --parallel of them open at a time. \
      Exit status: 1 if one was refused, 2 if it could not run.
      """)

  @Argument(help: "ws://ADDRESS:PORT/PATH, wss:// for TLS; for the chat ws://ADDRESS:PORT.")
  var url: String
  @Option(help: "Connections.")
  var connections = 10_000
  @Option(help: "Connections that are opening at a time.")
  var parallel = 256
  @Option(help: "The server's process id, for its processor time and memory.")
  var pid: Int?
  @OptionGroup(title: "Clients of the chat") var credentials: CredentialOptions
  @OptionGroup var trust: TrustOptions
  @OptionGroup(title: "Report") var report: ReportOptions

  func validate() throws {
    guard let target = Target(url) else {
      throw ValidationError("the URL must be ws://ADDRESS:PORT/PATH or wss://…")
    }
    if target.isChat {
      try credentials.check()
    } else if credentials.isGiven {
      throw ValidationError("tokens are for the chat: use ws://ADDRESS:PORT without a path")
    }
    try checkRange("--connections", connections, 1...60_000)
    try checkRange("--parallel", parallel, 1...4_096)
  }

  func run() throws {
    try report.run(work: {
      try allowDescriptors(connections)
      let endpoint = SwarmEndpoint(try trust.target(url))
      var greetings: [[UInt8]] = []
      if endpoint.target.isChat {
        greetings = try credentials.gather(visitors: connections, operators: 0).compactMap {
          visitor in
          visitor.session.map { chatGreeting(token: visitor.token, session: $0) }
        }
        var warm = try UpgradeRun(
          endpoint, connections: connections, parallel: parallel, greetings: greetings)
        try warm.open()
        warm.close()
      }
      var run = try UpgradeRun(
        endpoint, connections: connections, parallel: parallel, greetings: greetings)
      return try run.measure(url: url, server: pid ?? credentials.gateway)
    })
  }
}
