import Chat
public import Primitives
public import Wire

/// From bytes to commands.
extension Engine {
  /// Takes a connection whose upgrade was answered; nil when the loop is full.
  /// `name` is a random id, which the engine cannot make itself.
  public mutating func accept(
    name: Identifier, isEcho: Bool, deflate: DeflateAgreement? = nil
  ) -> SlotID? {
    let limits =
      isEcho
      ? MessageLimits(messageBytes: EchoLimits.messageBytes, fragments: EchoLimits.fragments)
      : MessageLimits(messageBytes: Limits.helloBytes, fragments: Limits.messageFragments)
    let id = connections.insert(
      Connection(
        name: name, purpose: isEcho ? .echo : .chat, limits: limits, deflate: deflate, now: now))
    if let id { endRest(Int(id.index)) }
    return id
  }

  /// Takes what the socket gave. The buffer is unmasked in place and may be reused afterwards.
  public mutating func receive(_ slot: Int, _ buffer: inout MutableRawSpan) {
    connections[slot].lastHeard = now
    if connections[slot].phase == .authenticating {
      connections[slot].held.append(buffer.bytes)
      return
    }
    var offset = 0
    while offset < buffer.byteCount {
      let step: MessageDecoder.Step
      do throws(FrameFault) {
        step = try connections[slot].decoder.next(&buffer, offset: &offset)
      } catch {
        fail(slot, error)
        return
      }
      if case .needMoreBytes = step { return }
      counters.framesReceived += 1
      switch step {
      case .needMoreBytes: return
      case .message(let opcode, .inPlace(let range)):
        message(slot, opcode, buffer.bytes.extracting(range))
      case .deflatedMessage(let opcode, .inPlace(let range)):
        receiveDeflated(slot, opcode, buffer.bytes.extracting(range))
      case .deflatedMessage(let opcode, .assembled):
        let whole = connections[slot].decoder.takeAssembled()
        whole.withRawSpan { receiveDeflated(slot, opcode, $0) }
      case .message(let opcode, .assembled):
        let whole = connections[slot].decoder.takeAssembled()
        whole.withRawSpan { message(slot, opcode, $0) }
      case .ping(.inPlace(let range)): pong(slot, buffer.bytes.extracting(range))
      case .ping(.assembled):
        let payload = connections[slot].decoder.takeAssembled()
        payload.withRawSpan { pong(slot, $0) }
      case .pong: break
      case .close(let code, _): peerSentClose(slot, code)
      }
      if connections[slot].phase == .authenticating {
        connections[slot].held.append(buffer.bytes.extracting(offset..<buffer.byteCount))
        return
      }
    }
  }

  /// RFC 6455 §5.5.2: a ping is answered with its own payload. A peer that sends pings and reads
  /// nothing is not read either while its answers wait (faults F27).
  private mutating func pong(_ slot: Int, _ payload: RawSpan) {
    guard connections[slot].phase != .closing, connections[slot].phase != .finished else { return }
    FrameEncoder.appendFrame(.pong, payload: payload, to: &connections[outbox: slot])
    markDirty(slot)
  }

  /// §5.5.1: the peer's close frame is answered with the same code; the server then closes the
  /// connection.
  private mutating func peerSentClose(_ slot: Int, _ code: CloseCode?) {
    if connections[slot].phase != .closing {
      connections[slot].closeCode = code ?? .noStatus
      FrameEncoder.appendClose(code ?? .normal, to: &connections[outbox: slot])
    }
    connections[slot].phase = .finished
    markDirty(slot)
  }

  mutating func message(
    _ slot: Int, _ opcode: Opcode, _ payload: RawSpan, isDeflated: Bool = false
  ) {
    switch connections[slot].phase {
    case .closing, .finished: return
    case .authenticating: return
    case .awaitingHello, .open: break
    }
    if connections[slot].purpose == .echo {
      if isDeflated {
        echoDeflated(slot, opcode, payload)
      } else {
        FrameEncoder.appendFrame(opcode, payload: payload, to: &connections[outbox: slot])
      }
      markDirty(slot)
      return
    }
    guard opcode == .text else {
      close(slot, .unsupportedData, "chirrup.v1 is text")
      return
    }
    if connections[slot].phase == .awaitingHello {
      receiveHello(slot, payload)
    } else {
      process(slot, payload)
    }
  }

  /// Carries out the commands of one message, one a line. The text stays where it lies.
  mutating func process(_ slot: Int, _ text: RawSpan, skippingFirst: Bool = false) {
    var decoder = CommandDecoder()
    var isFirst = true
    var isEmpty = true
    while isOpen(slot) {
      do throws(CommandFault) {
        guard let command = try decoder.next(text) else { break }
        isEmpty = false
        counters.commandsReceived += 1
        if !(skippingFirst && isFirst) { perform(slot, command, text, decoder.range) }
        isFirst = false
      } catch {
        isEmpty = false
        badCommand(slot, error, ref: decoder.ref)
        decoder.skipLine(text)
      }
    }
    if isEmpty { badCommand(slot, .notAnObject, ref: .none) }
  }

  /// A command that cannot be read gets an error and costs one of `Limits.badFrames`.
  mutating func badCommand(_ slot: Int, _ fault: CommandFault, ref: Reference) {
    connections[slot].badFrames += 1
    if case .field(let field) = fault {
      refuse(
        slot, ref, .badFrame, sentence: "A field has a value of the wrong type or range.",
        field: field.text)
    } else {
      refuse(slot, ref, .badFrame)
    }
    if connections[slot].badFrames >= Limits.badFrames {
      close(slot, .rateAbuse, "too many commands that cannot be read")
    }
  }

  private mutating func perform(
    _ slot: Int, _ command: Command, _ text: RawSpan, _ range: Range<Int>
  ) {
    let wait = connections[slot].commandBucket.take(
      perSecond: Limits.commandsPerSecond, burst: Limits.commandsBurst, now: now)
    if wait > 0 {
      overRate(slot, command, wait)
      return
    }
    guard let type = command.type else {
      refuse(slot, command.ref, .unknownType)
      return
    }
    if type.needsSubscription, let session = command.session,
      hold(slot, session, command.ref, text.extracting(range))
    {
      return
    }
    switch type {
    case .hello: refuse(slot, command.ref, .badFrame, sentence: "Hello was said already.")
    case .authenticate: authenticate(slot, command, text)
    case .subscribe: subscribe(slot, command, text)
    case .unsubscribe: unsubscribe(slot, command)
    case .send: send(slot, command, text)
    case .history: history(slot, command)
    case .read: mark(slot, command, isRead: true)
    case .delivered: mark(slot, command, isRead: false)
    case .typing: typing(slot, command, text)
    case .watch: watch(slot, command)
    case .viewing: viewing(slot, command)
    case .available: available(slot, command)
    case .pong: break
    }
  }

  /// Ephemeral commands over the rate are dropped in silence; the others are told when to come
  /// again.
  private mutating func overRate(_ slot: Int, _ command: Command, _ wait: Int64) {
    connections[slot].overRate += 1
    if connections[slot].overRate > Limits.overRate {
      close(slot, .rateAbuse, "too many commands")
      return
    }
    switch command.type {
    case .typing, .viewing, .read, .delivered, .pong: return
    case .send:
      if let session = command.session, let id = command.id {
        let index = sessionIndex[session]
        let place = index.flatMap { self.subscription(slot, of: $0) }
        suspend(slot, session, behind: id, ordinal: ordinal(slot, place, id))
      }
      refuse(slot, command.ref, .rateLimited, retryAfter: wait)
    default: refuse(slot, command.ref, .rateLimited, retryAfter: wait)
    }
  }
}

/// The bounds of the echo that `--debug-echo` offers: the same transport and framing with another
/// handler.
public enum EchoLimits {
  public static let messageBytes = 16 * 1_048_576
  /// 65,536 with payload and the empty final one that some senders add.
  public static let fragments = 65_537
}
