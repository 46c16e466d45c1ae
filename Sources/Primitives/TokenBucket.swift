/// A rate limiter: a number of events per second, and a number at once. It takes 8 bytes.
public struct TokenBucket: Sendable {
  /// Thousandths of an event that are allowed now; negative after `charge`.
  private var milliTokens: Int32
  /// In milliseconds. It wraps after 49 days, which may cost an idle client some tokens.
  private var filledAt: UInt32

  public init(burst: Int, now: Instant) {
    milliTokens = Int32(burst) * 1000
    filledAt = UInt32(truncatingIfNeeded: now.nanoseconds / 1_000_000)
  }

  /// Takes one event. Returns 0, or the milliseconds until one is allowed.
  public mutating func take(perSecond: Int, burst: Int, now: Instant) -> Int64 {
    fill(perSecond: perSecond, burst: burst, now: now)
    if milliTokens >= 1000 {
      milliTokens -= 1000
      return 0
    }
    return (1000 - Int64(milliTokens) + Int64(perSecond) - 1) / Int64(perSecond)
  }

  /// Takes events that have happened already. Missing ones become a debt of at most one burst.
  /// Returns false when there is a debt.
  public mutating func charge(_ count: Int, perSecond: Int, burst: Int, now: Instant) -> Bool {
    fill(perSecond: perSecond, burst: burst, now: now)
    milliTokens = max(Int32(-burst * 1000), milliTokens - Int32(min(count, burst)) * 1000)
    return milliTokens >= 0
  }

  private mutating func fill(perSecond: Int, burst: Int, now: Instant) {
    let milliseconds = UInt32(truncatingIfNeeded: now.nanoseconds / 1_000_000)
    // Negative when the clock is behind `filledAt`.
    let elapsed = Int32(bitPattern: milliseconds &- filledAt)
    if elapsed > 0 {
      let filled = Int64(milliTokens) + Int64(elapsed) * Int64(perSecond)
      milliTokens = Int32(min(Int64(burst) * 1000, filled))
      filledAt = milliseconds
    }
  }
}
