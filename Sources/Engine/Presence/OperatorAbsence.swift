import Chat
public import Primitives

/// The absence of the operator who has a conversation, for its visitor. Only the loop that owns a
/// session sends it; `Session.isAssigneeAway` is what the visitor was sent last. The driver looks
/// the operators up in the database, where all gateways store their presence.
extension Engine {
  /// The operators who have closed their last console on this loop since the last call.
  public mutating func takeDepartures() -> [(workspace: Identifier, operator: Identifier)] {
    inbox.takeDepartures(connections)
  }

  /// The operators of the conversations whose visitors are connected to this loop, each once for
  /// each workspace, at most `Limits.heldOperators`.
  public var operatorsOfVisitors: [(workspace: Identifier, operator: Identifier)] {
    var found: [(workspace: Identifier, operator: Identifier)] = []
    var seen: [Identifier: Set<Identifier>] = [:]
    for session in sessions.indices where found.count < Limits.heldOperators {
      guard let member = assignee(ofVisitorIn: session) else { continue }
      let workspace = sessions[session].snapshot.workspace
      if seen[workspace, default: []].insert(member.id).inserted {
        found.append((workspace, member.id))
      }
    }
    return found
  }

  /// Sends visitors the changes.
  ///
  /// - Parameter away: the absent ones of `operatorsOfVisitors`.
  public mutating func operatorsAreAway(_ away: [(workspace: Identifier, operator: Identifier)]) {
    let absent = Dictionary(grouping: away, by: \.workspace).mapValues {
      Set($0.map(\.operator))
    }
    for session in sessions.indices {
      guard let member = assignee(ofVisitorIn: session) else { continue }
      let isAway = absent[sessions[session].snapshot.workspace]?.contains(member.id) ?? false
      guard sessions[session].isAssigneeAway != isAway else { continue }
      sessions[session].isAssigneeAway = isAway
      for position in sessions[session].subscribers.indices {
        let connection = sessions[session].subscribers[position].connection
        guard connections[connection].isVisitor else { continue }
        show(member, isOnline: !isAway, in: session, to: connection)
      }
    }
  }

  /// Call it when a visitor has subscribed: without this event the operator is there.
  mutating func showAbsence(of session: SessionIndex, to connection: ConnectionIndex) {
    guard sessions[session].isAssigneeAway, let member = sessions[session].snapshot.assignee else {
      return
    }
    show(member, isOnline: false, in: session, to: connection)
  }

  private mutating func show(
    _ member: Person, isOnline: Bool, in session: SessionIndex, to connection: ConnectionIndex
  ) {
    let id = sessions[session].id
    connections.send(connection) {
      EventEncoder.presence(session: id, who: member, isOnline: isOnline, isViewing: nil, to: &$0)
    }
  }

  private func assignee(ofVisitorIn session: SessionIndex) -> Person? {
    guard sessions.isOccupied(session), sessions[session].isOwned,
      sessions[session].phase == .ready, sessions[session].snapshot.status == .active,
      let member = sessions[session].snapshot.assignee,
      Presence.hasVisitor(session, sessions, connections)
    else { return nil }
    return member
  }
}
