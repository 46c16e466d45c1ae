import Chat
import Compression
public import Primitives
public import Wire

/// From bytes to commands.
extension Engine {
  /// Takes a connection whose upgrade was answered; nil when the loop is full.
  /// `name` is a random id, which the engine cannot make itself.
  public mutating func accept(
    name: Identifier, isEcho: Bool, deflate: DeflateAgreement? = nil
  ) -> ConnectionID? {
    let limits =
      isEcho
      ? MessageLimits(messageBytes: EchoLimits.messageBytes, fragments: EchoLimits.fragments)
      : MessageLimits(messageBytes: Limits.helloBytes, fragments: Limits.messageFragments)
    return connections.insert(
      Connection(
        name: name, purpose: isEcho ? .echo : .chat, limits: limits, deflate: deflate, now: now))
  }

  /// Takes what the socket gave. The buffer is unmasked in place and may be reused afterwards.
  public mutating func receive(_ connection: ConnectionIndex, _ buffer: inout MutableRawSpan) {
    connections[connection].lastHeard = now
    if connections[connection].phase == .authenticating {
      connections[connection].held.append(buffer.bytes)
      return
    }
    var offset = 0
    while offset < buffer.byteCount {
      let step: MessageDecoder.Step
      do throws(FrameFault) {
        step = try connections[connection].decoder.next(&buffer, offset: &offset)
      } catch {
        fail(connection, .frame, error.closeCode, error.reason)
        return
      }
      if case .needMoreBytes = step { return }
      counts.framesReceived += 1
      switch step {
      case .needMoreBytes: return
      case .message(let opcode, .inPlace(let range)):
        message(connection, opcode, buffer.bytes.extracting(range))
      case .deflatedMessage(let opcode, .inPlace(let range)):
        receiveDeflated(connection, opcode, buffer.bytes.extracting(range))
      case .deflatedMessage(let opcode, .assembled):
        let whole = connections[connection].decoder.takeAssembled()
        whole.withRawSpan { receiveDeflated(connection, opcode, $0) }
      case .message(let opcode, .assembled):
        let whole = connections[connection].decoder.takeAssembled()
        whole.withRawSpan { message(connection, opcode, $0) }
      case .ping(.inPlace(let range)):
        connections.answerPing(connection, buffer.bytes.extracting(range))
      case .ping(.assembled):
        let payload = connections[connection].decoder.takeAssembled()
        payload.withRawSpan { connections.answerPing(connection, $0) }
      case .pong: break
      case .close(let code, _): connections.answerClose(connection, code)
      }
      if connections[connection].phase == .authenticating {
        connections[connection].held.append(buffer.bytes.extracting(offset..<buffer.byteCount))
        return
      }
    }
  }

  /// Inflates a message and hands it on.
  private mutating func receiveDeflated(
    _ connection: ConnectionIndex, _ opcode: Opcode, _ payload: RawSpan
  ) {
    guard let agreement = connections[connection].deflate,
      connections[connection].phase != .closing, connections[connection].phase != .finished
    else { return }
    let inflated: [UInt8]
    do throws(InflateFault) {
      inflated = try fanOut.inflate(payload, from: connection, agreement, connections)
    } catch {
      let code: CloseCode = error == .tooLong ? .messageTooBig : .invalidPayload
      fail(connection, .deflate, code, error.reason)
      return
    }
    if connections[connection].purpose == .chat,
      !connections[connection].chargeInflated(inflated.count, now: now)
    {
      close(connection, .rateAbuse, "too many bytes in compressed messages")
    } else if opcode == .text, !inflated.withRawSpan({ UTF8Validator.isValid($0) }) {
      // RFC 6455 §8.1 speaks of the text, not of the bytes that carried it.
      fail(connection, .deflate, .invalidPayload, "inflated text is not UTF-8")
    } else {
      inflated.withRawSpan { message(connection, opcode, $0, isDeflated: true) }
    }
    fanOut.giveBack(inflated)
  }

  private mutating func message(
    _ connection: ConnectionIndex, _ opcode: Opcode, _ payload: RawSpan, isDeflated: Bool = false
  ) {
    switch connections[connection].phase {
    case .closing, .finished: return
    case .authenticating: return
    case .awaitingHello, .open: break
    }
    if connections[connection].purpose == .echo {
      if isDeflated {
        fanOut.echoDeflated(connection, opcode, payload, &connections)
      } else {
        FrameEncoder.appendFrame(opcode, payload: payload, to: &connections[outbox: connection])
      }
      connections.markDirty(connection)
      return
    }
    guard opcode == .text else {
      close(connection, .unsupportedData, "chirrup.v1 is text")
      return
    }
    if connections[connection].phase == .awaitingHello {
      receiveHello(connection, payload)
    } else {
      process(connection, payload)
    }
  }

  /// Carries out the commands of one message, one a line. The text stays where it lies.
  mutating func process(
    _ connection: ConnectionIndex, _ text: RawSpan, skippingFirst: Bool = false
  ) {
    var decoder = CommandDecoder()
    var isFirst = true
    var isEmpty = true
    while connections.isOpen(connection) {
      do throws(CommandFault) {
        guard let command = try decoder.next(text) else { break }
        isEmpty = false
        counts.commandsReceived += 1
        if !(skippingFirst && isFirst) { perform(connection, command, text, decoder.range) }
        isFirst = false
      } catch {
        isEmpty = false
        badCommand(connection, error, ref: decoder.ref)
        decoder.skipLine(text)
      }
    }
    if isEmpty { badCommand(connection, .notAnObject, ref: .none) }
  }

  /// A command that cannot be read gets an error and costs one of `Limits.badFrames`.
  mutating func badCommand(_ connection: ConnectionIndex, _ fault: CommandFault, ref: Reference) {
    connections[connection].badFrames += 1
    if case .field(let field) = fault {
      connections.refuse(
        connection, ref, .badFrame, sentence: "A field has a value of the wrong type or range.",
        field: field.text)
    } else {
      connections.refuse(connection, ref, .badFrame)
    }
    if connections[connection].badFrames >= Limits.badFrames {
      close(connection, .rateAbuse, "too many commands that cannot be read")
    }
  }

  private mutating func perform(
    _ connection: ConnectionIndex, _ command: Command, _ text: RawSpan, _ range: Range<Int>
  ) {
    let wait = connections[connection].commandBucket.take(
      perSecond: Limits.commandsPerSecond, burst: Limits.commandsBurst, now: now)
    if wait > 0 {
      overRate(connection, command, wait)
      return
    }
    guard let type = command.type else {
      connections.refuse(connection, command.ref, .unknownType)
      return
    }
    if type.needsSubscription, let session = command.session,
      sessions.hold(connection, session, command.ref, text.extracting(range), &connections)
    {
      return
    }
    switch type {
    case .hello:
      connections.refuse(
        connection, command.ref, .badFrame, sentence: "Hello was said already.")
    case .authenticate: connections.authenticate(connection, command, text, &effects)
    case .subscribe: subscribe(connection, command, text)
    case .unsubscribe: unsubscribe(connection, command)
    case .send:
      let isAccepted = sending.send(
        connection, command, text, sessions, &connections, &effects, now: now)
      if isAccepted { counts.sendsAccepted += 1 }
    case .history: fanOut.history(connection, command, sessions, &connections, &effects)
    case .read: mark(connection, command, isRead: true)
    case .delivered: mark(connection, command, isRead: false)
    case .typing: typing(connection, command, text)
    case .watch: inbox.watch(connection, command, &connections, &effects)
    case .viewing: presence.view(connection, command, sessions, &connections, &effects)
    case .available: inbox.setAvailable(connection, command, &connections, &effects)
    case .pong: break
    }
  }

  /// Ephemeral commands over the rate are dropped in silence; the others are refused with the time
  /// to come again.
  private mutating func overRate(
    _ connection: ConnectionIndex, _ command: Command, _ wait: Int64
  ) {
    connections[connection].overRate += 1
    if connections[connection].overRate > Limits.overRate {
      close(connection, .rateAbuse, "too many commands")
      return
    }
    switch command.type {
    case .typing, .viewing, .read, .delivered, .pong: return
    case .send:
      if let session = command.session, let id = command.id {
        let place = sessions.index(of: session).flatMap {
          connections.subscription(connection, of: $0, sessions)
        }
        let ordinal = connections[connection].ordinal(place, id)
        connections.suspend(connection, session, behind: id, ordinal: ordinal, sessions)
      }
    default: break
    }
    connections.refuse(connection, command.ref, .rateLimited, retryAfter: wait)
  }
}

/// The bounds of the echo that `--debug-echo` offers: the same transport and framing with another
/// handler.
public enum EchoLimits {
  public static let messageBytes = 16 * 1_048_576
  /// 65,536 with payload and the empty final one that some senders add.
  public static let fragments = 65_537
}
