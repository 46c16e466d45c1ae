import Kernel
import Primitives
import Testing
import Wire

@testable import chirrup_load

@Suite struct FrameRingTests {
  @Test(
    "every frame unmasks to its text, and no two texts are equal", arguments: [1, 20, 512, 4096])
  func frames(size: Int) throws {
    let ring = FrameRing(payloadByteCount: size, atOnce: 16, isBare: false)
    var frames = ring.frames
    var decoder = MessageDecoder(
      role: .server, limits: MessageLimits(messageBytes: size, fragments: 1))
    var texts: [[UInt8]] = []
    try frames.withMutableRawSpan { span in
      var offset = 0
      while case .message(.text, .inPlace(let range)) = try decoder.next(&span, offset: &offset) {
        var text: [UInt8] = []
        text.append(span.bytes.extracting(range))
        texts.append(text)
      }
    }
    #expect(texts.count == ring.count + 16)
    #expect(Set(texts).count == ring.count)
    for (number, text) in texts.enumerated() {
      let matches = text.withRawSpan { ring.matches($0, number: number, offset: 0) }
      #expect(matches)
      let matchesNext = text.withRawSpan { ring.matches($0, number: number + 1, offset: 0) }
      #expect(!matchesNext)
    }
  }

  @Test("any number of owed bytes is contiguous")
  func ranges() {
    let ring = FrameRing(payloadByteCount: 20, atOnce: 16, isBare: false)
    let wrap = ring.count * ring.frameByteCount
    for position in 0..<wrap {
      let owed = 16 * ring.frameByteCount
      #expect(ring.range(position: position, owed: owed) == position..<position + owed)
    }
  }
}

@Suite struct RingVerifierTests {
  static func verifier(verifiesAll: Bool = true, isBare: Bool = false, sent: Int = 100)
    -> RingVerifier
  {
    var verifier = RingVerifier(
      ring: FrameRing(payloadByteCount: 20, atOnce: 16, isBare: isBare), connections: 2,
      verifiesAll: verifiesAll)
    verifier.peers[1].sent = sent
    return verifier
  }

  /// The server's replies to messages `numbers`.
  static func replies(_ verifier: RingVerifier, _ numbers: [Int]) -> [UInt8] {
    numbers.flatMap { number -> [UInt8] in
      let start = number % verifier.ring.count * 20
      let text = Array(verifier.ring.payloads[start..<start + 20])
      return verifier.ring.shape == nil ? text : FrameWalkerTests.frame(.text, text)
    }
  }

  static func take(_ verifier: inout RingVerifier, _ bytes: [UInt8], by size: Int = .max) -> Int {
    var count = 0
    for start in stride(from: 0, to: bytes.count, by: min(size, bytes.count)) {
      let piece = Array(bytes[start..<min(start + min(size, bytes.count), bytes.count)])
      count += piece.withRawSpan { verifier.take(1, $0) }
    }
    return count
  }

  @Test("replies are counted and compared at any split", arguments: [true, false])
  func counting(isBare: Bool) {
    for size in 1...70 {
      var verifier = Self.verifier(isBare: isBare)
      let bytes = Self.replies(verifier, Array(0..<100))
      #expect(Self.take(&verifier, bytes, by: size) == 100)
      #expect(verifier.problems.isEmpty, "\(verifier.problems)")
      #expect(verifier.verified >= 100)
    }
  }

  @Test(
    "a wrong byte, a doubled, a missing and a swapped reply are found", arguments: [true, false])
  func wrong(isBare: Bool) {
    let sound = Self.verifier(isBare: isBare)
    var flipped = Self.replies(sound, [0, 1, 2])
    flipped[flipped.count - 1] ^= 1
    for bytes in [
      flipped, Self.replies(sound, [0, 0, 1]), Self.replies(sound, [0, 2, 3]),
      Self.replies(sound, [0, 2, 1]),
    ] {
      for size in [Int.max, 7] {
        var verifier = Self.verifier(isBare: isBare)
        _ = Self.take(&verifier, bytes, by: size)
        #expect(!verifier.problems.isEmpty)
      }
    }
  }

  @Test("without --verify a sample of payloads is compared")
  func sampling() {
    var verifier = Self.verifier(verifiesAll: false, sent: 6_400)
    let bytes = Self.replies(verifier, [0])
    for _ in 0..<6_400 { _ = Self.take(&verifier, bytes) }
    #expect(verifier.verified == 100)
    #expect(!verifier.problems.isEmpty)
  }

  @Test("a reply of another length, one too many and a broken frame are violations")
  func lengths() {
    var short = Self.verifier(verifiesAll: false)
    _ = Self.take(&short, FrameWalkerTests.frame(.text, [65]))
    #expect(short.problems.count == 1)
    var extra = Self.verifier(sent: 1)
    _ = Self.take(&extra, Self.replies(extra, [0, 1]))
    #expect(extra.problems == ["connection 1: more messages returned than were sent"])
    var broken = Self.verifier()
    _ = Self.take(&broken, [0x81, 0x85, 0, 0, 0, 0])
    #expect(broken.problems == ["connection 1: broken frame: frame masked"])
  }

  @Test("a ping in pieces is passed on complete")
  func ping() {
    var verifier = Self.verifier()
    let bytes = FrameWalkerTests.frame(.ping, [1, 2, 3]) + Self.replies(verifier, [0])
    #expect(Self.take(&verifier, bytes, by: 2) == 1)
    let controls = verifier.takeControls()
    #expect(controls.count == 1 && controls.first?.peer == 1)
    #expect(controls.first?.opcode == .ping && controls.first?.payload == [1, 2, 3])
    #expect(verifier.takeControls().isEmpty)
  }
}

@Suite struct DeparturesTests {
  @Test("latencies count from the departure, and simultaneous ones are recorded together")
  func latencies() {
    var departures = Departures(connections: 3, each: 4)
    var latency = latencyHistogram()
    func at(_ microseconds: Int64) -> Instant { Instant(nanoseconds: microseconds * 1000) }
    departures.depart(2, 4, at(100))
    departures.arrive(2, 3, at(150), &latency, records: true)
    departures.depart(2, 3, at(160))
    departures.arrive(2, 4, at(200), &latency, records: true)
    let figures = WorkFigures.Latency(latency)
    #expect(figures.count == 7)
    #expect(figures.p50 == 50 && figures.p90 == 100 && figures.max == 100)
  }
}

@Suite struct SourceAddressesTests {
  @Test("a process has its own addresses, and another one for every 10,000 connections")
  func loopback() throws {
    let target = try #require(Target("ws://127.0.0.1:1/echo"))
    let one = SourceAddresses(to: target, process: 77)
    let other = SourceAddresses(to: target, process: 78)
    #expect(one[0] == one[9_999] && one[0] != one[10_000] && one[0] != other[0])
    for connection in [0, 10_000, 60_000] { #expect(one[connection]?.isLoopback == true) }
    let far = try #require(Target("ws://192.0.2.1:1/echo"))
    #expect(SourceAddresses(to: far, process: 77)[0] == nil)
  }
}
