// Fuzz target: inflating and deflating. Output never exceeds its limit, a fault appends nothing,
// and inflating reverses deflating.
//
// The first byte of the input chooses windows, the second the size of the messages.
import Compression
import Primitives

private enum Result: Equatable {
  case text([UInt8])
  case fault(InflateFault)
}

@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 2 else { return 0 }
  // SAFETY: libFuzzer gives `count` bytes that live for the call.
  let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  let bits = 9 + Int(input[0] & 7) % 7
  let step = max(1, Int(input[1]))
  let data = Array(input[2...])
  var messages: [[UInt8]] = []
  for offset in stride(from: 0, to: data.count, by: step) {
    messages.append(Array(data[offset..<min(offset + step, data.count)]))
  }
  paced(count) { inflateAll(data, bits) }
  inflateMessages(messages, bits)
  roundTrip(messages + [data], bits, memoryLevel: Int(input[0] >> 4) % 9 + 1)
  return 0
}

/// Results below two limits agree.
private func inflateAll(_ data: [UInt8], _ bits: Int) {
  var inflater = Inflater(windowBits: bits)
  let large = inflate(data, &inflater, keepsContext: false, limit: 65_536)
  let small = inflate(data, &inflater, keepsContext: false, limit: 300)
  if case .text(let text) = large {
    precondition(small == (text.count <= 300 ? large : .fault(.tooLong)), "the limit is not exact")
    let exact = inflate(data, &inflater, keepsContext: false, limit: text.count)
    precondition(exact == large, "a text of exactly the limit fails")
  }
  if case .fault(let fault) = small, fault != .tooLong {
    precondition(large == small, "a fault that depends on the limit")
  }
}

/// A used inflater gives the same results as a new one.
private func inflateMessages(_ messages: [[UInt8]], _ bits: Int) {
  var used = Inflater(windowBits: bits)
  var keeping = Inflater(windowBits: bits)
  var hasFailed = false
  for message in messages.prefix(64) {
    var fresh = Inflater(windowBits: bits)
    let result = inflate(message, &used, keepsContext: false, limit: 1_000)
    precondition(
      inflate(message, &fresh, keepsContext: false, limit: 1_000) == result,
      "an earlier message has an effect")
    if !hasFailed {
      let next = inflate(message, &keeping, keepsContext: true, limit: 1_000)
      if case .fault = next { hasFailed = true }
      if case .text = result, case .fault(let fault) = next {
        // With more history, more distances are valid, never fewer.
        preconditionFailure("a fault only with context: \(fault)")
      }
    }
  }
}

private func inflate(
  _ message: [UInt8], _ inflater: inout Inflater, keepsContext: Bool, limit: Int
) -> Result {
  var output: [UInt8] = [1, 2, 3]
  do throws(InflateFault) {
    try message.withRawSpan { (span) throws(InflateFault) in
      try inflater.inflate(span, keepsContext: keepsContext, limit: limit, to: &output)
    }
  } catch {
    precondition(output == [1, 2, 3], "a fault has appended something")
    return .fault(error)
  }
  precondition(output.count <= limit + 3 && output.starts(with: [1, 2, 3]), "above the limit")
  precondition(output.capacity <= 2 * max(limit, 8_192), "memory above twice the limit")
  return .text(Array(output[3...]))
}

private func roundTrip(_ messages: [[UInt8]], _ bits: Int, memoryLevel: Int) {
  for keepsContext in [false, true] {
    var deflater = Deflater(level: 1, windowBits: bits, memoryLevel: memoryLevel)
    var inflater = Inflater(windowBits: bits)
    for message in messages.suffix(64) {
      var payload: [UInt8] = []
      message.withRawSpan { deflater.deflate($0, keepsContext: keepsContext, to: &payload) }
      precondition(
        payload.count <= message.count + message.count / 8 + message.count / 64 + 64,
        "longer than a receiver allows")
      let back = inflate(payload, &inflater, keepsContext: keepsContext, limit: message.count)
      precondition(back == .text(message), "the text has changed")
    }
  }
}
