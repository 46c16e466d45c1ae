/// Two histograms (HdrHistogram: 1 µs to 10 min, three significant digits): from a message's due
/// time to its ack, and to its arrival at every other subscriber.
///
/// Latencies count from the due time, not from the write: a generator that waits for a slow server
/// would otherwise omit exactly the messages that waited (“coordinated omission”).
import Histogram
import Primitives

struct Latencies: Sendable {
  /// Messages that were due earlier are not recorded.
  private let since: Instant
  private(set) var ack = Latencies.empty
  private(set) var delivery = Latencies.empty
  /// Recorded since the last `hand`.
  private var recentAck = Intervals.empty
  private var recentDelivery = Intervals.empty
  private(set) var lastRecorded = Instant.zero

  init(since: Instant = .zero) { self.since = since }

  static var empty: Histogram<UInt64> {
    Histogram(
      lowestDiscernibleValue: 1, highestTrackableValue: maxMicroseconds,
      numberOfSignificantValueDigits: .three)
  }

  private static let maxMicroseconds: UInt64 = 600_000_000

  mutating func ack(from due: Instant, to now: Instant) {
    guard due >= since else { return }
    let value = Latencies.microseconds(from: due, to: now)
    ack.record(value)
    lastRecorded = now
    recentAck.record(value)
  }

  mutating func delivery(from due: Instant, to now: Instant) {
    guard due >= since else { return }
    let value = Latencies.microseconds(from: due, to: now)
    delivery.record(value)
    lastRecorded = now
    recentDelivery.record(value)
  }

  /// Passes on the values since the last call, for the figures of the current second.
  mutating func move(to intervals: Intervals) {
    intervals.move("ack", &recentAck)
    intervals.move("delivery", &recentDelivery)
  }

  mutating func add(_ other: Latencies) {
    ack.add(other.ack)
    delivery.add(other.delivery)
  }

  static func microseconds(from due: Instant, to now: Instant) -> UInt64 {
    min(UInt64(max(0, now.nanoseconds - due.nanoseconds) / 1000), maxMicroseconds)
  }
}

/// Encodes the two total histograms, without the values of the current second.
extension Latencies: Codable {
  private enum CodingKeys: CodingKey { case ack, delivery }

  init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init()
    ack = try fields.decode(Histogram<UInt64>.self, forKey: .ack)
    delivery = try fields.decode(Histogram<UInt64>.self, forKey: .delivery)
  }

  func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(ack, forKey: .ack)
    try fields.encode(delivery, forKey: .delivery)
  }
}
