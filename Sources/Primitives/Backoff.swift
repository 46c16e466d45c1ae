/// The delay before the next attempt: doubled each time up to a bound, half of it random, so that
/// many loops do not reconnect to a recovering server at the same moments. Pure: the randomness
/// comes from a seed.
public struct Backoff: Sendable {
  public let firstMilliseconds: Int64
  public let lastMilliseconds: Int64
  public private(set) var attempts = 0
  private var state: UInt64

  public init(firstMilliseconds: Int64, lastMilliseconds: Int64, seed: UInt64) {
    self.firstMilliseconds = firstMilliseconds
    self.lastMilliseconds = lastMilliseconds
    state = seed
  }

  public mutating func reset() { attempts = 0 }

  /// The time of the next attempt.
  public mutating func next(after now: Instant) -> Instant {
    let doubled = firstMilliseconds << Int64(min(attempts, 16))
    let bound = min(max(doubled, firstMilliseconds), lastMilliseconds)
    attempts += 1
    let random = Int64(splitMix64() % UInt64(max(1, bound / 2)))
    return now.advanced(byMilliseconds: bound - bound / 2 + random)
  }

  /// SplitMix64 (Steele, Lea, Flood 2014): sufficient to spread attempts, and repeatable in tests.
  private mutating func splitMix64() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}
