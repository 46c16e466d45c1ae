import Chat
import Engine
import Primitives
import Testing
import Wire

/// Bugs found by chirrup-load with PostgreSQL stopped and with full queues.
@Suite("The order of one sender after temporary refusals")
struct SenderOrderTests {
  func send(_ client: Client, _ session: Identifier, _ id: Identifier) {
    client.send(#"{"type":"send","ref":1,"session":"\#(session)","id":"\#(id)","body":"b \#(id)"}"#)
  }

  func acked(_ texts: [String]) -> [String] {
    texts.filter { field("type", of: $0) == "ack" }.map { field("id", of: $0) }
  }

  @Test("a send refused for its rate does not overtake earlier ones that fail in the store")
  func rateThenStore() {
    let world = World()
    let session = world.makeSession()
    let ada = world.member("visitor", session)
    _ = ada.texts()
    let ids = (0...Limits.inFlight).map { _ in world.makeID() }
    for id in ids { send(ada, session, id) }
    #expect(ada.texts().map { field("code", of: $0) } == ["rate_limited"])
    world.commit(failing: true)
    #expect(ada.texts().count == Limits.inFlight)
    world.advance(milliseconds: 2000)
    world.settle()
    for id in ids.dropLast() { send(ada, session, id) }
    world.commit()
    send(ada, session, ids[Limits.inFlight])
    world.commit()
    #expect(acked(ada.texts()) == ids.map { "\($0)" })
  }

  @Test("an older send that fails later replaces a younger one refused by the full queue")
  func fullQueueThenStore() {
    let world = World()
    let filler = world.makeSession()
    let session = world.makeSession()
    let ada = world.member("visitor", session)
    _ = ada.texts()
    let (first, second) = (world.makeID(), world.makeID())
    send(ada, session, first)
    world.fillQueue(of: 0, session: filler)
    send(ada, session, second)
    world.settle()
    #expect(ada.texts().map { field("code", of: $0) } == ["unavailable"])
    world.commit(failing: true)
    #expect(ada.texts().map { field("code", of: $0) } == ["unavailable"])
    for id in [first, second] { send(ada, session, id) }
    world.commit()
    #expect(acked(ada.texts()) == ["\(first)", "\(second)"])
  }

  @Test("the deadline of a held send runs only while its sender can receive and send")
  func slowLink() {
    let world = World()
    let session = world.makeSession()
    let ada = world.member("visitor", session)
    _ = ada.texts()
    let connection = ada.connection.index
    let (first, second) = (world.makeID(), world.makeID())
    send(ada, session, first)
    world.commit(failing: true)
    _ = ada.texts()
    world.loops[0].engine.connections.flushed(connection, now: world.loops[0].engine.now)
    world.loops[0].engine.connections.blocked(
      connection, rest: [][...], now: world.loops[0].engine.now)
    world.advance(milliseconds: 2 * Limits.suffixMilliseconds)
    world.loops[0].engine.connections.writable(connection, now: world.loops[0].engine.now)
    _ = ada.texts()
    world.loops[0].engine.connections.flushed(connection, now: world.loops[0].engine.now)
    send(ada, session, second)
    #expect(ada.texts().map { field("code", of: $0) } == ["unavailable"])
    for id in [first, second] { send(ada, session, id) }
    world.commit()
    #expect(acked(ada.texts()) == ["\(first)", "\(second)"])
  }

  @Test("sends in flight to another loop do not overtake a send refused there")
  func otherLoop() {
    let world = World(loops: 2)
    let session = world.makeSession(ownedBy: 1)
    let filler = world.makeSession(ownedBy: 1)
    let mika = world.member("operator", session, loop: 0)
    _ = mika.texts()
    let (first, second) = (world.makeID(), world.makeID())
    world.fillQueue(of: 1, session: filler)
    send(mika, session, first)
    // The second is sent before the refusal of the first arrives, and reaches a queue with room.
    world.hand(from: 0, to: 1)
    world.drop(of: 1)
    send(mika, session, second)
    world.settle()
    #expect(mika.texts().map { field("code", of: $0) } == ["unavailable", "unavailable"])
    for id in [first, second] { send(mika, session, id) }
    world.settle()
    world.commit()
    #expect(acked(mika.texts()) == ["\(first)", "\(second)"])
  }
}

extension World {
  /// Fills a loop's queue, as if the store could not keep up.
  fileprivate func fillQueue(of loop: Int, session: Identifier) {
    for _ in 0..<Limits.queuedRecords {
      loops[loop].engine.append(
        AppendMail(
          record: Record(
            workspace: visitor.id, session: session, id: makeID(), role: .visitor, kind: .text,
            sender: visitor.id,
            origin: Origin(
              loop: UInt16(loop), index: 0, generation: 0, isRequest: true, ref: .none)),
          senderName: [], body: Array("x".utf8), payload: []))
    }
  }

  /// Delivers only the mail of one loop to another.
  fileprivate func hand(from source: Int, to target: Int) {
    for mail in loops[source].engine.effects.takeMail(for: target) {
      loops[target].engine.deliver(mail)
    }
  }

  /// Removes the batches of a loop without outcomes.
  fileprivate func drop(of loop: Int) {
    while loops[loop].engine.hasBatch { loops[loop].engine.submitBatch { $0 = Batch() } }
  }
}
