public import Primitives

/// A rate limit: so many events a second, so many at once. Held in 16 bytes for each connection.
public struct TokenBucket: Sendable {
  /// Thousandths of an event that may still happen now.
  private var milliTokens: Int64
  private var filledAt: Instant

  public init(burst: Int, now: Instant) {
    milliTokens = Int64(burst) * 1000
    filledAt = now
  }

  /// Takes one event and returns 0, or the milliseconds after which one is free.
  public mutating func take(perSecond: Int, burst: Int, now: Instant) -> Int64 {
    let elapsed = max(0, min(now.milliseconds(since: filledAt), 3_600_000))
    if elapsed > 0 {
      milliTokens = min(Int64(burst) * 1000, milliTokens + elapsed * Int64(perSecond))
      filledAt = now
    }
    if milliTokens >= 1000 {
      milliTokens -= 1000
      return 0
    }
    return (1000 - milliTokens + Int64(perSecond) - 1) / Int64(perSecond)
  }
}
