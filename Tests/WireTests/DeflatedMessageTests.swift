/// RSV1 and the messages it announces (RFC 7692 §6), as the decoder sees them: still deflated.
import Primitives
import Testing

@testable import Wire

@Suite struct DeflatedMessageTests {
  private static let payload: [UInt8] = [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]

  @Test("RSV1 is permitted where it was agreed, and only there")
  func agreed() {
    let frame = rawFrame(0xC1, Self.payload)
    #expect(receive([frame]) == [.fault(.reservedBits)])
    #expect(receive([frame], allowsDeflated: true) == [.deflated(.text, Self.payload)])
    #expect(
      receive(frame.map { [$0] }, allowsDeflated: true) == [.deflated(.text, Self.payload)])
    #expect(
      receive([rawFrame(0xC2, Self.payload)], allowsDeflated: true)
        == [.deflated(.binary, Self.payload)])
    #expect(
      receive([rawFrame(0x81, bytes("plain")) + frame], allowsDeflated: true)
        == [.message(.text, bytes("plain")), .deflated(.text, Self.payload)])
  }

  @Test(
    "RSV1 on a continuation or a control frame, RSV2 and RSV3 anywhere (faults D05, F04)",
    arguments: [0xC0, 0x40, 0xC8, 0xC9, 0xCA, 0xA1, 0x91, 0xE1, 0xD1, 0xF2] as [UInt8])
  func forbidden(first: UInt8) {
    let start: [UInt8] = first & 0xF == 0 ? rawFrame(0x41, [1]) : []
    #expect(
      receive([start + rawFrame(first, [2, 3])], allowsDeflated: true) == [.fault(.reservedBits)])
  }

  @Test("the fragments of a message are deflated together; control frames may be between them")
  func fragments() {
    let stream =
      rawFrame(0x41, Array(Self.payload[..<3])) + rawFrame(0x89, bytes("p"))
      + rawFrame(0x00) + rawFrame(0x80, Array(Self.payload[3...]))
    let expected: [Received] = [.ping(bytes("p")), .deflated(.text, Self.payload)]
    #expect(receive([stream], allowsDeflated: true) == expected)
    #expect(receive(stream.map { [$0] }, allowsDeflated: true) == expected)
    // The next message is what its own first frame says.
    #expect(
      receive([stream + rawFrame(0x81, bytes("x"))], allowsDeflated: true)
        == expected + [.message(.text, bytes("x"))])
  }

  @Test("deflated bytes are no text yet, so they are not checked to be UTF-8")
  func noText() {
    let payload: [UInt8] = [0xFF, 0xFE, 0xC0]
    #expect(receive([rawFrame(0xC1, payload)], allowsDeflated: true) == [.deflated(.text, payload)])
    #expect(receive([rawFrame(0x81, payload)], allowsDeflated: true) == [.fault(.textInvalid)])
  }

  @Test("a deflated message may exceed the limit only slightly")
  func limit() {
    let limits = MessageLimits(messageBytes: 1_000, fragments: 4)
    #expect(limits.deflatedBytes == 1_000 + 125 + 15 + 1_024)
    let full = [UInt8](repeating: 7, count: limits.deflatedBytes)
    #expect(
      receive([rawFrame(0xC2, full)], limits: limits, allowsDeflated: true)
        == [.deflated(.binary, full)])
    #expect(
      receive([rawFrame(0xC2, full + [7])], limits: limits, allowsDeflated: true)
        == [.fault(.messageTooBig)])
    #expect(
      receive([rawFrame(0x42, full) + rawFrame(0x80, [7])], limits: limits, allowsDeflated: true)
        == [.fault(.messageTooBig)])
    #expect(
      receive([rawFrame(0x82, full)], limits: limits, allowsDeflated: true)
        == [.fault(.messageTooBig)], "the limit of other messages is unchanged")
  }

  @Test("an assembled message is handed over without a copy, a control frame inside it with one")
  func takeAssembled() throws {
    var decoder = MessageDecoder(
      role: .server, limits: MessageLimits(messageBytes: 70_000, fragments: 9))
    func step(_ stream: [UInt8]) throws -> MessageDecoder.Step {
      var buffer = stream
      return try buffer.withMutableRawSpan { (span: inout MutableRawSpan) in
        var offset = 0
        return try decoder.next(&span, offset: &offset)
      }
    }
    #expect(try step(rawFrame(0x01, bytes("one "))) == .needMoreBytes)
    #expect(try step(Array(rawFrame(0x89, bytes("ping"))[..<8])) == .needMoreBytes)
    #expect(try step(Array(rawFrame(0x89, bytes("ping"))[8...])) == .ping(.assembled))
    #expect(decoder.takeAssembled() == bytes("ping"))
    #expect(decoder.takeAssembled() == [])
    #expect(try step(rawFrame(0x80, bytes("two"))) == .message(.text, .assembled))
    #expect(decoder.takeAssembled() == bytes("one two"))
    #expect(try step(rawFrame(0x81, bytes("x"))) == .message(.text, .inPlace(6..<7)))
    #expect(decoder.takeAssembled() == [])
  }

  @Test("after a fault in a message's content no step follows")
  func finish() throws {
    var decoder = MessageDecoder(
      role: .server, limits: MessageLimits(messageBytes: 100, fragments: 9), allowsDeflated: true)
    decoder.finish()
    var received: [Received] = []
    feed(&decoder, rawFrame(0x81, bytes("x")) + rawFrame(0x88), &received)
    #expect(received == [] && decoder.isFinished)
  }
}
