import Primitives
import Testing
import Wire

/// A stream with everything a good client may do, and what it means.
private let lively: (stream: [UInt8], heard: [Heard]) = {
  let long = [UInt8](repeating: UInt8(ascii: "x"), count: 300)
  let parts: [([UInt8], Heard?)] = [
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
  @Test("A whole stream in one segment gives its messages, pings and close (RFC 6455 §5, §5.4)")
  func whole() {
    #expect(hear([lively.stream]) == lively.heard)
  }

  @Test("Every cut of a stream into two segments gives the same steps")
  func twoSegments() {
    for point in 0...lively.stream.count {
      #expect(hear(cut(lively.stream, at: [point])) == lively.heard, "cut at \(point)")
    }
  }

  @Test("Every segment size from 1 byte on gives the same steps")
  func equalSegments() {
    for size in 1...80 {
      let points = Array(stride(from: size, to: lively.stream.count, by: size))
      #expect(hear(cut(lively.stream, at: points)) == lively.heard, "segments of \(size)")
    }
  }
}
