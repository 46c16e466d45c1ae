/// A rate limiter by key (an address, an account): token buckets in a table of bounded size.
///
/// A full table first evicts the keys whose bucket is full again, at most once a second; if no
/// bucket is full, one arbitrary key is evicted. An evicted key starts again with a full bucket, so
/// a flood from many addresses costs precision, never memory, and never another key's share.
public struct RateTable<Key: Hashable & Sendable>: Sendable {
  private struct Bucket {
    /// Sixty-thousandths of an event: the refill of one millisecond at one event a minute.
    var parts: Int64
    /// Milliseconds, as given to `take`.
    var filledAt: Int64
  }

  private var burst: Int
  private var perMinute: Int
  private let keysMax: Int
  private var buckets: [Key: Bucket] = [:]
  private var sweptAt = Int64.min

  /// The keys (addresses, accounts) that a table stores by default: about 80 bytes each.
  public static var keysMaxDefault: Int { 16_384 }
  private static var partsPerEvent: Int64 { 60_000 }

  /// Allows each key `burst` events at once and `perMinute` a minute; 0 a minute is no limit.
  public init(burst: Int, perMinute: Int, keysMax: Int = RateTable.keysMaxDefault) {
    precondition(burst > 0 && perMinute > 0 || perMinute == 0, "a rate allows at least one event")
    self.burst = burst
    self.perMinute = perMinute
    self.keysMax = keysMax
  }

  /// Changes the rate; what each key has used remains used.
  public mutating func change(burst: Int, perMinute: Int) {
    precondition(burst > 0 && perMinute > 0 || perMinute == 0, "a rate allows at least one event")
    guard burst != self.burst || perMinute != self.perMinute else { return }
    let more = (Int64(burst) - Int64(self.burst)) * RateTable.partsPerEvent
    (self.burst, self.perMinute) = (burst, perMinute)
    if perMinute == 0 { return buckets.removeAll() }
    for key in buckets.keys {
      guard var bucket = buckets[key] else { continue }
      bucket.parts = max(0, min(full, bucket.parts + more))
      buckets[key] = bucket
    }
  }

  public var keyCount: Int { buckets.count }
  private var full: Int64 { Int64(burst) * RateTable.partsPerEvent }

  /// The state of a bucket after an attempt to take an event.
  public struct Level: Sendable, Equatable {
    /// 0 if the event was taken, else the seconds after which one is free.
    public var waitSeconds: Int
    /// Events that are allowed at once now.
    public var remaining: Int
    /// Seconds until the whole burst is allowed again.
    public var secondsUntilFull: Int
  }

  /// Takes one event for `key` and returns 0, or the seconds after which one is free.
  ///
  /// `now` may come from any clock, always the same one. A clock that is set back neither adds nor
  /// removes tokens.
  public mutating func take(_ key: Key, atMilliseconds now: Int64) -> Int {
    takeLevel(key, atMilliseconds: now)?.waitSeconds ?? 0
  }

  /// The same with the bucket's state; nil if there is no limit.
  public mutating func takeLevel(_ key: Key, atMilliseconds now: Int64) -> Level? {
    guard perMinute > 0 else { return nil }
    if buckets[key] == nil, buckets.count >= keysMax { makeRoom(now) }
    var bucket = buckets[key] ?? Bucket(parts: full, filledAt: now)
    bucket.parts = parts(of: bucket, now)
    bucket.filledAt = now
    defer { buckets[key] = bucket }
    var wait = 0
    if bucket.parts >= RateTable.partsPerEvent {
      bucket.parts -= RateTable.partsPerEvent
    } else {
      wait = seconds(toRefill: RateTable.partsPerEvent - bucket.parts)
    }
    return Level(
      waitSeconds: wait, remaining: Int(bucket.parts / RateTable.partsPerEvent),
      secondsUntilFull: seconds(toRefill: full - bucket.parts))
  }

  private func seconds(toRefill parts: Int64) -> Int {
    let milliseconds = (parts + Int64(perMinute) - 1) / Int64(perMinute)
    return Int((milliseconds + 999) / 1000)
  }

  /// Returns an event that `take` has taken, because it is not to count.
  public mutating func giveBack(_ key: Key) {
    guard var bucket = buckets[key] else { return }
    bucket.parts = min(full, bucket.parts + RateTable.partsPerEvent)
    buckets[key] = bucket
  }

  private func parts(of bucket: Bucket, _ now: Int64) -> Int64 {
    guard now > bucket.filledAt else { return bucket.parts }
    let (elapsed, overflow) = now.subtractingReportingOverflow(bucket.filledAt)
    let milliseconds = overflow ? 3_600_000 : min(elapsed, 3_600_000)
    return min(full, bucket.parts + milliseconds * Int64(perMinute))
  }

  private mutating func makeRoom(_ now: Int64) {
    if now / 1000 != sweptAt / 1000 {
      sweptAt = now
      buckets = buckets.filter { parts(of: $0.value, now) < full }
    }
    if buckets.count >= keysMax { buckets.remove(at: buckets.startIndex) }
  }
}
