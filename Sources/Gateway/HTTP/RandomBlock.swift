import Kernel
import Primitives

/// Random numbers, fetched from the kernel in blocks of 64, since each new connection needs some.
struct RandomBlock {
  private var words: [UInt64] = []

  mutating func next() -> UInt64 {
    if words.isEmpty {
      let bytes = Random.bytes(512)
      words = bytes.withRawSpan { span in (0..<64).map { span.word(at: $0 * 8) } }
    }
    return words.removeLast()
  }

  mutating func identifier(at time: WallTime) -> Identifier {
    Identifier(
      version7At: time, randomHigh: UInt16(truncatingIfNeeded: next()), randomLow: next())
  }
}
