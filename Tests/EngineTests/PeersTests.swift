import Chat
import Engine
import Primitives
import Testing

/// What other gateways write into the same database.
@Suite struct PeersTests {
  /// As another gateway commits it.
  private func write(_ world: World, _ session: Identifier, upTo head: Int64) {
    guard let known = world.database[session]?.snapshot.head else { return }
    for seq in known + 1...head {
      world.database[session]?.entries.append(world.entry(seq, "\(seq)"))
    }
    world.database[session]?.snapshot.head = head
  }

  private func seqs(_ texts: [String]) -> [String?] {
    texts.filter { field("type", of: $0) == "message" }.map { field("seq", of: $0) }
  }

  private func together(loops: Int = 1) -> World {
    let world = World(loops: loops)
    for loop in world.loops { loop.engine.hasPeers = true }
    return world
  }

  @Test("a session in memory that nobody followed is read again when somebody does")
  func stale() {
    let world = together(loops: 2)
    let session = world.makeSession(entries: 1, ownedBy: 1)
    for loop in [1, 0] {
      let before = world.member("operator", session, after: 0, loop: loop)
      #expect(seqs(before.texts()).count == world.database[session]?.entries.count)
      before.say(#"{"type":"unsubscribe","ref":1,"session":"\#(session)"}"#)
      world.settle()
      write(world, session, upTo: (world.database[session]?.snapshot.head ?? 0) + 2)
      // Nobody tells.
      let after = world.member("operator", session, after: 0, loop: loop)
      #expect(seqs(after.texts()).count == world.database[session]?.entries.count)
      after.say(#"{"type":"unsubscribe","ref":1,"session":"\#(session)"}"#)
      world.settle()
    }
  }

  @Test("who comes from another gateway and knows more is asked to come again, not to start over")
  func ahead() {
    let world = together()
    let session = world.makeSession(entries: 1)
    let mika = world.member("operator", session, after: 1)
    _ = mika.texts()
    write(world, session, upTo: 3)
    let ada = world.member("visitor", session, after: 3)
    #expect(ada.texts().last.map { field("code", of: $0) } == "unavailable")
    // The database was asked, so the others have it too.
    #expect(seqs(mika.texts()) == ["2", "3"])
    ada.say(#"{"type":"subscribe","ref":2,"session":"\#(session)","after":3}"#)
    world.settle()
    #expect(ada.types() == ["subscribed", "live"])
    // A log that is shorter is shorter, and for each place the database is asked once.
    for answer in ["error", "resync"] {
      ada.say(#"{"type":"subscribe","ref":3,"session":"\#(session)","after":9}"#)
      world.settle()
      #expect(ada.types().first == answer)
    }
  }

  @Test("what is committed and read here is told once, what comes from elsewhere is not told on")
  func changes() {
    let world = together()
    let session = world.makeSession()
    let ada = world.member("visitor", session)
    ada.post("one", to: session)
    ada.post("two", to: session)
    world.commit()
    let told = SessionChange(session: session, workspace: world.workspace)
    #expect(world.loops[0].engine.effects.takeChanges() == [told])
    ada.say(#"{"type":"read","session":"\#(session)","seq":2}"#)
    world.advance(milliseconds: 1_100)
    world.settle()
    #expect(world.loops[0].engine.effects.takeChanges() == [told])

    write(world, session, upTo: 4)
    let mika = Mark(person: world.clerk, read: 4, delivered: 4)
    world.database[session]?.snapshot.marks.append(mika)
    _ = ada.texts()
    world.loops[0].engine.changed(session, of: world.workspace)
    world.settle()
    let heard = ada.texts()
    #expect(seqs(heard) == ["3", "4"])
    #expect(heard.filter { field("type", of: $0) == "mark" }.map { field("read", of: $0) } == ["4"])
    world.advance(milliseconds: 1_100)
    world.settle()
    #expect(world.loops[0].engine.effects.takeChanges().isEmpty)
  }

  @Test("of a session that nobody follows only the lists of its own workspace are told")
  func cold() {
    let world = together()
    let session = world.makeSession(entries: 1)
    let mika = world.member("operator")
    mika.say(#"{"type":"watch","ref":1,"inbox":true}"#)
    world.settle()
    _ = mika.texts()
    world.loops[0].engine.changed(session, of: world.makeID())
    world.advance(milliseconds: 600)
    world.settle()
    #expect(mika.types().isEmpty)
    world.loops[0].engine.changed(session, of: world.workspace)
    world.advance(milliseconds: 600)
    world.settle()
    #expect(mika.types() == ["inbox"])
    #expect(world.loops[0].engine.sessions.count == 0)
  }
}
