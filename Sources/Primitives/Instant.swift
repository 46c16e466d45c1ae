/// Time as a value. The pure targets never read a clock: the caller passes `now`.
///
/// An `Instant` counts nanoseconds of the monotonic clock (CLOCK_MONOTONIC), so it never
/// decreases and has no relation to the calendar. A `WallTime` counts microseconds since 1970-01-01
/// UTC, the resolution of PostgreSQL's `timestamptz`. It is stored and displayed; it never drives a
/// deadline.
public struct Instant: Comparable, Hashable, Sendable {
  public var nanoseconds: Int64

  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  public static let zero = Instant(nanoseconds: 0)
  public static let never = Instant(nanoseconds: .max)

  public static func < (left: Instant, right: Instant) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  /// Saturates at `.never`, so that a deadline can never wrap round into the past.
  public func advanced(byMilliseconds milliseconds: Int64) -> Instant {
    let (delta, overflow) = milliseconds.multipliedReportingOverflow(by: 1_000_000)
    if overflow { return .never }
    let (sum, wrapped) = nanoseconds.addingReportingOverflow(delta)
    return wrapped ? .never : Instant(nanoseconds: sum)
  }

  /// Whole milliseconds since `earlier`; negative when `earlier` is the later one.
  public func milliseconds(since earlier: Instant) -> Int64 {
    let (difference, overflow) = nanoseconds.subtractingReportingOverflow(earlier.nanoseconds)
    return overflow ? .max : difference / 1_000_000
  }
}

/// Microseconds since 1970-01-01 00:00:00 UTC.
public struct WallTime: Comparable, Hashable, Sendable {
  public var microseconds: Int64

  public init(microseconds: Int64) { self.microseconds = microseconds }

  public static func < (left: WallTime, right: WallTime) -> Bool {
    left.microseconds < right.microseconds
  }
}
