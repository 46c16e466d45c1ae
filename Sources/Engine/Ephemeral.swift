import Chat
import Primitives
import Wire

/// What is told but not logged: marks (only the latest counts, stored now and then) and typing
/// (never stored).
extension Engine {
  // MARK: Marks

  mutating func mark(_ slot: Int, _ command: Command, isRead: Bool) {
    guard let session = command.session, let seq = command.seq else {
      refuse(
        slot, command.ref, .badFrame, sentence: "The command needs session and seq.",
        field: command.session == nil ? "session" : "seq")
      return
    }
    guard let member = connections[slot].member, let index = sessionIndex[session],
      subscription(slot, of: index) != nil
    else {
      refuse(slot, command.ref, .notSubscribed)
      return
    }
    // What was read was also delivered.
    let mark = Mark(person: member.person, read: isRead ? seq : 0, delivered: seq)
    if sessions[index].isOwned {
      apply(mark, index)
    } else {
      post(
        .markRequest(session: session, workspace: member.workspace, mark), to: owner(of: session))
    }
  }

  /// On the owner: marks only grow, and never beyond the head.
  mutating func apply(_ request: Mark, _ index: Int) {
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
    forEachLoop(sessions[index].followers) { engine, loop in
      engine.post(.mark(session: id, mark), to: loop)
    }
    if read > old.read { touchInbox(index) }
  }

  /// Tells the subscribers of this loop.
  mutating func announce(_ mark: Mark, _ index: Int) {
    tellSubscribers(index) { EventEncoder.mark(session: $0.id, mark, to: &$1) }
  }

  /// On a follower: what the owner says.
  mutating func adoptMark(_ mark: Mark, _ index: Int) {
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
  mutating func storeMarks(_ index: Int) {
    guard !sessions[index].unstoredMarks.isEmpty, sessions[index].marksUnderWay == 0,
      isStoreReachable,
      now.milliseconds(since: sessions[index].marksStoredAt) >= Limits.markIntervalMilliseconds
    else { return }
    sessions[index].marksStoredAt = now
    let slot = sessions.id(at: index)
    for position in sessions[index].unstoredMarks {
      reads.append(
        .storeMark(
          session: slot, sessions[index].id, workspace: sessions[index].snapshot.workspace,
          sessions[index].snapshot.marks[position]))
    }
    sessions[index].marksUnderWay = sessions[index].unstoredMarks.count
    sessions[index].unstoredMarks.removeAll()
  }

  /// The answer to `ReadRequest.storeMark`.
  public mutating func markStored(_ request: ReadRequest, isStored: Bool) {
    guard case .storeMark(let slot, _, _, let mark) = request, sessions.contains(slot) else {
      return
    }
    let index = Int(slot.index)
    sessions[index].marksUnderWay -= 1
    if isStored, hasPeers {
      noteChange(sessions[index].id, sessions[index].snapshot.workspace)
    }
    guard !isStored,
      let position = sessions[index].snapshot.marks.firstIndex(where: {
        $0.person.id == mark.person.id
      }), !sessions[index].unstoredMarks.contains(position)
    else { return }
    sessions[index].unstoredMarks.append(position)
  }

  // MARK: Typing

  mutating func typing(_ slot: Int, _ command: Command, _ text: RawSpan) {
    guard let member = connections[slot].member, let session = command.session,
      let index = sessionIndex[session], subscription(slot, of: index) != nil
    else {
      refuse(slot, command.ref, .notSubscribed)
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
      loop: loop, slot: connections.id(at: slot))
    if sessions[index].isOwned {
      spread(item, index)
    } else {
      post(.typingRequest(item), to: owner(of: session))
    }
  }

  /// On the owner: subscribers here, and the loops that follow.
  mutating func spread(_ item: TypingMail, _ index: Int) {
    show(item, index)
    forEachLoop(sessions[index].followers) { engine, loop in engine.post(.typing(item), to: loop) }
  }

  /// Everybody but the one who types; the preview goes to operators only. A connection that is
  /// behind does not get it at all.
  mutating func show(_ item: TypingMail, _ index: Int) {
    let isHere = item.loop == loop
    func wants(_ engine: borrowing Engine, _ slot: Int, isOperator: Bool) -> Bool {
      engine.connections[slot].member != nil
        && engine.connections[slot].isOperator == isOperator
        && !engine.connections[slot].isBlocked
        && engine.connections[slot].outbox.count < Limits.outputSoftBytes
        && !(isHere && engine.connections.id(at: slot) == item.slot)
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
