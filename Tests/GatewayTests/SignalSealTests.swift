import Chat
import Engine
import Primitives
import Testing

@testable import Gateway

@Suite("Typing and presence between gateways")
struct SignalSealTests {
  private let seal = SignalSeal(signingSecret: Array(repeating: 9, count: 32))
  private let gateway = RunningGateway.makeID()

  private func person(_ role: Role = .operator_, name: String = "Mika “M” \u{1F600}") -> Person {
    Person(role: role, id: RunningGateway.makeID(), name: Array(name.utf8))
  }

  private func typing(_ preview: [UInt8]) -> PeerSignal {
    .typing(
      PeerTyping(
        session: RunningGateway.makeID(), person: person(.visitor), isActive: true,
        preview: preview))
  }

  private func opened(
    _ payloads: [String], by seal: SignalSeal, as sender: Identifier? = nil
  ) -> [PeerSignal] {
    payloads.flatMap { payload in
      PeerNotifier.changes(in: payload, as: RunningGateway.makeID()).flatMap { change in
        guard case .signals(let sealed, let from) = change else { return [PeerSignal]() }
        return seal.signals(in: sealed, from: sender ?? from)
      }
    }
  }

  @Test("signals arrive as they were, in payloads that PostgreSQL takes and only gateways read")
  func roundTrip() {
    var signals: [PeerSignal] = []
    for _ in 0..<40 {
      signals.append(typing(Array("so \"ein\" \\ Über\n".utf8)))
      signals.append(.presenceQuery(session: RunningGateway.makeID()))
      signals.append(
        .presence(
          PeerPresence(
            session: RunningGateway.makeID(), hasVisitor: true, viewers: [person(), person()])))
    }
    let payloads = seal.payloads(signals, as: gateway)
    #expect(payloads.count > 1 && payloads.allSatisfy { $0.utf8.count < 8_000 })
    #expect(payloads.allSatisfy { !$0.contains("\n") && !$0.contains("Mika") })
    #expect(opened(payloads, by: seal) == signals)
    // A login of the database that is no gateway can neither make nor repeat one as another.
    let stranger = SignalSeal(signingSecret: Array(repeating: 8, count: 32))
    #expect(opened(payloads, by: stranger).isEmpty)
    #expect(opened(payloads, by: seal, as: RunningGateway.makeID()).isEmpty)
    #expect(PeerNotifier.changes(in: payloads[0], as: gateway).isEmpty)
  }

  @Test("a signal that is too long for a payload loses its preview or viewers; nothing overflows")
  func long() {
    let control = typing(Array(repeating: 1, count: Limits.previewBytes))
    let short = opened(seal.payloads([control], as: gateway), by: seal)
    guard case .typing(let received)? = short.first else {
      Issue.record("typing with a long preview was dropped")
      return
    }
    #expect(received.preview.isEmpty && received.isActive)
    let viewers = (0..<Limits.viewers).map { _ in person(name: String(repeating: "n", count: 900)) }
    let state = PeerPresence(session: gateway, hasVisitor: true, viewers: viewers)
    guard
      case .presence(let cut)? = opened(seal.payloads([.presence(state)], as: gateway), by: seal)
        .first
    else {
      Issue.record("presence with long names was dropped")
      return
    }
    #expect(cut.hasVisitor && !cut.viewers.isEmpty && cut.viewers.count < Limits.viewers)
    // U+0000, which no text of PostgreSQL has, spoils no other signal.
    #expect(opened(seal.payloads([typing([0]), control], as: gateway), by: seal).count == 2)
    let many = (0..<Limits.peerSignals).map { _ in typing(Array(repeating: 0x61, count: 900)) }
    #expect(seal.payloads(many, as: gateway).count == SignalSeal.payloadsMax)
  }

  @Test("of one person's typing only the last state waits, and the number that waits is limited")
  func pending() {
    var pending = PendingSignals()
    var last = PeerTyping(session: gateway, person: person(), isActive: true, preview: [])
    pending.add(.typing(last))
    last.isActive = false
    pending.add(.typing(last))
    #expect(pending.take() == [.typing(last)])
    #expect(pending.isEmpty)
    for _ in 0...Limits.peerSignals {
      pending.add(.presenceQuery(session: RunningGateway.makeID()))
    }
    #expect(pending.take().count == Limits.peerSignals)
  }
}
