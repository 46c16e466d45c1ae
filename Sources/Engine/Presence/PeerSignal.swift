public import Chat
public import Primitives

/// A message between the owners of a session on two gateways, about typing and presence. It is
/// never stored and may be lost: typing ends by itself, and presence is queried again.
public enum PeerSignal: Sendable, Equatable {
  case typing(PeerTyping)
  /// The whole state of the session on the sender, which replaces the one before.
  case presence(PeerPresence)
  /// The sender's operators receive the session's presence for the next seconds.
  case presenceQuery(session: Identifier)

  public var session: Identifier {
    switch self {
    case .typing(let typing): typing.session
    case .presence(let presence): presence.session
    case .presenceQuery(let session): session
    }
  }
}

public struct PeerTyping: Sendable, Equatable {
  public var session: Identifier
  public var person: Person
  public var isActive: Bool
  public var preview: [UInt8]

  public init(session: Identifier, person: Person, isActive: Bool, preview: [UInt8]) {
    self.session = session
    self.person = person
    self.isActive = isActive
    self.preview = preview
  }
}

public struct PeerPresence: Sendable, Equatable {
  public var session: Identifier
  public var hasVisitor: Bool
  /// The operators who view the session, each once, at most `Limits.viewers`.
  public var viewers: [Person]

  public init(session: Identifier, hasVisitor: Bool, viewers: [Person]) {
    self.session = session
    self.hasVisitor = hasVisitor
    self.viewers = viewers
  }
}

extension Engine {
  /// A signal of another gateway. Loops of this gateway pass it on to the session's owner.
  public mutating func receive(_ signal: PeerSignal, from gateway: Identifier) {
    let owner = effects.owner(of: signal.session)
    guard owner == loop else {
      effects.post(.peer(signal, gateway: gateway), to: owner)
      return
    }
    switch signal {
    case .typing(let typing): fanOut.show(typing, sessions, &connections, &effects)
    case .presence(let state):
      presence.adopt(state, from: gateway, sessions, &connections, &effects, now: now)
    case .presenceQuery(let session):
      presence.answerPeers(session, sessions, connections, &effects, now: now)
    }
  }
}
