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

extension PeerSignal {
  /// Delivers a signal of another gateway. A loop passes it on to the session's owner.
  public func deliver(to engine: inout Engine, from gateway: Identifier) {
    let owner = engine.effects.owner(of: session)
    guard owner == engine.loop else {
      engine.effects.post(.peer(self, gateway: gateway), to: owner)
      return
    }
    switch self {
    case .typing(let typing):
      engine.fanOut.show(typing, engine.sessions, &engine.connections, &engine.effects)
    case .presence(let state):
      engine.presence.adopt(
        state, from: gateway, engine.sessions, &engine.connections, &engine.effects,
        now: engine.now)
    case .presenceQuery(let session):
      engine.presence.answerPeers(
        session, engine.sessions, engine.connections, &engine.effects, now: engine.now)
    }
  }
}
