/// The messages of a workload, framed and masked once, stored consecutively: any number of due
/// messages is sent in one call from this buffer.
///
/// Texts differ, so that a lost, duplicated or reordered message is detected: message `number` of a
/// connection has text `number % count`.
import Primitives
import Wire

struct FrameRing {
  /// The number of different messages.
  let count: Int
  let payloadByteCount: Int
  /// Bytes sent for one message, and bytes of its echo.
  let frameByteCount: Int
  let shape: FrameShape?
  /// Frames for the socket: `count`, and the number that can be sent at once again.
  let frames: [UInt8]
  /// Their texts, consecutive.
  let payloads: [UInt8]

  private static let alphabet = Array(
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
  /// Small enough for the processor's cache, beside the received bytes.
  private static let bytesMax = 32_768
  private static let maskKey: UInt32 = 0x6B3D_91A7

  /// `atOnce` is the most messages in one send. Plain bytes have no frames.
  init(payloadByteCount: Int, atOnce: Int, isBare: Bool) {
    precondition(payloadByteCount > 0 && atOnce > 0, "there is something to send")
    self.payloadByteCount = payloadByteCount
    count = min(
      FrameRing.alphabet.count, max(2, FrameRing.bytesMax / payloadByteCount))
    var payloads: [UInt8] = []
    payloads.reserveCapacity(count * payloadByteCount)
    for number in 0..<count {
      for offset in 0..<payloadByteCount {
        payloads.append(FrameRing.alphabet[(number + offset) % FrameRing.alphabet.count])
      }
    }
    var frames: [UInt8] = []
    for number in 0..<count + atOnce {
      let start = number % count * payloadByteCount
      payloads.withRawSpan { span in
        let payload = span.extracting(start..<start + payloadByteCount)
        if isBare {
          frames.append(payload)
        } else {
          FrameEncoder.appendMaskedFrame(
            .text, payload: payload, maskKey: FrameRing.maskKey &+ UInt32(number), to: &frames)
        }
      }
    }
    frameByteCount = frames.count / (count + atOnce)
    shape = isBare ? nil : FrameShape(.text, payloadByteCount: payloadByteCount)
    self.frames = frames
    self.payloads = payloads
  }

  /// The next bytes for a connection that has sent up to `position` and owes `owed` more.
  func range(position: Int, owed: Int) -> Range<Int> {
    position..<min(position + owed, frames.count)
  }

  /// Whether these are the bytes of message `number` from `offset` on.
  func matches(_ bytes: RawSpan, number: Int, offset: Int) -> Bool {
    let start = number % count * payloadByteCount + offset
    guard offset + bytes.byteCount <= payloadByteCount else { return false }
    return payloads.withRawSpan { span in
      areEqual(bytes, span.extracting(start..<start + bytes.byteCount))
    }
  }
}

/// Compares eight bytes in a step.
func areEqual(_ one: RawSpan, _ other: RawSpan) -> Bool {
  let count = one.byteCount
  guard count == other.byteCount else { return false }
  var offset = 0
  while count - offset >= 8 {
    if one.word(at: offset) != other.word(at: offset) { return false }
    offset += 8
  }
  while offset < count {
    if one.byte(at: offset) != other.byte(at: offset) { return false }
    offset += 1
  }
  return true
}
