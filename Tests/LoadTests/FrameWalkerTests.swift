import Primitives
import Testing
import Wire

@testable import chirrup_load

/// RFC 6455 §5: valid and invalid frames of a server, split at any offset.
@Suite struct FrameWalkerTests {
  /// The frames found by a walker, with pieces joined.
  struct Seen: Equatable {
    var messages: [[UInt8]] = []
    var controls: [String] = []
    var fault: FrameFault?
  }

  static func walk(_ stream: [UInt8], pieces: [Range<Int>], shape: FrameShape? = nil) -> Seen {
    var seen = Seen()
    var walker = FrameWalker()
    var message: [UInt8] = []
    var control: [UInt8] = []
    for piece in pieces {
      Array(stream[piece]).withRawSpan { bytes in
        var offset = 0
        do throws(FrameFault) {
          while offset < bytes.byteCount {
            if let shape {
              let start = offset
              for number in 0..<walker.takeWhole(shape, bytes, &offset) {
                let payload = start + number * shape.frameByteCount + shape.headerByteCount
                var whole: [UInt8] = []
                whole.append(bytes.extracting(payload..<payload + shape.payloadByteCount))
                seen.messages.append(whole)
              }
              if offset == bytes.byteCount { return }
            }
            switch try walker.next(bytes, &offset) {
            case .needMoreBytes: return
            case .data(let range, let isEnd):
              message.append(bytes.extracting(range))
              if isEnd {
                seen.messages.append(message)
                message = []
              }
            case .control(let opcode, let range, let isEnd):
              control.append(bytes.extracting(range))
              if isEnd {
                seen.controls.append("\(opcode) \(control)")
                control = []
              }
            }
          }
        } catch {
          seen.fault = error
        }
      }
      if seen.fault != nil { break }
    }
    return seen
  }

  static func frame(
    _ opcode: Opcode, _ payload: [UInt8], isFinal: Bool = true
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    payload.withRawSpan { FrameEncoder.appendFrame(opcode, payload: $0, to: &bytes) }
    if !isFinal { bytes[0] &= 0x7F }
    return bytes
  }

  static func text(_ count: Int, from first: Int = 0) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: 97 + (first + $0) % 26) }
  }

  @Test("a stream split at every offset is the same stream", arguments: [0, 1, 5, 125, 126, 300])
  func everyCut(count: Int) {
    let stream =
      Self.frame(.text, Self.text(count)) + Self.frame(.ping, [1, 2, 3])
      + Self.frame(.text, Self.text(count, from: 1))
    let whole = Self.walk(stream, pieces: [0..<stream.count])
    #expect(whole.messages == [Self.text(count), Self.text(count, from: 1)])
    #expect(whole.controls == ["ping [1, 2, 3]"])
    for cut in 1..<stream.count {
      let pieces = [0..<cut, cut..<stream.count]
      #expect(Self.walk(stream, pieces: pieces) == whole, "cut at \(cut)")
      let shape = FrameShape(.text, payloadByteCount: count)
      #expect(Self.walk(stream, pieces: pieces, shape: shape) == whole, "cut at \(cut), quick")
    }
    let single = stream.indices.map { $0..<$0 + 1 }
    #expect(Self.walk(stream, pieces: single) == whole)
  }

  @Test("a message in fragments is read, with pings between them")
  func fragments() {
    let stream =
      Self.frame(.text, Self.text(130), isFinal: false) + Self.frame(.ping, [9])
      + Self.frame(.continuation, [], isFinal: false) + Self.frame(.pong, [])
      + Self.frame(.continuation, Self.text(3), isFinal: true) + Self.frame(.text, Self.text(7))
    for size in 1...stream.count {
      let pieces = stride(from: 0, to: stream.count, by: size).map {
        $0..<min($0 + size, stream.count)
      }
      for shape in [nil, FrameShape(.text, payloadByteCount: 7)] {
        let seen = Self.walk(stream, pieces: pieces, shape: shape)
        #expect(
          seen.messages == [Self.text(130) + Self.text(3), Self.text(7)], "pieces of \(size)")
        #expect(seen.controls == ["ping [9]", "pong []"])
        #expect(seen.fault == nil)
      }
    }
  }

  @Test("a 64-bit length is read from a header split at every offset")
  func longLength() {
    let payload = Self.text(70_000)
    let stream = Self.frame(.binary, payload) + Self.frame(.text, [65])
    for cut in 1...11 {
      let seen = Self.walk(
        stream, pieces: [0..<cut, cut..<50_000, 50_000..<stream.count],
        shape: FrameShape(.binary, payloadByteCount: 70_000))
      #expect(seen.messages == [payload, [65]], "cut at \(cut)")
    }
  }

  @Test("the fast path leaves other lengths to the general parser")
  func otherShape() {
    let stream = Self.frame(.text, Self.text(20)) + Self.frame(.text, Self.text(21))
    let seen = Self.walk(
      stream, pieces: [0..<stream.count], shape: FrameShape(.text, payloadByteCount: 21))
    #expect(seen.messages == [Self.text(20), Self.text(21)])
  }

  @Test(
    "frames that a server must not send",
    arguments: [
      ([0x81, 0x85, 1, 2, 3, 4, 0, 0, 0, 0, 0], FrameFault.masked),
      ([0xC1, 0x00], .reservedBits), ([0x91, 0x00], .reservedBits),
      ([0x83, 0x00], .reservedOpcode), ([0x8B, 0x00], .reservedOpcode),
      ([0x09, 0x00], .controlFragmented), ([0x89, 0x7E, 0x00, 0x7E], .controlTooLong),
      ([0x80, 0x00], .continuationWithoutStart),
      ([0x01, 0x01, 0x41, 0x81, 0x01, 0x41], .messageInterrupted),
      ([0x81, 0x7E, 0x00, 0x7D], .lengthNotMinimal),
      ([0x81, 0x7F, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], .lengthNotMinimal),
      ([0x81, 0x7F, 0x80, 0, 0, 0, 0, 0, 0, 0], .lengthOutOfRange),
    ] as [([UInt8], FrameFault)])
  func faults(stream: [UInt8], fault: FrameFault) {
    for cut in 1..<stream.count {
      let seen = Self.walk(stream, pieces: [0..<cut, cut..<stream.count])
      #expect(seen.fault == fault, "cut at \(cut)")
    }
  }
}
