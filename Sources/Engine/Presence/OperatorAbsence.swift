import Chat
public import Primitives

/// The absence of the operator who has a conversation, for its visitor. Only the loop that owns a
/// session sends it; `Session.isAssigneeAway` is what the visitor was sent last. The driver looks
/// the operators up in the database, where all gateways store their presence.
public enum OperatorAbsence {
  /// The operators of the conversations whose visitors are connected to this loop, each once for
  /// each workspace, at most `Limits.heldOperators`.
  public static func operators(
    ofVisitorsOf engine: borrowing Engine
  ) -> [(workspace: Identifier, operator: Identifier)] {
    var found: [(workspace: Identifier, operator: Identifier)] = []
    var seen: [Identifier: Set<Identifier>] = [:]
    for session in engine.sessions.indices where found.count < Limits.heldOperators {
      guard let member = assignee(ofVisitorIn: session, engine.sessions, engine.connections) else {
        continue
      }
      let workspace = engine.sessions[session].snapshot.workspace
      if seen[workspace, default: []].insert(member.id).inserted {
        found.append((workspace, member.id))
      }
    }
    return found
  }

  /// Sends visitors the changes.
  ///
  /// - Parameter away: the absent ones of `operators`.
  public static func show(
    _ away: [(workspace: Identifier, operator: Identifier)], in engine: inout Engine
  ) {
    let absent = Dictionary(grouping: away, by: \.workspace).mapValues {
      Set($0.map(\.operator))
    }
    for session in engine.sessions.indices {
      guard let member = assignee(ofVisitorIn: session, engine.sessions, engine.connections) else {
        continue
      }
      let workspace = engine.sessions[session].snapshot.workspace
      let isAway = absent[workspace]?.contains(member.id) ?? false
      guard engine.sessions[session].isAssigneeAway != isAway else { continue }
      engine.sessions[session].isAssigneeAway = isAway
      for position in engine.sessions[session].subscribers.indices {
        let connection = engine.sessions[session].subscribers[position].connection
        guard engine.connections[connection].isVisitor else { continue }
        send(
          member, isOnline: !isAway, in: session, engine.sessions, to: connection,
          &engine.connections)
      }
    }
  }

  /// Call it when a visitor has subscribed: without this event the operator is there.
  static func show(
    of session: SessionIndex, _ sessions: borrowing SessionTable, to connection: ConnectionIndex,
    _ connections: inout ConnectionTable
  ) {
    guard sessions[session].isAssigneeAway, let member = sessions[session].snapshot.assignee else {
      return
    }
    send(member, isOnline: false, in: session, sessions, to: connection, &connections)
  }

  private static func send(
    _ member: Person, isOnline: Bool, in session: SessionIndex,
    _ sessions: borrowing SessionTable, to connection: ConnectionIndex,
    _ connections: inout ConnectionTable
  ) {
    let id = sessions[session].id
    connections.send(connection) {
      EventEncoder.presence(session: id, who: member, isOnline: isOnline, isViewing: nil, to: &$0)
    }
  }

  private static func assignee(
    ofVisitorIn session: SessionIndex, _ sessions: borrowing SessionTable,
    _ connections: borrowing ConnectionTable
  ) -> Person? {
    guard sessions.isOccupied(session), sessions[session].isOwned,
      sessions[session].phase == .ready, sessions[session].snapshot.status == .active,
      let member = sessions[session].snapshot.assignee,
      Presence.hasVisitor(session, sessions, connections)
    else { return nil }
    return member
  }
}
