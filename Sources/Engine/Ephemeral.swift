import Chat
import JSON
import Primitives
import Wire

/// Marks, of which only the latest counts and is stored now and then, and typing, which is never
/// stored.
extension Engine {
  mutating func mark(_ connection: ConnectionIndex, _ command: Command, isRead: Bool) {
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
    // A read message was also delivered.
    let mark = Mark(person: member.person, read: isRead ? seq : 0, delivered: seq)
    if sessions[index].isOwned {
      raise(mark, index)
    } else {
      effects.post(
        .markRequest(session: session, workspace: member.workspace, mark), toOwnerOf: session)
    }
  }

  /// On the owner: the new mark goes to subscribers, followers and operators' lists.
  mutating func raise(_ request: Mark, _ index: SessionIndex) {
    guard let (mark, isReadNew) = sessions[index].raise(request) else { return }
    announce(mark, index)
    effects.post(
      .mark(session: sessions[index].id, mark), toEach: sessions[index].followers)
    if isReadNew { inbox.touch(index, &sessions, now: now) }
  }

  /// On a follower: the owner's mark.
  mutating func adopt(_ mark: Mark, _ index: SessionIndex) {
    sessions[index].adopt(mark)
    announce(mark, index)
  }

  private mutating func announce(_ mark: Mark, _ index: SessionIndex) {
    fanOut.sendToSubscribers(index, sessions, &connections) {
      EventEncoder.mark(session: $0.id, mark, to: &$1)
    }
  }

  /// Marks of another gateway. They are neither stored nor announced to other gateways again.
  mutating func adoptMarks(of read: SessionSnapshot, _ index: SessionIndex) {
    guard hasPeers else { return }
    for mark in read.marks {
      guard let higher = sessions[index].higher(mark) else { continue }
      // Marks never go beyond the head: first the entries, then they are looked at again.
      guard mark.delivered <= sessions[index].head, mark.read <= sessions[index].head else {
        sessions[index].isStale = true
        continue
      }
      adopt(higher, index)
      effects.post(.mark(session: read.id, higher), toEach: sessions[index].followers)
    }
  }

  /// The answer to `ReadRequest.storeMark`.
  public mutating func markStored(_ request: ReadRequest, isStored: Bool) {
    guard case .storeMark(let id, _, _, let mark) = request, sessions.contains(id) else { return }
    sessions[id.index].markStored(mark, isStored: isStored)
    if isStored, hasPeers {
      effects.noteChange(sessions[id.index].id, sessions[id.index].snapshot.workspace)
    }
  }

  mutating func typing(_ connection: ConnectionIndex, _ command: Command, _ text: RawSpan) {
    guard let member = connections[connection].member, let session = command.session,
      let index = sessions.index(of: session),
      connections.subscription(connection, of: index, sessions) != nil
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
      session: session, person: member.person, isActive: command.active ?? false,
      preview: preview, loop: loop, connection: connections.id(at: connection))
    if sessions[index].isOwned {
      spread(item, index)
    } else {
      effects.post(.typingRequest(item), toOwnerOf: session)
    }
  }

  /// On the owner: subscribers here, and the loops that follow.
  mutating func spread(_ item: TypingMail, _ index: SessionIndex) {
    fanOut.show(item, index, loop: loop, sessions, &connections)
    effects.post(.typing(item), toEach: sessions[index].followers)
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
