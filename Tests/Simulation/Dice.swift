import Primitives

/// The random numbers of a run, from its seed (SplitMix64; Steele, Lea, Flood 2014).
struct Dice {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 0x1234_5678 }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  /// 0 ..< bound.
  mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(1, bound))) }

  mutating func between(_ range: ClosedRange<Int>) -> Int {
    range.lowerBound + below(range.count)
  }

  /// True with probability 1 / `count`.
  mutating func onceIn(_ count: Int) -> Bool { below(count) == 0 }

  /// True with a probability in percent.
  mutating func percent(_ chance: Int) -> Bool { below(100) < chance }

  /// A delay in microseconds: around `typical`, once in 50 up to 40 times that.
  mutating func delay(typical: Int) -> Int {
    onceIn(50) ? below(typical * 40) : typical / 2 + below(typical)
  }

  mutating func identifier() -> Identifier {
    Identifier(high: next() & ~0xF000 | 0x7000, low: next() | 0x8000_0000_0000_0000)
  }
}
