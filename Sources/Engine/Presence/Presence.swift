import Chat
import Primitives
import Wire

/// Presence in a conversation, for operators who sent `viewing`: which other operators view it, and
/// whether its visitor has it open. Never stored, and not sent to a connection that is behind.
///
/// The owner of a session keeps its viewers, at most `Limits.viewers`, and sends them to each
/// operator who starts to receive presence.
struct Presence {
  /// The operators who view a session, by session. Only on its owner.
  private var viewers: [Identifier: [Viewer]] = [:]
  var elsewhere = PresenceElsewhere()

  private struct Viewer {
    var person: Person
    var loop: Int
    var connection: ConnectionID
  }

  /// Call it when a session has left memory.
  mutating func forget(_ session: Identifier) {
    if !viewers.isEmpty { viewers[session] = nil }
    elsewhere.forget(session)
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
    if !connections[connection].subscriptions[subscription].receivesPresence {
      connections[connection].subscriptions[subscription].receivesPresence = true
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

  /// Call it when a subscription has been removed from both lists.
  mutating func end(
    _ connection: ConnectionIndex, _ ended: Subscription, _ sessions: borrowing SessionTable,
    _ connections: inout ConnectionTable, _ effects: inout Effects
  ) {
    if ended.isViewing {
      announce(
        connection, session: ended.session, isViewing: false, sessions, &connections, &effects)
    }
    if connections[connection].isVisitor, !Presence.hasVisitor(ended.session, sessions, connections)
    {
      announce(
        connection, session: ended.session, isOnline: false, sessions, &connections, &effects)
    }
  }

  /// Reports that a visitor came or left (`isOnline`), or that an operator views a session or no
  /// longer does (`isViewing`).
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

  /// On the owner: keeps the viewers, and sends the event to subscribers, following loops and the
  /// gateways that watch the session.
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
      // The same operator still views the session in another window.
      if !isViewing, viewers.contains(where: { $0.person.id == item.person.id }) { return }
    }
    if elsewhere.isQueried(item.session) { send(index, sessions, connections, &effects) }
    guard !elsewhere.contradicts(item) else { return }
    show(item, loop: effects.loop, sessions, &connections)
    effects.post(.presence(item), toEach: sessions[index].followers)
  }

  /// On the owner: sends the present state to one connection, which then receives each change.
  mutating func answer(
    _ session: Identifier, loop target: Int, connection: ConnectionID,
    _ sessions: borrowing SessionTable, _ connections: inout ConnectionTable,
    _ effects: inout Effects
  ) {
    guard let index = sessions.ready(session) else { return }
    if elsewhere.watch(session) { effects.send(.presenceQuery(session: session)) }
    var listed: Set<Identifier> = []
    var answers: [PresenceMail] = []
    if let visitor = sessions[index].snapshot.visitor {
      answers.append(
        PresenceMail(
          session: session, person: visitor,
          isOnline: Presence.hasVisitor(index, sessions, connections)
            || elsewhere.hasVisitor(session),
          loop: target, connection: connection, isAnswer: true))
    }
    let others = (viewers[session] ?? [])
      .filter { !($0.loop == target && $0.connection == connection) }.map(\.person)
    for person in others + elsewhere.viewers(of: session)
    where listed.insert(person.id).inserted {
      answers.append(
        PresenceMail(
          session: session, person: person, isViewing: true, loop: target,
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

  /// The operators who view a session on this gateway, each once.
  func viewersHere(_ session: Identifier) -> [Person] {
    var listed: Set<Identifier> = []
    return (viewers[session] ?? []).map(\.person).filter { listed.insert($0.id).inserted }
  }

  /// Sends an event to the operators of this loop who receive presence.
  func show(
    _ item: PresenceMail, loop: Int, _ sessions: borrowing SessionTable,
    _ connections: inout ConnectionTable
  ) {
    guard let index = sessions.ready(item.session) else { return }
    let isHere = item.loop == loop
    var frame: [UInt8] = []
    for position in sessions[index].subscribers.indices {
      let subscriber = sessions[index].subscribers[position]
      let connection = subscriber.connection
      guard connections[connection].subscriptions[subscriber.subscription].receivesPresence,
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

  /// Whether a visitor follows the session. All connections of a visitor are on the loop that owns
  /// the session.
  static func hasVisitor(
    _ session: SessionIndex, _ sessions: borrowing SessionTable,
    _ connections: borrowing ConnectionTable
  ) -> Bool {
    for subscriber in sessions[session].subscribers
    where connections[subscriber.connection].isVisitor {
      return true
    }
    return false
  }
}

/// A change of presence, or the answer to `Mail.presenceQuery`.
public struct PresenceMail: Sendable {
  var session: Identifier
  var person: Person
  /// Whether a visitor has a connection.
  var isOnline: Bool?
  /// Whether an operator views the session.
  var isViewing: Bool?
  /// The connection of `person`, to which a change is not sent; for an answer, its only receiver.
  /// The loop is -1 for a connection of another gateway.
  var loop: Int
  var connection: ConnectionID
  var isAnswer = false
}
