/// The end of a connection, and a connection as the journal of connections shows it.
public import Chat
public import Primitives
public import Wire

/// Why a connection ended.
public struct Ending: Sendable, Equatable {
  /// The side that ended it.
  public enum Side: String, Sendable, CaseIterable {
    /// The client sent a close frame.
    case peer
    /// The gateway applied a rule: a limit, a timeout, a token that is no longer valid.
    case gateway
    /// The stream ended or broke without a close frame.
    case network
    /// An administrator disconnected it.
    case kick
    /// The gateway stopped.
    case shutdown
  }

  public var code: CloseCode
  /// A sentence of ours, or the reason of a kick. Never text of the peer.
  public var reason: String
  public var side: Side

  static let lost = Ending(
    code: .abnormal, reason: "the stream ended without a close frame", side: .network)

  /// The peer's close frame, without its text.
  static func byPeer(_ code: CloseCode?) -> Ending {
    let reason =
      switch code {
      case nil: "the client closed without a code"
      case .goingAway: "the client left"
      default: "the client closed"
      }
    return Ending(code: code ?? .noStatus, reason: reason, side: .peer)
  }
}

/// The load of a connection. Bytes are counted before TLS, with the response to the upgrade.
public struct Traffic: Sendable {
  public var bytesIn: UInt64 = 0
  /// Bytes that the socket took.
  public var bytesOut: UInt64 = 0
  /// Entries of sessions that were sent. See `SendState.count` for the other direction.
  public var messagesOut: UInt64 = 0
}

/// The sessions that a connection follows, or may follow: the first ones, and their number.
public struct FollowedSessions: Sendable, Equatable {
  public static let listedMax = 8

  public var listed: [Identifier] = []
  public var count = 0
}

/// A connection at one moment, for the journal.
public struct ConnectionReport: Sendable {
  /// The id in `welcome` and in the log.
  public var name: Identifier
  /// Nil before the token is verified.
  public var member: Member?
  public var sessions: FollowedSessions
  public var openedAt: Instant
  public var lastReceivedAt: Instant
  public var traffic: Traffic
  /// Messages that the member has sent (`send`).
  public var messagesIn: UInt32
  /// Since when the socket has been full; nil: it is not.
  public var blockedSince: Instant?
  /// Nil while it is open.
  public var ending: Ending?
}

extension ConnectionTable {
  /// The connections that are not closing, the newest first; nil matches any.
  public func open(
    workspace: Identifier?, party: Identifier?, name: Identifier? = nil
  ) -> [ConnectionIndex] {
    var found: [(name: Identifier, connection: ConnectionIndex)] = []
    for connection in indices
    where isOccupied(connection) && self[connection].phase != .closing
      && self[connection].phase != .finished
    {
      if let name, self[connection].name != name { continue }
      if workspace != nil || party != nil {
        guard let member = self[connection].member,
          workspace ?? member.workspace == member.workspace,
          party ?? member.person.id == member.person.id
        else { continue }
      }
      found.append((self[connection].name, connection))
    }
    return found.sorted { $0.name > $1.name }.map(\.connection)
  }
}

extension Engine {
  /// A connection that may have its close frame already.
  public func report(_ connection: ConnectionIndex) -> ConnectionReport {
    ConnectionReport(
      name: connections[connection].name, member: connections[connection].member,
      sessions: connections[connection].followed
        ?? connections[connection].followed(in: self.sessions),
      openedAt: connections[connection].timing.openedAt,
      lastReceivedAt: connections[connection].timing.lastReceivedAt,
      traffic: connections[connection].traffic,
      messagesIn: connections[connection].sends.count,
      blockedSince: connections[connection].socket.isBlocked
        ? connections[connection].socket.blockedSince : nil,
      ending: connections[connection].ending)
  }
}

extension Connection {
  /// A visitor's sessions are those of the token, an operator's those that are subscribed.
  func followed(in table: borrowing SessionTable) -> FollowedSessions {
    if isVisitor, let sessions = member?.sessions {
      return FollowedSessions(
        listed: Array(sessions.prefix(FollowedSessions.listedMax)), count: sessions.count)
    }
    return FollowedSessions(
      listed: subscriptions.prefix(FollowedSessions.listedMax).map { table[$0.session].id },
      count: subscriptions.count)
  }
}
