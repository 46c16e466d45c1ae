import Chat
import Primitives
import Testing

@Suite("Rates")
struct TokenBucketTests {
  @Test("what has happened already is charged, owed up to a burst, and paid back by time")
  func charging() {
    var now = Instant.zero
    var bucket = TokenBucket(burst: 10, now: now)
    var isCovered = bucket.charge(10, perSecond: 10, burst: 10, now: now)
    #expect(isCovered)
    var wait = bucket.take(perSecond: 10, burst: 10, now: now)
    #expect(wait == 100)
    isCovered = bucket.charge(.max, perSecond: 10, burst: 10, now: now)
    #expect(!isCovered)
    // A whole burst is owed, and one is taken.
    wait = bucket.take(perSecond: 10, burst: 10, now: now)
    #expect(wait == 1_100)
    now = now.advanced(byMilliseconds: 1_100)
    wait = bucket.take(perSecond: 10, burst: 10, now: now)
    #expect(wait == 0)
  }

  @Test("a burst, then so many a second, and the wait is named")
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
