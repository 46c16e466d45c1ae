import Primitives
import Wire

/// Frames: decoding, unmasking, validating text, encoding.
extension Work {
  static let frames = [
    Work("decode-20", "a masked binary frame of 20 bytes, 16 in the buffer", step: 16) {
      Decoding(.binary, byteCount: 20)
    },
    Work("decode-text-128", "a masked text frame of 128 bytes, validated", step: 16) {
      Decoding(.text, byteCount: 128)
    },
    Work("decode-512", "a masked binary frame of 512 bytes", step: 16) {
      Decoding(.binary, byteCount: 512)
    },
    Work("decode-4096", "a masked binary frame of 4 KiB: mostly unmasking", step: 16) {
      Decoding(.binary, byteCount: 4096)
    },
    Work("utf8-ascii-4096", "4 KiB of ASCII validated") { Validating("The quick brown fox. ") },
    Work("utf8-mixed-4096", "4 KiB in three scripts validated") { Validating("Grüße, мир, 世界 ") },
    Work("encode-frame-128", "a frame of 128 bytes appended") { FrameEncoding(byteCount: 128) },
  ]
}

/// Sixteen frames in one buffer, as from a peer that does not wait for answers.
struct Decoding: Workload, ~Copyable {
  private var decoder = MessageDecoder(
    role: .server, limits: MessageLimits(messageBytes: 65_536, fragments: 128))
  private var buffer: [UInt8] = []
  private let byteCount: Int

  init(_ opcode: Opcode, byteCount: Int) {
    self.byteCount = byteCount
    let payload = [UInt8](repeating: UInt8(ascii: "a"), count: byteCount)
    for _ in 0..<16 {
      payload.withRawSpan {
        // Decoding unmasks in place, so every second run masks the payload again. With this key
        // that is ASCII too.
        FrameEncoder.appendMaskedFrame(opcode, payload: $0, maskKey: 0x0102_0304, to: &buffer)
      }
    }
  }

  mutating func run(_ count: Int) {
    var seen = 0
    for _ in 0..<count / 16 {
      buffer.withMutableRawSpan { bytes in
        var offset = 0
        while offset < bytes.byteCount {
          guard let step = try? decoder.next(&bytes, offset: &offset),
            case .message(_, .inPlace(let range)) = step
          else { preconditionFailure("the workload's frames are valid") }
          seen += range.count
        }
      }
    }
    precondition(seen == count * byteCount, "a frame was not decoded")
  }
}

struct Validating: Workload, ~Copyable {
  private var bytes: [UInt8] = []

  /// Fills 4 KiB with these words, and the rest with ASCII.
  init(_ words: String) {
    while bytes.count + words.utf8.count <= 4096 { bytes.append(contentsOf: words.utf8) }
    while bytes.count < 4096 { bytes.append(UInt8(ascii: ".")) }
  }

  mutating func run(_ count: Int) {
    var valid = 0
    for turn in 0..<count {
      // The text changes, since the optimizer would validate the same one only once.
      bytes[4095] = turn & 1 == 0 ? UInt8(ascii: ".") : UInt8(ascii: "!")
      if bytes.withRawSpan({ UTF8Validator.isValid($0) }) { valid += 1 }
    }
    precondition(valid == count, "the workload's text is valid")
  }
}

struct FrameEncoding: Workload, ~Copyable {
  private let payload: [UInt8]
  private var output: [UInt8] = []

  init(byteCount: Int) { payload = [UInt8](repeating: 7, count: byteCount) }

  mutating func run(_ count: Int) {
    payload.withRawSpan { span in
      for turn in 0..<count {
        if turn % 16 == 0 { output.removeAll(keepingCapacity: true) }
        FrameEncoder.appendFrame(.text, payload: span, to: &output)
      }
    }
  }
}
