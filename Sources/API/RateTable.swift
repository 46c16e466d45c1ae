import Primitives

/// Rates by key (an address, an account): token buckets in a table of bounded size.
///
/// A full table first forgets the keys whose bucket is full again, at most once a second; if every
/// key is busy, one of them is forgotten: a flood from many addresses then costs precision, never
/// memory.
struct RateTable {
  private struct Bucket {
    /// Sixty-thousandths of an event: what one millisecond brings at one event a minute.
    var parts: Int64
    var filledAt: WallTime
  }

  static let partsPerEvent: Int64 = 60_000
  private let rate: APIOptions.Rate
  private let keysMax: Int
  private var buckets: [String: Bucket] = [:]
  private var sweptAt = WallTime(microseconds: .min)

  init(_ rate: APIOptions.Rate, keysMax: Int = APILimits.rateKeys) {
    self.rate = rate
    self.keysMax = keysMax
  }

  var keyCount: Int { buckets.count }
  private var full: Int64 { Int64(rate.burst) * RateTable.partsPerEvent }

  /// Takes one event for `key` and returns 0, or the seconds after which one is free.
  mutating func take(_ key: String, now: WallTime) -> Int {
    if buckets[key] == nil, buckets.count >= keysMax { makeRoom(now) }
    var bucket = buckets[key] ?? Bucket(parts: full, filledAt: now)
    bucket.parts = parts(of: bucket, now)
    bucket.filledAt = now
    defer { buckets[key] = bucket }
    if bucket.parts >= RateTable.partsPerEvent {
      bucket.parts -= RateTable.partsPerEvent
      return 0
    }
    let milliseconds =
      (RateTable.partsPerEvent - bucket.parts + Int64(rate.perMinute) - 1) / Int64(rate.perMinute)
    return Int((milliseconds + 999) / 1000)
  }

  /// A clock that was set back brings nothing and takes nothing.
  private func parts(of bucket: Bucket, _ now: WallTime) -> Int64 {
    guard now > bucket.filledAt else { return bucket.parts }
    let (elapsed, overflow) = now.microseconds.subtractingReportingOverflow(
      bucket.filledAt.microseconds)
    let milliseconds = overflow ? 3_600_000 : min(elapsed / 1000, 3_600_000)
    return min(full, bucket.parts + milliseconds * Int64(rate.perMinute))
  }

  private mutating func makeRoom(_ now: WallTime) {
    if now.microseconds / 1_000_000 != sweptAt.microseconds / 1_000_000 {
      sweptAt = now
      buckets = buckets.filter { parts(of: $0.value, now) < full }
    }
    if buckets.count >= keysMax { buckets.remove(at: buckets.startIndex) }
  }
}
