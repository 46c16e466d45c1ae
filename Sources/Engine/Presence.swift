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
  var slot: SlotID
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
  var slot: SlotID
  /// It is for this connection alone.
  var isAnswer = false
}

extension Engine {
  mutating func viewing(_ slot: Int, _ command: Command) {
    guard connections[slot].isOperator, let session = command.session,
      let index = sessionIndex[session], let subscription = subscription(slot, of: index)
    else {
      refuse(slot, command.ref, connections[slot].isOperator ? .notSubscribed : .forbidden)
      return
    }
    if !connections[slot].subscriptions[subscription].hearsPresence {
      connections[slot].subscriptions[subscription].hearsPresence = true
      let id = connections.id(at: slot)
      if sessions[index].isOwned {
        answerPresence(session, loop: loop, slot: id)
      } else {
        post(.presenceQuery(session: session, loop: loop, slot: id), to: owner(of: session))
      }
    }
    let isViewing = command.active ?? false
    guard connections[slot].subscriptions[subscription].isViewing != isViewing else { return }
    connections[slot].subscriptions[subscription].isViewing = isViewing
    announcePresence(slot, session: index, isViewing: isViewing)
  }

  /// A visitor has begun to follow a session.
  mutating func visitorBegins(_ slot: Int, session index: Int) {
    announcePresence(slot, session: index, isOnline: true)
    joinAudience(index)
  }

  /// A subscription has ended; it is out of the lists already.
  mutating func presenceEnds(_ slot: Int, _ gone: Subscription) {
    if gone.isViewing { announcePresence(slot, session: gone.session, isViewing: false) }
    if connections[slot].isVisitor, !hasVisitor(gone.session) {
      announcePresence(slot, session: gone.session, isOnline: false)
    }
  }

  /// A visitor's connections are all on the loop that owns the session.
  func hasVisitor(_ index: Int) -> Bool {
    for subscriber in sessions[index].subscribers
    where connections[subscriber.connection].isVisitor {
      return true
    }
    return false
  }

  private mutating func announcePresence(
    _ slot: Int, session index: Int, isOnline: Bool? = nil, isViewing: Bool? = nil
  ) {
    guard let who = connections[slot].member?.person else { return }
    let item = PresenceMail(
      session: sessions[index].id, who: who, isOnline: isOnline, isViewing: isViewing, loop: loop,
      slot: connections.id(at: slot))
    if sessions[index].isOwned {
      spread(item)
    } else {
      post(.presenceRequest(item), to: owner(of: item.session))
    }
  }

  /// On the owner: kept, shown here, and mailed to the loops that follow.
  mutating func spread(_ item: PresenceMail) {
    guard let index = sessionIndex[item.session], sessions[index].phase == .ready else { return }
    if let isViewing = item.isViewing {
      var viewers = viewers[item.session] ?? []
      viewers.removeAll { $0.loop == item.loop && $0.slot == item.slot }
      if isViewing, viewers.count < Limits.viewers {
        viewers.append(Viewer(person: item.who, loop: item.loop, slot: item.slot))
      }
      self.viewers[item.session] = viewers.isEmpty ? nil : viewers
      // In another window the same operator still looks.
      if !isViewing, viewers.contains(where: { $0.person.id == item.who.id }) { return }
    }
    show(item)
    forEachLoop(sessions[index].followers) { engine, loop in
      engine.post(.presence(item), to: loop)
    }
  }

  /// On the owner: tells one connection who is there.
  mutating func answerPresence(_ session: Identifier, loop target: Int, slot: SlotID) {
    guard let index = sessionIndex[session], sessions[index].phase == .ready else { return }
    var told: Set<Identifier> = []
    var answers: [PresenceMail] = []
    if let visitor = sessions[index].snapshot.visitor {
      answers.append(
        PresenceMail(
          session: session, who: visitor, isOnline: hasVisitor(index), loop: target, slot: slot,
          isAnswer: true))
    }
    for viewer in viewers[session] ?? []
    where !(viewer.loop == target && viewer.slot == slot)
      && told.insert(viewer.person.id).inserted
    {
      answers.append(
        PresenceMail(
          session: session, who: viewer.person, isViewing: true, loop: target, slot: slot,
          isAnswer: true))
    }
    for answer in answers {
      if target == loop { show(answer) } else { post(.presence(answer), to: target) }
    }
  }

  mutating func show(_ item: PresenceMail) {
    guard let index = sessionIndex[item.session], sessions[index].phase == .ready else { return }
    let isHere = item.loop == loop
    var frame: [UInt8] = []
    for position in 0..<sessions[index].subscribers.count {
      let subscriber = sessions[index].subscribers[position]
      let slot = subscriber.connection
      guard connections[slot].subscriptions[subscriber.subscription].hearsPresence,
        !connections[slot].isBlocked,
        connections[slot].outbox.count < Limits.outputSoftBytes,
        (isHere && connections.id(at: slot) == item.slot) == item.isAnswer
      else { continue }
      if frame.isEmpty {
        FrameEncoder.appendFrame(.text, to: &frame) {
          EventEncoder.presence(
            session: item.session, who: item.who, isOnline: item.isOnline,
            isViewing: item.isViewing, to: &$0)
        }
      }
      connections[outbox: slot].append(contentsOf: frame)
      markDirty(slot)
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
        guard let person = connections[Int(id.index)].member?.person.id,
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

  mutating func available(_ slot: Int, _ command: Command) {
    guard let member = connections[slot].member else { return }
    guard member.isOperator else {
      refuse(slot, command.ref, .forbidden)
      return
    }
    guard let isAvailable = command.available else {
      refuse(
        slot, command.ref, .badFrame, sentence: "The command needs available, true or false.",
        field: "available")
      return
    }
    reads.append(
      .storeAvailability(
        connection: connections.id(at: slot), ref: command.ref, operator: member.person.id,
        workspace: member.workspace, isAvailable))
  }

  /// The answer to `ReadRequest.storeAvailability`.
  public mutating func availabilityStored(_ request: ReadRequest, isStored: Bool) {
    guard
      case .storeAvailability(let connection, let ref, _, let workspace, let isAvailable) = request
    else { return }
    if isStored, isAvailable { tell(workspace, nil, .operators) }
    guard connections.contains(connection), isOpen(Int(connection.index)) else { return }
    let slot = Int(connection.index)
    guard isStored else {
      refuse(slot, ref, .unavailable, retryAfter: breaker.wait(salt: name(slot), now: now))
      return
    }
    FrameEncoder.appendFrame(.text, to: &connections[outbox: slot]) {
      EventEncoder.ok(ref: ref, to: &$0)
    }
    markDirty(slot)
  }
}
