import Primitives
import Testing
import Wire

/// A stream with everything that a correct client may send, and its messages.
private let lively: (stream: [UInt8], received: [Received]) = {
  let long = [UInt8](repeating: UInt8(ascii: "x"), count: 300)
  let parts: [([UInt8], Received?)] = [
    (rawFrame(0x81, bytes("hello")), .message(.text, bytes("hello"))),
    (rawFrame(0x81), .message(.text, [])),
    (rawFrame(0x82, [0, 255, 1]), .message(.binary, [0, 255, 1])),
    (rawFrame(0x89, bytes("are you there")), .ping(bytes("are you there"))),
    (rawFrame(0x01, bytes("gr")), nil),
    (rawFrame(0x89, bytes("between")), .ping(bytes("between"))),
    (rawFrame(0x00, [0xC3]), nil),
    (rawFrame(0x8A), .pong([])),
    (rawFrame(0x00), nil),
    (rawFrame(0x80, [0xBC] + bytes("n \u{1F426}")), .message(.text, bytes("grün \u{1F426}"))),
    (rawFrame(0x02), nil),
    (rawFrame(0x80, long), .message(.binary, long)),
    (rawFrame(0x81, long, mask: 0), .message(.text, long)),
    (rawFrame(0x88, [0x03, 0xE8] + bytes("bye")), .close(.normal, bytes("bye"))),
    (rawFrame(0x81, bytes("too late")), nil),
    (rawFrame(0x89), nil),
  ]
  return (parts.flatMap(\.0), parts.compactMap(\.1))
}()

@Suite struct MessageDecoderTests {
  @Test("a stream in one segment gives its messages, pings and close (RFC 6455 §5, §5.4)")
  func whole() {
    #expect(receive([lively.stream]) == lively.received)
  }

  @Test("every cut of a stream into two segments gives the same steps")
  func twoSegments() {
    for point in 0...lively.stream.count {
      #expect(receive(cut(lively.stream, at: [point])) == lively.received, "cut at \(point)")
    }
  }

  @Test("every segment size from 1 byte on gives the same steps")
  func equalSegments() {
    for size in 1...80 {
      let points = Array(stride(from: size, to: lively.stream.count, by: size))
      #expect(receive(cut(lively.stream, at: points)) == lively.received, "segments of \(size)")
    }
  }
}

@Suite struct MessageDecoderMemoryTests {
  private let limits = MessageLimits(messageBytes: 65_536, fragments: 128)

  @Test("a message that is complete in the buffer is not copied")
  func inPlace() {
    var decoder = MessageDecoder(role: .server, limits: limits)
    var buffer = rawFrame(0x81, bytes("hello")) + rawFrame(0x82, [1, 2])
    let steps = buffer.withMutableRawSpan { (span: inout MutableRawSpan) in
      var offset = 0
      return (0..<3).map { _ in try? decoder.next(&span, offset: &offset) }
    }
    #expect(
      steps == [
        .message(.text, .inPlace(6..<11)), .message(.binary, .inPlace(17..<19)), .needMoreBytes,
      ])
    #expect(Array(buffer[6..<11]) == bytes("hello"))
  }

  @Test("an assembled message stays readable until the next call, which frees its memory")
  func assembled() {
    var decoder = MessageDecoder(role: .server, limits: limits)
    var received: [Received] = []
    feed(&decoder, rawFrame(0x01, bytes("par")), &received)
    #expect(decoder.isInsideMessage)
    feed(&decoder, rawFrame(0x80, bytes("ts")), &received)
    #expect(received == [.message(.text, bytes("parts"))])
    #expect(!decoder.isInsideMessage)
    decoder.clearAssembled()
    #expect(decoder.withAssembled { $0.byteCount } == 0)
  }

  @Test("a ping in pieces inside a fragmented message does not change the message (§5.4)")
  func pingInPieces() {
    let ping = rawFrame(0x89, bytes("ping payload"))
    for point in 1..<ping.count {
      var decoder = MessageDecoder(role: .server, limits: limits)
      var received: [Received] = []
      feed(&decoder, rawFrame(0x01, bytes("par")), &received)
      feed(&decoder, Array(ping[..<point]), &received)
      feed(&decoder, Array(ping[point...]) + rawFrame(0x80, bytes("ts")), &received)
      #expect(received == [.ping(bytes("ping payload")), .message(.text, bytes("parts"))])
    }
  }

  @Test("limits may be raised between messages, and lowered inside one")
  func changedLimits() {
    var decoder = MessageDecoder(
      role: .server, limits: MessageLimits(messageBytes: 4, fragments: 2))
    var received: [Received] = []
    feed(&decoder, rawFrame(0x81, bytes("four")), &received)
    decoder.limits.messageBytes = 5
    feed(&decoder, rawFrame(0x81, bytes("fives")), &received)
    feed(&decoder, rawFrame(0x01, bytes("five")), &received)
    decoder.limits.messageBytes = 3
    feed(&decoder, rawFrame(0x80), &received)
    #expect(
      received == [
        .message(.text, bytes("four")), .message(.text, bytes("fives")), .fault(.messageTooBig),
      ])
  }

  @Test("an idle connection's decoder is small: it is multiplied by every connection")
  func size() {
    #expect(MemoryLayout<MessageDecoder>.size <= 112)
  }
}
