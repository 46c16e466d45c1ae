import Primitives
import Testing

@Suite("Token bucket")
struct TokenBucketTests {
  @Test("charged events become a debt of at most one burst, which time reduces")
  func charging() {
    var now = Instant.zero
    var bucket = TokenBucket(burst: 10, now: now)
    var isCovered = bucket.charge(10, perSecond: 10, burst: 10, now: now)
    #expect(isCovered)
    var wait = bucket.take(perSecond: 10, burst: 10, now: now)
    #expect(wait == 100)
    isCovered = bucket.charge(.max, perSecond: 10, burst: 10, now: now)
    #expect(!isCovered)
    // The debt of a whole burst, and one event more.
    wait = bucket.take(perSecond: 10, burst: 10, now: now)
    #expect(wait == 1_100)
    now = now.advanced(byMilliseconds: 1_100)
    wait = bucket.take(perSecond: 10, burst: 10, now: now)
    #expect(wait == 0)
  }

  @Test("after a burst, events are allowed at the rate, and the wait is returned")
  func bucket() {
    var now = Instant.zero
    var bucket = TokenBucket(burst: 3, now: now)
    for _ in 0..<3 { #expect(bucket.take(perSecond: 10, burst: 3, now: now) == 0) }
    #expect(bucket.take(perSecond: 10, burst: 3, now: now) == 100)
    now = now.advanced(byMilliseconds: 100)
    #expect(bucket.take(perSecond: 10, burst: 3, now: now) == 0)
    #expect(bucket.take(perSecond: 10, burst: 3, now: now) > 0)
    now = now.advanced(byMilliseconds: 1_000_000_000)
    for _ in 0..<3 { #expect(bucket.take(perSecond: 10, burst: 3, now: now) == 0) }
    #expect(bucket.take(perSecond: 10, burst: 3, now: now) > 0)
  }
}
