import Foundation
import Primitives
import Testing
import Wire

@testable import chirrup_load

@Suite struct WindowTests {
  func at(_ microseconds: Int64) -> Instant { Instant(nanoseconds: microseconds * 1000) }

  @Test("a message is settled when the last subscriber has it, in order")
  func settling() {
    var window = Window(subscribers: 2, pendingMax: 4)
    var latency = latencyHistogram()
    for time in 0..<4 { window.publish(at(Int64(time))) }
    #expect(!window.hasRoom)
    window.arrive(0, 3, at(10), &latency, records: true)
    window.settle()
    #expect(window.settled == 0)
    window.arrive(0, 2, at(20), &latency, records: false)
    window.settle()
    #expect(window.settled == 2 && window.pending == 2 && window.hasRoom)
    window.publish(at(30))
    window.arrive(2, 3, at(40), &latency, records: true)
    window.arrive(3, 2, at(50), &latency, records: true)
    window.settle()
    #expect(window.settled == 5 && window.pending == 0)
    let figures = WorkFigures.Latency(latency)
    #expect(figures.count == 8 && figures.max == 47)
  }
}

@Suite struct SessionBookTests {
  static let session = "01900000-0000-7000-8000-000000000001"
  let stamp = Stamp(nonce: 7, wall: WallTime(microseconds: 1_800_000_000_000_000), now: .zero)
  let bodies = Bodies(byteCount: 60)
  let now = Instant(nanoseconds: 5_000_000)

  func verifier(subscribers: Int = 3, verifiesAll: Bool = true) -> SessionVerifier {
    var verifier = SessionVerifier(
      subscribers: subscribers, stamp: stamp, bodies: bodies, pendingMax: 8,
      verifiesAll: verifiesAll)
    for index in 0..<subscribers {
      take(
        &verifier, index, #"{"type":"subscribed","session":"\#(Self.session)","from":1,"head":0}"#)
      take(&verifier, index, #"{"type":"live","session":"\#(Self.session)","seq":0}"#)
    }
    verifier.isMeasuring = true
    return verifier
  }

  func take(_ verifier: inout SessionVerifier, _ index: Int, _ texts: String..., cut: Int? = nil) {
    let stream = texts.flatMap { FrameWalkerTests.frame(.text, Array($0.utf8)) }
    let parts = cut.map { [Array(stream[..<$0]), Array(stream[$0...])] } ?? [stream]
    for part in parts { part.withRawSpan { verifier.take(index, $0, now) } }
  }

  /// In the gateway's spelling.
  func message(_ seq: Int, number: Int? = nil, body: [UInt8]? = nil) -> String {
    let id = stamp.identifier(due: .zero, client: 0, number: number ?? seq)
    var json: [UInt8] = []
    bodies.appendEscapedBody(of: id, to: &json)
    let text = String(decoding: body ?? json, as: UTF8.self)
    return #"{"type":"message","session":"\#(Self.session)","seq":\#(seq),"id":"\#(id)","#
      + #""sender":{"kind":"operator","id":"\#(Self.session)","name":"O"},"kind":"text","#
      + #""body":"\#(text)","at":"2026-01-01T00:00:00.000Z"}"#
  }

  @Test("every subscriber receives every seq once, and the last one settles it")
  func shown() {
    var verifier = verifier()
    #expect(verifier.liveCount == 3)
    for seq in 1...20 {
      for index in 0..<3 { take(&verifier, index, message(seq)) }
      #expect(verifier.settled == seq && verifier.delivered == 3 * seq && verifier.head == seq)
    }
    #expect(verifier.problems.isEmpty, "\(verifier.problems)")
    #expect(verifier.verified == 2 * 20)
    let figures = WorkFigures.Latency(verifier.latency)
    #expect(figures.count == 60)
  }

  @Test("a text split at every offset is read, and two objects in one text")
  func cuts() {
    let length = FrameWalkerTests.frame(.text, Array(message(1).utf8)).count
    for cut in 1..<length {
      var verifier = verifier(subscribers: 2)
      take(&verifier, 0, message(1), cut: cut)
      take(&verifier, 1, message(1), cut: cut)
      #expect(verifier.settled == 1 && verifier.problems.isEmpty, "cut at \(cut)")
    }
    var verifier = verifier(subscribers: 2)
    take(&verifier, 0, message(1), message(2))
    take(&verifier, 1, message(1) + "\n" + message(2))
    #expect(verifier.settled == 2 && verifier.problems.isEmpty)
  }

  @Test("a hole, a repetition, another text and another body are detected")
  func wrong() {
    let other = message(1).replacingOccurrences(of: "\"O\"", with: "\"P\"")
    let longer = message(1).replacingOccurrences(of: "\"O\"", with: "\"Other\"")
    let stories: [[(Int, String)]] = [
      [(0, message(2))], [(0, message(1)), (0, message(1))],
      [(0, message(1)), (1, other)], [(0, message(1)), (1, longer)],
      [(0, message(1, body: Array("something else entirely, long enough for a body".utf8)))],
      [(0, #"{"type":"error","code":"rate_limited","message":"slow","retry":true}"#)],
      [(0, #"{"type":"drain","min_ms":1,"max_ms":2}"#)], [(0, "not JSON")],
    ]
    for story in stories {
      var verifier = verifier()
      for (index, text) in story { take(&verifier, index, text) }
      #expect(verifier.problems.count == 1, "\(story) \(verifier.problems)")
    }
  }

  @Test("acks of this run's messages free their sender")
  func acks() {
    var verifier = verifier()
    verifier.subscribers[0].inFlight = 1
    let id = stamp.identifier(due: .zero, client: 0, number: 1)
    let ack = #"{"type":"ack","ref":1,"session":"\#(Self.session)","id":"\#(id)","seq":1}"#
    take(&verifier, 0, ack)
    #expect(
      verifier.acked == 1 && verifier.subscribers[0].inFlight == 0 && verifier.problems.isEmpty)
    take(&verifier, 1, ack)
    #expect(verifier.problems.count == 1)
  }

  @Test("both kinds of ping are passed on")
  func pings() {
    var verifier = verifier()
    take(&verifier, 2, #"{"type":"ping"}"#)
    FrameWalkerTests.frame(.ping, [4, 5]).withRawSpan { verifier.take(1, $0, now) }
    let asked = verifier.takeAsked()
    #expect(asked.map(\.index) == [2, 1] && asked.map(\.ping) == [nil, [4, 5]])
    #expect(verifier.takeAsked().isEmpty)
  }
}
