import Chat
import Engine
import Primitives
import Testing

/// The sweep reads one word of a connection to which nothing happens.
@Suite struct RestTests {
  /// Two who follow one session, after the last word about their arrival.
  func resting() -> (World, Identifier, Client, Client) {
    let world = World()
    let session = world.makeSession()
    let (ada, mika) = (world.member("visitor", session), world.member("operator", session))
    _ = (ada.texts(), mika.texts())
    world.advance(milliseconds: 500)
    return (world, session, ada, mika)
  }

  @Test("who rests is looked at when the next ping is due, and not before")
  func untilThePing() {
    let (world, _, ada, mika) = resting()
    for _ in 0..<48 {
      world.advance(milliseconds: 500)
      #expect(world.loops[0].engine.sweepChecks == 0)
    }
    world.advance(milliseconds: 1_000)
    #expect(world.loops[0].engine.sweepChecks == 2)
    #expect(ada.types() == ["ping"] && mika.types() == ["ping"])
  }

  @Test("a message ends the rest of all who get it, until they have it")
  func untilAMessage() {
    let (world, session, ada, mika) = resting()
    ada.say(
      #"{"type":"send","ref":1,"session":"\#(session)","id":"\#(world.makeID())","body":"b"}"#)
    world.commit()
    _ = (ada.texts(), mika.texts())
    world.advance(milliseconds: 500)
    #expect(world.loops[0].engine.sweepChecks == 2)
    world.advance(milliseconds: 500)
    #expect(world.loops[0].engine.sweepChecks == 0)
  }

  @Test("who says something rests on, and is pinged later")
  func whoSpeaksRests() {
    let (world, _, ada, mika) = resting()
    world.advance(milliseconds: 20_000)
    ada.say(#"{"type":"pong"}"#)
    world.advance(milliseconds: 5_000)
    #expect(ada.types().isEmpty)
    #expect(mika.types() == ["ping"])
    world.advance(milliseconds: 20_000)
    #expect(ada.types() == ["ping"])
  }

  @Test("a slot that is used again does not rest as its last user did")
  func anotherUser() {
    let (world, _, ada, _) = resting()
    world.loops[0].engine.connections.peerEnded(ada.slot.index)
    for slot in world.loops[0].engine.connections.takeDoomed() {
      _ = world.loops[0].engine.release(slot)
    }
    let late = world.connect()
    #expect(late.slot.index == ada.slot.index)
    world.advance(milliseconds: 10_500)
    #expect(late.hear() == [.close(4201)])
  }
}
