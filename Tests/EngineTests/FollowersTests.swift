import Engine
import Primitives
import Testing

/// Who follows a session, on its loop: mostly one visitor, sometimes many.
@Suite struct FollowersTests {
  private func check(_ world: World) {
    let text = world.loops[0].engine.inconsistency()
    #expect(text == nil)
  }

  @Test("whoever leaves, the others hear what comes next", arguments: 0..<4)
  func leaving(_ leaver: Int) {
    let world = World()
    let session = world.makeSession()
    let tabs = (0..<4).map { _ in world.member("visitor", session) }
    var here = Set(0..<4)
    // All leave, beginning with one of them, and come back in between.
    for step in 0..<4 {
      let index = (leaver + step) % 4
      tabs[index].say(#"{"type":"unsubscribe","ref":"u","session":"\#(session)"}"#)
      world.settle()
      here.remove(index)
      check(world)
      if step == 1 {
        tabs[leaver].say(#"{"type":"subscribe","ref":"s","session":"\#(session)"}"#)
        world.settle()
        here.insert(leaver)
        check(world)
      }
      for tab in tabs { _ = tab.texts() }
      guard let speaker = here.first else { continue }
      tabs[speaker].say(
        #"{"type":"send","ref":1,"session":"\#(session)","id":"\#(world.makeID())","body":"b"}"#)
      world.commit()
      for (index, tab) in tabs.enumerated() {
        #expect(tab.types().contains("message") == here.contains(index))
      }
    }
  }

  @Test("of visitors who wait and leave nothing is kept, though nobody asks for the line")
  func audience() {
    let world = World(sessionsMax: 3)
    for _ in 0..<40 {
      let visitor = world.member("visitor", world.makeSession())
      check(world)
      world.loops[0].engine.connections.peerEnded(visitor.slot.index)
      for slot in world.loops[0].engine.connections.takeDoomed() {
        _ = world.loops[0].engine.release(slot)
      }
      check(world)
    }
  }
}
