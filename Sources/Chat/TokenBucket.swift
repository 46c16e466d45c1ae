public import Primitives

/// A rate limit: so many events a second, so many at once. Held in 8 bytes for each connection.
public struct TokenBucket: Sendable {
  /// Thousandths of an event that may still happen now.
  private var milliTokens: Int32
  /// Milliseconds; they wrap, which may cost an idle client some tokens every 49 days.
  private var filledAt: UInt32

  public init(burst: Int, now: Instant) {
    milliTokens = Int32(burst) * 1000
    filledAt = UInt32(truncatingIfNeeded: now.nanoseconds / 1_000_000)
  }

  /// Takes one event and returns 0, or the milliseconds after which one is free.
  public mutating func take(perSecond: Int, burst: Int, now: Instant) -> Int64 {
    fill(perSecond: perSecond, burst: burst, now: now)
    if milliTokens >= 1000 {
      milliTokens -= 1000
      return 0
    }
    return (1000 - Int64(milliTokens) + Int64(perSecond) - 1) / Int64(perSecond)
  }

  /// Takes so many events that have happened already; what is not there is owed, a burst at most.
  /// False when something is owed.
  public mutating func charge(_ count: Int, perSecond: Int, burst: Int, now: Instant) -> Bool {
    fill(perSecond: perSecond, burst: burst, now: now)
    milliTokens = max(Int32(-burst * 1000), milliTokens - Int32(min(count, burst)) * 1000)
    return milliTokens >= 0
  }

  private mutating func fill(perSecond: Int, burst: Int, now: Instant) {
    let milliseconds = UInt32(truncatingIfNeeded: now.nanoseconds / 1_000_000)
    // Negative where the clock stands behind: then nothing is due.
    let elapsed = Int32(bitPattern: milliseconds &- filledAt)
    if elapsed > 0 {
      let filled = Int64(milliTokens) + Int64(elapsed) * Int64(perSecond)
      milliTokens = Int32(min(Int64(burst) * 1000, filled))
      filledAt = milliseconds
    }
  }
}
