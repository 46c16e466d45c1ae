import Engine
import Primitives
import Testing

/// The subscribers of a session on its loop.
@Suite struct FollowersTests {
  private func check(_ world: World) {
    let text = world.loops[0].engine.inconsistency()
    #expect(text == nil)
  }

  @Test("after any subscriber leaves, the others receive the next message", arguments: 0..<4)
  func leaving(_ leaver: Int) {
    let world = World()
    let session = world.makeSession()
    let tabs = (0..<4).map { _ in world.member("visitor", session) }
    var here = Set(0..<4)
    // All leave, starting with one of them, which comes back once.
    for step in 0..<4 {
      let index = (leaver + step) % 4
      tabs[index].send(#"{"type":"unsubscribe","ref":"u","session":"\#(session)"}"#)
      world.settle()
      here.remove(index)
      check(world)
      if step == 1 {
        tabs[leaver].send(#"{"type":"subscribe","ref":"s","session":"\#(session)"}"#)
        world.settle()
        here.insert(leaver)
        check(world)
      }
      for tab in tabs { _ = tab.texts() }
      guard let speaker = here.first else { continue }
      tabs[speaker].send(
        #"{"type":"send","ref":1,"session":"\#(session)","id":"\#(world.makeID())","body":"b"}"#)
      world.commit()
      for (index, tab) in tabs.enumerated() {
        #expect(tab.types().contains("message") == here.contains(index))
      }
    }
  }

  @Test("waiting visitors who leave use no memory, even without a QueueUpdate")
  func waitingVisitors() {
    let world = World(sessionsMax: 3)
    for _ in 0..<40 {
      let visitor = world.member("visitor", world.makeSession())
      check(world)
      world.loops[0].engine.connections.peerEnded(visitor.connection.index)
      for connection in world.loops[0].engine.connections.takeDoomed() {
        _ = world.loops[0].engine.release(connection)
      }
      check(world)
    }
  }
}
