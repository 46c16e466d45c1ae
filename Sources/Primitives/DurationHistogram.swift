/// Durations by size: how many took up to each limit, and how many took longer. Integers in place:
/// `add` allocates nothing, takes no lock and reads no clock.
///
/// All of the gateway's durations have the same limits, so that their figures can be compared.
public struct DurationHistogram: Sendable {
  /// Nanoseconds, from 0.1 ms to 10 s.
  public static let limits: InlineArray<16, Int64> = [
    100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000, 20_000_000, 50_000_000,
    100_000_000, 200_000_000, 500_000_000, 1_000_000_000, 2_000_000_000, 5_000_000_000,
    10_000_000_000,
  ]

  /// The number of durations up to each limit and above the limit before it; the last one counts
  /// those above all limits.
  public private(set) var counts = InlineArray<17, UInt64>(repeating: 0)
  public private(set) var count: UInt64 = 0
  /// Nanoseconds.
  public private(set) var sum: Int64 = 0
  /// Nanoseconds.
  public private(set) var longest: Int64 = 0

  public init() {}

  /// - Parameter times: how many things took this long.
  public mutating func add(_ nanoseconds: Int64, times: Int = 1) {
    // A clock value of the turn may be older than that of the event.
    let duration = max(0, nanoseconds)
    count &+= UInt64(times)
    sum &+= duration &* Int64(times)
    longest = max(longest, duration)
    var index = 0
    while index < DurationHistogram.limits.count, duration > DurationHistogram.limits[index] {
      index += 1
    }
    counts[index] &+= UInt64(times)
  }

  /// Adds the durations of another loop.
  public mutating func merge(_ other: DurationHistogram) {
    for index in counts.indices { counts[index] &+= other.counts[index] }
    count &+= other.count
    sum &+= other.sum
    longest = max(longest, other.longest)
  }
}

/// Things that have begun and will end together, such as acknowledgements that wait for the flush.
public struct OpenDurations: Sendable {
  private var count = 0
  /// When the first of them began.
  private var since = Instant.zero

  public init() {}

  public mutating func begin(_ number: Int, at now: Instant) {
    if count == 0 { since = now }
    count += number
  }

  public mutating func end(at now: Instant, in histogram: inout DurationHistogram) {
    guard count > 0 else { return }
    histogram.add(now.nanoseconds &- since.nanoseconds, times: count)
    count = 0
  }
}
