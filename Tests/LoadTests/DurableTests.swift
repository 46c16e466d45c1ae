import Primitives
import Testing

@testable import chirrup_load

/// The parts of `durable` that decide which messages count.
@Suite struct DurableTests {
  private let session = "019e5a3c-7f21-7abc-8def-0123456789ab"
  private let id = Identifier(high: 0x019E_5A3C_7F21_7ABC, low: 0x8DEF_0123_4567_89AC)

  private func read(_ text: String) -> QuickEvent {
    Array(text.utf8).withRawSpan { QuickEvent($0) }
  }

  @Test func `acks and messages are read at the gateway's offsets`() {
    let ack = #"{"type":"ack","ref":17,"session":"\#(session)","id":"\#(id)","seq":4,"at":"x"}"#
    #expect(read(ack) == .ack(ref: 17, id: id, seq: 4))
    let message =
      #"{"type":"message","session":"\#(session)","seq":120,"id":"\#(id)","sender":{"kind":"x"}}"#
    #expect(read(message) == .message(id: id, seq: 120))
  }

  @Test func `the general parser handles all other texts`() {
    for text in [
      "", "{}", #"{"type":"ping"}"#, #"{"type":"ack","ref":"17","session":"\#(session)"}"#,
      #"{"type":"ack","ref":17,"session":"\#(session)","id":"\#(session)","seq":,"at":"x"}"#,
      #"{"type":"ack","ref":17,"session":"\#(session)","id":"019e","seq":4,"at":"x"}"#,
      #"{"type":"ack","ref":17,"session":"\#(session)"#,
      #"{"type":"message","session":"\#(session)","seq":1,"kind":"hidden"}"#,
    ] {
      #expect(read(text) == .other, "\(text)")
    }
  }

  @Test func `a sender does not exceed its rate limit`() {
    var sender = Sender(session: id)
    var now = Instant.zero.advanced(byMilliseconds: 60_000)
    var taken = 0
    for _ in 0..<10_000 {
      if sender.takeTokens(4, now) { taken += 4 }
      now = now.advanced(byMilliseconds: 1)
    }
    // 32 at once and 20 per second for ten seconds.
    #expect((228...232).contains(taken))
  }

  @Test func `senders take turns`() {
    var queue = ReadyQueue(capacity: 3)
    for number in [2, 0, 1] { queue.append(number) }
    for number in [2, 0, 1, 2, 0] {
      #expect(queue.first == number)
      queue.removeFirst()
      queue.append(number)
    }
    for _ in 0..<3 { queue.removeFirst() }
    #expect(queue.first == nil)
  }

  private func round(gateway: Double, direct: Double, insert: Double, p99: Double) -> DurableRound {
    var round = DurableRound()
    round.gateway = gateway
    round.direct = direct
    round.peers = ["insert": insert]
    round.halfAck.p99 = p99
    return round
  }

  @Test func `ratios compare figures of the same round, and each target can be missed`() {
    var report = DurableReport(
      machine: "", loops: 2, senders: 1, window: 1, pipeline: 1, bodyBytes: 100)
    report.rounds = [
      round(gateway: 90, direct: 100, insert: 1, p99: 1),
      round(gateway: 8, direct: 10, insert: 1, p99: 30),
      round(gateway: 700, direct: 1000, insert: 60, p99: 2),
    ]
    report.judge(direct: 0.8, insert: 8, ackMilliseconds: 10)
    #expect(report.missed.isEmpty)
    #expect(report.ratios["gateway_over_direct"]?.median == 0.8)
    #expect(report.ratios["gateway_over_direct"]?.min == 0.7)
    #expect(report.ratios["gateway_over_insert"]?.max == 90)
    for (direct, insert, milliseconds) in [(0.81, 8.0, 10.0), (0.8, 12.0, 10.0), (0.8, 8.0, 2.0)] {
      report.missed = []
      report.judge(direct: direct, insert: insert, ackMilliseconds: milliseconds)
      #expect(report.missed.count == 1)
    }
  }
}
