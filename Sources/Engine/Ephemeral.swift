import Chat
import Primitives
import Wire

/// What is told but not logged: marks (only the latest counts, stored now and then) and typing
/// (never stored).
extension Engine {
  // MARK: Marks

  mutating func mark(_ connection: ConnectionIndex, _ command: Command, isRead: Bool) {
    guard let session = command.session, let seq = command.seq else {
      connections.refuse(
        connection, command.ref, .badFrame, sentence: "The command needs session and seq.",
        field: command.session == nil ? "session" : "seq")
      return
    }
    guard let member = connections[connection].member, let index = sessions.index(of: session),
      subscription(connection, of: index) != nil
    else {
      connections.refuse(connection, command.ref, .notSubscribed)
      return
    }
    // What was read was also delivered.
    let mark = Mark(person: member.person, read: isRead ? seq : 0, delivered: seq)
    if sessions[index].isOwned {
      apply(mark, index)
    } else {
      effects.post(
        .markRequest(session: session, workspace: member.workspace, mark), toOwnerOf: session)
    }
  }

  /// On the owner: marks only grow, and never beyond the head.
  mutating func apply(_ request: Mark, _ index: SessionIndex) {
    let head = sessions[index].head
    let read = min(request.read, head)
    let delivered = min(request.delivered, head)
    let position: Int
    if let known = sessions[index].snapshot.marks.firstIndex(where: {
      $0.person.id == request.person.id
    }) {
      position = known
    } else {
      position = sessions[index].snapshot.marks.count
      sessions[index].snapshot.marks.append(
        Mark(person: request.person, read: 0, delivered: 0))
    }
    let old = sessions[index].snapshot.marks[position]
    guard read > old.read || delivered > old.delivered else { return }
    sessions[index].snapshot.marks[position].read = max(read, old.read)
    sessions[index].snapshot.marks[position].delivered = max(delivered, old.delivered)
    if !sessions[index].unstoredMarks.contains(position) {
      sessions[index].unstoredMarks.append(position)
    }
    let mark = sessions[index].snapshot.marks[position]
    announce(mark, index)
    let id = sessions[index].id
    effects.post(
      .mark(session: id, mark), toEach: sessions[index].followers)
    if read > old.read { touchInbox(index) }
  }

  /// Tells the subscribers of this loop.
  mutating func announce(_ mark: Mark, _ index: SessionIndex) {
    tellSubscribers(index) { EventEncoder.mark(session: $0.id, mark, to: &$1) }
  }

  /// On a follower: what the owner says.
  mutating func adoptMark(_ mark: Mark, _ index: SessionIndex) {
    if let known = sessions[index].snapshot.marks.firstIndex(where: {
      $0.person.id == mark.person.id
    }) {
      sessions[index].snapshot.marks[known] = mark
    } else {
      sessions[index].snapshot.marks.append(mark)
    }
    announce(mark, index)
  }

  /// Stores what has changed, at most once a second for each session, and not while the store is
  /// away: what is not stored yet keeps the session warm.
  mutating func storeMarks(_ index: SessionIndex) {
    guard !sessions[index].unstoredMarks.isEmpty, sessions[index].marksUnderWay == 0,
      isStoreReachable,
      now.milliseconds(since: sessions[index].marksStoredAt) >= Limits.markIntervalMilliseconds
    else { return }
    sessions[index].marksStoredAt = now
    let handle = sessions.loadedID(at: index)
    for position in sessions[index].unstoredMarks {
      effects.read(
        .storeMark(
          session: handle, sessions[index].id, workspace: sessions[index].snapshot.workspace,
          sessions[index].snapshot.marks[position]))
    }
    sessions[index].marksUnderWay = sessions[index].unstoredMarks.count
    sessions[index].unstoredMarks.removeAll()
  }

  /// The answer to `ReadRequest.storeMark`.
  public mutating func markStored(_ request: ReadRequest, isStored: Bool) {
    guard case .storeMark(let handle, _, _, let mark) = request, sessions.contains(handle) else {
      return
    }
    let index = handle.index
    sessions[index].marksUnderWay -= 1
    if isStored, hasPeers {
      effects.noteChange(sessions[index].id, sessions[index].snapshot.workspace)
    }
    guard !isStored,
      let position = sessions[index].snapshot.marks.firstIndex(where: {
        $0.person.id == mark.person.id
      }), !sessions[index].unstoredMarks.contains(position)
    else { return }
    sessions[index].unstoredMarks.append(position)
  }

  // MARK: Typing

  mutating func typing(_ connection: ConnectionIndex, _ command: Command, _ text: RawSpan) {
    guard let member = connections[connection].member, let session = command.session,
      let index = sessions.index(of: session), subscription(connection, of: index) != nil
    else {
      connections.refuse(connection, command.ref, .notSubscribed)
      return
    }
    var preview: [UInt8] = []
    if let token = command.preview {
      // A preview that cannot be decoded is not worth an answer.
      try? JSONText.decode(token, in: text, to: &preview)
      if preview.count > Limits.previewBytes { preview.cutToCharacter(Limits.previewBytes) }
    }
    let item = TypingMail(
      session: session, who: member.person, isActive: command.active ?? false, preview: preview,
      loop: loop, connection: connections.id(at: connection))
    if sessions[index].isOwned {
      spread(item, index)
    } else {
      effects.post(.typingRequest(item), toOwnerOf: session)
    }
  }

  /// On the owner: subscribers here, and the loops that follow.
  mutating func spread(_ item: TypingMail, _ index: SessionIndex) {
    show(item, index)
    effects.post(
      .typing(item), toEach: sessions[index].followers)
  }

  /// Everybody but the one who types; the preview goes to operators only. A connection that is
  /// behind does not get it at all.
  mutating func show(_ item: TypingMail, _ index: SessionIndex) {
    let isHere = item.loop == loop
    func wants(_ engine: borrowing Engine, _ connection: ConnectionIndex, isOperator: Bool) -> Bool
    {
      engine.connections[connection].member != nil
        && engine.connections[connection].isOperator == isOperator
        && !engine.connections[connection].isBlocked
        && engine.connections[connection].outbox.count < Limits.outputSoftBytes
        && !(isHere && engine.connections.id(at: connection) == item.connection)
    }
    tellSubscribers(index, includes: { wants($0, $1, isOperator: true) }) {
      EventEncoder.typing(
        session: $0.id, who: item.who, isActive: item.isActive, preview: item.preview, to: &$1)
    }
    tellSubscribers(index, includes: { wants($0, $1, isOperator: false) }) {
      EventEncoder.typing(
        session: $0.id, who: item.who, isActive: item.isActive, preview: [], to: &$1)
    }
  }
}

extension Array where Element == UInt8 {
  /// Cuts UTF-8 text to at most `limit` bytes without cutting a character.
  mutating func cutToCharacter(_ limit: Int) {
    var end = limit
    while end > 0, self[end] & 0xC0 == 0x80 { end -= 1 }
    removeLast(count - end)
  }
}
