import Chat
import Engine
import Primitives
import Testing

/// The key of a token has ended: its connections end, also those that are on their way.
@Suite struct EndedKeyTests {
  /// Two loops; the token `visitor` is of key 1, `operator` of key 0.
  private func world() -> (World, Identifier) {
    let world = World(loops: 2)
    let session = world.makeSession(ownedBy: 1)
    world.members["visitor"]?.key = 1
    return (world, session)
  }

  @Test("connections of an ended key close with 4204, those of other keys stay")
  func connected() {
    let (world, session) = world()
    let (ada, mika) = (world.member("visitor", session), world.member("operator", session))
    _ = (ada.texts(), mika.texts())
    for loop in world.loops { loop.engine.endKeys([1]) }
    world.settle()
    #expect(ada.receive().last == .close(4204))
    #expect(!mika.receive().contains(.close(4204)))
  }

  @Test("a token that was verified before the end is refused after it")
  func verified() {
    let (world, _) = world()
    let ada = world.connect()
    ada.send(#"{"type":"hello","ref":"h","token":"visitor"}"#)
    world.loops[0].engine.endKeys([1])
    world.settle()
    #expect(ada.receive().last == .close(4204))
  }

  @Test("a connection that moves to a loop which has ended its key is refused there")
  func moving() {
    let (world, _) = world()
    world.loops[1].engine.endKeys([1])
    let ada = world.connect()
    ada.send(#"{"type":"hello","ref":"h","token":"visitor"}"#)
    world.settle()
    #expect(ada.loop == 1)
    #expect(ada.receive().last == .close(4204))
  }

  @Test("a renewal with a token of an ended key is refused, and the connection stays")
  func renewal() {
    let (world, session) = world()
    let mika = world.member("operator", session)
    _ = mika.texts()
    world.members["renewed"] = world.members["operator"]
    world.members["renewed"]?.key = 1
    world.loops[0].engine.endKeys([1])
    mika.send(#"{"type":"authenticate","ref":"a","token":"renewed"}"#)
    world.settle()
    #expect(mika.types() == ["error"])
  }
}
