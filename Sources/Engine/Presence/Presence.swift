import Chat
import Primitives
import Wire

/// Who looks at a conversation, for operators who have sent `viewing`: other operators, and whether
/// its visitor has it open. Never stored, and not sent to a connection that is behind, like typing.
///
/// The owner of a session keeps its viewers, at most `Limits.viewers`, and sends them to whoever
/// begins to follow.
struct Presence {
  /// Operators who look at a session, by session. Only on its owner.
  private var viewers: [Identifier: [Viewer]] = [:]

  private struct Viewer {
    var person: Person
    /// The connection that looks.
    var loop: Int
    var connection: ConnectionID
  }

  /// The session has left memory.
  mutating func forget(_ session: Identifier) {
    if !viewers.isEmpty { viewers[session] = nil }
  }

  /// The command `viewing`.
  mutating func view(
    _ connection: ConnectionIndex, _ command: Command, _ sessions: borrowing SessionTable,
    _ connections: inout ConnectionTable, _ effects: inout Effects
  ) {
    guard connections[connection].isOperator, let session = command.session,
      let index = sessions.index(of: session),
      let subscription = connections.subscription(connection, of: index, sessions)
    else {
      let isOperator = connections[connection].isOperator
      connections.refuse(connection, command.ref, isOperator ? .notSubscribed : .forbidden)
      return
    }
    if !connections[connection].subscriptions[subscription].hearsPresence {
      connections[connection].subscriptions[subscription].hearsPresence = true
      let id = connections.id(at: connection)
      if sessions[index].isOwned {
        answer(session, loop: effects.loop, connection: id, sessions, &connections, &effects)
      } else {
        effects.post(
          .presenceQuery(session: session, loop: effects.loop, connection: id),
          toOwnerOf: session)
      }
    }
    let isViewing = command.active ?? false
    guard connections[connection].subscriptions[subscription].isViewing != isViewing else { return }
    connections[connection].subscriptions[subscription].isViewing = isViewing
    announce(
      connection, session: index, isViewing: isViewing, sessions, &connections, &effects)
  }

  /// A subscription has ended; it is out of the lists already.
  mutating func end(
    _ connection: ConnectionIndex, _ gone: Subscription, _ sessions: borrowing SessionTable,
    _ connections: inout ConnectionTable, _ effects: inout Effects
  ) {
    if gone.isViewing {
      announce(
        connection, session: gone.session, isViewing: false, sessions, &connections, &effects)
    }
    if connections[connection].isVisitor, !connections.hasVisitor(gone.session, sessions) {
      announce(
        connection, session: gone.session, isOnline: false, sessions, &connections, &effects)
    }
  }

  /// A visitor has begun to follow or has left, or an operator looks or does so no longer.
  mutating func announce(
    _ connection: ConnectionIndex, session index: SessionIndex, isOnline: Bool? = nil,
    isViewing: Bool? = nil, _ sessions: borrowing SessionTable,
    _ connections: inout ConnectionTable, _ effects: inout Effects
  ) {
    guard let person = connections[connection].member?.person else { return }
    let item = PresenceMail(
      session: sessions[index].id, person: person, isOnline: isOnline, isViewing: isViewing,
      loop: effects.loop, connection: connections.id(at: connection))
    if sessions[index].isOwned {
      spread(item, sessions, &connections, &effects)
    } else {
      effects.post(.presenceRequest(item), toOwnerOf: item.session)
    }
  }

  /// On the owner: kept, shown here, and mailed to the loops that follow.
  mutating func spread(
    _ item: PresenceMail, _ sessions: borrowing SessionTable,
    _ connections: inout ConnectionTable, _ effects: inout Effects
  ) {
    guard let index = sessions.ready(item.session) else { return }
    if let isViewing = item.isViewing {
      var viewers = viewers[item.session] ?? []
      viewers.removeAll { $0.loop == item.loop && $0.connection == item.connection }
      if isViewing, viewers.count < Limits.viewers {
        viewers.append(
          Viewer(person: item.person, loop: item.loop, connection: item.connection))
      }
      self.viewers[item.session] = viewers.isEmpty ? nil : viewers
      // In another window the same operator still looks.
      if !isViewing, viewers.contains(where: { $0.person.id == item.person.id }) { return }
    }
    show(item, loop: effects.loop, sessions, &connections)
    effects.post(.presence(item), toEach: sessions[index].followers)
  }

  /// On the owner: sends one connection who is there.
  func answer(
    _ session: Identifier, loop target: Int, connection: ConnectionID,
    _ sessions: borrowing SessionTable, _ connections: inout ConnectionTable,
    _ effects: inout Effects
  ) {
    guard let index = sessions.ready(session) else { return }
    var listed: Set<Identifier> = []
    var answers: [PresenceMail] = []
    if let visitor = sessions[index].snapshot.visitor {
      answers.append(
        PresenceMail(
          session: session, person: visitor, isOnline: connections.hasVisitor(index, sessions),
          loop: target, connection: connection, isAnswer: true))
    }
    for viewer in viewers[session] ?? []
    where !(viewer.loop == target && viewer.connection == connection)
      && listed.insert(viewer.person.id).inserted
    {
      answers.append(
        PresenceMail(
          session: session, person: viewer.person, isViewing: true, loop: target,
          connection: connection, isAnswer: true))
    }
    for answer in answers {
      if target == effects.loop {
        show(answer, loop: effects.loop, sessions, &connections)
      } else {
        effects.post(.presence(answer), to: target)
      }
    }
  }

  func show(
    _ item: PresenceMail, loop: Int, _ sessions: borrowing SessionTable,
    _ connections: inout ConnectionTable
  ) {
    guard let index = sessions.ready(item.session) else { return }
    let isHere = item.loop == loop
    var frame: [UInt8] = []
    for position in 0..<sessions[index].subscribers.count {
      let subscriber = sessions[index].subscribers[position]
      let connection = subscriber.connection
      guard connections[connection].subscriptions[subscriber.subscription].hearsPresence,
        !connections[connection].isBehind,
        (isHere && connections.id(at: connection) == item.connection) == item.isAnswer
      else { continue }
      if frame.isEmpty {
        FrameEncoder.appendFrame(.text, to: &frame) {
          EventEncoder.presence(
            session: item.session, who: item.person, isOnline: item.isOnline,
            isViewing: item.isViewing, to: &$0)
        }
      }
      connections.send(connection, frame: frame)
    }
  }
}

public struct PresenceMail: Sendable {
  var session: Identifier
  var person: Person
  /// A visitor has a connection.
  var isOnline: Bool?
  /// An operator looks at it.
  var isViewing: Bool?
  /// The connection that this is about, which gets no copy.
  var loop: Int
  var connection: ConnectionID
  /// It is for this connection alone.
  var isAnswer = false
}
