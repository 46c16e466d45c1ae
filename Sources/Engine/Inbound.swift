import Chat
import Compression
import Primitives
import Wire

/// Input: from bytes to messages to commands.
extension Engine {
  /// Processes bytes from the socket. The buffer is unmasked in place; the caller may reuse it
  /// afterwards.
  public mutating func receive(_ connection: ConnectionIndex, _ buffer: inout MutableRawSpan) {
    connections[connection].timing.lastReceivedAt = now
    connections[connection].traffic.bytesIn &+= UInt64(buffer.byteCount)
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
      // RFC 6455 §8.1 requires UTF-8 of the text, not of the compressed bytes.
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

  /// Performs the commands of one message, one in each line. Tokens are ranges of `text`, which is
  /// not copied.
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

  /// Refuses an unreadable command. After `Limits.badFrames` of them the connection is closed.
  mutating func badCommand(_ connection: ConnectionIndex, _ fault: CommandFault, ref: Reference) {
    connections[connection].rates.badFrames += 1
    if case .field(let field) = fault {
      connections.refuse(
        connection, ref, .badFrame, sentence: "A field has a value of the wrong type or range.",
        field: field.text)
    } else {
      connections.refuse(connection, ref, .badFrame)
    }
    if connections[connection].rates.badFrames >= Limits.badFrames {
      close(connection, .rateAbuse, "too many commands that cannot be read")
    }
  }

  private mutating func perform(
    _ connection: ConnectionIndex, _ command: Command, _ text: RawSpan, _ range: Range<Int>
  ) {
    let wait = connections[connection].rates.commands.take(
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
        connection, command.ref, .badFrame, sentence: "The connection has sent hello already.")
    case .authenticate: connections.authenticate(connection, command, text, &effects)
    case .subscribe: subscribe(connection, command, text)
    case .unsubscribe: unsubscribe(connection, command)
    case .send:
      let isAccepted = sending.send(
        connection, command, text, sessions, &connections, &effects, now: now)
      if isAccepted { counts.sendsAccepted += 1 }
    case .history: fanOut.history(connection, command, sessions, &connections, &effects)
    case .read, .delivered:
      fanOut.mark(
        connection, command, isRead: type == .read, &sessions, &connections, &inbox, &effects,
        now: now)
    case .typing: fanOut.typing(connection, command, text, sessions, &connections, &effects)
    case .watch: inbox.watch(connection, command, &connections, &effects)
    case .viewing: presence.view(connection, command, sessions, &connections, &effects)
    case .available: inbox.setAvailable(connection, command, &connections, &effects)
    case .pong:
      // A client that wants to know whether the connection lives.
      if !command.ref.isEmpty { connections.confirm(connection, command.ref) }
    }
  }

  /// Refuses a command that exceeds the rate, with a retry delay. Ephemeral commands are dropped
  /// without an error.
  private mutating func overRate(
    _ connection: ConnectionIndex, _ command: Command, _ wait: Int64
  ) {
    connections[connection].rates.excess += 1
    if connections[connection].rates.excess > Limits.overRate {
      close(connection, .rateAbuse, "too many commands")
      return
    }
    switch command.type {
    case .typing, .viewing, .read, .delivered, .pong: return
    case .send:
      if let session = command.session, let id = command.id {
        let subscription = sessions.index(of: session).flatMap {
          connections.subscription(connection, of: $0, sessions)
        }
        let ordinal = connections[connection].ordinal(subscription, id)
        sending.suspend(
          connection, session, behind: id, ordinal: ordinal, for: Wait(.rateLimited, wait),
          sessions, &connections)
      }
    default: break
    }
    connections.refuse(connection, command.ref, .rateLimited, retryAfter: wait)
  }
}
