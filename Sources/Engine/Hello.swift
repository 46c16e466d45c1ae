public import Chat
import JSON
import Primitives
import Wire

/// From an unknown connection to a member: hello, verification, the move to the session's loop,
/// renewal.
extension Engine {
  /// The first message: its first command must be `hello` with a token. The whole message is kept
  /// while the token is verified, and read again afterwards.
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

  /// The answer to a `Verification`.
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

  /// A visitor's connection moves to the loop that owns its session, once; everybody else is
  /// welcome here.
  private mutating func admit(_ connection: ConnectionIndex, _ member: Member) {
    if wall >= member.expiresAt {
      rejectHello(connection, .expired)
      return
    }
    connections[connection].member = member
    if !member.isOperator, let session = member.sessions.first {
      let target = effects.owner(of: session)
      if target != loop {
        effects.depart(connections.id(at: connection), to: target)
        return
      }
    }
    welcome(connection)
  }

  private mutating func rejectHello(_ connection: ConnectionIndex, _ refusal: TokenRefusal) {
    connections[connection].phase = .open
    connections[connection].hello = []
    connections[connection].held = []
    connections.setPaused(connection, false)
    connections.refuse(connection, .none, refusal.refusal, sentence: refusal.sentence)
    close(connection, refusal.closeCode, refusal.reason)
  }

  /// Whether a verified hello moves the connection to another loop, where it is welcomed.
  public func leaves(_ id: ConnectionID, as member: Member) -> Bool {
    guard connections.contains(id), connections[id.index].phase == .authenticating,
      !member.isOperator, let session = member.sessions.first
    else { return false }
    return effects.owner(of: session) != loop
  }

  /// Takes a connection that another loop has verified; nil when this loop is full. Call `settle`
  /// once the driver has recorded the connection.
  public mutating func adopt(_ departure: Departure) -> ConnectionID? {
    guard let id = accept(name: departure.name, isEcho: false, deflate: departure.deflate) else {
      return nil
    }
    let connection = id.index
    // The hello may be what the next message refers to.
    connections[connection].contexts = departure.contexts
    connections[connection].member = departure.member
    connections[connection].hello = departure.hello
    if !departure.held.isEmpty { connections[connection].held = departure.held }
    if !departure.outbox.isEmpty {
      connections[outbox: connection].append(contentsOf: departure.outbox)
    }
    connections[connection].openedAt = departure.openedAt
    connections[connection].phase = .authenticating
    connections.setPaused(connection, true)
    return id
  }

  /// Welcomes an adopted connection.
  public mutating func settle(_ id: ConnectionID) {
    guard connections.contains(id), connections[id.index].phase == .authenticating else {
      return
    }
    welcome(id.index)
  }

  /// Answers the hello and carries out whatever came with and behind it.
  private mutating func welcome(_ connection: ConnectionIndex) {
    guard let member = connections[connection].member else { return }
    let hello = connections[connection].hello
    var held = connections[connection].held
    connections[connection].endPassing()
    connections[connection].phase = .open
    // Until now a message could have `Limits.helloBytes` only.
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
  /// The bytes of a string token inside an array token of `text`; without its escapes decoded,
  /// which an epoch never has.
  init(copying text: RawSpan, of array: JSONScanner.Token, _ token: JSONScanner.Token) {
    self = []
    let list = text.extracting(array.range)
    append(list.extracting(token.range))
  }
}
