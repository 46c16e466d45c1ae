import Chat
import Engine
import Primitives
import Testing
import Wire

@Suite("Faults of the store and of peers, and timeouts")
struct FaultTests {
  func send(_ world: World, _ client: Client, _ session: Identifier, _ id: Identifier) {
    client.send(#"{"type":"send","ref":1,"session":"\#(session)","id":"\#(id)","body":"b \#(id)"}"#)
  }

  @Test("a send that waits for the store longer than 5 s is unavailable, like all later ones")
  func storeDown() {
    let world = World()
    let session = world.makeSession()
    let ada = world.member("visitor", session)
    _ = ada.texts()
    world.isStoreUp = false
    world.settle()
    let (first, second, third) = (world.makeID(), world.makeID(), world.makeID())
    send(world, ada, session, first)
    send(world, ada, session, second)
    world.advance(milliseconds: 4000)
    #expect(ada.texts().isEmpty)
    world.advance(milliseconds: 1500)
    let refused = ada.texts()
    #expect(refused.map { field("code", of: $0) } == ["unavailable", "unavailable"])
    #expect((Int(field("retry_after_ms", of: refused[0])) ?? 0) > 0)
    // The store answers again, but the third send must not overtake the first.
    world.isStoreUp = true
    world.settle()
    send(world, ada, session, third)
    #expect(ada.texts().map { field("code", of: $0) } == ["unavailable"])
    for id in [first, second, third] { send(world, ada, session, id) }
    world.commit()
    #expect(
      ada.texts().filter { field("type", of: $0) == "ack" }.map { field("id", of: $0) }
        == [first, second, third].map { "\($0)" })
  }

  @Test("sends to a session with a locked row fail alone, and keep the order of their sender")
  func heldSession() {
    let world = World()
    let (held, free) = (world.makeSession(), world.makeSession())
    let mika = world.member("operator", held)
    let ada = world.member("operator", free)
    _ = (mika.texts(), ada.texts())
    let ids = (0..<4).map { _ in world.makeID() }
    send(world, mika, held, ids[0])
    var taken = Batch()
    world.loops[0].engine.submitBatch { swap(&taken, &$0) }
    // These wait while the first batch is in flight.
    send(world, mika, held, ids[1])
    send(world, ada, free, ids[2])
    send(world, mika, held, ids[3])
    world.loops[0].engine.committed(taken, [Outcome(verdict: .unavailable)])
    world.settle()
    #expect(
      mika.texts().map { field("code", of: $0) } == ["unavailable", "unavailable", "unavailable"])
    #expect(ada.texts().isEmpty)
    world.commit()
    let acks = ada.texts().filter { field("type", of: $0) == "ack" }
    #expect(acks.map { field("id", of: $0) } == ["\(ids[2])"])
    for id in [ids[0], ids[1], ids[3]] { send(world, mika, held, id) }
    world.commit()
    #expect(
      mika.texts().filter { field("type", of: $0) == "ack" }.map { field("seq", of: $0) }
        == ["1", "2", "3"])
  }

  @Test("a batch carries the head of each session that is certain, and no other")
  func knownHeads() {
    let world = World()
    let (session, other) = (world.makeSession(), world.makeSession())
    let mika = world.member("operator", session)
    let ada = world.member("operator", other)
    func heads(_ outcome: Outcome) -> [Int64] {
      var taken = Batch()
      world.loops[0].engine.submitBatch { swap(&taken, &$0) }
      let heads = (0..<taken.count).map { taken.head($0) }
      world.loops[0].engine.committed(taken, Array(repeating: outcome, count: taken.count))
      return heads
    }
    let at = WallTime(microseconds: 1)
    send(world, mika, session, world.makeID())
    send(world, ada, other, world.makeID())
    #expect(heads(Outcome(verdict: .stored, seq: 1, at: at)) == [0, 0])
    send(world, mika, session, world.makeID())
    #expect(heads(Outcome(verdict: .stored, seq: 2, at: at)) == [1])
    send(world, mika, session, world.makeID())
    #expect(heads(Outcome(verdict: .unavailable)) == [2])
    // Whether it was stored is open. Nobody can send there until it is sent again, or read.
    send(world, ada, other, world.makeID())
    #expect(heads(Outcome(verdict: .stored, seq: 2, at: at)) == [1])
  }

  @Test func `an operator's message says whether its session has an operator`() {
    let world = World()
    let (active, waiting) = (world.makeSession(), world.makeSession())
    world.database[active]?.snapshot.status = .active
    let mika = world.member("operator", waiting)
    let ada = world.member("visitor", waiting)
    let noor = world.member("operator", active)
    for (client, session) in [(mika, waiting), (ada, waiting), (noor, active)] {
      send(world, client, session, world.makeID())
    }
    var taken = Batch()
    world.loops[0].engine.submitBatch { swap(&taken, &$0) }
    // A visitor's message claims nothing, whatever the session is.
    #expect((0..<taken.count).map { taken.isUnclaimed($0) } == [true, false, false])
  }

  @Test("the delay between attempts grows while the store is unreachable")
  func growingWait() {
    let world = World()
    let session = world.makeSession()
    let ada = world.member("visitor", session)
    let id = world.makeID()
    var waits: [Int64] = []
    world.isStoreUp = false
    world.settle()
    send(world, ada, session, id)
    world.advance(milliseconds: Limits.sendWaitMilliseconds)
    while waits.count < 40 {
      let refused = ada.texts().last { field("code", of: $0) == "unavailable" }
      guard let wait = refused.flatMap({ Int64(field("retry_after_ms", of: $0)) }) else {
        Issue.record("the send is not refused")
        return
      }
      waits.append(wait)
      world.advance(milliseconds: wait)
      send(world, ada, session, id)
    }
    var passed: Int64 = 0
    for wait in waits {
      let longest = min(8_000, max(1_000, passed))
      #expect((longest / 2..<longest).contains(wait))
      passed += wait
    }
    #expect(passed > 30 * 4_000)
    world.isStoreUp = true
    world.settle()
    send(world, ada, session, id)
    world.commit()
    #expect(ada.texts().contains { field("type", of: $0) == "ack" })
    // The next outage begins with a short delay again.
    send(world, ada, session, world.makeID())
    world.commit(failing: true)
    let next = ada.texts().last { field("code", of: $0) == "unavailable" }
    #expect(next.flatMap { Int64(field("retry_after_ms", of: $0)) }.map { $0 < 1_000 } == true)
  }

  @Test("after a batch with an unknown outcome, its sessions are read from the database")
  func unknownOutcome() {
    let world = World()
    let session = world.makeSession()
    let ada = world.member("visitor", session)
    let mika = world.member("operator", session)
    _ = (ada.texts(), mika.texts())
    send(world, ada, session, world.makeID())
    world.commit(failing: true)
    #expect(ada.texts().map { field("code", of: $0) } == ["unavailable"])
    // It was committed nevertheless.
    world.database[session]?.entries.append(world.entry(1, "survivor"))
    world.database[session]?.snapshot.head = 1
    world.advance(milliseconds: 600)
    world.settle()
    #expect(mika.texts().map { field("body", of: $0) } == ["survivor"])
  }

  @Test("a client ahead of this loop must retry, and gets no resync (faults R18)")
  func ahead() {
    let world = World()
    let session = world.makeSession()
    let ada = world.member("visitor", session)
    _ = ada.texts()
    send(world, ada, session, world.makeID())
    world.commit(failing: true)
    // It was committed nevertheless, and Mika received it from another loop.
    world.database[session]?.entries.append(world.entry(1, "survivor"))
    world.database[session]?.snapshot.head = 1
    let mika = world.member("operator", session, after: 1)
    #expect(mika.texts().last.map { field("code", of: $0) } == "unavailable")
    world.advance(milliseconds: 600)
    world.settle()
    mika.send(#"{"type":"subscribe","ref":"again","session":"\#(session)","after":1}"#)
    world.settle()
    #expect(mika.types() == ["subscribed", "live"])
  }

  @Test("a client ahead must also retry while the writer retries the batch (faults R18)")
  func aheadOfRetry() {
    let world = World()
    let session = world.makeSession()
    let ada = world.member("visitor", session)
    _ = ada.texts()
    send(world, ada, session, world.makeID())
    // It was committed, the response was lost, and Mika received it from another loop.
    world.database[session]?.entries.append(world.entry(1, "survivor"))
    world.database[session]?.snapshot.head = 1
    let mika = world.member("operator", session, after: 1)
    #expect(mika.texts().last.map { field("code", of: $0) } == "unavailable")
    #expect(ada.types() == ["message"])
    mika.send(#"{"type":"subscribe","ref":"again","session":"\#(session)","after":1}"#)
    world.settle()
    #expect(mika.types() == ["subscribed", "live"])
  }

  @Test("an entry of another gateway is read from the database before the next one is sent")
  func gap() {
    let world = World()
    let session = world.makeSession()
    let ada = world.member("visitor", session)
    _ = ada.texts()
    world.database[session]?.entries.append(world.entry(1, "from elsewhere"))
    world.database[session]?.snapshot.head = 1
    send(world, ada, session, world.makeID())
    world.commit()
    world.advance(milliseconds: 600)
    world.settle()
    #expect(
      ada.texts().filter { field("type", of: $0) == "message" }.map { field("seq", of: $0) }
        == ["1", "2"])
  }

  @Test("subscribers of a log that has gone back get resync")
  func epoch() {
    let world = World()
    let session = world.makeSession(entries: 4)
    let ada = world.member("visitor", session)
    _ = ada.texts()
    world.database[session]?.entries.removeLast()
    world.database[session]?.snapshot.head = 3
    world.database[session]?.snapshot.epoch = Array("e2".utf8)
    world.loops[0].engine.changed(session)
    world.settle()
    let received = ada.texts()
    #expect(received.map { field("type", of: $0) } == ["resync"])
    #expect(field("epoch", of: received[0]) == "e2")
  }

  @Test("the deletion of a session ends its subscriptions on every loop")
  func deleted() {
    let world = World(loops: 2)
    let session = world.makeSession(entries: 1, ownedBy: 1)
    let ada = world.member("visitor", session)
    let mika = world.member("operator", session, loop: 0)
    _ = (ada.texts(), mika.texts())
    world.database[session] = nil
    world.loops[0].engine.changed(session)
    world.settle()
    for client in [ada, mika] {
      let received = client.texts()
      #expect(received.map { field("type", of: $0) } == ["unsubscribed"])
      #expect(received.map { field("code", of: $0) } == ["no_such_session"])
    }
    #expect(world.loops.map { $0.engine.sessions.count } == [0, 0])
  }

  @Test("no hello in 10 s closes with 4201")
  func helloTimeout() {
    let world = World()
    let client = world.connect()
    world.advance(milliseconds: 10_500)
    #expect(client.receive() == [.close(4201)])
    world.advance(milliseconds: 5_500)
    #expect(world.loops[0].engine.connections.takeDoomed().count == 1)
  }

  @Test("a ping is sent after 25 s of silence, and 10 s without an answer close with 4102")
  func heartbeat() {
    let world = World()
    let session = world.makeSession()
    let ada = world.member("visitor", session)
    _ = ada.texts()
    world.advance(milliseconds: 25_500)
    #expect(ada.types() == ["ping"])
    ada.send(#"{"type":"pong"}"#)
    world.advance(milliseconds: 10_500)
    #expect(ada.receive().isEmpty)
    world.advance(milliseconds: 15_000)
    #expect(ada.types() == ["ping"])
    world.advance(milliseconds: 10_500)
    #expect(ada.receive() == [.close(4102)])
  }

  @Test("a pong with a ref is answered, so that a client sees whether the connection lives")
  func probe() {
    let world = World()
    let ada = world.member("visitor", world.makeSession())
    _ = ada.texts()
    ada.send(#"{"type":"pong"}"#)
    #expect(ada.receive().isEmpty)
    ada.send(#"{"type":"pong","ref":7}"#)
    #expect(ada.texts() == [#"{"type":"ok","ref":7}"#])
  }

  @Test(
    "a token's expiry is announced, authenticate renews it, and an expired token closes with 4202")
  func expiry() {
    let world = World()
    let session = world.makeSession()
    let ada = world.member("visitor", session)
    _ = ada.texts()
    for _ in 0..<42 {
      world.advance(milliseconds: 20_000)
      ada.send(#"{"type":"pong"}"#)
    }
    #expect(ada.types() == ["token_expiring"])
    world.members["renewed"] = Member(
      person: world.visitor, workspace: world.workspace, sessions: [session],
      expiresAt: WallTime(microseconds: world.wall.microseconds + 120_000_000))
    ada.send(#"{"type":"authenticate","ref":"a","token":"renewed"}"#)
    world.settle()
    #expect(ada.types() == ["ok"])
    for _ in 0..<8 {
      world.advance(milliseconds: 20_000)
      ada.send(#"{"type":"pong"}"#)
    }
    #expect(ada.receive().last == .close(4202))
  }

  @Test("each unreadable command gets an error, and the 16th closes with 4103")
  func badFrames() {
    let world = World()
    let ada = world.member("operator")
    _ = ada.texts()
    for text in ["", "null", "[]", "\"x\"", "1", "{", "{}x", "{\"type\":1}", "\u{FEFF}{}"] {
      ada.send(text)
    }
    #expect(ada.texts().allSatisfy { field("code", of: $0) == "bad_frame" })
    for _ in 0..<7 { ada.send("{") }
    #expect(ada.receive().last == .close(4103))
  }

  @Test("a fault in one line does not affect the other lines of the message")
  func lines() {
    let world = World()
    let ada = world.member("operator")
    _ = ada.texts()
    ada.send("{\"type\":\"watch\",\"ref\":1,\"inbox\":true}\n{bad\n{\"type\":\"x\",\"ref\":2}")
    #expect(ada.texts().map { field("code", of: $0) } == ["", "bad_frame", "unknown_type"])
  }

  @Test("more than in_flight unacknowledged sends are refused as rate_limited")
  func inFlight() {
    let world = World()
    let session = world.makeSession()
    let ada = world.member("visitor", session)
    _ = ada.texts()
    for _ in 0..<(Limits.inFlight + 3) { send(world, ada, session, world.makeID()) }
    // Those behind the first refused one fail for its reason: the store is well.
    let refused = ada.texts()
    #expect(refused.map { field("code", of: $0) } == Array(repeating: "rate_limited", count: 3))
    #expect(refused.allSatisfy { field("message", of: $0).contains("limits.in_flight") })
    world.commit()
    #expect(ada.texts().filter { field("type", of: $0) == "ack" }.count == Limits.inFlight)
  }

  @Test("unknown commands count against the rate, and too many close with 4103")
  func unknownTypes() {
    let world = World()
    let ada = world.member("operator")
    _ = ada.texts()
    let lines = Array(repeating: "{}", count: Limits.commandsBurst + Limits.overRate)
    ada.send(lines.joined(separator: "\n"))
    let codes = ada.texts().map { field("code", of: $0) }
    #expect(codes.filter { $0 == "unknown_type" }.count == Limits.commandsBurst)
    #expect(codes.filter { $0 == "rate_limited" }.count == Limits.overRate)
    ada.send("{}")
    #expect(ada.receive().last == .close(4103))
  }

  @Test("a body at its limit is accepted, one byte more is too_large, U+0000 is rejected")
  func bodies() {
    let world = World()
    let session = world.makeSession()
    let ada = world.member("visitor", session)
    _ = ada.texts()
    for (body, code) in [
      (String(repeating: "a", count: Limits.bodyBytes + 1), "too_large"),
      (#"nul \u0000"#, "rejected"), (#"lone \ud800"#, "rejected"), ("", "rejected"),
    ] {
      ada.post(body, to: session)
      #expect(ada.texts().map { field("code", of: $0) } == [code])
    }
    let whole = String(repeating: "ก", count: Limits.bodyBytes / 3)
    ada.post(whole, to: session)
    world.commit()
    #expect(ada.texts().contains { field("body", of: $0) == whole })
  }

  @Test("a peer that does not read is closed with 4101 after 30 s, and memory stays bounded")
  func slowConsumer() {
    let world = World()
    let session = world.makeSession()
    let slow = world.member("visitor", session)
    let mika = world.member("operator", session)
    _ = (slow.texts(), mika.texts())
    let connection = slow.connection.index
    world.loops[0].engine.connections.blocked(
      connection, rest: [1, 2, 3][...], now: world.loops[0].engine.now)
    for _ in 0..<40 {
      send(world, mika, session, world.makeID())
      world.commit()
      _ = mika.texts()
      // The new message makes it dirty, so the driver flushes it without output.
      var output: [UInt8] = []
      world.loops[0].engine.collect(connection, into: &output)
      #expect(output.isEmpty)
      world.loops[0].engine.connections.flushed(connection, now: world.loops[0].engine.now)
      world.advance(milliseconds: 1000)
    }
    #expect(world.loops[0].engine.counters.slowConsumers == 1)
  }

  @Test("the echo answers text, binary and empty messages, and sends nothing else")
  func echo() {
    let world = World()
    let client = world.connect(isEcho: true)
    world.advance(milliseconds: 60_000)
    #expect(client.receive().isEmpty)
    client.send("hé")
    client.send("", opcode: .binary)
    #expect(client.receive() == [.text("hé"), .binary(0)])
  }
}
