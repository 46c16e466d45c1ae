import Primitives
import Testing
import Wire

private let sizes = [0, 1, 2, 3, 124, 125, 126, 127, 1_000, 65_534, 65_535, 65_536, 70_000]

private func pattern(_ count: Int) -> [UInt8] {
  (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) }
}

@Suite struct FrameEncoderTests {
  @Test(
    "a frame is a minimal header and its payload, and decodes to itself (§5.2)", arguments: sizes)
  func unmasked(_ size: Int) {
    let payload = pattern(size)
    var frame = bytes("before")
    payload.withRawSpan { FrameEncoder.appendFrame(.binary, payload: $0, to: &frame) }
    #expect(frame.starts(with: bytes("before")))
    let header = FrameEncoder.headerByteCount(payloadByteCount: size)
    #expect(frame.count == 6 + header + size)
    #expect(Array(frame[6...]) == rawFrame(0x82, payload, mask: nil))
    #expect(receive([Array(frame[6...])], role: .client) == [.message(.binary, payload)])
  }

  @Test("a payload written in place gives the same frame as one that is copied", arguments: sizes)
  func inPlace(_ size: Int) {
    let payload = pattern(size)
    var frame = bytes("before")
    FrameEncoder.appendFrame(.binary, to: &frame) { $0.append(contentsOf: payload) }
    #expect(Array(frame[6...]) == rawFrame(0x82, payload, mask: nil))
  }

  @Test(
    "a client's frame is masked and decodes to itself, at every offset of a buffer (§5.3)",
    arguments: sizes)
  func masked(_ size: Int) {
    let payload = pattern(size)
    for lead in 0..<(size > 1_000 ? 2 : 9) {
      var stream = [UInt8](repeating: 0, count: lead)
      payload.withRawSpan {
        FrameEncoder.appendMaskedFrame(.binary, payload: $0, maskKey: 0xA1B2_C3D4, to: &stream)
      }
      let frame = Array(stream[lead...])
      #expect(frame == rawFrame(0x82, payload, mask: UInt32(0xA1B2_C3D4).byteSwapped))
      #expect(receive([frame]) == [.message(.binary, payload)])
    }
  }

  @Test("a payload cut anywhere is unmasked with the right byte of the key (§5.3)")
  func maskPhase() {
    let payload = pattern(97)
    let frame = rawFrame(0x82, payload, mask: 0x0102_0408)
    for first in 0...frame.count {
      for second in stride(from: first, through: frame.count, by: 5) {
        #expect(receive(cut(frame, at: [first, second])) == [.message(.binary, payload)])
      }
    }
  }

  @Test("a client's close frame is masked")
  func maskedClose() {
    var frame: [UInt8] = []
    FrameEncoder.appendMaskedClose(.normal, reason: "bye", maskKey: 0x0102_0304, to: &frame)
    #expect(receive([frame]) == [.close(.normal, bytes("bye"))])
  }

  @Test("the sample frames of RFC 6455 §5.7")
  func samples() {
    var frame: [UInt8] = []
    bytes("Hello").withRawSpan { FrameEncoder.appendFrame(.text, payload: $0, to: &frame) }
    #expect(frame == [0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F])
    let masked: [UInt8] = [
      0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58,
    ]
    #expect(receive([masked]) == [.message(.text, bytes("Hello"))])
    let fragments: [UInt8] = [0x01, 0x03, 0x48, 0x65, 0x6C, 0x80, 0x02, 0x6C, 0x6F]
    #expect(receive([fragments], role: .client) == [.message(.text, bytes("Hello"))])
  }
}
