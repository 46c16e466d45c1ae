/// `chirrup-load idle`: what a connection that does nothing costs the gateway.
import ArgumentParser
import Foundation
import Kernel
import OpenSSL
import Primitives

struct Idle: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Opens many connections, lets them rest, and measures the gateway's memory.",
    discussion: """
      Each connection says one thing and hears the answer, as a chat would: the echo repeats a \
      word (the gateway needs --debug-echo), the chat says hello with a token. Then nothing. The \
      first \(Idle.warmCount) are not counted: what the gateway makes once is theirs.
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
  @Option(help: "Seconds of rest before the memory is read.")
  var seconds = 10
  @Flag(help: "With wss://: any certificate will do.")
  var insecure = false
  @Option(help: "With wss://: a PEM file of certificates to trust besides the system's.")
  var authority: String?
  @Option(name: .customLong("tokens"), help: "A file of `chirrup token visitor`.")
  var tokenFile: String?

  private static let warmCount = 200

  func validate() throws {
    guard let target = Target(url) else {
      throw ValidationError("the URL must be ws://ADDRESS:PORT/PATH or wss://…")
    }
    guard connections > Idle.warmCount, connections <= 60_000 else {
      throw ValidationError("--connections must be \(Idle.warmCount + 1) to 60000")
    }
    guard target.isEcho || tokenFile != nil else {
      throw ValidationError("the chat needs --tokens FILE, of `chirrup token visitor --count N`")
    }
  }

  func run() throws {
    guard var target = Target(url) else { return }
    try target.prepare(verifies: !insecure, authority: authority)
    let tokens = try tokenFile.map { try Credentials.read(file: $0).map(\.token) } ?? []
    if DescriptorLimit.raise() < connections + 32 {
      throw ValidationError("\(connections) descriptors are needed (ulimit -n)")
    }
    let crowd = try IdleCrowd(target: target, tokens: tokens, offersDeflate: deflate, rate: rate)
    try crowd.open(Idle.warmCount)
    try crowd.rest(seconds: 2)
    let begin = try sample()
    let start = SystemClock.now()
    try crowd.open(connections)
    let opened = Double(SystemClock.now().nanoseconds - start.nanoseconds) / 1e9
    try crowd.rest(seconds: seconds)
    let end = try sample()
    let count = connections - Idle.warmCount
    print(
      """
      \(url)\(deflate ? " with permessage-deflate" : "")
      \(crowd.openCount) connections open, of them \(count) in \(rounded(opened)) s, \
      \(rounded((end.seconds - begin.seconds) * 1e6 / Double(count))) µs of the gateway's \
      processor time each
      resident  \(line(begin.bytes, end.bytes, count))
      anonymous \(line(begin.anonymousBytes, end.anonymousBytes, count))
      """)
    if crowd.openCount < connections { throw ExitCode(1) }
  }

  private func sample() throws -> ProcessSample {
    guard let sample = ProcessSample(process: pid) else {
      throw ValidationError("there is no process \(pid)")
    }
    return sample
  }

  private func line(_ begin: Int, _ end: Int, _ count: Int) -> String {
    "\(begin >> 10) KiB → \(end >> 10) KiB: \((end - begin) / count) bytes a connection"
  }

  private func rounded(_ value: Double) -> String { String(format: "%.1f", value) }
}

/// Connections that rest. They answer pings of the protocol and nothing else.
private final class IdleCrowd {
  private let target: Target
  private let tokens: [String]
  private let offersDeflate: Bool
  private let rate: Int
  private let epoll: Epoll
  private var events = Events(capacity: 1024)
  private var buffer = [UInt8](repeating: 0, count: 262_144)
  private let workspace = TLSWorkspace()
  private var random = RandomStream(seed: Random.uint64())
  private var connections: [Connection?] = []
  private var isHeard: [Bool] = []
  private(set) var openCount = 0
  private var ended: [String: Int] = [:]

  /// Connections under way at once.
  private static let openingMax = 64
  private static let openSecondsMax: Int64 = 300

  init(target: Target, tokens: [String], offersDeflate: Bool, rate: Int) throws(Errno) {
    self.rate = rate
    self.target = target
    self.tokens = tokens
    self.offersDeflate = offersDeflate
    epoll = try Epoll()
  }

  /// Until so many are open.
  func open(_ count: Int) throws {
    let begin = SystemClock.now()
    let limit = begin.advanced(byMilliseconds: IdleCrowd.openSecondsMax * 1000)
    let first = connections.count
    while openCount < count {
      guard ended.isEmpty, SystemClock.now() < limit else {
        throw ValidationError("\(openCount) of \(count) connections opened; ended: \(ended)")
      }
      let elapsed = SystemClock.now().milliseconds(since: begin)
      let due = rate == 0 ? count : min(count, first + 1 + Int(elapsed) * rate / 1000)
      while connections.count < due, connections.count - openCount < IdleCrowd.openingMax {
        let number = connections.count
        let connection = try Connection(
          client: number, target: target, offersDeflate: offersDeflate, workspace, random: &random)
        try connection.register(in: epoll, datum: UInt64(number))
        connections.append(connection)
        isHeard.append(false)
      }
      try turn(milliseconds: rate == 0 ? 100 : 1)
    }
  }

  func rest(seconds: Int) throws {
    let end = SystemClock.now().advanced(byMilliseconds: Int64(seconds) * 1000)
    while SystemClock.now() < end { try turn(milliseconds: 100) }
    if !ended.isEmpty { print("ended while resting: \(ended)") }
  }

  private func turn(milliseconds: Int32) throws {
    try epoll.wait(into: &events, timeoutMilliseconds: milliseconds)
    for position in 0..<events.count {
      let event = events[position]
      let number = Int(event.datum)
      guard let connection = connections[number] else { continue }
      var outcome = Connection.Outcome.going
      if event.isWritable || event.isHungUp { outcome = connection.writable() }
      if outcome == .going, event.isReadable || event.isHungUp {
        outcome = connection.readable(&buffer) { text in
          hear(number, text)
          return true
        }
      }
      if outcome == .opened {
        greet(connection, number)
        outcome = .going
      }
      if outcome == .going { outcome = connection.flush() }
      if case .ended(let end) = outcome {
        ended[end.label, default: 0] += 1
        if isHeard[number] { openCount -= 1 }
        connections[number] = nil
      } else {
        try connection.updateInterest(in: epoll, datum: event.datum)
      }
    }
  }

  private func greet(_ connection: Connection, _ number: Int) {
    var commands = CommandBuffer()
    if target.isEcho {
      commands.text("still there")
    } else {
      commands.hello(ref: 1, token: tokens[number % tokens.count])
    }
    connection.queue(commands, random: &random)
  }

  /// The answer, or later the gateway's ping.
  private func hear(_ number: Int, _ text: RawSpan) {
    guard !isHeard[number] else {
      guard !target.isEcho, let connection = connections[number] else { return }
      var commands = CommandBuffer()
      commands.text("{\"type\":\"pong\"}")
      connection.queue(commands, random: &random)
      return
    }
    isHeard[number] = true
    openCount += 1
  }
}
