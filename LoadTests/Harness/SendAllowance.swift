/// Token bucket for a connection's sends, below the protocol's `limits.sends_per_second`: its burst
/// is smaller, because network delays vary.
import Primitives

struct SendAllowance {
  private var tokens = SendAllowance.burst
  private var at = Instant.zero

  private static let perSecond = 20.0
  private static let burst = 32.0

  mutating func take(_ count: Int, _ now: Instant) -> Bool {
    let elapsed = Double(now.nanoseconds - at.nanoseconds) / 1e9
    tokens = min(SendAllowance.burst, tokens + elapsed * SendAllowance.perSecond)
    at = now
    guard tokens >= Double(count) else { return false }
    tokens -= Double(count)
    return true
  }
}
