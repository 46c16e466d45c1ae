/// One client's socket: TCP connect, opening handshake, and frames in both directions. It knows no
/// protocol above frames.
import Compression
import Kernel
import OpenSSL
import Primitives
import Wire

/// The end of a connection: the close code, if any, and a label for the report.
struct ConnectionEnd: Equatable {
  var code: UInt16?
  var label: String

  static let lost = ConnectionEnd(code: nil, label: "lost")
}

final class Connection {
  enum Phase { case connecting, upgrading, open }

  /// The result of a call; the texts of messages go to the closure during it.
  enum Outcome: Equatable {
    case going
    /// The handshake is done: hello can be sent.
    case opened
    case ended(ConnectionEnd)
  }

  let client: Int
  private(set) var phase = Phase.connecting
  private let transport: Transport
  private let request: UpgradeRequest
  private var decoder = MessageDecoder(role: .client, limits: Connection.limits)
  /// Received bytes of the response head while it is incomplete.
  private var head: [UInt8] = []
  private var scanner = HeadScanner()
  /// Set when permessage-deflate was negotiated.
  private var inflater: Inflater?
  private var keepsContext = false
  /// The number of received messages that were deflated.
  private(set) var inflatedCount = 0
  private var pongs: [UInt64] = []
  private var output: [UInt8] = []
  private var written = 0
  private(set) var waitsForRoom = false
  /// False for a client that stopped reading.
  private var isReading = true

  private static let limits = MessageLimits(messageBytes: 4 << 20, fragments: 1024)

  init(
    client: Int, target: Target, offersDeflate: Bool = false, _ workspace: TLSWorkspace,
    random: inout RandomStream
  ) throws(Errno) {
    self.client = client
    var request = UpgradeRequest(
      host: target.host, target: target.path, subprotocol: target.isEcho ? nil : "chirrup.v1",
      random: (random.next(), random.next()))
    request.offersDeflate = offersDeflate
    self.request = request
    transport = try Transport(target, from: target.source(of: client), workspace)
    request.append(to: &output)
  }

  func register(in epoll: borrowing Epoll, datum: UInt64) throws(Errno) {
    try transport.register(in: epoll, [.read, .write], datum: datum)
    waitsForRoom = true
  }

  /// Registers for write readiness exactly while output is pending.
  func updateInterest(in epoll: borrowing Epoll, datum: UInt64) throws(Errno) {
    // TLS accepts no data before the end of its handshake, even if the socket has room.
    let isBlocked =
      phase == .connecting || transport.hasUnsent
      || transport.isEstablished && written < output.count
    if isBlocked == waitsForRoom { return }
    waitsForRoom = isBlocked
    try applyInterest(epoll, datum)
  }

  private func applyInterest(_ epoll: borrowing Epoll, _ datum: UInt64) throws(Errno) {
    let interest: Interest = isReading ? .read : []
    try transport.update(in: epoll, waitsForRoom ? interest.union(.write) : interest, datum: datum)
  }

  /// Stops or resumes reading.
  func setReading(_ reads: Bool, in epoll: borrowing Epoll, datum: UInt64) throws(Errno) {
    guard reads != isReading else { return }
    isReading = reads
    try applyInterest(epoll, datum)
  }

  func keepLittle() throws(Errno) { try transport.keepLittle() }

  /// The next close sends a RST.
  func reset() { try? transport.resetOnClose() }

  /// Frames and masks each text; `flush` sends them.
  func queue(_ commands: CommandBuffer, random: inout RandomStream) {
    commands.bytes.withRawSpan { span in
      var start = 0
      for end in commands.ends {
        FrameEncoder.appendMaskedFrame(
          .text, payload: span.extracting(start..<end),
          maskKey: UInt32(truncatingIfNeeded: random.next()), to: &output)
        start = end
      }
    }
  }

  /// Queues a ping with a number as its payload, see `takePongs`.
  func queuePing(_ number: UInt64, random: inout RandomStream) {
    let payload = (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
    payload.withRawSpan {
      FrameEncoder.appendMaskedFrame(
        .ping, payload: $0, maskKey: UInt32(truncatingIfNeeded: random.next()), to: &output)
    }
  }

  /// The numbers of the pings answered since the last call.
  func takePongs() -> [UInt64] {
    defer { pongs.removeAll() }
    return pongs
  }

  func queueClose(_ code: UInt16, random: inout RandomStream) {
    FrameEncoder.appendMaskedClose(
      CloseCode(rawValue: code), maskKey: UInt32(truncatingIfNeeded: random.next()), to: &output)
  }

  var hasUnsent: Bool { written < output.count || transport.hasUnsent }

  func flush() -> Outcome {
    if phase == .connecting { return .going }
    while written < output.count || transport.hasUnsent {
      switch transport.send(output, from: written) {
      case .bytes(let count): written += count
      case .wouldBlock: return .going
      case .reset: return .ended(.lost)
      case .failed(let error): return .ended(ConnectionEnd(code: nil, label: error.name))
      }
    }
    output.removeAll(keepingCapacity: output.capacity <= 16_384)
    written = 0
    return .going
  }

  /// The socket became writable: connected, refused, or with room again.
  func writable() -> Outcome {
    if phase == .connecting {
      do throws(Errno) {
        if let error = try transport.pendingError() {
          return .ended(ConnectionEnd(code: nil, label: error.name))
        }
      } catch {
        return .ended(ConnectionEnd(code: nil, label: error.name))
      }
      phase = .upgrading
    }
    return flush()
  }

  /// Reads once into the loop's buffer and passes the text of each message to `text`, which returns
  /// whether to continue.
  func readable(_ buffer: inout [UInt8], _ text: (RawSpan) -> Bool) -> Outcome {
    var outcome = Outcome.going
    let received = transport.receive(&buffer) { bytes in
      let found = phase == .upgrading ? upgrade(bytes.bytes, text) : decode(&bytes, text)
      if found != .going { outcome = found }
      return found == .going || found == .opened
    }
    if case .ended(let end) = received, outcome == .going { return .ended(end) }
    return outcome
  }

  private func upgrade(_ bytes: RawSpan, _ text: (RawSpan) -> Bool) -> Outcome {
    head.append(bytes)
    do throws(HeadFault) {
      guard let count = try head.withRawSpan({ (span) throws(HeadFault) in try scanner.scan(span) })
      else { return .going }
      let response = try head.withRawSpan { (span) throws(HeadFault) in
        try ResponseHead.parse(span.extracting(0..<count))
      }
      switch request.judge(response) {
      case .accepted(let subprotocol) where subprotocol == request.subprotocol: break
      case .refused(let status):
        return .ended(ConnectionEnd(code: nil, label: "http \(status)"))
      case .accepted, .invalid:
        return .ended(ConnectionEnd(code: nil, label: "broken: bad handshake"))
      }
      if let extensions = response.fields.value(of: "sec-websocket-extensions"),
        let agreement = DeflateAgreement(answer: extensions)
      {
        decoder = MessageDecoder(role: .client, limits: Connection.limits, allowsDeflated: true)
        inflater = Inflater(windowBits: 15)
        keepsContext = !agreement.serverForgets
      }
      phase = .open
      // Only a close frame can follow the head, because the gateway sends nothing before hello.
      var rest = Array(head[count...])
      head = []
      let outcome = rest.withMutableRawSpan { decode(&$0, text) }
      return outcome == .going ? .opened : outcome
    } catch {
      return .ended(ConnectionEnd(code: nil, label: "broken: bad head"))
    }
  }

  private func decode(_ span: inout MutableRawSpan, _ text: (RawSpan) -> Bool) -> Outcome {
    var offset = 0
    while true {
      let step: MessageDecoder.Step
      do throws(FrameFault) {
        step = try decoder.next(&span, offset: &offset)
      } catch {
        return .ended(ConnectionEnd(code: nil, label: "broken frame: \(error)"))
      }
      switch step {
      case .needMoreBytes: return .going
      case .message(.text, .inPlace(let range)):
        if !text(span.bytes.extracting(range)) { return .going }
      case .message(.text, .assembled):
        if !decoder.withAssembled({ text($0) }) { return .going }
      case .deflatedMessage(.text, let location):
        guard let inflated = inflate(location, span.bytes) else {
          return .ended(ConnectionEnd(code: nil, label: "broken deflated message"))
        }
        inflatedCount += 1
        if !inflated.withRawSpan({ text($0) }) { return .going }
      case .message, .deflatedMessage:
        return .ended(ConnectionEnd(code: nil, label: "broken: binary message"))
      case .ping(let location): pong(location, span.bytes)
      case .pong(let location): pongs += [word(location, span.bytes)].compactMap(\.self)
      case .close(let code, _):
        let label = code.map { String($0.rawValue) } ?? "1005"
        return .ended(ConnectionEnd(code: code?.rawValue, label: label))
      }
    }
  }

  /// RFC 7692 §7.2.2; nil for a payload that is not deflated UTF-8 text.
  private func inflate(_ location: MessageDecoder.Location, _ bytes: RawSpan) -> [UInt8]? {
    var output: [UInt8] = []
    let isWhole =
      switch location {
      case .inPlace(let range): inflate(bytes.extracting(range), to: &output)
      case .assembled: decoder.withAssembled { inflate($0, to: &output) }
      }
    return isWhole && output.withRawSpan({ UTF8Validator.isValid($0) }) ? output : nil
  }

  private func inflate(_ payload: RawSpan, to output: inout [UInt8]) -> Bool {
    do throws(InflateFault) {
      try inflater?.inflate(
        payload, keepsContext: keepsContext, limit: Connection.limits.messageBytes, to: &output)
      return true
    } catch {
      return false
    }
  }

  /// RFC 6455 §5.5.3: a pong repeats the ping's payload. The mask may be zero, because no browser
  /// cache is on the path (§10.3).
  private func pong(_ location: MessageDecoder.Location, _ bytes: RawSpan) {
    switch location {
    case .inPlace(let range):
      FrameEncoder.appendMaskedFrame(
        .pong, payload: bytes.extracting(range), maskKey: 0, to: &output)
    case .assembled:
      decoder.withAssembled {
        FrameEncoder.appendMaskedFrame(.pong, payload: $0, maskKey: 0, to: &output)
      }
    }
  }

  /// The number of one of our pings; nil for an unsolicited pong.
  private func word(_ location: MessageDecoder.Location, _ bytes: RawSpan) -> UInt64? {
    guard case .inPlace(let range) = location, range.count == 8 else { return nil }
    return range.reversed().reduce(0) { $0 << 8 | UInt64(bytes.byte(at: $1)) }
  }
}
