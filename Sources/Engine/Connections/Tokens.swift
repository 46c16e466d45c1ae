import Chat
import JSON
import Primitives
import Wire

/// Tokens of connections: the driver verifies them, and a client may renew its own.
extension ConnectionTable {
  /// Queues a token for verification. Returns false when it cannot be decoded.
  func verify(
    _ connection: ConnectionIndex, _ token: JSONScanner.Token, _ text: RawSpan,
    _ effects: inout Effects
  ) -> Bool {
    var bytes: [UInt8] = []
    do throws(JSONText.Fault) {
      try JSONText.decode(token, in: text, to: &bytes)
    } catch {
      return false
    }
    effects.verify(Verification(connection: id(at: connection), token: bytes))
    return true
  }

  /// Tokens of these keys are refused from now on.
  mutating func noteEnded(_ keys: [UInt32]) {
    endedKeys = (endedKeys + keys).suffix(ConnectionTable.endedKeysMax)
  }

  /// Whether the token of a member was signed by a key that has ended.
  func hasEndedKey(_ member: Member) -> Bool { endedKeys.contains(member.key) }

  /// The command `authenticate`: a new token for an open connection.
  mutating func authenticate(
    _ connection: ConnectionIndex, _ command: Command, _ text: RawSpan, _ effects: inout Effects
  ) {
    guard let token = command.token else {
      refuse(
        connection, command.ref, .badFrame, sentence: "The command needs a token.", field: "token")
      return
    }
    guard self[connection].renewal == nil else {
      refuse(connection, command.ref, .rateLimited, retryAfter: 1000)
      return
    }
    guard verify(connection, token, text, &effects) else {
      refuse(
        connection, command.ref, .unauthenticated, sentence: "The token cannot be read.")
      return
    }
    self[connection].renewal = command.ref
  }

  /// The new token must name the same person, role and workspace. Its sessions and expiry replace
  /// the old ones.
  mutating func finishRenewal(
    _ connection: ConnectionIndex, _ result: Result<Member, TokenRefusal>, now: Instant,
    wall: WallTime
  ) {
    guard let ref = self[connection].renewal else { return }
    self[connection].renewal = nil
    switch result {
    case .success(let member):
      guard let old = self[connection].member, old.person.id == member.person.id,
        old.workspace == member.workspace, old.person.role == member.person.role,
        wall < member.expiresAt, !hasEndedKey(member)
      else {
        refuse(
          connection, ref, .unauthenticated, sentence: "The token is not valid here.")
        return
      }
      self[connection].member = member
      self[connection].applyExpiry(of: member, now: now, wall: wall)
      confirm(connection, ref)
    case .failure(let refusal):
      refuse(
        connection, ref, refusal.refusal, sentence: refusal.sentence,
        retryAfter: refusal == .tooFast ? 1_000 : nil)
    }
  }
}

extension Connection {
  mutating func applyExpiry(of member: Member, now: Instant, wall: WallTime) {
    let left = max(0, (member.expiresAt.microseconds - wall.microseconds) / 1000)
    timing.tokenExpires = now.advanced(byMilliseconds: left)
    timing.isTokenWarned = false
  }
}
