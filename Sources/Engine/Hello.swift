public import Chat
public import Primitives
import Wire

/// From an unknown connection to a member: hello, verification, the move to the session's loop,
/// renewal.
extension Engine {
  /// The first message: its first command must be `hello` with a token. The whole message is kept
  /// while the token is verified, and read again afterwards.
  mutating func receiveHello(_ slot: Int, _ text: RawSpan) {
    var decoder = CommandDecoder()
    let command: Command?
    do throws(CommandFault) {
      command = try decoder.next(text)
    } catch {
      badCommand(slot, error, ref: decoder.ref)
      return
    }
    guard let command, command.type == .hello, let token = command.token else {
      refuse(slot, command?.ref ?? .none, .unauthenticated)
      close(slot, .tokenInvalid, "the first command must be hello with a token")
      return
    }
    guard verify(slot, token, text) else {
      refuse(slot, command.ref, .unauthenticated, sentence: "The token cannot be read.")
      close(slot, .tokenInvalid, "the token is not valid")
      return
    }
    connections[slot].hello.append(text)
    connections[slot].phase = .authenticating
    setPaused(slot, true)
  }

  private mutating func verify(_ slot: Int, _ token: JSONScanner.Token, _ text: RawSpan) -> Bool {
    var bytes: [UInt8] = []
    do throws(JSONText.Fault) {
      try JSONText.decode(token, in: text, to: &bytes)
    } catch {
      return false
    }
    verifications.append(Verification(connection: connections.id(at: slot), token: bytes))
    return true
  }

  /// The answer to a `Verification`.
  public mutating func verified(_ id: SlotID, _ result: Result<Member, TokenRefusal>) {
    guard connections.contains(id) else { return }
    let slot = Int(id.index)
    switch (connections[slot].phase, result) {
    case (.authenticating, .success(let member)): admit(slot, member)
    case (.authenticating, .failure(let refusal)): rejectHello(slot, refusal)
    case (.open, _): finishRenewal(slot, result)
    default: return
    }
  }

  /// A visitor's connection moves to the loop that owns its session, once; everybody else is
  /// welcome here.
  private mutating func admit(_ slot: Int, _ member: Member) {
    if wall >= member.expiresAt {
      rejectHello(slot, .expired)
      return
    }
    connections[slot].member = member
    if !member.isOperator, let session = member.sessions.first {
      let target = owner(of: session)
      if target != loop {
        departures.append((connections.id(at: slot), target))
        return
      }
    }
    welcome(slot)
  }

  private mutating func rejectHello(_ slot: Int, _ refusal: TokenRefusal) {
    connections[slot].phase = .open
    connections[slot].hello = []
    connections[slot].held = []
    setPaused(slot, false)
    refuse(slot, .none, refusal.refusal, sentence: refusal.sentence)
    close(slot, refusal.closeCode, refusal.reason)
  }

  /// Whether a verified hello moves the connection to another loop, where it is welcomed.
  public func leaves(_ id: SlotID, as member: Member) -> Bool {
    guard connections.contains(id), connections[Int(id.index)].phase == .authenticating,
      !member.isOperator, let session = member.sessions.first
    else { return false }
    return owner(of: session) != loop
  }

  /// The visitors who are connected, of all or of these.
  public func visitors(in ids: Set<Identifier>?) -> [(connection: Int, member: Member)] {
    var found: [(connection: Int, member: Member)] = []
    for slot in 0..<connections.endIndex
    where connections.isOccupied(slot) && connections[slot].isVisitor {
      guard let member = connections[slot].member, ids?.contains(member.person.id) ?? true
      else { continue }
      found.append((slot, member))
    }
    return found
  }

  /// Ends a connection whose login has ended, or whose visitor may not be here any more. What it
  /// has not read yet is not for it any more; half a frame may be in the way of a close frame then.
  public mutating func revoke(_ slot: Int, _ reason: TokenRefusal) {
    guard connections.isOccupied(slot) else { return }
    if connections[slot].isBlocked {
      connections.dropOutbox(slot)
      connections[slot].closeCode = reason.closeCode
      leaveEverything(slot)
      doom(slot)
      return
    }
    guard isOpen(slot) else { return }
    refuse(slot, .none, reason.refusal, sentence: reason.sentence)
    close(slot, reason.closeCode, reason.reason)
  }

  /// Removes a connection that moves, for `adopt` on the other loop.
  public mutating func depart(_ id: SlotID) -> Departure? {
    guard connections.contains(id), let member = connections[Int(id.index)].member else {
      return nil
    }
    let gone = connections.remove(Int(id.index))
    return Departure(
      member: member, hello: gone.hello, held: gone.held, outbox: gone.outbox,
      openedAt: gone.openedAt, name: gone.name, deflate: gone.deflate, contexts: gone.contexts)
  }

  /// Takes a connection that another loop has verified; nil when this loop is full. Call `settle`
  /// once the driver has recorded the slot.
  public mutating func adopt(_ departure: Departure) -> SlotID? {
    guard let id = accept(name: departure.name, isEcho: false, deflate: departure.deflate) else {
      return nil
    }
    let slot = Int(id.index)
    // The hello may be what the next message refers to.
    connections[slot].contexts = departure.contexts
    connections[slot].member = departure.member
    connections[slot].hello = departure.hello
    if !departure.held.isEmpty { connections[slot].held = departure.held }
    if !departure.outbox.isEmpty {
      connections[outbox: slot].append(contentsOf: departure.outbox)
    }
    connections[slot].openedAt = departure.openedAt
    connections[slot].phase = .authenticating
    setPaused(slot, true)
    return id
  }

  /// Welcomes an adopted connection.
  public mutating func settle(_ id: SlotID) {
    guard connections.contains(id), connections[Int(id.index)].phase == .authenticating else {
      return
    }
    welcome(Int(id.index))
  }

  /// Answers the hello and carries out whatever came with and behind it.
  private mutating func welcome(_ slot: Int) {
    guard let member = connections[slot].member else { return }
    let hello = connections[slot].hello
    var held = connections[slot].held
    connections[slot].endPassing()
    connections[slot].phase = .open
    // Until now a message could have `Limits.helloBytes` only.
    connections[slot].decoder.limits.messageBytes = Limits.messageBytes
    applyExpiry(slot, member)
    setPaused(slot, false)
    hello.withRawSpan { text in
      var decoder = CommandDecoder()
      guard let command = try? decoder.next(text) else { return }
      let name = connections[slot].name
      FrameEncoder.appendFrame(.text, to: &connections[outbox: slot]) {
        EventEncoder.welcome(
          ref: command.ref, connection: name, node: configuration.node, now: wall,
          expiresAt: member.expiresAt, you: member.person, to: &$0)
      }
      markDirty(slot)
      subscribeFromHello(slot, command, text)
      process(slot, text, skippingFirst: true)
    }
    guard !held.isEmpty else { return }
    held.withMutableRawSpan { receive(slot, &$0) }
  }

  private mutating func subscribeFromHello(_ slot: Int, _ command: Command, _ text: RawSpan) {
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
      badCommand(slot, error, ref: command.ref)
      return
    }
    for request in requests { subscribe(slot, request) }
  }

  // MARK: Renewal

  /// A new token for a living connection.
  mutating func authenticate(_ slot: Int, _ command: Command, _ text: RawSpan) {
    guard let token = command.token else {
      refuse(slot, command.ref, .badFrame, sentence: "The command needs a token.", field: "token")
      return
    }
    guard connections[slot].renewal == nil else {
      refuse(slot, command.ref, .rateLimited, retryAfter: 1000)
      return
    }
    guard verify(slot, token, text) else {
      refuse(slot, command.ref, .unauthenticated, sentence: "The token cannot be read.")
      return
    }
    connections[slot].renewal = command.ref
  }

  /// The new token must name the same person; its sessions and its end replace the old ones.
  private mutating func finishRenewal(
    _ slot: Int, _ result: Result<Member, TokenRefusal>
  ) {
    guard let ref = connections[slot].renewal else { return }
    connections[slot].renewal = nil
    switch result {
    case .success(let member):
      guard let old = connections[slot].member, old.person.id == member.person.id,
        old.workspace == member.workspace, old.person.role == member.person.role,
        wall < member.expiresAt
      else {
        refuse(slot, ref, .unauthenticated, sentence: "The token is not valid here.")
        return
      }
      connections[slot].member = member
      applyExpiry(slot, member)
      FrameEncoder.appendFrame(.text, to: &connections[outbox: slot]) {
        EventEncoder.ok(ref: ref, to: &$0)
      }
      markDirty(slot)
    case .failure(let refusal):
      refuse(
        slot, ref, refusal.refusal, sentence: refusal.sentence,
        retryAfter: refusal == .tooFast ? 1_000 : nil)
    }
  }

  private mutating func applyExpiry(_ slot: Int, _ member: Member) {
    let left = max(0, (member.expiresAt.microseconds - wall.microseconds) / 1000)
    connections[slot].tokenExpires = now.advanced(byMilliseconds: left)
    connections[slot].isTokenWarned = false
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
