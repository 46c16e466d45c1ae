import Foundation
import Primitives
import Settings
import Synchronization
import Testing

/// R13 of the faults (CVE-2022-25762 and similar defects): messages are in transit to connections
/// that end, and new connections reuse their slots and descriptors. Data of one connection must
/// never reach another, on any loop. The thread sanitizer observes the test.
///
/// CHIRRUP_RACES sets the number of connections (240 by default).
@Suite("Sends that race with closing connections", .serialized)
struct ClosingRaceTests {
  private static var races: Int {
    ProcessInfo.processInfo.environment["CHIRRUP_RACES"].flatMap { Int($0) } ?? 240
  }

  /// Violations that the threads found, for the check at the end.
  private final class Findings: Sendable {
    private let texts = Mutex<[String]>([])
    let heard = Atomic<Int>(0)
    let isOver = Atomic<Bool>(false)

    func add(_ text: String) { texts.withLock { $0.append(text) } }
    var all: [String] { texts.withLock { $0 } }
  }

  private typealias Visit = (session: Identifier, token: String)

  @Test("a reused slot receives nothing of its previous connection")
  func recycledSlots() async throws {
    let gateway = try await RunningGateway(loops: 2) { $0.limits.connectionsPerVisitor = 0 }
    defer { gateway.stop() }
    let visits = try (0..<4).map { _ in try gateway.visitor() }
    let findings = Findings()
    let rounds = max(1, ClosingRaceTests.races / visits.count)
    ClosingRaceTests.run(
      visits, clerk: try gateway.operatorToken(), gateway.port, rounds: rounds, findings)
    #expect(findings.all == [])
    // Without received messages there was no race.
    #expect(findings.heard.load(ordering: .relaxed) > rounds)
    for visit in visits {
      let stored = try gateway.stored(visit.session)
      #expect(stored.map(\.seq) == Array(1...Int64(stored.count)))
    }
  }

  /// Starts two threads per visitor: one connects and disconnects, the other posts as an operator.
  private static func run(
    _ visits: [Visit], clerk: String, _ port: UInt16, rounds: Int, _ findings: Findings
  ) {
    let (writers, closers) = (DispatchGroup(), DispatchGroup())
    for (number, visit) in visits.enumerated() {
      writers.enter()
      Foundation.Thread.detachNewThread {
        while !findings.isOver.load(ordering: .relaxed) {
          attempt(findings) { try write(visit.session, clerk, port) }
        }
        writers.leave()
      }
      closers.enter()
      Foundation.Thread.detachNewThread {
        for round in 0..<rounds {
          attempt(findings) { try race(visit, port, "v\(number)-\(round)-", round % 4, findings) }
        }
        closers.leave()
      }
    }
    closers.wait()
    findings.isOver.store(true, ordering: .relaxed)
    writers.wait()
  }

  private static func attempt(_ findings: Findings, _ body: () throws -> Void) {
    do { try body() } catch { findings.add("\(error)") }
  }

  private static func hello(_ token: String, _ session: Identifier, _ ref: String) -> String {
    #"{"type":"hello","ref":"\#(ref)h","token":"\#(token)","#
      + #""subscribe":[{"session":"\#(session)","tail":3,"ref":"\#(ref)s"}]}"#
  }

  private static func post(
    _ client: SocketClient, _ session: Identifier, _ ref: String, _ count: Int
  ) throws {
    for number in 0..<count {
      try client.say(
        #"{"type":"send","ref":"\#(ref)\#(number)","session":"\#(session)","#
          + #""id":"\#(RunningGateway.makeID())","body":"of \#(session)"}"#)
    }
  }

  /// Below the burst limit of a connection.
  private static let messagesPerWriter = 40

  private static func write(_ session: Identifier, _ clerk: String, _ port: UInt16) throws {
    let client = try SocketClient(port: port)
    try client.say(hello(clerk, session, "w"))
    _ = try client.hear(#""live""#)
    for number in 1...messagesPerWriter {
      try post(client, session, "w", 1)
      _ = try client.hear(#""type":"ack""#, count: number)
    }
  }

  /// One connection: it ends before its welcome, with messages in transit in both directions, or
  /// after its first ack. Everything received by then must belong to its own session.
  private static func race(
    _ visit: Visit, _ port: UInt16, _ ref: String, _ way: Int, _ findings: Findings
  ) throws {
    let client = try SocketClient(port: port)
    try client.say(hello(visit.token, visit.session, ref))
    if way == 0 { return }
    var heard: [String] = []
    if way >= 2 { heard = try client.hear(#""live""#) }
    try post(client, visit.session, ref, 5)
    if way == 3 { heard = try client.hear(#""type":"ack""#) }
    findings.heard.add(heard.count, ordering: .relaxed)
    for text in heard {
      for other in text.matches(of: /"session":"([0-9a-f-]+)"/)
      where other.1 != "\(visit.session)" {
        findings.add("\(ref) hears of another session: \(text)")
      }
      for other in text.matches(of: /"ref":"([^"]*)"/) where !other.1.hasPrefix(ref) {
        findings.add("\(ref) hears an answer to \(other.1)")
      }
    }
  }
}
