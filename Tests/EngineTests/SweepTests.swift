import Chat
import Engine
import Primitives
import Testing

/// The sweep reads one word of an idle connection.
@Suite struct SweepTests {
  /// Two idle clients of one session.
  func idle() -> (World, Identifier, Client, Client) {
    let world = World()
    let session = world.makeSession()
    let (ada, mika) = (world.member("visitor", session), world.member("operator", session))
    _ = (ada.texts(), mika.texts())
    world.advance(milliseconds: 500)
    return (world, session, ada, mika)
  }

  @Test("an idle connection is checked when its next ping is due, and not before")
  func untilPing() {
    let (world, _, ada, mika) = idle()
    for _ in 0..<48 {
      world.advance(milliseconds: 500)
      #expect(world.loops[0].engine.sweepChecks == 0)
    }
    world.advance(milliseconds: 1_000)
    #expect(world.loops[0].engine.sweepChecks == 2)
    #expect(ada.types() == ["ping"] && mika.types() == ["ping"])
  }

  @Test("a new message makes the checks of its receivers due, until they have received it")
  func untilMessage() {
    let (world, session, ada, mika) = idle()
    ada.send(
      #"{"type":"send","ref":1,"session":"\#(session)","id":"\#(world.makeID())","body":"b"}"#)
    world.commit()
    _ = (ada.texts(), mika.texts())
    world.advance(milliseconds: 500)
    #expect(world.loops[0].engine.sweepChecks == 2)
    world.advance(milliseconds: 500)
    #expect(world.loops[0].engine.sweepChecks == 0)
  }

  @Test("input delays the next ping without a check")
  func input() {
    let (world, _, ada, mika) = idle()
    world.advance(milliseconds: 20_000)
    ada.send(#"{"type":"pong"}"#)
    world.advance(milliseconds: 5_000)
    #expect(ada.types().isEmpty)
    #expect(mika.types() == ["ping"])
    world.advance(milliseconds: 20_000)
    #expect(ada.types() == ["ping"])
  }

  @Test("a reused index does not keep the check time of its last connection")
  func reusedIndex() {
    let (world, _, ada, _) = idle()
    world.loops[0].engine.connections.peerEnded(ada.connection.index)
    for connection in world.loops[0].engine.connections.takeDoomed() {
      _ = world.loops[0].engine.release(connection)
    }
    let late = world.connect()
    #expect(late.connection.index == ada.connection.index)
    world.advance(milliseconds: 10_500)
    #expect(late.receive() == [.close(4201)])
  }
}
