import Primitives
import Wire

/// Helpers for writing byte streams in tests.
func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

/// A frame built by hand, so that it may be wrong: `first` is FIN, RSV and opcode as they stand.
func rawFrame(
  _ first: UInt8, _ payload: [UInt8] = [], mask: UInt32? = 0x1122_3344, form: LengthForm = .minimal
) -> [UInt8] {
  var frame = [first]
  let maskBit: UInt8 = mask == nil ? 0 : 0x80
  switch form.resolved(payload.count) {
  case .short: frame.append(maskBit | UInt8(payload.count))
  case .middle:
    frame.append(maskBit | 126)
    frame.append(bigEndian: UInt16(payload.count))
  default:
    frame.append(maskBit | 127)
    frame.append(bigEndian: UInt64(payload.count))
  }
  guard let mask else { return frame + payload }
  frame.append(bigEndian: mask)
  for (index, byte) in payload.enumerated() {
    frame.append(byte ^ UInt8(truncatingIfNeeded: mask >> UInt32(24 - index % 4 * 8)))
  }
  return frame
}

enum LengthForm {
  case minimal, short, middle, long

  func resolved(_ count: Int) -> LengthForm {
    self == .minimal ? count <= 125 ? .short : count <= 65_535 ? .middle : .long : self
  }
}

/// A decoder's result, with the payload in place of its location.
enum Received: Equatable, CustomStringConvertible {
  case message(Opcode, [UInt8])
  case deflated(Opcode, [UInt8])
  case ping([UInt8])
  case pong([UInt8])
  case close(CloseCode?, [UInt8])
  case fault(FrameFault)

  var description: String {
    switch self {
    case .message(let opcode, let payload): "\(opcode)(\(payload.count))"
    case .deflated(let opcode, let payload): "deflated \(opcode)(\(payload.count))"
    case .ping(let payload): "ping(\(payload.count))"
    case .pong(let payload): "pong(\(payload.count))"
    case .close(let code, let reason): "close(\(code?.description ?? "-"),\(reason.count))"
    case .fault(let fault): "fault(\(fault))"
    }
  }
}

/// Feeds segments the way a loop does: one receive buffer, reused and overwritten for each of them.
func receive(
  _ segments: [[UInt8]], role: MessageDecoder.Role = .server,
  limits: MessageLimits = MessageLimits(messageBytes: 70_000, fragments: 16),
  allowsDeflated: Bool = false
) -> [Received] {
  var decoder = MessageDecoder(role: role, limits: limits, allowsDeflated: allowsDeflated)
  var received: [Received] = []
  for segment in segments { feed(&decoder, segment, &received) }
  return received
}

func feed(_ decoder: inout MessageDecoder, _ segment: [UInt8], _ received: inout [Received]) {
  var buffer = segment
  buffer.withMutableRawSpan { (span: inout MutableRawSpan) in
    var offset = 0
    while true {
      do throws(FrameFault) {
        let step = try decoder.next(&span, offset: &offset)
        if step == .needMoreBytes {
          precondition(offset == span.byteCount, "asked for more with bytes left")
          return
        }
        received.append(translate(step, decoder, span.bytes))
      } catch {
        received.append(.fault(error))
        offset = 0
      }
    }
  }
}

private func translate(
  _ step: MessageDecoder.Step, _ decoder: MessageDecoder, _ buffer: RawSpan
) -> Received {
  func payload(_ location: MessageDecoder.Location) -> [UInt8] {
    var copy: [UInt8] = []
    switch location {
    case .inPlace(let range): copy.append(buffer.extracting(range))
    case .assembled: decoder.withAssembled { copy.append($0) }
    }
    return copy
  }
  switch step {
  case .needMoreBytes: preconditionFailure("handled by the caller")
  case .message(let opcode, let location): return .message(opcode, payload(location))
  case .deflatedMessage(let opcode, let location): return .deflated(opcode, payload(location))
  case .ping(let location): return .ping(payload(location))
  case .pong(let location): return .pong(payload(location))
  case .close(let code, let reason): return .close(code, payload(reason))
  }
}

func cut(_ stream: [UInt8], at points: [Int]) -> [[UInt8]] {
  var segments: [[UInt8]] = []
  var start = 0
  for point in points.sorted() + [stream.count] {
    segments.append(Array(stream[start..<point]))
    start = point
  }
  return segments
}
