/// Two histograms (HdrHistogram: 1 µs to 10 min, three significant digits): from the intended
/// send time to the ack, and to the message's arrival at every other subscriber.
///
/// The intended time, not the time of the write: a generator that waits for a slow server would
/// otherwise leave out exactly the messages that waited (“coordinated omission”).
import Histogram
import Primitives

struct Latencies {
  private(set) var ack = Latencies.empty
  private(set) var delivery = Latencies.empty
  /// Acks of the current second: for the progress line.
  private var recent = Latencies.empty
  private var recentEnds = Instant.zero
  private var lastP99: Double?
  private(set) var lastRecorded = Instant.zero

  private static var empty: Histogram<UInt64> {
    Histogram(
      lowestDiscernibleValue: 1, highestTrackableValue: maxMicroseconds,
      numberOfSignificantValueDigits: .three)
  }

  private static let maxMicroseconds: UInt64 = 600_000_000

  mutating func ack(from due: Instant, to now: Instant) {
    let value = Latencies.microseconds(from: due, to: now)
    ack.record(value)
    lastRecorded = now
    recent.record(value)
  }

  mutating func delivery(from due: Instant, to now: Instant) {
    delivery.record(Latencies.microseconds(from: due, to: now))
    lastRecorded = now
  }

  /// The 99th percentile of the acks of the last whole second, in milliseconds.
  mutating func recentP99(_ now: Instant) -> Double? {
    if now >= recentEnds {
      recentEnds = now.advanced(byMilliseconds: 1000)
      lastP99 = recent.totalCount == 0 ? nil : Double(recent.valueAtPercentile(99)) / 1000
      recent.reset()
    }
    return lastP99
  }

  mutating func add(_ other: Latencies) {
    ack.add(other.ack)
    delivery.add(other.delivery)
  }

  private static func microseconds(from due: Instant, to now: Instant) -> UInt64 {
    min(UInt64(max(0, now.nanoseconds - due.nanoseconds) / 1000), maxMicroseconds)
  }
}
