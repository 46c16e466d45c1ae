/// One client's socket: TCP connect, opening handshake, frames both ways. It knows no protocol
/// above frames.
import Compression
import Kernel
import OpenSSL
import Primitives
import Wire

/// How a connection ended: the close code if there was one, and a word for the report.
struct ConnectionEnd: Equatable {
  var code: UInt16?
  var label: String

  static let lost = ConnectionEnd(code: nil, label: "lost")
}

final class Connection {
  enum Phase { case connecting, upgrading, open }

  /// What a call found; the texts of messages go to the closure meanwhile.
  enum Outcome: Equatable {
    case going
    /// The handshake is done: time for hello.
    case opened
    case ended(ConnectionEnd)
  }

  let client: Int
  private(set) var phase = Phase.connecting
  private let transport: Transport
  private let request: UpgradeRequest
  private var decoder = MessageDecoder(role: .client, limits: Connection.limits)
  /// Received bytes of the response head, until it is whole.
  private var head: [UInt8] = []
  private var scanner = HeadScanner()
  /// Set when permessage-deflate was agreed.
  private var inflater: Inflater?
  private var keepsContext = false
  /// Messages that came deflated.
  private(set) var inflatedCount = 0
  private var pongs: [UInt64] = []
  private var output: [UInt8] = []
  private var written = 0
  private(set) var waitsForRoom = false
  /// False for a client that has stopped reading.
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

  /// Keeps epoll's interest in room to write equal to what is queued.
  func updateInterest(in epoll: borrowing Epoll, datum: UInt64) throws(Errno) {
    // Before the end of its handshake TLS takes nothing, however much room there is.
    let isBlocked =
      phase == .connecting || transport.hasUnsent
      || transport.isEstablished && written < output.count
    if isBlocked == waitsForRoom { return }
    waitsForRoom = isBlocked
    try tellInterest(epoll, datum)
  }

  private func tellInterest(_ epoll: borrowing Epoll, _ datum: UInt64) throws(Errno) {
    let interest: Interest = isReading ? .read : []
    try transport.update(in: epoll, waitsForRoom ? interest.union(.write) : interest, datum: datum)
  }

  /// Stops or goes on reading what the gateway sends.
  func setReading(_ reads: Bool, in epoll: borrowing Epoll, datum: UInt64) throws(Errno) {
    guard reads != isReading else { return }
    isReading = reads
    try tellInterest(epoll, datum)
  }

  func keepLittle() throws(Errno) { try transport.keepLittle() }

  /// Ends without a word: the gateway gets a RST.
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

  /// A ping whose payload is a number, see `takePongs`.
  func queuePing(_ number: UInt64, random: inout RandomStream) {
    let payload = (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
    payload.withRawSpan {
      FrameEncoder.appendMaskedFrame(
        .ping, payload: $0, maskKey: UInt32(truncatingIfNeeded: random.next()), to: &output)
    }
  }

  /// The numbers of the pings that were answered since the last call.
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

  /// The socket has become writable: connected, refused, or with room again.
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

  /// Reads once into the loop's buffer, and hands the text of each message to `text`, which says
  /// whether to go on.
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
      // Only a goodbye can stand behind the head: the gateway says nothing before hello.
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

  /// RFC 7692 §7.2.2; nil for what does not inflate, or not to text.
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

  /// RFC 6455 §5.5.3: a pong repeats the ping's payload. The mask may be zero: there is no
  /// browser's cache between a load test and its gateway to be poisoned.
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

  /// The number of a ping of ours; nil for a pong that nobody asked for.
  private func word(_ location: MessageDecoder.Location, _ bytes: RawSpan) -> UInt64? {
    guard case .inPlace(let range) = location, range.count == 8 else { return nil }
    return range.reversed().reduce(0) { $0 << 8 | UInt64(bytes.byte(at: $1)) }
  }
}
