import Chat
import Engine
import Primitives
import Testing

/// Other gateways on the same database.
@Suite struct PeersTests {
  /// Commits entries as another gateway.
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

  @Test("a session in memory without followers is read again for a new follower")
  func stale() {
    let world = together(loops: 2)
    let session = world.makeSession(entries: 1, ownedBy: 1)
    for loop in [1, 0] {
      let before = world.member("operator", session, after: 0, loop: loop)
      #expect(seqs(before.texts()).count == world.database[session]?.entries.count)
      before.send(#"{"type":"unsubscribe","ref":1,"session":"\#(session)"}"#)
      world.settle()
      write(world, session, upTo: (world.database[session]?.snapshot.head ?? 0) + 2)
      // This gateway gets no notice of the change.
      let after = world.member("operator", session, after: 0, loop: loop)
      #expect(seqs(after.texts()).count == world.database[session]?.entries.count)
      after.send(#"{"type":"unsubscribe","ref":1,"session":"\#(session)"}"#)
      world.settle()
    }
  }

  @Test("a client that knows more from another gateway must retry, and gets no resync")
  func ahead() {
    let world = together()
    let session = world.makeSession(entries: 1)
    let mika = world.member("operator", session, after: 1)
    _ = mika.texts()
    write(world, session, upTo: 3)
    let ada = world.member("visitor", session, after: 3)
    #expect(ada.texts().last.map { field("code", of: $0) } == "unavailable")
    // The session was read from the database, so other subscribers get the entries too.
    #expect(seqs(mika.texts()) == ["2", "3"])
    ada.send(#"{"type":"subscribe","ref":2,"session":"\#(session)","after":3}"#)
    world.settle()
    #expect(ada.types() == ["subscribed", "live"])
    // If the log is really shorter, the second attempt gets resync.
    for answer in ["error", "resync"] {
      ada.send(#"{"type":"subscribe","ref":3,"session":"\#(session)","after":9}"#)
      world.settle()
      #expect(ada.types().first == answer)
    }
  }

  @Test("a gateway announces its own commits and marks once, and those of other gateways never")
  func changes() {
    let world = together()
    let session = world.makeSession()
    let ada = world.member("visitor", session)
    ada.post("one", to: session)
    ada.post("two", to: session)
    world.commit()
    let change = SessionChange(session: session, workspace: world.workspace)
    #expect(world.loops[0].engine.effects.takeChanges() == [change])
    ada.send(#"{"type":"read","session":"\#(session)","seq":2}"#)
    world.advance(milliseconds: 1_100)
    world.settle()
    #expect(world.loops[0].engine.effects.takeChanges() == [change])

    write(world, session, upTo: 4)
    let mika = Mark(person: world.clerk, read: 4, delivered: 4)
    world.database[session]?.snapshot.marks.append(mika)
    _ = ada.texts()
    world.loops[0].engine.changed(session, of: world.workspace)
    world.settle()
    let received = ada.texts()
    #expect(seqs(received) == ["3", "4"])
    #expect(
      received.filter { field("type", of: $0) == "mark" }.map { field("read", of: $0) } == ["4"])
    world.advance(milliseconds: 1_100)
    world.settle()
    #expect(world.loops[0].engine.effects.takeChanges().isEmpty)
  }

  @Test("a change of a session without followers is sent to the inboxes of its workspace only")
  func unloaded() {
    let world = together()
    let session = world.makeSession(entries: 1)
    let mika = world.member("operator")
    mika.send(#"{"type":"watch","ref":1,"inbox":true}"#)
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
