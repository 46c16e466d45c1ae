import Primitives
import Testing

@testable import chirrup_load

/// A client against a scripted gateway, as a transcript of JSON texts.
@Suite struct ClientTests {
  @Test func helloSubscribeSendAndSettle() throws {
    var stage = Scene()
    #expect(stage.open() == ["hello"])
    #expect(stage.say(Scene.welcome) == ["subscribe"])
    #expect(stage.client.subscriptions[0].asked == 1)
    #expect(stage.say(stage.subscribed(from: 1, head: 0)).isEmpty)
    #expect(stage.say(stage.live(0)).isEmpty)
    #expect(stage.client.isSettled)
    #expect(stage.compose() == ["send"])
    #expect(stage.say(stage.ack(0, seq: 1)).isEmpty)
    _ = stage.say(stage.message(0, seq: 1))
    #expect(stage.client.outbox.unsettled == 0)
    #expect(stage.client.subscriptions[0].next == 2)
    #expect(stage.finish().isEmpty)
  }

  @Test func aSecondSendWaitsForRoomInThePipeline() {
    var stage = Scene.live(inFlight: 2)
    #expect(stage.compose() == ["send"])
    #expect(stage.compose() == ["send"])
    #expect(stage.compose().isEmpty)
    #expect(stage.say(stage.ack(0, seq: 1)) == ["send"])
  }

  @Test func afterATemporaryErrorAllIsResentInOrderWhenAllAnswersHaveArrived() {
    var stage = Scene.live()
    for _ in 0..<3 { _ = stage.compose() }
    _ = stage.say(stage.ack(0, seq: 1))
    _ = stage.say(stage.error(1, "unavailable", retryAfter: 100))
    #expect(stage.client.deadline > stage.now.advanced(byMilliseconds: 1000))
    _ = stage.say(stage.error(2, "unavailable", retryAfter: 100))
    #expect(stage.compose().isEmpty)
    stage.now = stage.client.deadline
    #expect(stage.tick() == ["send", "send", "send"])
    #expect(stage.lastRefs == [1, 2, 3])
    #expect(stage.measured.counters.resent == 2)
  }

  @Test func aLostConnectionResumesAfterTheLastSeqAndResendsUnderTheSameIds() {
    var stage = Scene.live()
    _ = stage.compose()
    _ = stage.compose()
    _ = stage.say(stage.ack(0, seq: 1))
    _ = stage.say(stage.message(0, seq: 1))
    stage.lose(code: nil)
    #expect(stage.client.deadline <= stage.now.advanced(byMilliseconds: 1000))
    stage.now = stage.client.deadline
    #expect(stage.tickAction() == .connect)
    _ = stage.open()
    _ = stage.say(Scene.welcome)
    #expect(stage.lastText.contains("\"after\":1"))
    #expect(stage.say(stage.subscribed(from: 2, head: 2)) == ["send"])
    #expect(stage.lastText.contains(stage.id(1).description))
    _ = stage.say(stage.message(1, seq: 2))
    _ = stage.say(stage.ack(1, seq: 2, duplicate: true))
    #expect(stage.measured.counters.duplicateAcks == 1)
    #expect(stage.finish().isEmpty)
  }

  @Test(arguments: [(4301, true), (4203, true), (4101, false), (4000, false), (4201, false)])
  func theHundredOfTheCloseCodeDecides(code: Int, stops: Bool) {
    var stage = Scene.live()
    stage.lose(code: UInt16(code))
    #expect((stage.client.stage == .stopped) == stops)
  }

  @Test func aDrainIsFollowedByAMoveInItsWindow() {
    var stage = Scene.live()
    _ = stage.say("{\"type\":\"drain\",\"min_ms\":100,\"max_ms\":200}")
    let move = stage.client.deadline
    #expect(move >= stage.now.advanced(byMilliseconds: 100))
    #expect(move <= stage.now.advanced(byMilliseconds: 200))
    stage.now = move
    #expect(stage.tickAction() == .close(1000))
    stage.lose(code: 1000)
    #expect(stage.client.deadline == move)
  }

  @Test func silenceEndsTheConnection() {
    var stage = Scene.live()
    stage.now = stage.now.advanced(byMilliseconds: 25_000)
    #expect(stage.say("{\"type\":\"ping\"}") == ["pong"])
    stage.now = stage.now.advanced(byMilliseconds: 40_000)
    #expect(stage.tickAction() == .close(4102))
  }

  @Test func theBacklogIsContinuedWhereItPauses() {
    var stage = Scene()
    _ = stage.open()
    _ = stage.say(Scene.welcome)
    _ = stage.say(stage.subscribed(from: 1, head: 2))
    _ = stage.say(stage.foreign(seq: 1))
    #expect(
      stage.say("{\"type\":\"more\",\"session\":\"\(Scene.session)\",\"seq\":1}") == ["subscribe"])
    #expect(stage.lastText.contains("\"after\":1"))
    _ = stage.say(stage.subscribed(from: 2, head: 2))
    _ = stage.say(
      "{\"type\":\"message\",\"session\":\"\(Scene.session)\",\"seq\":2,\"kind\":\"hidden\"}")
    _ = stage.say(stage.live(2))
    #expect(stage.client.isSettled)
    #expect(stage.finish().isEmpty)
  }
}

/// The verifier detects each injected fault and names it.
@Suite struct VerifierTests {
  @Test func aSkippedMessageIsAHoleAndClosesWith4190() {
    var stage = Scene.live()
    _ = stage.compose()
    _ = stage.say(stage.message(0, seq: 2))
    #expect(stage.lastAction == .close(4190))
    #expect(stage.finish()[.holes] == 1)
  }

  @Test func aMessageDeliveredTwiceIsADuplicate() {
    var stage = Scene.live()
    _ = stage.compose()
    _ = stage.say(stage.message(0, seq: 1))
    _ = stage.say(stage.message(0, seq: 1))
    #expect(stage.finish()[.duplicated] == 1)
  }

  @Test func oneIdAtTwoPlacesIsADuplicate() {
    var stage = Scene.live()
    _ = stage.compose()
    _ = stage.say(stage.message(0, seq: 1))
    _ = stage.say(stage.message(0, seq: 2))
    #expect(stage.finish()[.duplicated] == 1)
  }

  @Test func aSendersMessagesInAnotherOrderAreReordered() {
    var stage = Scene.live()
    _ = stage.compose()
    _ = stage.compose()
    _ = stage.say(stage.message(1, seq: 1))
    _ = stage.say(stage.message(0, seq: 2))
    #expect(stage.finish()[.reordered] == 1)
  }

  @Test func aChangedBodyIsAMismatch() {
    var stage = Scene.live()
    _ = stage.compose()
    _ = stage.compose()
    let body = String(decoding: stage.measured.bodies.body(of: stage.id(1)), as: UTF8.self)
    let other = stage.message(0, seq: 1, body: body)
    _ = stage.say(other)
    #expect(stage.finish()[.mismatched] == 1)
  }

  @Test func anAckThatContradictsTheLogIsAMismatch() {
    var stage = Scene.live()
    _ = stage.compose()
    _ = stage.compose()
    _ = stage.say(stage.message(0, seq: 1))
    _ = stage.say(stage.ack(1, seq: 1))
    #expect(stage.finish()[.mismatched] == 1)
  }

  @Test func anAckWithoutAMessageIsAMismatch() {
    var stage = Scene.live()
    _ = stage.say(stage.ack(0, seq: 1))
    #expect(stage.finish()[.mismatched] == 1)
  }

  @Test func aResumeThatStartsLateLosesMessages() {
    var stage = Scene()
    _ = stage.open()
    _ = stage.say(Scene.welcome)
    _ = stage.say(stage.subscribed(from: 3, head: 4))
    #expect(stage.finish()[.lost] == 2)
  }

  @Test func liveBeforeTheBacklogIsAHole() {
    var stage = Scene()
    _ = stage.open()
    _ = stage.say(Scene.welcome)
    _ = stage.say(stage.subscribed(from: 1, head: 2))
    _ = stage.say(stage.live(2))
    #expect(stage.finish()[.holes] == 2)
  }

  @Test func aRefusedMessageThatIsStoredIsAMismatch() {
    var stage = Scene.live()
    _ = stage.compose()
    _ = stage.say(stage.error(0, "rejected", retry: false))
    _ = stage.say(stage.message(0, seq: 1))
    #expect(stage.finish()[.mismatched] == 1)
  }
}
