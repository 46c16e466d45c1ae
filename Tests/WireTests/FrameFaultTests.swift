import Primitives
import Testing
import Wire

/// One invalid frame, its fault, and the number of its bytes by which the fault is reported.
struct Broken: Sendable, CustomTestStringConvertible {
  var name: String
  var frame: [UInt8]
  var fault: FrameFault
  var knownAfter: Int?

  var testDescription: String { name }
}

private let brokenHeaders: [Broken] = [
  Broken(
    name: "unmasked (§5.1)", frame: rawFrame(0x81, bytes("hi"), mask: nil), fault: .unmasked,
    knownAfter: 2),
  Broken(name: "RSV1 (§5.2)", frame: rawFrame(0xC1), fault: .reservedBits, knownAfter: 1),
  Broken(name: "RSV2 (§5.2)", frame: rawFrame(0xA2), fault: .reservedBits, knownAfter: 1),
  Broken(name: "RSV3 (§5.2)", frame: rawFrame(0x99), fault: .reservedBits, knownAfter: 1),
  Broken(
    name: "ping without FIN (§5.5)", frame: rawFrame(0x09), fault: .controlFragmented,
    knownAfter: 1),
  Broken(
    name: "pong without FIN (§5.5)", frame: rawFrame(0x0A), fault: .controlFragmented,
    knownAfter: 1),
  Broken(
    name: "close without FIN (§5.5)", frame: rawFrame(0x08), fault: .controlFragmented,
    knownAfter: 1),
  Broken(
    name: "ping of 126 bytes (§5.5)",
    frame: rawFrame(0x89, [UInt8](repeating: 0, count: 126)), fault: .controlTooLong,
    knownAfter: 2),
  Broken(
    name: "close in the long form (§5.5)", frame: rawFrame(0x88, form: .long),
    fault: .controlTooLong, knownAfter: 2),
  Broken(
    name: "5 bytes in the middle form (§5.2)",
    frame: rawFrame(0x81, bytes("hello"), form: .middle), fault: .lengthNotMinimal, knownAfter: 4),
  Broken(
    name: "125 bytes in the middle form (§5.2)",
    frame: rawFrame(0x82, [UInt8](repeating: 1, count: 125), form: .middle),
    fault: .lengthNotMinimal, knownAfter: 4),
  Broken(
    name: "65,535 bytes in the long form (§5.2)",
    frame: rawFrame(0x82, [UInt8](repeating: 1, count: 65_535), form: .long),
    fault: .lengthNotMinimal, knownAfter: 10),
  Broken(
    name: "64-bit length with the top bit (§5.2)",
    frame: [0x82, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], fault: .lengthOutOfRange,
    knownAfter: 3),
  Broken(
    name: "length 2^64−1 (§5.2)", frame: [0x82, 0xFF] + [UInt8](repeating: 0xFF, count: 12),
    fault: .lengthOutOfRange, knownAfter: 3),
  Broken(
    name: "length 2^63−1", frame: [0x82, 0xFF, 0x7F] + [UInt8](repeating: 0xFF, count: 11),
    fault: .messageTooBig, knownAfter: 14),
  Broken(
    name: "length 2^32", frame: [0x81, 0xFF, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4],
    fault: .messageTooBig, knownAfter: 14),
  Broken(
    name: "continuation without a start (§5.4)", frame: rawFrame(0x80, bytes("x")),
    fault: .continuationWithoutStart, knownAfter: 6),
  Broken(
    name: "a text inside a text (§5.4)", frame: rawFrame(0x01, bytes("a")) + rawFrame(0x81),
    fault: .messageInterrupted),
  Broken(
    name: "a binary inside a text (§5.4)",
    frame: rawFrame(0x01, bytes("a")) + rawFrame(0x02, bytes("b")), fault: .messageInterrupted),
]

private let brokenCloses: [Broken] = [
  Broken(
    name: "close with one byte (§5.5.1)", frame: rawFrame(0x88, [3]),
    fault: .closePayloadOfOneByte),
  Broken(
    name: "close reason not UTF-8 (§5.5.1)", frame: rawFrame(0x88, [0x03, 0xE8, 0xFF]),
    fault: .closeReasonInvalid),
  Broken(
    name: "close reason cut inside a character", frame: rawFrame(0x88, [0x03, 0xE8, 0xE2, 0x82]),
    fault: .closeReasonInvalid),
]

@Suite struct FrameFaultTests {
  @Test(
    "a malformed frame ends the stream at every cut, and no step follows (§7.1.7)",
    arguments: brokenHeaders + brokenCloses)
  func endsTheStream(_ broken: Broken) {
    let stream = rawFrame(0x82, bytes("good")) + broken.frame + rawFrame(0x82, bytes("late"))
    let expected: [Received] = [.message(.binary, bytes("good")), .fault(broken.fault)]
    #expect(receive([stream]) == expected)
    for point in 0...min(stream.count, 60) {
      #expect(receive(cut(stream, at: [point])) == expected, "cut at \(point)")
    }
    #expect(receive(stream.map { [$0] }) == expected)
  }

  @Test("a header is refused at the first byte that is wrong", arguments: brokenHeaders)
  func early(_ broken: Broken) {
    guard let knownAfter = broken.knownAfter else { return }
    let bytes = Array(broken.frame.prefix(knownAfter))
    #expect(receive([bytes]) == [.fault(broken.fault)])
    #expect(receive(bytes.map { [$0] }) == [.fault(broken.fault)])
    #expect(receive([Array(bytes.dropLast())]).isEmpty)
  }

  @Test(
    "reserved opcodes 3–7 and B–F are refused (§5.2)",
    arguments: [3, 4, 5, 6, 7, 11, 12, 13, 14, 15])
  func reservedOpcodes(_ opcode: Int) {
    #expect(receive([[0x80 | UInt8(opcode)]]) == [.fault(.reservedOpcode)])
  }

  @Test("every RSV bit with every opcode is refused (§5.2)")
  func reservedBits() {
    for bits in 1...7 {
      for opcode in 0...15 {
        let first = 0x80 | UInt8(bits) << 4 | UInt8(opcode)
        #expect(receive([[first]]) == [.fault(.reservedBits)])
      }
    }
  }

  @Test("a client refuses a masked frame and takes an unmasked one (§5.1)")
  func clientRole() {
    let frame = rawFrame(0x81, bytes("hi"), mask: nil)
    #expect(receive([frame], role: .client) == [.message(.text, bytes("hi"))])
    #expect(receive(frame.map { [$0] }, role: .client) == [.message(.text, bytes("hi"))])
    #expect(receive([rawFrame(0x81, bytes("hi"))], role: .client) == [.fault(.masked)])
  }

  @Test("a message of exactly the limit passes, one byte more is refused on its header")
  func messageLimit() {
    let limits = MessageLimits(messageBytes: 1_000, fragments: 4)
    let full = [UInt8](repeating: 7, count: 1_000)
    #expect(receive([rawFrame(0x82, full)], limits: limits) == [.message(.binary, full)])
    let over = rawFrame(0x82, full + [7])
    #expect(receive([Array(over.prefix(8))], limits: limits) == [.fault(.messageTooBig)])
    // As the sum of fragments, and with a last one whose length would overflow the sum.
    let parts = rawFrame(0x02, Array(full[..<600])) + rawFrame(0x80, Array(full[600...]))
    #expect(receive([parts], limits: limits) == [.message(.binary, full)])
    let sum = rawFrame(0x02, Array(full[..<600])) + rawFrame(0x80, Array(full[599...]))
    #expect(receive([sum], limits: limits) == [.fault(.messageTooBig)])
    let huge: [UInt8] = [0x80, 0xFF, 0x7F] + [UInt8](repeating: 0xFF, count: 11)
    let overflow = rawFrame(0x02, Array(full[..<600])) + huge
    #expect(receive([overflow], limits: limits) == [.fault(.messageTooBig)])
  }

  @Test("as many fragments as the limit pass, one more is refused, empty or not")
  func fragmentLimit() {
    let limits = MessageLimits(messageBytes: 1_000, fragments: 4)
    let start = rawFrame(0x02, [1]) + rawFrame(0x00, [2]) + rawFrame(0x00)
    #expect(
      receive([start + rawFrame(0x80, [3])], limits: limits) == [.message(.binary, [1, 2, 3])])
    #expect(
      receive([start + rawFrame(0x00) + rawFrame(0x00)], limits: limits)
        == [.fault(.tooManyFragments)])
    // The count begins anew with each message.
    let twice = start + rawFrame(0x80) + start + rawFrame(0x80)
    #expect(
      receive([twice], limits: limits)
        == [.message(.binary, [1, 2]), .message(.binary, [1, 2])])
  }

  @Test(
    "every fault has a close code that may travel and a short reason (§7.4)",
    arguments: FrameFault.allCases)
  func codes(_ fault: FrameFault) {
    #expect(fault.closeCode.isReceivable)
    #expect(fault.reason.utf8CodeUnitCount <= FrameEncoder.closeReasonBytesMax)
  }
}
