import Chat
import Engine
import Primitives
import Testing

/// Typing and presence across two gateways, each with two loops.
@Suite struct PeerSignalTests {
  private let here = World(loops: 2)
  private let there = World(loops: 2)
  private let session: Identifier

  init() {
    session = here.makeSession(ownedBy: 1)
    there.database[session] = here.database[session]
    there.members["visitor"] = here.members["visitor"]
    let ivo = Person(
      role: .operator_, id: Identifier(high: 0xC, low: 2), name: Array("Ivo".utf8))
    for world in [here, there] {
      for loop in world.loops { loop.engine.hasPeers = true }
      world.members["colleague"] = Member(
        person: ivo, workspace: world.workspace, sessions: [],
        expiresAt: WallTime(microseconds: world.wall.microseconds + 3_600_000_000))
    }
  }

  /// Delivers the signals of each gateway to a loop of the other, until none is left.
  private func exchange(isHereAlive: Bool = true) {
    for _ in 0..<10 {
      for (from, to, gateway) in [(here, there, UInt64(1)), (there, here, 2)] {
        from.settle()
        for loop in from.loops {
          for signal in loop.engine.effects.takeSignals() where isHereAlive {
            signal.deliver(
              to: &to.loops[0].engine, from: Identifier(high: 0xE, low: gateway))
          }
        }
        to.settle()
      }
    }
  }

  private func view(_ client: Client, _ isViewing: Bool = true) {
    client.send(#"{"type":"viewing","session":"\#(session)","active":\#(isViewing)}"#)
    exchange()
  }

  /// The presence events, as `Ada online`, `Ivo !viewing`.
  private func presence(_ client: Client) -> [String] {
    client.texts().filter { field("type", of: $0) == "presence" }.map { text in
      let (online, viewing) = (field("online", of: text), field("viewing", of: text))
      let state =
        online.isEmpty
        ? (viewing == "true" ? "viewing" : "!viewing") : (online == "true" ? "online" : "!online")
      return "\(field("name", of: text)) \(state)"
    }
  }

  private func leave(_ client: Client) {
    client.send(#"{"type":"unsubscribe","ref":9,"session":"\#(session)"}"#)
    exchange()
  }

  @Test("operators on two gateways see each other view a session, and its visitor")
  func viewing() {
    let mika = here.member("operator", session)
    view(mika)
    #expect(presence(mika) == ["Ada !online"])
    let ivo = there.member("colleague", session)
    view(ivo)
    #expect(presence(ivo) == ["Ada !online", "Mika viewing"])
    #expect(presence(mika) == ["Ivo viewing"])
    let ada = there.member("visitor", session)
    exchange()
    #expect(presence(mika) == ["Ada online"])
    #expect(presence(ivo) == ["Ada online"])
    view(ivo, false)
    #expect(presence(mika) == ["Ivo !viewing"])
    leave(ada)
    #expect(presence(mika) == ["Ada !online"])
    #expect(presence(ada).isEmpty)
  }

  @Test("a person on two gateways is present until they have left both")
  func twice() {
    let mika = here.member("operator", session)
    let (first, second) = (here.member("visitor", session), there.member("visitor", session))
    let windows = [here.member("colleague", session), there.member("colleague", session)]
    view(mika)
    for window in windows { view(window) }
    _ = presence(mika)
    view(windows[0], false)
    leave(first)
    #expect(presence(mika).isEmpty)
    view(windows[1], false)
    leave(second)
    #expect(presence(mika) == ["Ivo !viewing", "Ada !online"])
  }

  @Test("the operators and visitors of a gateway that was killed vanish after 15 seconds")
  func killed() {
    let ivo = there.member("colleague", session)
    let mika = here.member("operator", session)
    let ada = here.member("visitor", session)
    view(mika)
    view(ivo)
    #expect(presence(ivo) == ["Ada !online", "Ada online", "Mika viewing"])
    // A gateway that lives is queried every five seconds. Clients that send stay connected.
    let sign = #"{"type":"typing","session":"\#(session)","active":false}"#
    for _ in 0..<60 {
      for world in [here, there] { world.advance(milliseconds: 500) }
      for client in [mika, ivo, ada] { client.send(sign) }
      exchange()
    }
    #expect(presence(ivo).isEmpty)
    for elapsed in stride(from: 500, through: Limits.presenceSilenceMilliseconds, by: 500) {
      there.advance(milliseconds: 500)
      ivo.send(sign)
      exchange(isHereAlive: false)
      if elapsed < Limits.presenceSilenceMilliseconds - Limits.presenceQueryMilliseconds {
        #expect(presence(ivo).isEmpty)
      }
    }
    #expect(presence(ivo) == ["Ada !online", "Mika !viewing"])
  }

  @Test("typing reaches the other gateway; its preview only operators, and its sender nobody")
  func typing() {
    let mika = here.member("operator", session)
    let (ada, ivo) = (there.member("visitor", session), there.member("colleague", session))
    exchange()
    for client in [mika, ada, ivo] { _ = client.texts() }
    func types(_ client: Client) -> [String] {
      client.texts().filter { field("type", of: $0) == "typing" }.map {
        "\(field("name", of: $0)) \(field("active", of: $0)) \(field("preview", of: $0))"
      }
    }
    ada.send(#"{"type":"typing","session":"\#(session)","active":true,"preview":"he"}"#)
    exchange()
    #expect(types(mika) == ["Ada true he"])
    #expect(types(ivo) == ["Ada true he"])
    #expect(types(ada).isEmpty)
    mika.send(#"{"type":"typing","session":"\#(session)","active":true,"preview":"Hi"}"#)
    exchange()
    #expect(types(ada) == ["Mika true "])
    #expect(types(ivo) == ["Mika true Hi"])
    #expect(types(mika).isEmpty)
  }

  @Test("without other gateways, and above the limit, nothing is kept for them")
  func limits() {
    let ada = here.member("visitor", session)
    func type(_ count: Int) -> Int {
      for number in 0..<count {
        here.advance(milliseconds: 20)
        ada.send(#"{"type":"typing","session":"\#(session)","active":\#(number % 2 == 0)}"#)
      }
      here.settle()
      return here.loops.reduce(0) { $0 + $1.engine.effects.takeSignals().count }
    }
    for loop in here.loops { loop.engine.hasPeers = false }
    #expect(type(3) == 0)
    for loop in here.loops { loop.engine.hasPeers = true }
    #expect(type(3) == 3)
    #expect(type(Limits.peerSignals + 20) == Limits.peerSignals)
  }

  @Test("sessions and gateways whose presence is known are limited")
  func watched() {
    let mika = here.member("operator", session)
    view(mika)
    _ = presence(mika)
    for number in 1...UInt64(Limits.presenceGateways + 2) {
      let viewer = Person(
        role: .operator_, id: Identifier(high: 0xD, low: number), name: Array("V".utf8))
      let state = PeerPresence(session: session, hasVisitor: false, viewers: [viewer])
      PeerSignal.presence(state).deliver(
        to: &here.loops[0].engine, from: Identifier(high: 0xE, low: 10 + number))
    }
    here.settle()
    #expect(presence(mika).count == Limits.presenceGateways)
    // Queries for more sessions than the limit are not remembered.
    var last = session
    for _ in 0...Limits.watchedPresences {
      last = here.makeSession(ownedBy: 1)
      PeerSignal.presenceQuery(session: last).deliver(to: &here.loops[0].engine, from: .zero)
    }
    here.settle()
    _ = here.loops[1].engine.effects.takeSignals()
    _ = here.member("visitor", last)
    #expect(here.loops[1].engine.effects.takeSignals().isEmpty)
  }
}
