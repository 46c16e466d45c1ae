import Chat
import JSON
import Primitives
import Wire

/// Someone started or stopped typing. Never stored, and not sent to a connection that is behind.
public struct TypingMail: Sendable {
  var session: Identifier
  var person: Person
  var isActive: Bool
  var preview: [UInt8]
  /// The connection on which the person types. It gets no event. Nil: on another gateway.
  var source: (loop: Int, connection: ConnectionID)?
}

extension FanOut {
  /// The command `typing`. Not inlined, to stay out of the path of sends.
  @inline(never)
  mutating func typing(
    _ connection: ConnectionIndex, _ command: Command, _ text: RawSpan,
    _ sessions: borrowing SessionTable, _ connections: inout ConnectionTable,
    _ effects: inout Effects
  ) {
    guard let member = connections[connection].member, let session = command.session,
      let index = sessions.index(of: session),
      connections.subscription(connection, of: index, sessions) != nil
    else {
      connections.refuse(connection, command.ref, .notSubscribed)
      return
    }
    var preview: [UInt8] = []
    if let token = command.preview {
      // An undecodable preview is not worth an error.
      try? JSONText.decode(token, in: text, to: &preview)
      if preview.count > Limits.previewBytes { preview.cutToCharacter(Limits.previewBytes) }
    }
    let item = TypingMail(
      session: session, person: member.person, isActive: command.active ?? false,
      preview: preview, source: (effects.loop, connections.id(at: connection)))
    if sessions[index].isOwned {
      spread(item, sessions, &connections, &effects)
    } else {
      effects.post(.typingRequest(item), toOwnerOf: session)
    }
  }

  /// On the owner: sends it to subscribers, following loops and other gateways.
  mutating func spread(
    _ item: TypingMail, _ sessions: borrowing SessionTable, _ connections: inout ConnectionTable,
    _ effects: inout Effects
  ) {
    guard let index = sessions.ready(item.session) else { return }
    show(item, loop: effects.loop, sessions, &connections)
    effects.post(.typing(item), toEach: sessions[index].followers)
    effects.send(
      .typing(
        PeerTyping(
          session: item.session, person: item.person, isActive: item.isActive,
          preview: item.preview)))
  }

  /// On the owner: someone types on another gateway.
  mutating func show(
    _ typing: PeerTyping, _ sessions: borrowing SessionTable,
    _ connections: inout ConnectionTable, _ effects: inout Effects
  ) {
    guard let index = sessions.ready(typing.session) else { return }
    let item = TypingMail(
      session: typing.session, person: typing.person, isActive: typing.isActive,
      preview: typing.preview)
    show(item, loop: effects.loop, sessions, &connections)
    effects.post(.typing(item), toEach: sessions[index].followers)
  }

  /// Sends it to the subscribers of this loop. Only operators receive the preview.
  mutating func show(
    _ item: TypingMail, loop: Int, _ sessions: borrowing SessionTable,
    _ connections: inout ConnectionTable
  ) {
    guard let session = sessions.ready(item.session) else { return }
    let source = item.source?.loop == loop ? item.source?.connection : nil
    func includes(
      _ connections: borrowing ConnectionTable, _ connection: ConnectionIndex, isOperator: Bool
    ) -> Bool {
      connections[connection].member != nil
        && connections[connection].isOperator == isOperator && !connections[connection].isBehind
        && connections.id(at: connection) != source
    }
    sendToSubscribers(
      session, sessions, &connections, includes: { includes($0, $1, isOperator: true) }
    ) {
      EventEncoder.typing(
        session: $0.id, who: item.person, isActive: item.isActive, preview: item.preview, to: &$1)
    }
    sendToSubscribers(
      session, sessions, &connections, includes: { includes($0, $1, isOperator: false) }
    ) {
      EventEncoder.typing(
        session: $0.id, who: item.person, isActive: item.isActive, preview: [], to: &$1)
    }
  }
}

extension Array where Element == UInt8 {
  /// Cuts UTF-8 text to at most `limit` bytes, at the start of a character.
  mutating func cutToCharacter(_ limit: Int) {
    var end = limit
    while end > 0, self[end] & 0xC0 == 0x80 { end -= 1 }
    removeLast(count - end)
  }
}
