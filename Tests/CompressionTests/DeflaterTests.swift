/// Deflated data inflate to the same bytes, with every window, with and without context.
import Primitives
import Testing

@testable import Compression

@Suite struct DeflaterTests {
  /// Text with repetitions near and far, and bytes that nothing can compress.
  private static func message(_ number: Int, count: Int) -> [UInt8] {
    var random = UInt64(number &+ 7)
    let words = ["parcel", "tomorrow", "Mika", "{\"type\":\"message\"", " ", "\u{1F426}", "0123"]
    var text: [UInt8] = []
    while text.count < count {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      if random >> 60 == 0 {
        text.append(UInt8(truncatingIfNeeded: random >> 33))
      } else {
        text += Array(words[Int(random >> 33) % words.count].utf8)
      }
    }
    return Array(text.prefix(count))
  }

  @Test("text survives every window and memory level", arguments: 9...15, [1, 5, 9])
  func roundTrip(windowBits: Int, memoryLevel: Int) throws {
    var deflater = Deflater(level: 6, windowBits: windowBits, memoryLevel: memoryLevel)
    var inflater = Inflater(windowBits: windowBits)
    for count in [0, 1, 100, 511, 512, 513, 40_000, 100_000] {
      let message = Self.message(count, count: count)
      var payload: [UInt8] = []
      message.withRawSpan { deflater.deflate($0, keepsContext: false, to: &payload) }
      var output: [UInt8] = []
      try payload.withRawSpan { span in
        try inflater.inflate(span, keepsContext: false, limit: count, to: &output)
      }
      #expect(output == message)
    }
  }

  @Test("10,000 messages, some empty, survive with a context on both sides (faults D12)")
  func context() throws {
    var deflater = Deflater(level: 1, windowBits: 10, memoryLevel: 2)
    var inflater = Inflater(windowBits: 10)
    for number in 0..<10_000 {
      let message = Self.message(number % 37, count: number % 50 == 0 ? 0 : number % 700)
      var payload: [UInt8] = []
      message.withRawSpan { deflater.deflate($0, keepsContext: true, to: &payload) }
      var output: [UInt8] = []
      try payload.withRawSpan { span in
        try inflater.inflate(span, keepsContext: true, limit: 700, to: &output)
      }
      #expect(output == message)
    }
  }

  @Test("with context a repeated message is a few bytes; without it is as long as the first")
  func contextPays() {
    let message = Self.message(3, count: 400)
    func sizes(_ keepsContext: Bool) -> [Int] {
      var deflater = Deflater(level: 6, windowBits: 15, memoryLevel: 8)
      return (0..<3).map { _ in
        var payload: [UInt8] = []
        message.withRawSpan { deflater.deflate($0, keepsContext: keepsContext, to: &payload) }
        return payload.count
      }
    }
    #expect(sizes(true)[1] < 20)
    #expect(Set(sizes(false)).count == 1)
  }

  @Test("the payload ends without the marker, and earlier output remains")
  func marker() {
    let payload = deflated(Array("Hello".utf8))
    #expect(payload == [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00])
    var deflater = Deflater(level: 6, windowBits: 15, memoryLevel: 8)
    var output: [UInt8] = [9, 9]
    Array("Hello".utf8).withRawSpan { deflater.deflate($0, keepsContext: false, to: &output) }
    #expect(output == [9, 9] + payload)
  }

  @Test("incompressible data grow by less than an eighth")
  func growth() {
    var random = UInt64(5)
    let noise = (0..<65_536).map { _ in
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8(truncatingIfNeeded: random >> 40)
    }
    for memoryLevel in 1...9 {
      let count = deflated(noise, windowBits: 9, memoryLevel: memoryLevel).count
      #expect(count <= 65_536 + 65_536 / 8)
    }
  }

  @Test("gzip is readable, small, and always the same")
  func gzip() {
    let text = [UInt8](repeating: 97, count: 10_000)
    let first = text.withRawSpan { Deflater.gzip($0) }
    #expect(first.starts(with: [0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00]))
    #expect(first.count < 100)
    #expect(text.withRawSpan { Deflater.gzip($0) } == first)
    // RFC 1952 §2.3.1: the last four bytes are the length.
    #expect(Array(first.suffix(4)) == [0x10, 0x27, 0, 0])
  }
}
