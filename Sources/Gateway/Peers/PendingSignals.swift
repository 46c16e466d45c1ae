import Chat
import Engine
import Primitives

/// Typing and presence that wait for the next notification. Of a person's typing and of a session's
/// presence only the last state is sent.
struct PendingSignals {
  private enum Subject: Hashable {
    case typing(session: Identifier, person: Identifier)
    case presence(session: Identifier)
    case query(session: Identifier)

    init(_ signal: PeerSignal) {
      switch signal {
      case .typing(let typing): self = .typing(session: typing.session, person: typing.person.id)
      case .presence(let presence): self = .presence(session: presence.session)
      case .presenceQuery(let session): self = .query(session: session)
      }
    }
  }

  private var signals: [PeerSignal] = []
  private var places: [Subject: Int] = [:]

  var isEmpty: Bool { signals.isEmpty }

  /// Drops the signal if `Limits.peerSignals` wait.
  mutating func add(_ signal: PeerSignal) {
    let subject = Subject(signal)
    if let place = places[subject] {
      signals[place] = signal
    } else if signals.count < Limits.peerSignals {
      places[subject] = signals.count
      signals.append(signal)
    }
  }

  mutating func take() -> [PeerSignal] {
    defer { self = PendingSignals() }
    return signals
  }
}
