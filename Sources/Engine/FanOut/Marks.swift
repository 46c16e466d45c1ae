import Chat
import Primitives
import Wire

/// Read and delivered marks. The owner of a session raises them and sends them to subscribers and
/// following loops; only the latest is stored, now and then (`UnstoredMarks`).
extension FanOut {
  /// The commands `read` and `delivered`. Not inlined, to stay out of the path of sends.
  @inline(never)
  mutating func mark(
    _ connection: ConnectionIndex, _ command: Command, isRead: Bool,
    _ sessions: inout SessionTable, _ connections: inout ConnectionTable, _ inbox: inout Inbox,
    _ effects: inout Effects, now: Instant
  ) {
    guard let session = command.session, let seq = command.seq else {
      connections.refuse(
        connection, command.ref, .badFrame, sentence: "The command needs session and seq.",
        field: command.session == nil ? "session" : "seq")
      return
    }
    guard let member = connections[connection].member, let index = sessions.index(of: session),
      connections.subscription(connection, of: index, sessions) != nil
    else {
      connections.refuse(connection, command.ref, .notSubscribed)
      return
    }
    // A message that was read was also delivered.
    let mark = Mark(person: member.person, read: isRead ? seq : 0, delivered: seq)
    if sessions[index].isOwned {
      raise(mark, index, &sessions, &connections, &inbox, &effects, now: now)
    } else {
      effects.post(
        .markRequest(session: session, workspace: member.workspace, mark), toOwnerOf: session)
    }
  }

  /// On the owner: raises a mark, and sends it to subscribers, following loops and the inbox.
  mutating func raise(
    _ request: Mark, _ index: SessionIndex, _ sessions: inout SessionTable,
    _ connections: inout ConnectionTable, _ inbox: inout Inbox, _ effects: inout Effects,
    now: Instant
  ) {
    guard let (mark, isReadNew) = sessions[index].raise(request) else { return }
    announce(mark, index, sessions, &connections)
    effects.post(.mark(session: sessions[index].id, mark), toEach: sessions[index].followers)
    if isReadNew { inbox.touch(index, &sessions, now: now) }
  }

  /// On a following loop: takes over the owner's mark.
  mutating func adopt(
    _ mark: Mark, _ index: SessionIndex, _ sessions: inout SessionTable,
    _ connections: inout ConnectionTable
  ) {
    sessions[index].adopt(mark)
    announce(mark, index, sessions, &connections)
  }

  private mutating func announce(
    _ mark: Mark, _ index: SessionIndex, _ sessions: borrowing SessionTable,
    _ connections: inout ConnectionTable
  ) {
    sendToSubscribers(index, sessions, &connections) {
      EventEncoder.mark(session: $0.id, mark, to: &$1)
    }
  }

  /// On the owner: takes over the marks of another gateway. They are stored already, and the other
  /// gateway reports them.
  mutating func adoptMarks(
    of read: SessionSnapshot, _ index: SessionIndex, _ sessions: inout SessionTable,
    _ connections: inout ConnectionTable, _ effects: inout Effects
  ) {
    guard effects.hasPeers else { return }
    for mark in read.marks {
      guard let higher = sessions[index].higher(mark) else { continue }
      // A mark never exceeds the head. If it would, the session is read again after its entries.
      guard mark.delivered <= sessions[index].head, mark.read <= sessions[index].head else {
        sessions[index].isStale = true
        continue
      }
      adopt(higher, index, &sessions, &connections)
      effects.post(.mark(session: read.id, higher), toEach: sessions[index].followers)
    }
  }
}
