import Chat
import Engine
import Primitives
import Testing
import Wire

/// Found by chirrup-load while PostgreSQL was stopped under it.
@Suite("A sender's order survives every temporary refusal")
struct SenderOrderTests {
  func send(_ client: Client, _ session: Identifier, _ id: Identifier) {
    client.say(#"{"type":"send","ref":1,"session":"\#(session)","id":"\#(id)","body":"b \#(id)"}"#)
  }

  func acked(_ texts: [String]) -> [String] {
    texts.filter { field("type", of: $0) == "ack" }.map { field("id", of: $0) }
  }

  @Test("a send refused for its rate does not get ahead of earlier ones that the store then failed")
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
}
