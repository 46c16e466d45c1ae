/// Inflating: the examples of RFC 7692, every shape of block, exact limits, and invalid data.
import Primitives
import Testing

@testable import Compression

/// Inflates messages one behind the other.
func inflate(
  _ messages: [[UInt8]], windowBits: Int = 15, keepsContext: Bool = false, limit: Int = 1 << 20
) throws(InflateFault) -> [String] {
  var inflater = Inflater(windowBits: windowBits)
  var texts: [String] = []
  for message in messages {
    var output: [UInt8] = []
    try message.withRawSpan { (span) throws(InflateFault) in
      try inflater.inflate(span, keepsContext: keepsContext, limit: limit, to: &output)
    }
    texts.append(String(decoding: output, as: UTF8.self))
  }
  return texts
}

func fault(_ message: [UInt8], limit: Int = 1 << 20) -> InflateFault? {
  do throws(InflateFault) {
    _ = try inflate([message], limit: limit)
    return nil
  } catch {
    return error
  }
}

func deflated(
  _ message: [UInt8], level: Int = 6, windowBits: Int = 15, memoryLevel: Int = 8
) -> [UInt8] {
  var deflater = Deflater(level: level, windowBits: windowBits, memoryLevel: memoryLevel)
  var output: [UInt8] = []
  message.withRawSpan { deflater.deflate($0, keepsContext: false, to: &output) }
  return output
}

@Suite struct InflaterTests {
  @Test("one compressed block is inflated (RFC 7692 §7.2.3.1)")
  func oneBlock() throws {
    #expect(try inflate([[0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]]) == ["Hello"])
  }

  @Test("a second message that refers to the first is inflated (RFC 7692 §7.2.3.2)")
  func sharedWindow() throws {
    let first: [UInt8] = [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]
    let second: [UInt8] = [0xF2, 0x00, 0x11, 0x00, 0x00]
    #expect(try inflate([first, second], keepsContext: true) == ["Hello", "Hello"])
    #expect(throws: InflateFault.distanceTooFar) { try inflate([first, second]) }
  }

  @Test("a block without compression is inflated (RFC 7692 §7.2.3.3)")
  func storedBlock() throws {
    let stored: [UInt8] = [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00]
    #expect(try inflate([stored]) == ["Hello"])
  }

  @Test("a block after one with BFINAL is inflated with the same window (RFC 7692 §7.2.3.4)")
  func finalBlock() throws {
    let final: [UInt8] = [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]
    #expect(try inflate([final + [0x00]]) == ["Hello"])
    #expect(try inflate([final + final + [0x00]]) == ["HelloHello"])
    let second: [UInt8] = [0xF2, 0x00, 0x11, 0x00, 0x00]
    #expect(try inflate([final + second]) == ["HelloHello"])
    #expect(try inflate([final + [0x00], second], keepsContext: true) == ["Hello", "Hello"])
  }

  @Test("two blocks with a flush between them are inflated (RFC 7692 §7.2.3.5)")
  func twoBlocks() throws {
    let blocks: [UInt8] = [
      0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00,
    ]
    #expect(try inflate([blocks]) == ["Hello"])
  }

  @Test("an empty message is inflated (RFC 7692 §7.2.3.6)")
  func empty() throws {
    #expect(try inflate([[0x00], [0x00]]) == ["", ""])
    #expect(try inflate([[0x00], [0x00]], keepsContext: true) == ["", ""])
    #expect(fault([]) == .truncated, "empty input contains no block")
  }

  @Test("a message of exactly the limit passes, one byte more does not")
  func limits() throws {
    for count in [0, 1, 4_095, 4_096, 4_097, 65_536, 1 << 20] {
      let message = deflated([UInt8](repeating: 97, count: count))
      #expect(try inflate([message], limit: count)[0].utf8.count == count)
      if count > 0 { #expect(fault(message, limit: count - 1) == .tooLong) }
    }
  }

  @Test("a bomb inflates to the limit at most, and earlier output remains")
  func bomb() throws {
    let bomb = deflated([UInt8](repeating: 0, count: 16 << 20))
    #expect(bomb.count < 70_000)
    var inflater = Inflater(windowBits: 15)
    var output: [UInt8] = [1, 2, 3]
    var whole: [UInt8] = []
    let entire = try ContinuousClock().measure {
      try bomb.withRawSpan {
        try inflater.inflate($0, keepsContext: false, limit: 16 << 20, to: &whole)
      }
    }
    var stopped = Duration.seconds(3_600)
    for _ in 0..<5 {
      var fault: InflateFault?
      let duration = ContinuousClock().measure {
        bomb.withRawSpan { span in
          do throws(InflateFault) {
            try inflater.inflate(span, keepsContext: false, limit: 65_536, to: &output)
          } catch {
            fault = error
          }
        }
      }
      stopped = min(stopped, duration)
      #expect(fault == .tooLong)
    }
    // A part in 256 of the output; most of the rest would be the clearing of what was left.
    #expect(stopped * 20 < entire)
    #expect(output == [1, 2, 3])
    #expect(output.capacity <= 2 * 65_536)
    // The inflater is as good as new afterwards.
    try deflated(Array("again".utf8)).withRawSpan { span in
      try inflater.inflate(span, keepsContext: false, limit: 5, to: &output)
    }
    #expect(output == [1, 2, 3] + Array("again".utf8))
  }

  @Test("incomplete data are refused", arguments: 0..<6)
  func truncated(count: Int) {
    let whole: [UInt8] = [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]
    #expect(fault(Array(whole[..<count])) != nil)
    #expect(
      fault([0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48]) == .truncated, "the tail is not part of a message"
    )
    #expect(
      fault([0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]) == .truncated, "no byte behind BFINAL")
  }

  @Test("data that are not DEFLATE have a reason of their own")
  func corrupt() {
    #expect(fault([0x06, 0x00]) == .blockTypeInvalid)
    #expect(fault([0x07]) == .blockTypeInvalid)
    #expect(fault([0xF2, 0x00, 0x11, 0x00, 0x00]) == .distanceTooFar)
    #expect(fault([0x00, 0x05, 0x00, 0x00, 0x00, 0x48]) == .corrupt, "LEN and NLEN disagree")
    #expect(fault([UInt8](repeating: 0xFC, count: 64)) == .corrupt)
    #expect(Set(InflateFault.allCases.map { $0.reason.description }).count == 5)
  }

  @Test("random bytes give output below the limit, and the next message is correct")
  func garbage() throws {
    var random = UInt64(1)
    var inflater = Inflater(windowBits: 15)
    let hello: [UInt8] = [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]
    for _ in 0..<2_000 {
      let message = (0..<Int(random % 90)).map { _ in
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return UInt8(truncatingIfNeeded: random >> 40)
      }
      random &+= 1
      var output: [UInt8] = []
      message.withRawSpan { span in
        try? inflater.inflate(span, keepsContext: false, limit: 100, to: &output)
      }
      #expect(output.count <= 100)
      output = []
      try hello.withRawSpan { span in
        try inflater.inflate(span, keepsContext: false, limit: 100, to: &output)
      }
      #expect(output == Array("Hello".utf8))
    }
  }
}
