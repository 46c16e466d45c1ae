// Fuzz target: the message decoder. Its results do not depend on the segments in which bytes
// arrive, and RFC 6455 allows them.
//
// The first two bytes of the input choose the role, the limits and the segments; the rest is the
// stream.
import Primitives
import Wire

// SAFETY: libFuzzer calls the target on one thread, which sets it before each input.
nonisolated(unsafe) private var allowsDeflated = false

private enum Received: Equatable {
  case message(Opcode, [UInt8])
  case deflated(Opcode, [UInt8])
  case ping([UInt8])
  case pong([UInt8])
  case close(CloseCode?, [UInt8])
  case fault(FrameFault)
}

@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 2 else { return 0 }
  // SAFETY: libFuzzer gives `count` bytes that live for the call.
  let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  let role: MessageDecoder.Role = input[0] & 1 == 0 ? .server : .client
  let limits = MessageLimits(
    messageBytes: input[0] & 2 == 0 ? 300 : 100_000, fragments: input[0] & 4 == 0 ? 4 : 1_000)
  allowsDeflated = input[0] & 8 != 0
  let stream = Array(input[2...])

  paced(count) { _ = decode([stream], role, limits) }
  let whole = decode([stream], role, limits)
  check(whole, limits)
  var segments: [[UInt8]] = []
  var random = UInt32(input[1]) &+ 1
  var offset = 0
  while offset < stream.count {
    // A small generator suffices.
    random = random &* 1_664_525 &+ 1_013_904_223
    let size = min(Int(random >> 16) % (input[1] & 0x80 == 0 ? 7 : 90) + 1, stream.count - offset)
    segments.append(Array(stream[offset..<offset + size]))
    offset += size
  }
  precondition(decode(segments, role, limits) == whole, "results depend on the segments")
  if stream.count < 4_096 {
    precondition(decode(stream.map { [$0] }, role, limits) == whole, "results differ byte by byte")
  }
  return 0
}

private func decode(
  _ segments: [[UInt8]], _ role: MessageDecoder.Role, _ limits: MessageLimits
) -> [Received] {
  var decoder = MessageDecoder(role: role, limits: limits, allowsDeflated: allowsDeflated)
  var received: [Received] = []
  for segment in segments {
    var buffer = segment
    buffer.withMutableRawSpan { (span: inout MutableRawSpan) in
      var offset = 0
      while true {
        let before = offset
        do throws(FrameFault) {
          let step = try decoder.next(&span, offset: &offset)
          precondition(
            offset >= before && offset <= span.byteCount,
            "an offset that decreases or exceeds the end")
          if step == .needMoreBytes {
            precondition(offset == span.byteCount, "unread bytes")
            return
          }
          precondition(!endsStream(received.last), "a message after the end")
          received.append(translate(step, decoder, span.bytes))
        } catch {
          precondition(!endsStream(received.last), "a fault after the end")
          precondition(decoder.isFinished, "a fault without an end")
          received.append(.fault(error))
        }
      }
    }
  }
  return received
}

private func endsStream(_ received: Received?) -> Bool {
  switch received {
  case .close, .fault: true
  default: false
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

private func check(_ received: [Received], _ limits: MessageLimits) {
  for item in received {
    switch item {
    case .message(let opcode, let payload):
      precondition(opcode == .text || opcode == .binary, "an invalid opcode of a message")
      precondition(payload.count <= limits.messageBytes, "a message above the limit")
      precondition(
        opcode == .binary || String(validating: payload, as: UTF8.self) != nil, "text not UTF-8")
    case .deflated(let opcode, let payload):
      precondition(allowsDeflated, "deflated without an agreement")
      precondition(opcode == .text || opcode == .binary, "an invalid opcode of a message")
      precondition(payload.count <= limits.deflatedBytes, "a deflated message above its limit")
    case .ping(let payload), .pong(let payload):
      precondition(payload.count <= FrameEncoder.controlBytesMax, "a long control frame")
    case .close(let code, let reason):
      precondition(code?.isReceivable != false, "a close code that must not be sent")
      precondition(String(validating: reason, as: UTF8.self) != nil, "reason not UTF-8")
      precondition(reason.count <= FrameEncoder.closeReasonBytesMax, "a long reason")
    case .fault(let fault):
      precondition(fault.closeCode.isReceivable, "a fault without a code")
    }
  }
}
