import Chat
import Primitives
import Wire

/// Somebody types, or has stopped: never stored, and not sent to a connection that is behind.
public struct TypingMail: Sendable {
  var session: Identifier
  var person: Person
  var isActive: Bool
  var preview: [UInt8]
  /// The connection that types, which gets no copy.
  var loop: Int
  var connection: ConnectionID
}

extension FanOut {
  /// Everybody but the sender; the preview goes to operators only.
  mutating func show(
    _ typing: TypingMail, _ session: SessionIndex, loop: Int, _ sessions: borrowing SessionTable,
    _ connections: inout ConnectionTable
  ) {
    let isHere = typing.loop == loop
    func wants(
      _ connections: borrowing ConnectionTable, _ connection: ConnectionIndex, isOperator: Bool
    ) -> Bool {
      connections[connection].member != nil
        && connections[connection].isOperator == isOperator && !connections[connection].isBehind
        && !(isHere && connections.id(at: connection) == typing.connection)
    }
    sendToSubscribers(
      session, sessions, &connections, includes: { wants($0, $1, isOperator: true) }
    ) {
      EventEncoder.typing(
        session: $0.id, who: typing.person, isActive: typing.isActive, preview: typing.preview,
        to: &$1)
    }
    sendToSubscribers(
      session, sessions, &connections, includes: { wants($0, $1, isOperator: false) }
    ) {
      EventEncoder.typing(
        session: $0.id, who: typing.person, isActive: typing.isActive, preview: [], to: &$1)
    }
  }
}
