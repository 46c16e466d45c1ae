public import Chat
import JSON
import Primitives
import Wire

/// How a connection becomes a member's: hello, verification of the token, the move to the session's
/// loop, welcome.
extension Engine {
  /// The first message, whose first command must be `hello` with a token. The message is kept while
  /// the token is verified, and decoded again in `welcome`.
  mutating func receiveHello(_ connection: ConnectionIndex, _ text: RawSpan) {
    var decoder = CommandDecoder()
    let command: Command?
    do throws(CommandFault) {
      command = try decoder.next(text)
    } catch {
      badCommand(connection, error, ref: decoder.ref)
      return
    }
    guard let command, command.type == .hello, let token = command.token else {
      connections.refuse(connection, command?.ref ?? .none, .unauthenticated)
      close(connection, .tokenInvalid, "the first command must be hello with a token")
      return
    }
    guard connections.verify(connection, token, text, &effects) else {
      connections.refuse(
        connection, command.ref, .unauthenticated, sentence: "The token cannot be read.")
      close(connection, .tokenInvalid, "the token is not valid")
      return
    }
    connections[connection].hello.append(text)
    connections[connection].phase = .authenticating
    connections.setPaused(connection, true)
  }

  /// The result of a `Verification`.
  public mutating func verified(_ id: ConnectionID, _ result: Result<Member, TokenRefusal>) {
    guard connections.contains(id) else { return }
    let connection = id.index
    switch (connections[connection].phase, result) {
    case (.authenticating, .success(let member)): admit(connection, member)
    case (.authenticating, .failure(let refusal)): rejectHello(connection, refusal)
    case (.open, _):
      connections.finishRenewal(connection, result, now: now, wall: wall)
    default: return
    }
  }

  /// Accepts a member: moves the connection to another loop, or welcomes it.
  private mutating func admit(_ connection: ConnectionIndex, _ member: Member) {
    if wall >= member.expiresAt {
      rejectHello(connection, .expired)
      return
    }
    if connections.hasEndedKey(member) {
      rejectHello(connection, .keyEnded)
      return
    }
    connections[connection].member = member
    if let target = effects.loopToMove(member) {
      effects.depart(connections.id(at: connection), to: target)
    } else {
      welcome(connection)
    }
  }

  private mutating func rejectHello(_ connection: ConnectionIndex, _ refusal: TokenRefusal) {
    connections[connection].phase = .open
    connections[connection].hello = []
    connections[connection].held = []
    connections.setPaused(connection, false)
    connections.refuse(connection, .none, refusal.refusal, sentence: refusal.sentence)
    close(connection, refusal.closeCode, refusal.reason)
  }

  /// Welcomes a connection that `ConnectionTable.adopt` has added.
  public mutating func settle(_ id: ConnectionID) {
    guard connections.contains(id), connections[id.index].phase == .authenticating,
      let member = connections[id.index].member
    else { return }
    // The key may have ended while the connection moved.
    if connections.hasEndedKey(member) {
      rejectHello(id.index, .keyEnded)
    } else {
      welcome(id.index)
    }
  }

  /// Answers the hello, and processes the commands and the input that followed it.
  private mutating func welcome(_ connection: ConnectionIndex) {
    guard let member = connections[connection].member else { return }
    let hello = connections[connection].hello
    var held = connections[connection].held
    connections[connection].endHandshake()
    connections[connection].phase = .open
    // Until now messages were limited to `Limits.helloBytes`.
    connections[connection].decoder.limits.messageBytes = Limits.messageBytes
    connections[connection].applyExpiry(of: member, now: now, wall: wall)
    connections.setPaused(connection, false)
    hello.withRawSpan { text in
      var decoder = CommandDecoder()
      guard let command = try? decoder.next(text) else { return }
      let name = connections[connection].name
      FrameEncoder.appendFrame(.text, to: &connections[outbox: connection]) {
        EventEncoder.welcome(
          ref: command.ref, connection: name, node: configuration.node, now: wall,
          expiresAt: member.expiresAt, you: member.person, to: &$0)
      }
      connections.markDirty(connection)
      subscribeFromHello(connection, command, text)
      process(connection, text, skippingFirst: true)
    }
    guard !held.isEmpty else { return }
    // They were counted when they came.
    connections[connection].traffic.bytesIn &-= UInt64(held.count)
    held.withMutableRawSpan { receive(connection, &$0) }
  }

  private mutating func subscribeFromHello(
    _ connection: ConnectionIndex, _ command: Command, _ text: RawSpan
  ) {
    guard let list = command.subscriptions else { return }
    var requests: [SubscribeRequest] = []
    do throws(CommandFault) {
      try CommandDecoder.subscriptions(of: list, in: text) { item in
        guard let session = item.session, requests.count < Limits.subscriptions else { return }
        requests.append(
          SubscribeRequest(
            ref: item.ref, session: session, after: item.after, tail: item.tail,
            epoch: item.epoch.map { Array(copying: text, of: list, $0) } ?? []))
      }
    } catch {
      badCommand(connection, error, ref: command.ref)
      return
    }
    for request in requests { subscribe(connection, request) }
  }
}

extension Array where Element == UInt8 {
  /// The bytes of a string token inside an array token of `text`. Escapes are not decoded; an epoch
  /// has none.
  init(copying text: RawSpan, of array: JSONScanner.Token, _ token: JSONScanner.Token) {
    self = []
    let list = text.extracting(array.range)
    append(list.extracting(token.range))
  }
}
