import Primitives
import Testing

@testable import chirrup_load

/// A client against a scripted gateway, as a transcript of JSON texts.
@Suite struct ClientTests {
  @Test func `a client sends hello, subscribes, sends, and settles its message`() throws {
    var stage = Scene()
    #expect(stage.open() == ["hello"])
    #expect(stage.receive(Scene.welcome) == ["subscribe"])
    #expect(stage.client.subscriptions[0].asked == 1)
    #expect(stage.receive(stage.subscribed(from: 1, head: 0)).isEmpty)
    #expect(stage.receive(stage.live(0)).isEmpty)
    #expect(stage.client.isSettled)
    #expect(stage.compose() == ["send"])
    #expect(stage.receive(stage.ack(0, seq: 1)).isEmpty)
    _ = stage.receive(stage.message(0, seq: 1))
    #expect(stage.client.outbox.unsettled == 0)
    #expect(stage.client.subscriptions[0].next == 2)
    #expect(stage.finish().isEmpty)
  }

  @Test func `a second send waits for room in the pipeline`() {
    var stage = Scene.live(inFlight: 2)
    #expect(stage.compose() == ["send"])
    #expect(stage.compose() == ["send"])
    #expect(stage.compose().isEmpty)
    #expect(stage.receive(stage.ack(0, seq: 1)) == ["send"])
  }

  @Test func `after a temporary error and all answers, the messages are sent again in order`() {
    var stage = Scene.live()
    for _ in 0..<3 { _ = stage.compose() }
    _ = stage.receive(stage.ack(0, seq: 1))
    _ = stage.receive(stage.error(1, "unavailable", retryAfter: 100))
    #expect(stage.client.deadline > stage.now.advanced(byMilliseconds: 1000))
    _ = stage.receive(stage.error(2, "unavailable", retryAfter: 100))
    #expect(stage.compose().isEmpty)
    stage.now = stage.client.deadline
    #expect(stage.tick() == ["send", "send", "send"])
    #expect(stage.lastRefs == [1, 2, 3])
    #expect(stage.measured.counters.resent == 2)
  }

  @Test func `a lost connection resumes after the last seq and sends again under the same ids`() {
    var stage = Scene.live()
    _ = stage.compose()
    _ = stage.compose()
    _ = stage.receive(stage.ack(0, seq: 1))
    _ = stage.receive(stage.message(0, seq: 1))
    stage.lose(code: nil)
    #expect(stage.client.deadline <= stage.now.advanced(byMilliseconds: 1000))
    stage.now = stage.client.deadline
    #expect(stage.tickAction() == .connect)
    _ = stage.open()
    _ = stage.receive(Scene.welcome)
    #expect(stage.lastText.contains("\"after\":1"))
    #expect(stage.receive(stage.subscribed(from: 2, head: 2)) == ["send"])
    #expect(stage.lastText.contains(stage.id(1).description))
    _ = stage.receive(stage.message(1, seq: 2))
    _ = stage.receive(stage.ack(1, seq: 2, duplicate: true))
    #expect(stage.measured.counters.duplicateAcks == 1)
    #expect(stage.finish().isEmpty)
  }

  @Test(arguments: [(4301, true), (4203, true), (4101, false), (4000, false), (4201, false)])
  func `the hundreds of the close code decide whether the client stops`(code: Int, stops: Bool) {
    var stage = Scene.live()
    stage.lose(code: UInt16(code))
    #expect((stage.client.stage == .stopped) == stops)
  }

  @Test func `a drain is followed by a move in its window`() {
    var stage = Scene.live()
    _ = stage.receive("{\"type\":\"drain\",\"min_ms\":100,\"max_ms\":200}")
    let move = stage.client.deadline
    #expect(move >= stage.now.advanced(byMilliseconds: 100))
    #expect(move <= stage.now.advanced(byMilliseconds: 200))
    stage.now = move
    #expect(stage.tickAction() == .close(1000))
    stage.lose(code: 1000)
    #expect(stage.client.deadline == move)
  }

  @Test func `silence ends the connection`() {
    var stage = Scene.live()
    stage.now = stage.now.advanced(byMilliseconds: 25_000)
    #expect(stage.receive("{\"type\":\"ping\"}") == ["pong"])
    stage.now = stage.now.advanced(byMilliseconds: 40_000)
    #expect(stage.tickAction() == .close(4102))
  }

  @Test func `the backlog is continued where it pauses`() {
    var stage = Scene()
    _ = stage.open()
    _ = stage.receive(Scene.welcome)
    _ = stage.receive(stage.subscribed(from: 1, head: 2))
    _ = stage.receive(stage.foreign(seq: 1))
    #expect(
      stage.receive("{\"type\":\"more\",\"session\":\"\(Scene.session)\",\"seq\":1}") == [
        "subscribe"
      ])
    #expect(stage.lastText.contains("\"after\":1"))
    _ = stage.receive(stage.subscribed(from: 2, head: 2))
    _ = stage.receive(
      "{\"type\":\"message\",\"session\":\"\(Scene.session)\",\"seq\":2,\"kind\":\"hidden\"}")
    _ = stage.receive(stage.live(2))
    #expect(stage.client.isSettled)
    #expect(stage.finish().isEmpty)
  }
}

/// The verifier detects each injected fault and names it.
@Suite struct VerifierTests {
  @Test func `a skipped message is a hole and closes with 4190`() {
    var stage = Scene.live()
    _ = stage.compose()
    _ = stage.receive(stage.message(0, seq: 2))
    #expect(stage.lastAction == .close(4190))
    #expect(stage.finish()[.holes] == 1)
  }

  @Test func `a message delivered twice is a duplicate`() {
    var stage = Scene.live()
    _ = stage.compose()
    _ = stage.receive(stage.message(0, seq: 1))
    _ = stage.receive(stage.message(0, seq: 1))
    #expect(stage.finish()[.duplicated] == 1)
  }

  @Test func `one id at two places is a duplicate`() {
    var stage = Scene.live()
    _ = stage.compose()
    _ = stage.receive(stage.message(0, seq: 1))
    _ = stage.receive(stage.message(0, seq: 2))
    #expect(stage.finish()[.duplicated] == 1)
  }

  @Test func `a sender's messages in another order are a reordering`() {
    var stage = Scene.live()
    _ = stage.compose()
    _ = stage.compose()
    _ = stage.receive(stage.message(1, seq: 1))
    _ = stage.receive(stage.message(0, seq: 2))
    #expect(stage.finish()[.reordered] == 1)
  }

  @Test func `a changed body is a mismatch`() {
    var stage = Scene.live()
    _ = stage.compose()
    _ = stage.compose()
    let body = String(decoding: stage.measured.bodies.body(of: stage.id(1)), as: UTF8.self)
    let other = stage.message(0, seq: 1, body: body)
    _ = stage.receive(other)
    #expect(stage.finish()[.mismatched] == 1)
  }

  @Test func `an ack that contradicts the log is a mismatch`() {
    var stage = Scene.live()
    _ = stage.compose()
    _ = stage.compose()
    _ = stage.receive(stage.message(0, seq: 1))
    _ = stage.receive(stage.ack(1, seq: 1))
    #expect(stage.finish()[.mismatched] == 1)
  }

  @Test func `an ack without a message is a mismatch`() {
    var stage = Scene.live()
    _ = stage.receive(stage.ack(0, seq: 1))
    #expect(stage.finish()[.mismatched] == 1)
  }

  @Test func `a resume that starts late loses messages`() {
    var stage = Scene()
    _ = stage.open()
    _ = stage.receive(Scene.welcome)
    _ = stage.receive(stage.subscribed(from: 3, head: 4))
    #expect(stage.finish()[.lost] == 2)
  }

  @Test func `live before the end of the backlog is a hole`() {
    var stage = Scene()
    _ = stage.open()
    _ = stage.receive(Scene.welcome)
    _ = stage.receive(stage.subscribed(from: 1, head: 2))
    _ = stage.receive(stage.live(2))
    #expect(stage.finish()[.holes] == 2)
  }

  @Test func `a refused message that is stored is a mismatch`() {
    var stage = Scene.live()
    _ = stage.compose()
    _ = stage.receive(stage.error(0, "rejected", retry: false))
    _ = stage.receive(stage.message(0, seq: 1))
    #expect(stage.finish()[.mismatched] == 1)
  }
}
