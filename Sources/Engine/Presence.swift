import Chat
public import Primitives
import Wire

/// Who else is there, for operators who have said `viewing`: who looks at the same conversation,
/// and whether its visitor has it open. Never stored, and dropped for whoever is behind, like
/// typing. The owner of a session knows its viewers, at most `Limits.viewers`, and tells whoever
/// joins them.
struct Viewer {
  var person: Person
  /// The connection that looks.
  var loop: Int
  var connection: ConnectionID
}

public struct PresenceMail: Sendable {
  var session: Identifier
  var who: Person
  /// A visitor has a connection.
  var isOnline: Bool?
  /// An operator looks at it.
  var isViewing: Bool?
  /// The connection that this is about, which does not hear of itself.
  var loop: Int
  var connection: ConnectionID
  /// It is for this connection alone.
  var isAnswer = false
}

extension Engine {
  mutating func viewing(_ connection: ConnectionIndex, _ command: Command) {
    guard connections[connection].isOperator, let session = command.session,
      let index = sessions.index(of: session),
      let subscription = subscription(connection, of: index)
    else {
      connections.refuse(
        connection, command.ref, connections[connection].isOperator ? .notSubscribed : .forbidden)
      return
    }
    if !connections[connection].subscriptions[subscription].hearsPresence {
      connections[connection].subscriptions[subscription].hearsPresence = true
      let id = connections.id(at: connection)
      if sessions[index].isOwned {
        answerPresence(session, loop: loop, connection: id)
      } else {
        effects.post(
          .presenceQuery(session: session, loop: loop, connection: id), toOwnerOf: session)
      }
    }
    let isViewing = command.active ?? false
    guard connections[connection].subscriptions[subscription].isViewing != isViewing else { return }
    connections[connection].subscriptions[subscription].isViewing = isViewing
    announcePresence(connection, session: index, isViewing: isViewing)
  }

  /// A visitor has begun to follow a session.
  mutating func visitorBegins(_ connection: ConnectionIndex, session index: SessionIndex) {
    announcePresence(connection, session: index, isOnline: true)
    joinAudience(index)
  }

  /// A subscription has ended; it is out of the lists already.
  mutating func presenceEnds(_ connection: ConnectionIndex, _ gone: Subscription) {
    if gone.isViewing { announcePresence(connection, session: gone.session, isViewing: false) }
    if connections[connection].isVisitor, !hasVisitor(gone.session) {
      announcePresence(connection, session: gone.session, isOnline: false)
    }
  }

  /// A visitor's connections are all on the loop that owns the session.
  func hasVisitor(_ index: SessionIndex) -> Bool {
    for subscriber in sessions[index].subscribers
    where connections[subscriber.connection].isVisitor {
      return true
    }
    return false
  }

  private mutating func announcePresence(
    _ connection: ConnectionIndex, session index: SessionIndex, isOnline: Bool? = nil,
    isViewing: Bool? = nil
  ) {
    guard let who = connections[connection].member?.person else { return }
    let item = PresenceMail(
      session: sessions[index].id, who: who, isOnline: isOnline, isViewing: isViewing, loop: loop,
      connection: connections.id(at: connection))
    if sessions[index].isOwned {
      spread(item)
    } else {
      effects.post(.presenceRequest(item), toOwnerOf: item.session)
    }
  }

  /// On the owner: kept, shown here, and mailed to the loops that follow.
  mutating func spread(_ item: PresenceMail) {
    guard let index = sessions.index(of: item.session), sessions[index].phase == .ready else {
      return
    }
    if let isViewing = item.isViewing {
      var viewers = viewers[item.session] ?? []
      viewers.removeAll { $0.loop == item.loop && $0.connection == item.connection }
      if isViewing, viewers.count < Limits.viewers {
        viewers.append(Viewer(person: item.who, loop: item.loop, connection: item.connection))
      }
      self.viewers[item.session] = viewers.isEmpty ? nil : viewers
      // In another window the same operator still looks.
      if !isViewing, viewers.contains(where: { $0.person.id == item.who.id }) { return }
    }
    show(item)
    effects.post(
      .presence(item), toEach: sessions[index].followers)
  }

  /// On the owner: tells one connection who is there.
  mutating func answerPresence(_ session: Identifier, loop target: Int, connection: ConnectionID) {
    guard let index = sessions.index(of: session), sessions[index].phase == .ready else { return }
    var told: Set<Identifier> = []
    var answers: [PresenceMail] = []
    if let visitor = sessions[index].snapshot.visitor {
      answers.append(
        PresenceMail(
          session: session, who: visitor, isOnline: hasVisitor(index), loop: target,
          connection: connection,
          isAnswer: true))
    }
    for viewer in viewers[session] ?? []
    where !(viewer.loop == target && viewer.connection == connection)
      && told.insert(viewer.person.id).inserted
    {
      answers.append(
        PresenceMail(
          session: session, who: viewer.person, isViewing: true, loop: target,
          connection: connection,
          isAnswer: true))
    }
    for answer in answers {
      if target == loop { show(answer) } else { effects.post(.presence(answer), to: target) }
    }
  }

  mutating func show(_ item: PresenceMail) {
    guard let index = sessions.index(of: item.session), sessions[index].phase == .ready else {
      return
    }
    let isHere = item.loop == loop
    var frame: [UInt8] = []
    for position in 0..<sessions[index].subscribers.count {
      let subscriber = sessions[index].subscribers[position]
      let connection = subscriber.connection
      guard connections[connection].subscriptions[subscriber.subscription].hearsPresence,
        !connections[connection].isBlocked,
        connections[connection].outbox.count < Limits.outputSoftBytes,
        (isHere && connections.id(at: connection) == item.connection) == item.isAnswer
      else { continue }
      if frame.isEmpty {
        FrameEncoder.appendFrame(.text, to: &frame) {
          EventEncoder.presence(
            session: item.session, who: item.who, isOnline: item.isOnline,
            isViewing: item.isViewing, to: &$0)
        }
      }
      connections[outbox: connection].append(contentsOf: frame)
      connections.markDirty(connection)
    }
  }
}

/// Operators who are there: who watches the inbox takes conversations, unless he has said that he
/// does not.
extension Engine {
  /// Every operator of this loop whose inbox is open, once for each workspace.
  public func operatorsHere() -> [(workspace: Identifier, operator: Identifier)] {
    var here: [(workspace: Identifier, operator: Identifier)] = []
    for (workspace, watchers) in inbox.watchers {
      var seen: Set<Identifier> = []
      for id in watchers where connections.contains(id) {
        guard let person = connections[id.index].member?.person.id,
          seen.insert(person).inserted
        else { continue }
        here.append((workspace, person))
      }
    }
    return here
  }

  /// Whether an operator has come since the last call.
  public mutating func takeNewOperators() -> Bool {
    defer { inbox.hasNewWatcher = false }
    return inbox.hasNewWatcher
  }

  mutating func available(_ connection: ConnectionIndex, _ command: Command) {
    guard let member = connections[connection].member else { return }
    guard member.isOperator else {
      connections.refuse(connection, command.ref, .forbidden)
      return
    }
    guard let isAvailable = command.available else {
      connections.refuse(
        connection, command.ref, .badFrame, sentence: "The command needs available, true or false.",
        field: "available")
      return
    }
    effects.read(
      .storeAvailability(
        connection: connections.id(at: connection), ref: command.ref, operator: member.person.id,
        workspace: member.workspace, isAvailable))
  }

  /// The answer to `ReadRequest.storeAvailability`.
  public mutating func availabilityStored(_ request: ReadRequest, isStored: Bool) {
    guard
      case .storeAvailability(let handle, let ref, _, let workspace, let isAvailable) = request
    else { return }
    if isStored, isAvailable { effects.report(workspace, nil, .operators) }
    guard connections.contains(handle), connections.isOpen(handle.index) else { return }
    let connection = handle.index
    guard isStored else {
      connections.refuse(
        connection, ref, .unavailable,
        retryAfter: breaker.wait(salt: connections[connection].salt, now: now))
      return
    }
    FrameEncoder.appendFrame(.text, to: &connections[outbox: connection]) {
      EventEncoder.ok(ref: ref, to: &$0)
    }
    connections.markDirty(connection)
  }
}
